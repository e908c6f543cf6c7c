/** The signing secret of an endpoint just made: shown once, with how to use it. Whoever closes it has seen it. */
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Icon } from '../ui/icon.tsx'
import { Note, Secret } from '../ui/show.tsx'
import { words } from '../words/words.ts'

const { secret: said } = words.webhooks

type SecretProps = { title: string; text: string; secret: string; onClose: () => void }

export function SecretOnce({ title, text, secret, onClose }: SecretProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Note tone="amber" icon="key">
        <p>{text}</p>
      </Note>
      <section className="hooks-secret" aria-label={said.label}>
        <h3 className="small">{said.label}</h3>
        <Secret text={secret} />
      </section>
      <p className="soft small">{said.verify}</p>
      <a className="hooks-link small" href="/docs#verifying" target="_blank" rel="noopener">
        {said.toVerify}
        <Icon name="external" />
      </a>
      <div className="dialog-foot">
        <Button variant="primary" onClick={onClose}>
          {said.done}
        </Button>
      </div>
    </Dialog>
  )
}
