/** Removes a member, which ends their sessions, or revokes an invitation. */
import { Confirm } from '../../../ui/dialog.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { useSession } from '../lib/session.tsx'
import { words } from '../words/words.ts'
import type { Member } from './member-role.tsx'

const { members } = words.settings

export function RemoveMember({ member: { id, name, email, state }, onClose }: { member: Member; onClose: () => void }) {
  const session = useSession()
  const toast = useToast()
  const displayName = name ?? email
  const isInvited = state === 'invited'
  const isMe = id === session.member.id
  const remove = useChange('DELETE /members/{id}', {
    stale: isMe ? ['GET /session'] : ['GET /members'],
    onDone: () => {
      toast.success(isInvited ? members.invitationRevoked(displayName) : members.removed(displayName))
      onClose()
    },
  })
  return (
    <Confirm
      title={isInvited ? members.revokeInvitationTitle(displayName) : members.removeTitle(displayName)}
      action={isInvited ? members.revokeInvitationAction : members.removeAction}
      danger
      busy={remove.isPending}
      error={remove.error ? describeError(remove.error) : undefined}
      onConfirm={() => remove.mutate({ params: { id } })}
      onClose={onClose}
    >
      <p>{isInvited ? members.revokeInvitationText : isMe ? members.removeMeText : members.removeText}</p>
    </Confirm>
  )
}
