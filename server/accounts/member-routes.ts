/** `/members`: lists, invites, changes and removes members. All members may list; owners and admins may change. */

import type { Mailer } from '../lib/mail.ts'
import type { Db } from '../lib/postgres/db.ts'
import { Deleted, IdParams, NullableText, OneOf, type Static, Type } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import type { Session } from './callers.ts'
import { invitationMail } from './mails.ts'
import {
  changeRole,
  type DeleteReplies,
  inviteMember,
  type ListedMember,
  listMembers,
  MemberSchema,
  managers,
  type RemovedMember,
  removeMember,
  roles,
  type UnassignMember,
} from './members.ts'
import { resetSecondFactor } from './sign-in/second-factor.ts'
import { countInvitationMail } from './sign-in/throttle.ts'
import { type Row, row } from './table.ts'

const NewMember = Type.Object({ email: Type.String({ maxLength: 320 }), role: OneOf(roles) })
const InvitedMember = Type.Object({
  ...MemberSchema.properties,
  invitation_token: Type.String(),
  invitation_url: Type.String(),
  email_status: OneOf(['sent', 'failed', 'off']),
  email_error: NullableText(),
})
const RoleChange = Type.Object({ role: OneOf(roles) })

const withRole = ({ email, role }: ListedMember) => `${email}, ${role}`

type Dashboard = {
  db: Db
  publicUrl: string
  mailer: Mailer | undefined
  unassign: UnassignMember
  deleteReplies: DeleteReplies
  signals: Pick<Signals, 'accessChanged'>
}

export function memberTable({ db, publicUrl, mailer, unassign, deleteReplies, signals }: Dashboard): readonly Row[] {
  /** Sends `link` if the service sends e-mail. The inviter gets another link in any case. */
  const mailInvitation = async (
    { workspaceId, workspaceName, member }: Session,
    { email: to, role }: ListedMember,
    link: string,
  ): Promise<Pick<Static<typeof InvitedMember>, 'email_status' | 'email_error'>> => {
    if (!mailer) return { email_status: 'off', email_error: null }
    if (!(await countInvitationMail(db, workspaceId))) {
      return { email_status: 'failed', email_error: 'too many e-mails in the last 15 minutes' }
    }
    const sent = await mailer.send(
      invitationMail({ to, workspaceName, inviter: member.name ?? member.email, role, link }),
    )
    return sent.ok ? { email_status: 'sent', email_error: null } : { email_status: 'failed', email_error: sent.reason }
  }
  return [
    row({
      call: 'GET /members',
      members: roles,
      data: Type.Array(MemberSchema),
      run: ({ caller }) => listMembers(db, caller.workspaceId),
    }),
    row({
      call: 'POST /members',
      members: managers,
      audit: { action: 'member.invited', summary: withRole },
      storeAnswer: false,
      body: NewMember,
      data: InvitedMember,
      status: 201,
      run: async ({ caller, body }) => {
        const linkOf = (token: string) => `${publicUrl}/invitations/${token}`
        const { invitation, mailToken } = await inviteMember(db, caller.workspaceId, { ...body, by: caller.member })
        const mail = await mailInvitation(caller, invitation, linkOf(mailToken))
        return { ...invitation, invitation_url: linkOf(invitation.invitation_token), ...mail }
      },
    }),
    row({
      call: 'PATCH /members/:id',
      members: managers,
      audit: { action: 'member.role_changed', summary: withRole },
      params: IdParams,
      body: RoleChange,
      data: MemberSchema,
      run: async ({ caller, params, body }) => {
        const { id, role } = { ...params, ...body }
        const changed = await changeRole(db, caller.workspaceId, { id, role, by: caller.member, unassign })
        signals.accessChanged(caller.workspaceId)
        return changed
      },
    }),
    row({
      call: 'DELETE /members/:id/second-factor',
      members: ['owner'],
      audit: { action: 'member.second_factor_reset', summary: ({ email }: { email: string }) => email },
      params: IdParams,
      data: Deleted,
      run: async ({ caller, params }) => {
        const email = await resetSecondFactor(db, caller.workspaceId, params.id)
        return { id: params.id, deleted: true as const, email }
      },
    }),
    row({
      call: 'DELETE /members/:id',
      members: managers,
      audit: {
        action: 'member.removed',
        summary: ({ email, state }: RemovedMember) => (state === 'invited' ? `${email}, who was invited` : email),
      },
      params: IdParams,
      data: Deleted,
      run: ({ caller, params }) =>
        removeMember(db, caller.workspaceId, { id: params.id, by: caller.member, deleteReplies }),
    }),
  ]
}
