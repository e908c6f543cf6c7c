/** Asks before the member leaves a page with unsaved edits. Each form of the page can have one. */
import { useCallback, useState } from 'react'
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
  const ask = useCallback((next: () => void) => setLeave(() => next), [])
  useLeaveGuard(isChanged ? ask : undefined)
  if (!leave) return null
  return (
    <Confirm
      title={text?.title ?? discard.title}
      action={text?.action ?? discard.discard}
      cancel={discard.keep}
      danger={!text}
      onConfirm={() => {
        setLeave(undefined)
        leave()
      }}
      onClose={() => setLeave(undefined)}
    >
      <p>{text?.text ?? discard.text}</p>
    </Confirm>
  )
}
