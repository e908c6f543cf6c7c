/** Notices from the provider about the account, restrictions first. Owners and admins can dismiss them. */
import { Icon } from '../../../ui/icon.tsx'
import { formatTime } from '../lib/time.ts'
import { CallButton } from '../ui/dialogs.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'
import type { Connection } from './connection.ts'

const { signals: text } = words.settings.channels

const tones = { restriction: 'red', warning: 'amber', info: undefined } as const

type NoticesProps = { connection: Connection; isManager: boolean }

export function ChannelNotices({ connection: { id, signals }, isManager }: NoticesProps) {
  if (signals.length === 0) return null
  return (
    <ul className="stack-tight settings-signals" aria-label={text.label}>
      {signals.map(({ key, severity, text: notice, at, expires_at }) => (
        <li key={key} className="note" data-tone={tones[severity]}>
          <Icon name={severity === 'info' ? 'info' : 'alert'} />
          <div className="grow">
            <p>{notice}</p>
            <p className="small">
              {text.reported} <RelativeTime at={at} />
              {expires_at && <>. {text.ends(formatTime(expires_at))}</>}
            </p>
          </div>
          {isManager && (
            <CallButton
              label={text.dismiss}
              size="small"
              variant="quiet"
              call="POST /channels/{id}/signals/dismiss"
              input={{ params: { id }, body: { key, at } }}
              stale={['GET /channels']}
            />
          )}
        </li>
      ))}
    </ul>
  )
}
