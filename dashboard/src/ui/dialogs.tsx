/** Buttons that make a call, and dialogs: a question before a call, a form, a secret. */
import {
  type ComponentProps,
  cloneElement,
  type ReactElement,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { Button, Form, SubmitButton } from '../../../ui/controls.tsx'
import { ErrorNote, Note, Secret } from '../../../ui/display.tsx'
import type { IconName } from '../../../ui/icon.tsx'
import { Confirm, Dialog, Modal } from '../../../ui/overlays.tsx'
import { type CallName, type DataOf, describeError, type InputOf, useChange } from '../lib/api.ts'
import { words } from '../words/words.ts'

type Question<Call extends CallName> = {
  title: string
  text?: string
  /** Below the text. */
  children?: ReactNode
  action: string
  danger?: boolean
  call: Call
  input: InputOf<Call>
  /** The calls whose queries to invalidate. */
  stale?: readonly CallName[]
  /** The text of the toast. */
  done?: string | ((data: DataOf<Call>) => string)
  onDone?: (data: DataOf<Call>) => void
  /** False: the button has no effect yet. */
  isReady?: boolean
}

/** Asks before a call, makes it, and reports that it is done. An error stays in the dialog. */
export function ConfirmCall<Call extends CallName>(props: Question<Call> & { onClose: () => void }) {
  const { call, input, stale = [], done, onDone, isReady = true, text, children, ...dialog } = props
  const { mutate, isPending, error } = useChange(call, {
    stale,
    done,
    onDone: (data) => {
      onDone?.(data)
      dialog.onClose()
    },
  })
  return (
    <Confirm
      {...dialog}
      busy={isPending}
      error={error ? describeError(error) : undefined}
      onConfirm={() => isReady && mutate(input)}
    >
      {text && <p>{text}</p>}
      {children}
    </Confirm>
  )
}

type ButtonElement = ReactElement<{ onClick?: () => void }>

/** A button that asks before the call. */
export function ConfirmButton<Call extends CallName>({
  button,
  ...question
}: Question<Call> & { button: ButtonElement }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {cloneElement(button, { onClick: () => setOpen(true) })}
      {isOpen && <ConfirmCall {...question} onClose={() => setOpen(false)} />}
    </>
  )
}

type CallButtonProps<Call extends CallName> = Omit<ComponentProps<typeof Button>, 'onClick' | 'busy'> &
  Pick<Question<Call>, 'call' | 'input' | 'stale' | 'done' | 'onDone'>

/** A button that makes a call at once. A toast shows its error. */
export function CallButton<Call extends CallName>(props: CallButtonProps<Call>) {
  const { call, input, stale = [], done, onDone, ...button } = props
  const { mutate, isPending } = useChange(call, { stale, done, onDone, reportsError: true })
  return <Button {...button} busy={isPending} onClick={() => mutate(input)} />
}

type FormDialogProps = {
  title: string
  size?: 'wide' | undefined
  /** The label of the submit button. */
  action: string
  /** The label of the button that closes the dialog. */
  cancel?: string
  icon?: IconName | undefined
  danger?: boolean
  className?: string
  noValidate?: boolean
  isBusy: boolean
  /** False: the form cannot be submitted yet. */
  isReady?: boolean
  /** The dialog stays open during the request: closing it would lose the answer. */
  isHeld?: boolean
  /** False: nothing is lost when the dialog closes. */
  isDraft?: boolean
  error?: string | undefined
  onSubmit: () => void
  /** A field is not valid, so the form is not submitted. */
  onInvalid?: () => void
  onClose: () => void
  children: ReactNode
}

const { discard } = words.common

/** Asks before a dialog with edits closes. Stands before the dialog: it closes first, and the focus returns to the page. */
export function DiscardQuestion({ onDiscard, onKeep }: { onDiscard: () => void; onKeep: () => void }) {
  return (
    <Confirm
      title={discard.title}
      action={discard.discard}
      cancel={discard.keep}
      danger
      onConfirm={onDiscard}
      onClose={onKeep}
    >
      <p>{discard.dialog}</p>
    </Confirm>
  )
}

/** A dialog with a form: its fields, an error that belongs to no field, and the buttons. Only "Cancel" discards edits without a question. */
export function FormDialog({
  title,
  size,
  action,
  cancel = words.common.cancel,
  icon,
  danger = false,
  isBusy,
  isReady = true,
  ...props
}: FormDialogProps) {
  const {
    className,
    noValidate = false,
    isHeld = false,
    isDraft = true,
    error,
    onSubmit,
    onInvalid,
    onClose,
    children,
  } = props
  const isLocked = isHeld && isBusy
  const submit = useRef<HTMLButtonElement>(null)
  const wasBusy = useRef(false)
  // The button loses the focus while it is disabled. It gets it again if the dialog stays open.
  useEffect(() => {
    if (wasBusy.current && !isBusy && document.activeElement === document.body) submit.current?.focus()
    wasBusy.current = isBusy
  }, [isBusy])
  const [isEdited, setEdited] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const dismiss = () => {
    if (isEdited && isDraft) setAsking(true)
    else onClose()
  }
  return (
    <>
      {isAsking && <DiscardQuestion onDiscard={onClose} onKeep={() => setAsking(false)} />}
      <Dialog title={title} onClose={() => !isLocked && dismiss()} size={size}>
        <Form
          className={className}
          noValidate={noValidate}
          onInput={() => setEdited(true)}
          onInvalidCapture={onInvalid}
          onSubmit={onSubmit}
        >
          {children}
          {error && <ErrorNote>{error}</ErrorNote>}
          <div className="dialog-foot">
            <Button label={cancel} onClick={onClose} disabled={isLocked} />
            <SubmitButton
              ref={submit}
              label={action}
              icon={icon}
              variant={danger ? 'danger' : 'primary'}
              busy={isBusy}
              disabled={!isReady}
            />
          </div>
        </Form>
      </Dialog>
    </>
  )
}

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

/**
 * A dialog for a secret that the service shows only once: a key, a signing secret, an invitation link. Only its button closes it:
 * Escape and a press on the backdrop, which close other dialogs, would lose the secret.
 */
export function SecretDialog({ title, warning, secret, done, onDone, children }: SecretDialogProps) {
  const id = useId()
  return (
    <Modal className="dialog" aria-labelledby={id} aria-describedby={`${id}-warning`}>
      <header>
        <h2 id={id}>{title}</h2>
      </header>
      <div className="dialog-body">
        <div id={`${id}-warning`}>
          <Note tone="amber">{warning}</Note>
        </div>
        <Secret text={secret} />
        {children}
        <div className="dialog-foot">
          <Button label={done} variant="primary" onClick={onDone} />
        </div>
      </div>
    </Modal>
  )
}
