/** The delivery status of a sent message as an icon with an accessible label. */
import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { words } from '../../words/words.ts'
import type { Message } from '../model/data.ts'

const icons: Record<Message['status'], IconName> = {
  received: 'check',
  pending: 'clock',
  sent: 'check',
  delivered: 'checks',
  read: 'checks',
  failed: 'alert',
}

export function StatusIcon({ status }: { status: Message['status'] }) {
  const label = words.inbox.message.statuses[status]
  return (
    <span className="inbox-status-icon" data-status={status} title={label}>
      <Icon name={icons[status]} />
      <span className="offscreen">{label}</span>
    </span>
  )
}
