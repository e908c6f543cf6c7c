/** Remove a member, who is out on their next click, or take an invitation back, whose link stops working. */

import { Confirm } from '../../../ui/dialog.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { messageOf, useChange } from '../lib/api.ts'
import { useSession } from '../lib/session.tsx'
import { words } from '../words/words.ts'
import type { Member } from './members.tsx'

const { members } = words.settings

export function RemoveMember({ of: { id, name, email, state }, onClose }: { of: Member; onClose: () => void }) {
  const session = useSession()
  const toast = useToast()
  const who = name ?? email
  const isInvited = state === 'invited'
  const isMe = id === session.member.id
  const remove = useChange('DELETE /members/{id}', {
    stale: isMe ? ['GET /session'] : ['GET /members'],
    onDone: () => {
      toast.done(isInvited ? members.invitationRevoked(who) : members.removed(who))
      onClose()
    },
  })
  return (
    <Confirm
      title={isInvited ? members.revokeInvitationTitle(who) : members.removeTitle(who)}
      action={isInvited ? members.revokeInvitationAction : members.removeAction}
      danger
      busy={remove.isPending}
      fault={remove.error ? messageOf(remove.error) : undefined}
      onConfirm={() => remove.mutate({ params: { id } })}
      onClose={onClose}
    >
      <p>{isInvited ? members.revokeInvitationText : isMe ? members.removeMeText : members.removeText}</p>
    </Confirm>
  )
}
