/**
 * Dialogs. The browser's own `<dialog>` keeps the focus inside, closes on
 * Escape, gives the focus back, and makes the rest of the page inert.
 */
import { type MouseEvent, type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { words } from '../words/words.ts'
import { Button, IconButton } from './button.tsx'
import { FaultNote } from './show.tsx'

type DialogProps = { title: string; onClose: () => void; size?: 'wide'; children: ReactNode }

/** Shown as long as it is rendered: `{isOpen && <Dialog …/>}`. */
export function Dialog({ title, onClose, size, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Closed before it is taken off the page, or the focus would not go back to where it was.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (dialog && !dialog.open) {
      dialog.showModal()
      // The browser begins at the cross; whoever came to write begins at the first field.
      dialog.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea)')?.focus()
    }
    return () => dialog?.close()
  }, [])
  // A click on what is around it, not one that merely ends there.
  const closeOutside = (event: MouseEvent) => {
    if (event.target === ref.current) onClose()
  }
  return (
    <dialog
      ref={ref}
      className="dialog"
      data-size={size}
      aria-labelledby={id}
      onMouseDown={closeOutside}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton label={words.common.close} icon="close" size="small" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}

type ConfirmProps = {
  title: string
  children: ReactNode
  /** What the button says: the deed, not "OK". */
  action: string
  danger?: boolean
  busy?: boolean
  fault?: string | undefined
  onConfirm: () => void
  onClose: () => void
}

/** Ask before what cannot be undone. */
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
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      {fault && <FaultNote>{fault}</FaultNote>}
      <div className="dialog-foot">
        <Button onClick={onClose}>{words.common.cancel}</Button>
        <Button variant={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
