/** An owner resets the two-step sign-in of a member who lost the phone and the recovery codes. */
import { Confirm } from '../../../ui/dialog.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { words } from '../words/words.ts'
import type { Member } from './member-role.tsx'

const { members } = words.settings

export function ResetSecondFactor({ member: { id, name, email }, onClose }: { member: Member; onClose: () => void }) {
  const toast = useToast()
  const reset = useChange('DELETE /members/{id}/second-factor', {
    stale: ['GET /members', 'GET /profile/second-factor', 'GET /session'],
    onDone: () => {
      toast.success(members.secondFactorReset(name ?? email))
      onClose()
    },
  })
  return (
    <Confirm
      title={members.resetSecondFactorTitle(name ?? email)}
      action={members.resetSecondFactorAction}
      danger
      busy={reset.isPending}
      error={reset.error ? describeError(reset.error) : undefined}
      onConfirm={() => reset.mutate({ params: { id } })}
      onClose={onClose}
    >
      <p>{members.resetSecondFactorText}</p>
    </Confirm>
  )
}
