/**
 * Something that is shown once and never again: a key, a secret, a link. It
 * stays until whoever reads it says so; a click beside it or Escape, which
 * close other dialogs, do not lose it.
 */
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { Button } from './button.tsx'
import { Note, Secret } from './show.tsx'

type ShownOnceProps = {
  title: string
  /** What it is for, and that it will not be shown again. */
  warning: ReactNode
  secret: string
  /** What the button says that closes it. */
  done: string
  onDone: () => void
  children?: ReactNode
}

export function ShownOnce({ title, warning, secret, done, onDone, children }: ShownOnceProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Closed before it is taken off the page, as in `Dialog`.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (!dialog) return
    const open = () => dialog.isConnected && !dialog.open && dialog.showModal()
    open()
    // A browser lets the second Escape close any dialog without asking.
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
