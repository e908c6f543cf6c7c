/** Asks before a call, makes it, and reports that it is done. An error stays in the dialog. */
import { cloneElement, type ReactElement, type ReactNode, useState } from 'react'
import { Confirm } from '../../../ui/dialog.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { type CallName, type DataOf, describeError, type InputOf, useChange } from '../lib/api.ts'

type Question<Call extends CallName> = {
  title: string
  children: ReactNode
  action: string
  danger?: boolean
  call: Call
  input: InputOf<Call>
  /** The calls whose queries to invalidate. */
  stale?: readonly CallName[]
  /** The text of the toast. */
  done?: string | undefined
  onDone?: (data: DataOf<Call>) => void
  /** False: the button has no effect yet. */
  isReady?: boolean
}

export function ConfirmCall<Call extends CallName>(props: Question<Call> & { onClose: () => void }) {
  const { call, input, stale = [], done, onDone, isReady = true, ...dialog } = props
  const toast = useToast()
  const { mutate, isPending, error } = useChange(call, {
    stale,
    onDone: (data) => {
      if (done) toast.success(done)
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
    />
  )
}

type Button = ReactElement<{ onClick?: () => void }>

/** A button that asks before the call. */
export function ConfirmButton<Call extends CallName>({ button, ...question }: Question<Call> & { button: Button }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {cloneElement(button, { onClick: () => setOpen(true) })}
      {isOpen && <ConfirmCall {...question} onClose={() => setOpen(false)} />}
    </>
  )
}
