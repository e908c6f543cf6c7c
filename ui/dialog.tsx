/**
 * Modal dialogs on the browser's `<dialog>`, which traps the focus, closes on Escape, restores the focus and makes the rest of the
 * page inert.
 */
import { type MouseEvent, type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { Button, IconButton } from './button.tsx'
import { FaultNote } from './note.tsx'
import { useKitWords } from './words.tsx'

type DialogProps = { title: string; onClose: () => void; size?: 'wide'; children: ReactNode }

/** Open while it is rendered: `{isOpen && <Dialog …/>}`. */
export function Dialog({ title, onClose, size, children }: DialogProps) {
  const words = useKitWords()
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  // The browser restores the focus only when the dialog closes before React removes it.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (dialog && !dialog.open) {
      dialog.showModal()
      // The browser focuses the close button. A form starts at its first field instead.
      dialog.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea)')?.focus()
    }
    return () => dialog?.close()
  }, [])
  // A press on the backdrop closes the dialog. A drag that only ends there, as when selecting text, does not.
  const closeFromBackdrop = (event: MouseEvent) => {
    if (event.target === ref.current) onClose()
  }
  return (
    <dialog
      ref={ref}
      className="dialog"
      data-size={size}
      aria-labelledby={id}
      onMouseDown={closeFromBackdrop}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton label={words.close} icon="close" size="small" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}

type ConfirmProps = {
  title: string
  children: ReactNode
  /** The label of the confirming button: the action as a verb, not "OK". */
  action: string
  danger?: boolean
  busy?: boolean
  fault?: string | undefined
  onConfirm: () => void
  onClose: () => void
}

/** Asks before an action that cannot be undone. */
export function Confirm({
  title,
  children,
  action,
  danger = false,
  busy = false,
  fault,
  onConfirm,
  onClose,
}: ConfirmProps) {
  const words = useKitWords()
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      {fault && <FaultNote>{fault}</FaultNote>}
      <div className="dialog-foot">
        <Button onClick={onClose}>{words.cancel}</Button>
        <Button variant={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
