/** Dialogs with a title and a close button, and confirmations. */
import { type ReactNode, useId } from 'react'
import { Button, IconButton } from './button.tsx'
import { Modal } from './modal.tsx'
import { ErrorNote } from './note.tsx'
import { useKitWords } from './words.tsx'

type DialogProps = { title: string; onClose: () => void; size?: 'wide'; children: ReactNode }

/** Open while it is rendered: `{isOpen && <Dialog …/>}`. */
export function Dialog({ title, onClose, size, children }: DialogProps) {
  const words = useKitWords()
  const id = useId()
  return (
    <Modal className="dialog" data-size={size} aria-labelledby={id} onDismiss={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton label={words.close} icon="close" size="small" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
    </Modal>
  )
}

type ConfirmProps = {
  title: string
  children: ReactNode
  /** The label of the confirming button: the action as a verb, not "OK". */
  action: string
  danger?: boolean
  busy?: boolean
  error?: string | undefined
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
  error,
  onConfirm,
  onClose,
}: ConfirmProps) {
  const words = useKitWords()
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      {error && <ErrorNote>{error}</ErrorNote>}
      <div className="dialog-foot">
        <Button onClick={onClose}>{words.cancel}</Button>
        <Button variant={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
