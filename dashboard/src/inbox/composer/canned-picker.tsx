/** The list of canned replies above the reply box, with search by shortcut and text. */
import { Link } from 'wouter'
import { Icon } from '../../../../ui/icon.tsx'
import { useCall } from '../../lib/api.ts'
import { words } from '../../words/words.ts'
import type { CannedReply } from './canned-replies.ts'
import { PickerPopup } from './picker-popup.tsx'

const { canned: labels } = words.inbox

type Props = { onPick: (reply: CannedReply) => void; onClose: (reason: 'escape' | 'leave') => void }

export default function CannedPicker({ onPick, onClose }: Props) {
  const { data: replies = [], isPending } = useCall('GET /canned-replies', {}, { live: true })
  const find = (search: string) => {
    const text = search.replace(/^\//, '').toLowerCase()
    const begins = ({ shortcut }: CannedReply) => shortcut.toLowerCase().startsWith(text)
    const matches = replies.filter((reply) => `${reply.shortcut} ${reply.text}`.toLowerCase().includes(text))
    return [...matches.filter(begins), ...matches.filter((reply) => !begins(reply))]
  }
  return (
    <PickerPopup
      label={labels.title}
      searchLabel={labels.search}
      columns={1}
      find={find}
      keyOf={({ id }) => id}
      render={(reply) => <Option reply={reply} />}
      empty={(search) => (isPending ? words.common.loading : search ? labels.noMatch(search) : labels.none)}
      onPick={onPick}
      onClose={onClose}
    >
      <p className="inbox-popup-foot">
        <Link href="/settings/replies">{labels.manage}</Link>
      </p>
    </PickerPopup>
  )
}

const Option = ({ reply: { shortcut, text, attachments, is_shared } }: { reply: CannedReply }) => (
  <>
    <span className="inbox-canned-head">
      <strong className="cut">/{shortcut}</strong>
      {attachments.length > 0 && (
        <span className="soft small">
          <Icon name="attach" />
          {labels.files(attachments.length)}
        </span>
      )}
      {!is_shared && <span className="soft small">{labels.personal}</span>}
    </span>
    <span className="clamp snippet">{text}</span>
  </>
)
