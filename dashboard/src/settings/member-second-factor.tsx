/** An owner resets the two-step sign-in of a member who lost the phone and the recovery codes. */
import { ConfirmCall } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'
import type { Member } from './member-role.tsx'

const { members } = words.settings

export const ResetSecondFactor = ({ member, onClose }: { member: Member; onClose: () => void }) => (
  <ConfirmCall
    title={members.resetSecondFactorTitle(member.name ?? member.email)}
    action={members.resetSecondFactorAction}
    danger
    call="DELETE /members/{id}/second-factor"
    input={{ params: { id: member.id } }}
    stale={['GET /members', 'GET /profile/second-factor', 'GET /session']}
    done={members.secondFactorReset(member.name ?? member.email)}
    onClose={onClose}
  >
    <p>{members.resetSecondFactorText}</p>
  </ConfirmCall>
)
