/** Step 2 of connecting a channel: the callback URL and verify token for the provider's console, and the callback status. */
import { Note, Secret } from '../../../ui/display.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'
import type { Connection, ProviderChannel } from './connection.ts'

const { guide } = words.settings.channels

/** The callback fields that the service reads. */
const subscriptions: Record<ProviderChannel, readonly string[]> = {
  msgapp: [
    'messages',
    'calls',
    'user_preferences',
    'smb_message_echoes',
    'account_update',
    'account_alerts',
    'account_review_update',
    'phone_number_quality_update',
    'phone_number_name_update',
    'message_template_status_update',
    'message_template_quality_update',
    'template_category_update',
  ],
  social: [
    'messages',
    'messaging_postbacks',
    'message_reactions',
    'message_edit',
    'messaging_referral',
    'messaging_seen',
  ],
}

type CallbackProps = { connection: Connection; channel: ProviderChannel }

export function ChannelCallback({ connection, channel }: CallbackProps) {
  const { callback_url, verify_token } = connection
  return (
    <>
      <CallbackStatus connection={connection} />
      <ol className="settings-how">
        {guide.callbackSteps[channel].map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <CopyField label={guide.callbackUrl} copy={guide.copyCallbackUrl} text={callback_url ?? ''} />
      <CopyField label={guide.verifyToken} copy={guide.copyVerifyToken} text={verify_token ?? ''} />
      <div>
        <p className="settings-label">{guide.subscribe}</p>
        <ul className="settings-scopes">
          {subscriptions[channel].map((name) => (
            <li key={name}>
              <code>{name}</code>
            </li>
          ))}
        </ul>
      </div>
      {!callback_url?.startsWith('https://') && <Note tone="amber">{guide.notPublic}</Note>}
    </>
  )
}

/** Whether the provider has verified the callback URL and sent callbacks. */
function CallbackStatus({ connection }: { connection: Connection }) {
  const { callback_verified_at: verified, callback_received_at: received } = connection
  if (received) {
    return (
      <Note tone="green">
        {guide.received} <RelativeTime at={received} />
      </Note>
    )
  }
  return verified ? (
    <Note icon="check">
      {guide.verified} <RelativeTime at={verified} />. {guide.nothingReceived}
    </Note>
  ) : (
    <Note icon="clock">{guide.notVerified}</Note>
  )
}

const CopyField = ({ label, copy, text }: { label: string; copy: string; text: string }) => (
  <div>
    <p className="settings-label">{label}</p>
    <Secret text={text} label={copy} />
  </div>
)
