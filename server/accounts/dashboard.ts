/**
 * What signed-in members do with their own account: session, workspace, keys,
 * members, invitations. Owners and admins change, everybody sees.
 */
import type { Db } from '../lib/db.ts'
import {
  DataOf,
  DateTime,
  IdParams,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { createKey, listKeys, revokeKey } from './keys.ts'
import { acceptInvitation, inviteMember, listMembers, roles } from './members.ts'
import { createSession, endSession, getSession, type Session, setSessionCookie, signIn } from './sessions.ts'
import { requireWorkspace, updateWorkspace } from './workspaces.ts'

const managers = ['owner', 'admin'] as const

const NullableCount = Type.Unsafe<number | null>({ type: ['integer', 'null'] })

const SignIn = Type.Object({
  email: Type.String({ maxLength: 320 }),
  password: Type.String({ maxLength: 1_000 }),
  workspace_id: Type.Optional(Uuid),
})

const SessionView = Type.Object({
  member: Type.Object({ id: Uuid, email: Type.String(), name: NullableText(), role: OneOf(roles) }),
  role: OneOf(roles),
  workspace: Type.Object({ id: Uuid, name: Type.String(), default_country: Type.String() }),
})

const WorkspaceView = Type.Object({
  id: Uuid,
  name: Type.String(),
  default_country: Type.String(),
  opt_out_words: Type.Array(Type.String()),
  plan: Type.Object({
    state: OneOf(['active', 'lapsed']),
    messages_per_month: NullableCount,
    used: Type.Integer(),
    left: NullableCount,
    resets_at: DateTime,
  }),
})
const WorkspaceChanges = Type.Object({
  name: Type.Optional(Type.String()),
  opt_out_words: Type.Optional(Type.Array(Type.String(), { maxItems: 1_000 })),
})

const KeyView = Type.Object({
  id: Uuid,
  name: Type.String(),
  prefix: Type.String(),
  scopes: Type.Array(Type.String()),
  created_at: DateTime,
  last_used_at: NullableDateTime,
  expires_at: NullableDateTime,
  state: OneOf(['active', 'revoked', 'expired']),
})
const NewKey = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 80 }),
  scopes: Type.Array(Type.String({ maxLength: 80 }), { maxItems: 50 }),
})
const CreatedKey = Type.Object({ ...KeyView.properties, key: Type.String() })

const MemberView = Type.Object({
  id: Uuid,
  email: Type.String(),
  name: NullableText(),
  role: OneOf(roles),
  state: OneOf(['active', 'invited']),
  created_at: DateTime,
})
const NewMember = Type.Object({ email: Type.String({ maxLength: 320 }), role: OneOf(roles) })
const InvitedMember = Type.Object({
  ...MemberView.properties,
  invitation_token: Type.String(),
  invitation_url: Type.String(),
})
const Acceptance = Type.Object({ name: Type.String({ maxLength: 200 }), password: Type.String({ maxLength: 1_000 }) })

export const accountDashboard = (db: Db, publicUrl: string) => async (app: App) => {
  app.post(
    '/session',
    { config: { members: 'public' }, schema: { body: SignIn, response: { 200: DataOf(SessionView) } } },
    async (request, reply) => {
      const { email, password, workspace_id: workspaceId } = request.body
      const token = await signIn(db, { email, password, workspaceId, address: request.ip })
      setSessionCookie(reply, token, publicUrl)
      return { data: await viewOf(db, token) }
    },
  )
  app.get('/session', { schema: { response: { 200: DataOf(SessionView) } } }, async ({ session }) => ({
    data: toView(session),
  }))
  app.delete(
    '/session',
    { schema: { response: { 200: DataOf(Type.Object({ signed_out: Type.Boolean() })) } } },
    async ({ session }, reply) => {
      await endSession(db, session)
      setSessionCookie(reply, '', publicUrl)
      return { data: { signed_out: true } }
    },
  )

  app.get('/workspace', { schema: { response: { 200: DataOf(WorkspaceView) } } }, async ({ session }) => ({
    data: await requireWorkspace(db, session.workspaceId),
  }))
  app.patch(
    '/workspace',
    { config: { members: managers }, schema: { body: WorkspaceChanges, response: { 200: DataOf(WorkspaceView) } } },
    async ({ session, body }) => ({ data: await updateWorkspace(db, session.workspaceId, body) }),
  )

  app.get('/keys', { schema: { response: { 200: DataOf(Type.Array(KeyView)) } } }, async ({ session }) => ({
    data: await listKeys(db, session.workspaceId),
  }))
  app.post(
    '/keys',
    { config: { members: managers }, schema: { body: NewKey, response: { 201: DataOf(CreatedKey) } } },
    async ({ session, body }, reply) => {
      reply.code(201)
      return { data: await createKey(db, session.workspaceId, { ...body, created_by: session.member.id }) }
    },
  )
  app.post(
    '/keys/:id/revoke',
    { config: { members: managers }, schema: { params: IdParams, response: { 200: DataOf(KeyView) } } },
    async ({ session, params }) => ({ data: await revokeKey(db, session.workspaceId, params.id) }),
  )

  app.get('/members', { schema: { response: { 200: DataOf(Type.Array(MemberView)) } } }, async ({ session }) => ({
    data: await listMembers(db, session.workspaceId),
  }))
  app.post(
    '/members',
    { config: { members: managers }, schema: { body: NewMember, response: { 201: DataOf(InvitedMember) } } },
    async ({ session, body }, reply) => {
      const invited = await inviteMember(db, session.workspaceId, { ...body, by: session.member })
      reply.code(201)
      return { data: { ...invited, invitation_url: `${publicUrl}/invitations/${invited.invitation_token}` } }
    },
  )
  app.post(
    '/invitations/:token',
    {
      config: { members: 'public' },
      schema: {
        params: Type.Object({ token: Type.String() }),
        body: Acceptance,
        response: { 201: DataOf(SessionView) },
      },
    },
    async ({ params, body }, reply) => {
      const { workspaceId, member } = await acceptInvitation(db, params.token, body)
      const token = await createSession(db, workspaceId, member.id)
      setSessionCookie(reply, token, publicUrl)
      reply.code(201)
      return { data: await viewOf(db, token) }
    },
  )
}

function toView({ member, workspaceId, workspaceName, defaultCountry }: Session): Static<typeof SessionView> {
  const { id, email, name, role } = member
  return {
    member: { id, email, name, role },
    role,
    workspace: { id: workspaceId, name: workspaceName, default_country: defaultCountry },
  }
}

async function viewOf(db: Db, token: string): Promise<Static<typeof SessionView>> {
  const session = await getSession(db, token)
  if (!session) throw new Error('a session just made is not there')
  return toView(session)
}
