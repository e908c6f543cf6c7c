/**
 * A dialog for a secret that the service shows only once: a key, a signing secret, an invitation link. Only its button closes it:
 * Escape and a press on the backdrop, which close other dialogs, would lose the secret.
 */
import { type ReactNode, useId } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Secret } from '../../../ui/copy.tsx'
import { Modal } from '../../../ui/modal.tsx'
import { Note } from '../../../ui/note.tsx'

type SecretDialogProps = {
  title: string
  /** What the secret is for, and that it is not shown again. */
  warning: ReactNode
  secret: string
  /** The label of the closing button. */
  done: string
  onDone: () => void
  children?: ReactNode
}

export function SecretDialog({ title, warning, secret, done, onDone, children }: SecretDialogProps) {
  const id = useId()
  return (
    <Modal className="dialog" aria-labelledby={id} aria-describedby={`${id}-warning`}>
      <header>
        <h2 id={id}>{title}</h2>
      </header>
      <div className="dialog-body">
        <div id={`${id}-warning`}>
          <Note tone="amber" icon="alert">
            {warning}
          </Note>
        </div>
        <Secret text={secret} />
        {children}
        <div className="dialog-foot">
          <Button variant="primary" onClick={onDone}>
            {done}
          </Button>
        </div>
      </div>
    </Modal>
  )
}
