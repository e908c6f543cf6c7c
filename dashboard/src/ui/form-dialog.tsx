/** A dialog with a form: its fields, an error that belongs to no field, and the buttons. */
import type { ReactNode } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Form } from '../../../ui/form.tsx'
import type { IconName } from '../../../ui/icon.tsx'
import { ErrorNote } from '../../../ui/note.tsx'
import { words } from '../words/words.ts'

type Props = {
  title: string
  size?: 'wide'
  /** The label of the submit button. */
  action: string
  icon?: IconName
  danger?: boolean
  className?: string
  noValidate?: boolean
  isBusy: boolean
  /** False: the form cannot be submitted yet. */
  isReady?: boolean
  /** The dialog stays open during the request: closing it would lose the answer. */
  isHeld?: boolean
  error?: string | undefined
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}

export function FormDialog({ title, size, action, icon, danger = false, isBusy, isReady = true, ...props }: Props) {
  const { className, noValidate = false, isHeld = false, error, onSubmit, onClose, children } = props
  const isLocked = isHeld && isBusy
  return (
    <Dialog title={title} onClose={() => !isLocked && onClose()} {...(size ? { size } : {})}>
      <Form className={className} noValidate={noValidate} onSubmit={onSubmit}>
        {children}
        {error && <ErrorNote>{error}</ErrorNote>}
        <div className="dialog-foot">
          <Button onClick={onClose} disabled={isLocked}>
            {words.common.cancel}
          </Button>
          <Button
            type="submit"
            variant={danger ? 'danger' : 'primary'}
            busy={isBusy}
            disabled={!isReady}
            {...(icon ? { icon } : {})}
          >
            {action}
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
