/** The end of a form of the settings: the button that saves it, and the question before its edits are lost. */
import { SubmitButton } from '../../../ui/controls.tsx'
import { LeaveGuard } from '../ui/leave-guard.tsx'
import { words } from '../words/words.ts'

type Props = {
  label?: string
  isBusy: boolean
  isChanged: boolean
  /** False: the form cannot be saved yet. */
  isReady?: boolean
}

export const SaveRow = ({ label = words.common.save, isBusy, isChanged, isReady = true }: Props) => (
  <div className="row">
    <SubmitButton label={label} busy={isBusy} disabled={!isChanged || !isReady} />
    <LeaveGuard isChanged={isChanged && !isBusy} />
  </div>
)

/** Whether a form would change what is stored. */
export const isDifferent = <Name extends string>(
  body: Readonly<Record<Name, unknown>>,
  stored: Readonly<Record<NoInfer<Name>, unknown>>,
): boolean => (Object.keys(body) as Name[]).some((name) => JSON.stringify(body[name]) !== JSON.stringify(stored[name]))
