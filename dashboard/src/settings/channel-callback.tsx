/**
 * Where the provider is to report to: two values to paste, where to paste them,
 * what to switch on there, and whether it has called since.
 */

import { CopyButton } from '../../../ui/copy.tsx'
import { Note } from '../../../ui/note.tsx'
import { Ago } from '../ui/ago.tsx'
import { words } from '../words/words.ts'
import type { Connection, ProvidedChannel } from './channels.tsx'

const { guide } = words.settings.channels

/** The fields of a provider's callbacks that the service reads. */
const subscriptions: Record<ProvidedChannel, readonly string[]> = {
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

export function ChannelCallback({ of, channel }: CallbackProps) {
  const { callback_url, verify_token } = of
  return (
    <>
      <Heard of={of} />
      <ol className="settings-how">
        {guide.callbackSteps[channel].map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <Pasted label={guide.callbackUrl} copy={guide.copyCallbackUrl} text={callback_url ?? ''} />
      <Pasted label={guide.verifyToken} copy={guide.copyVerifyToken} text={verify_token ?? ''} />
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
      {!callback_url?.startsWith('https://') && (
        <Note tone="amber" icon="alert">
          {guide.notPublic}
        </Note>
      )}
    </>
  )
}

/** How far the provider has got with it. */
function Heard({ of: { callback_verified_at: verified, callback_received_at: received } }: { of: Connection }) {
  if (received) {
    return (
      <Note tone="green" icon="check">
        {guide.received} <Ago at={received} />
      </Note>
    )
  }
  return verified ? (
    <Note icon="check">
      {guide.verified} <Ago at={verified} />. {guide.nothingReceived}
    </Note>
  ) : (
    <Note icon="clock">{guide.notVerified}</Note>
  )
}

type CallbackProps = { of: Connection; channel: ProvidedChannel }

const Pasted = ({ label, copy, text }: { label: string; copy: string; text: string }) => (
  <div>
    <p className="settings-label">{label}</p>
    <div className="secret">
      <code>{text}</code>
      <CopyButton text={text} label={copy} size="small" />
    </div>
  </div>
)
