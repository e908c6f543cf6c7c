/**
 * A dialog for a secret that the service shows only once: a key, a signing secret, an invitation link. Only its button closes it:
 * Escape and a click outside, which close other dialogs, would lose the secret.
 */
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Secret } from '../../../ui/copy.tsx'
import { Note } from '../../../ui/note.tsx'

type ShownOnceProps = {
  title: string
  /** What the secret is for, and that it is not shown again. */
  warning: ReactNode
  secret: string
  /** The label of the closing button. */
  done: string
  onDone: () => void
  children?: ReactNode
}

export function ShownOnce({ title, warning, secret, done, onDone, children }: ShownOnceProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  // The browser restores the focus only when the dialog closes before React removes it.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (!dialog) return
    const open = () => dialog.isConnected && !dialog.open && dialog.showModal()
    open()
    // Chromium closes a dialog on the second Escape without a `cancel` event, so it opens again.
    dialog.addEventListener('close', open)
    return () => {
      dialog.removeEventListener('close', open)
      dialog.close()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      className="dialog"
      aria-labelledby={id}
      aria-describedby={`${id}-warning`}
      onCancel={(event) => event.preventDefault()}
      onKeyDown={(event) => event.key === 'Escape' && event.preventDefault()}
    >
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
    </dialog>
  )
}
