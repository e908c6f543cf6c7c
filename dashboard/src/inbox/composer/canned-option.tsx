/** What both lists of canned replies show: a reply, and the link to the settings. */
import { Link } from 'wouter'
import { Icon } from '../../../../ui/icon.tsx'
import { words } from '../../words/words.ts'
import type { CannedReply } from './canned-replies.ts'

const { canned: labels } = words.inbox

export const CannedOption = ({ reply: { shortcut, text, attachments, is_shared } }: { reply: CannedReply }) => (
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

export const CannedFoot = () => (
  <p className="inbox-popup-foot">
    <Link href="/settings/replies">{labels.manage}</Link>
  </p>
)
