/** Removes a member, which ends their sessions, or revokes an invitation. */
import { useSession } from '../lib/session.tsx'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'
import type { Member } from './member-role.tsx'

const { members } = words.settings

export function RemoveMember({ member: { id, name, email, state }, onClose }: { member: Member; onClose: () => void }) {
  const session = useSession()
  const displayName = name ?? email
  const isInvited = state === 'invited'
  const isMe = id === session.member.id
  return (
    <ConfirmCall
      title={isInvited ? members.revokeInvitationTitle(displayName) : members.removeTitle(displayName)}
      action={isInvited ? members.revokeInvitationAction : members.removeAction}
      danger
      call="DELETE /members/{id}"
      input={{ params: { id } }}
      stale={isMe ? ['GET /session'] : ['GET /members']}
      done={isInvited ? members.invitationRevoked(displayName) : members.removed(displayName)}
      onClose={onClose}
    >
      <p>{isInvited ? members.revokeInvitationText : isMe ? members.removeMeText : members.removeText}</p>
    </ConfirmCall>
  )
}
