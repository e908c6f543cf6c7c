/** What both lists of canned replies show: a reply, and the link to the settings. */
import { Link } from 'wouter'
import { Icon } from '../../../../ui/icon.tsx'
import { useSession } from '../../lib/session.tsx'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'
import { type CannedReply, fillVariables } from './canned-replies.ts'

const { canned: labels } = words.inbox

type Props = { reply: CannedReply; contact: Conversation['contact'] }

/** With its variables filled, as it is inserted. */
export function CannedOption({ reply: { shortcut, text, attachments, is_shared }, contact }: Props) {
  const { member } = useSession()
  return (
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
      <span className="clamp snippet">{fillVariables(text, { contact, member })}</span>
    </>
  )
}

export const CannedFoot = () => (
  <p className="inbox-popup-foot">
    <Link href="/settings/replies">{labels.manage}</Link>
  </p>
)
