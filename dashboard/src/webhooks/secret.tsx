/** Shows the signing secret of a new endpoint once, with how to verify signatures. */
import { Icon } from '../../../ui/icon.tsx'
import { SecretDialog } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'

const { secret: labels } = words.webhooks

type SecretProps = { title: string; text: string; secret: string; onClose: () => void }

export function SigningSecret({ title, text, secret, onClose }: SecretProps) {
  return (
    <SecretDialog title={title} warning={<p>{text}</p>} secret={secret} done={labels.done} onDone={onClose}>
      <p className="soft small">{labels.verify}</p>
      <a className="hooks-link small" href="/docs#verifying" target="_blank" rel="noopener">
        {labels.toVerify}
        <Icon name="external" />
      </a>
    </SecretDialog>
  )
}
