/** `/workspace`, `/keys`, `/audit`. All members may read the workspace and its keys; the rest is for owners and admins. */
import type { Db } from '../lib/db.ts'
import { badRequest, forbidden } from '../lib/errors.ts'
import { readPosition } from '../lib/page.ts'
import {
  DataOf,
  DateTime,
  IdParams,
  ListOf,
  ListQuery,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { describeFields, listEntries } from './audit.ts'
import { createKey, listKeys, revokeKey } from './keys.ts'
import { managers } from './members.ts'
import { hasSecondFactor } from './second-factor.ts'
import type { Session } from './sessions.ts'
import { requireWorkspace, updateWorkspace } from './workspaces.ts'

const NullableCount = Type.Unsafe<number | null>({ type: ['integer', 'null'] })

const WorkspaceView = Type.Object({
  id: Uuid,
  name: Type.String(),
  default_country: Type.String(),
  opt_out_words: Type.Array(Type.String()),
  requires_second_factor: Type.Boolean(),
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
  default_country: Type.Optional(Type.String({ maxLength: 20 })),
  opt_out_words: Type.Optional(Type.Array(Type.String(), { maxItems: 1_000 })),
  requires_second_factor: Type.Optional(Type.Boolean()),
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

const EntryView = Type.Object({
  id: Uuid,
  at: DateTime,
  action: Type.String(),
  member: Type.Object({ id: Uuid, email: Type.String(), name: NullableText() }),
  subject_id: NullableText({ format: 'uuid' }),
  summary: NullableText(),
})

export const accountDashboard = (db: Db) => async (app: App) => {
  app.get('/workspace', { schema: { response: { 200: DataOf(WorkspaceView) } } }, async ({ session }) => ({
    data: await requireWorkspace(db, session.workspaceId),
  }))
  app.patch(
    '/workspace',
    {
      config: {
        members: managers,
        audit: {
          action: 'workspace.changed',
          summary: (_: unknown, body: Static<typeof WorkspaceChanges>) =>
            describeFields(body, 'name', 'default_country', 'opt_out_words', 'requires_second_factor'),
        },
      },
      schema: { body: WorkspaceChanges, response: { 200: DataOf(WorkspaceView) } },
    },
    async ({ session, body }) => {
      if (body.requires_second_factor !== undefined) await requireMayRequire(db, session, body.requires_second_factor)
      return { data: await updateWorkspace(db, session.workspaceId, body) }
    },
  )

  app.get('/keys', { schema: { response: { 200: DataOf(Type.Array(KeyView)) } } }, async ({ session }) => ({
    data: await listKeys(db, session.workspaceId),
  }))
  app.post(
    '/keys',
    {
      config: {
        members: managers,
        audit: {
          action: 'key.created',
          summary: (key: Static<typeof KeyView>) => [key.name, ...key.scopes].join(', '),
        },
        // The full key is shown once, and only its hash is stored.
        storeAnswer: false,
      },
      schema: { body: NewKey, response: { 201: DataOf(CreatedKey) } },
    },
    async ({ session, body }, reply) => {
      reply.code(201)
      return { data: await createKey(db, session.workspaceId, { ...body, created_by: session.member.id }) }
    },
  )
  app.post(
    '/keys/:id/revoke',
    {
      config: {
        members: managers,
        audit: { action: 'key.revoked', summary: (key: Static<typeof KeyView>) => key.name },
      },
      schema: { params: IdParams, response: { 200: DataOf(KeyView) } },
    },
    async ({ session, params }) => ({ data: await revokeKey(db, session.workspaceId, params.id) }),
  )

  app.get(
    '/audit',
    { config: { members: managers }, schema: { querystring: ListQuery({}), response: { 200: ListOf(EntryView) } } },
    async ({ session, query }) => listEntries(db, session.workspaceId, readPosition(query)),
  )
}

/** Only an owner changes the requirement, and with a second factor of their own: this proves that it works. */
async function requireMayRequire(db: Db, { workspaceId, member }: Session, isRequired: boolean): Promise<void> {
  if (member.role !== 'owner') throw forbidden('requires_second_factor: only an owner may change it')
  if (isRequired && !(await hasSecondFactor(db, { workspaceId, memberId: member.id }))) {
    throw badRequest('requires_second_factor: set up two-step sign-in for yourself first')
  }
}
