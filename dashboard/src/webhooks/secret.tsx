/** The signing secret of an endpoint just made: shown once, with how to use it. */
import { Icon } from '../../../ui/icon.tsx'
import { SecretDialog } from '../ui/secret-dialog.tsx'
import { words } from '../words/words.ts'

const { secret: said } = words.webhooks

type SecretProps = { title: string; text: string; secret: string; onClose: () => void }

export function SecretOnce({ title, text, secret, onClose }: SecretProps) {
  return (
    <SecretDialog title={title} warning={<p>{text}</p>} secret={secret} done={said.done} onDone={onClose}>
      <p className="soft small">{said.verify}</p>
      <a className="hooks-link small" href="/docs#verifying" target="_blank" rel="noopener">
        {said.toVerify}
        <Icon name="external" />
      </a>
    </SecretDialog>
  )
}
