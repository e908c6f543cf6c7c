/** Notices from the provider about the account, restrictions first. Owners and admins can dismiss them. */
import { Button } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { useChange } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { RelativeTime } from '../ui/relative-time.tsx'
import { words } from '../words/words.ts'
import type { Connection } from './connection.ts'

const { signals: text } = words.settings.channels

const tones = { restriction: 'red', warning: 'amber', info: undefined } as const

export function ChannelNotices({
  connection: { id, signals },
  isManager,
}: {
  connection: Connection
  isManager: boolean
}) {
  const toast = useToast()
  const dismiss = useChange('POST /channels/{id}/signals/dismiss', { stale: ['GET /channels'], onFailed: toast.error })
  if (signals.length === 0) return null
  return (
    <ul className="settings-signals" aria-label={text.label}>
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
            <Button
              label={text.dismiss}
              size="small"
              variant="quiet"
              busy={dismiss.isPending && dismiss.variables?.body.key === key}
              onClick={() => dismiss.mutate({ params: { id }, body: { key, at } })}
            />
          )}
        </li>
      ))}
    </ul>
  )
}
