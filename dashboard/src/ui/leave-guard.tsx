/** Asks before the member leaves a page with unsaved edits. A page has one. */
import { useCallback, useEffect, useState } from 'react'
import { Confirm } from '../../../ui/overlays.tsx'
import { useLeaveGuard } from '../lib/leave-guard.ts'
import { words } from '../words/words.ts'

const { discard } = words.common

type Props = {
  isChanged: boolean
  /** Instead of the texts that say that the edits are lost. */
  text?: { title: string; text: string; action: string }
}

export function LeaveGuard({ isChanged, text }: Props) {
  const [leave, setLeave] = useState<() => void>()
  const [isLeaving, setLeaving] = useState(false)
  const ask = useCallback((next: () => void) => setLeave(() => next), [])
  useLeaveGuard(isChanged && !isLeaving ? ask : undefined)
  // When the guard is gone.
  useEffect(() => {
    if (isLeaving) leave?.()
  }, [isLeaving, leave])
  if (!leave || isLeaving) return null
  return (
    <Confirm
      title={text?.title ?? discard.title}
      action={text?.action ?? discard.discard}
      cancel={discard.keep}
      danger={!text}
      onConfirm={() => setLeaving(true)}
      onClose={() => setLeave(undefined)}
    >
      <p>{text?.text ?? discard.text}</p>
    </Confirm>
  )
}
