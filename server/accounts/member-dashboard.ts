/** `/members`: lists, invites, changes and removes members. All members may list; owners and admins may change. */
import type { Db } from '../lib/db.ts'
import type { Mailer } from '../lib/mail.ts'
import { DataOf, DateTime, Deleted, IdParams, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { invitationMail } from './mails.ts'
import {
  changeRole,
  type DeleteReplies,
  inviteMember,
  type ListedMember,
  listMembers,
  managers,
  type RemovedMember,
  removeMember,
  roles,
  type UnassignMember,
} from './members.ts'
import { resetSecondFactor } from './second-factor.ts'
import type { Session } from './sessions.ts'
import { countInvitationMail } from './throttle.ts'

const MemberView = Type.Object({
  id: Uuid,
  email: Type.String(),
  name: NullableText(),
  role: OneOf(roles),
  state: OneOf(['active', 'invited']),
  has_second_factor: Type.Boolean(),
  created_at: DateTime,
})
const NewMember = Type.Object({ email: Type.String({ maxLength: 320 }), role: OneOf(roles) })
const InvitedMember = Type.Object({
  ...MemberView.properties,
  invitation_token: Type.String(),
  invitation_url: Type.String(),
  email_status: OneOf(['sent', 'failed', 'off']),
  email_error: NullableText(),
})
const RoleChange = Type.Object({ role: OneOf(roles) })

const withRole = ({ email, role }: Static<typeof MemberView>) => `${email}, ${role}`

type Dashboard = {
  db: Db
  publicUrl: string
  mailer: Mailer | undefined
  unassign: UnassignMember
  deleteReplies: DeleteReplies
}

export const memberDashboard =
  ({ db, publicUrl, mailer, unassign, deleteReplies }: Dashboard) =>
  async (app: App) => {
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
      return sent.ok
        ? { email_status: 'sent', email_error: null }
        : { email_status: 'failed', email_error: sent.reason }
    }
    app.get('/members', { schema: { response: { 200: DataOf(Type.Array(MemberView)) } } }, async ({ session }) => ({
      data: await listMembers(db, session.workspaceId),
    }))
    app.post(
      '/members',
      {
        // Only the hash of an invitation's token is stored.
        config: { members: managers, audit: { action: 'member.invited', summary: withRole }, storeAnswer: false },
        schema: { body: NewMember, response: { 201: DataOf(InvitedMember) } },
      },
      async ({ session, body }, reply) => {
        const linkOf = (token: string) => `${publicUrl}/invitations/${token}`
        const { invitation, mailToken } = await inviteMember(db, session.workspaceId, { ...body, by: session.member })
        const mail = await mailInvitation(session, invitation, linkOf(mailToken))
        reply.code(201)
        return { data: { ...invitation, invitation_url: linkOf(invitation.invitation_token), ...mail } }
      },
    )
    app.patch(
      '/members/:id',
      {
        config: { members: managers, audit: { action: 'member.role_changed', summary: withRole } },
        schema: { params: IdParams, body: RoleChange, response: { 200: DataOf(MemberView) } },
      },
      async ({ session, params, body }) => ({
        data: await changeRole(db, session.workspaceId, {
          id: params.id,
          role: body.role,
          by: session.member,
          unassign,
        }),
      }),
    )
    app.delete(
      '/members/:id/second-factor',
      {
        config: {
          members: ['owner'],
          audit: { action: 'member.second_factor_reset', summary: ({ email }: { email: string }) => email },
        },
        schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
      },
      async ({ session, params }) => {
        const email = await resetSecondFactor(db, session.workspaceId, params.id)
        return { data: { id: params.id, deleted: true as const, email } }
      },
    )
    app.delete(
      '/members/:id',
      {
        config: {
          members: managers,
          audit: {
            action: 'member.removed',
            summary: ({ email, state }: RemovedMember) => (state === 'invited' ? `${email}, who was invited` : email),
          },
        },
        schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
      },
      async ({ session, params }) => ({
        data: await removeMember(db, session.workspaceId, { id: params.id, by: session.member, deleteReplies }),
      }),
    )
  }
