/** Asks before the member leaves a page with unsaved edits. A page has one. */
import { useCallback, useEffect, useState } from 'react'
import { Confirm } from '../../../ui/overlays.tsx'
import { useLeaveGuard } from '../lib/leave-guard.ts'
import { words } from '../words/words.ts'

const text = words.common.discard

export function LeaveGuard({ isChanged }: { isChanged: boolean }) {
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
      title={text.title}
      action={text.discard}
      cancel={text.keep}
      danger
      onConfirm={() => setLeaving(true)}
      onClose={() => setLeave(undefined)}
    >
      <p>{text.text}</p>
    </Confirm>
  )
}
