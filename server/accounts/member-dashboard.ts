/** `/members`: lists, invites, changes and removes members. All members may list; owners and admins may change. */
import type { Db } from '../lib/db.ts'
import { DataOf, DateTime, Deleted, IdParams, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import {
  changeRole,
  type DeleteReplies,
  inviteMember,
  listMembers,
  managers,
  type RemovedMember,
  removeMember,
  roles,
  type UnassignMember,
} from './members.ts'
import { resetSecondFactor } from './second-factor.ts'

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
})
const RoleChange = Type.Object({ role: OneOf(roles) })

const withRole = ({ email, role }: Static<typeof MemberView>) => `${email}, ${role}`

type Dashboard = { db: Db; publicUrl: string; unassign: UnassignMember; deleteReplies: DeleteReplies }

export const memberDashboard =
  ({ db, publicUrl, unassign, deleteReplies }: Dashboard) =>
  async (app: App) => {
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
        const invited = await inviteMember(db, session.workspaceId, { ...body, by: session.member })
        reply.code(201)
        return { data: { ...invited, invitation_url: `${publicUrl}/invitations/${invited.invitation_token}` } }
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
