/** `GET /me` and `GET /usage`. For members: `/workspace` and `/keys`. */

import { version } from '../../common/version.ts'
import { badRequest, forbidden } from '../lib/errors.ts'
import type { Db } from '../lib/postgres/db.ts'
import {
  DateTime,
  IdParams,
  inDocument,
  NullableDateTime,
  NullableInteger,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { describeFields } from './audit.ts'
import type { Session } from './callers.ts'
import {
  type ApiKey,
  createKey,
  createTemporaryKey,
  KeySchema,
  listKeys,
  revokeKey,
  scopes,
  updateKey,
} from './keys.ts'
import { managers, roles, visibilities } from './members.ts'
import { requireUsage } from './quota.ts'
import { hasSecondFactor } from './sign-in/second-factor.ts'
import { type Row, row } from './table.ts'
import { requireWorkspace, updateWorkspace } from './workspaces.ts'

const Me = Type.Object(
  {
    account: Type.Object({ id: Uuid, name: Type.String() }),
    key: Type.Object({ id: Uuid, scopes: Type.Array(Type.String(inDocument({ enum: scopes }))) }),
    version: Type.String({ description: 'The version of the service, such as 1.4.2.' }),
  },
  {
    title: 'Me',
    examples: [
      {
        account: { id: '0199c1d2-5a00-7e10-8b6f-2d4c6e8fa001', name: 'Acme Support' },
        key: { id: '0199c1d2-5a00-7e10-8b6f-2d4c6e8fa002', scopes: ['contacts:read', 'messages:send'] },
        version: '1.4.2',
      },
    ],
  },
)

const Usage = Type.Object(
  {
    month: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}$', description: 'The calendar month, in UTC.' }),
    messages_sent: Type.Integer({
      description: 'The messages that count against the plan, including those that running broadcasts have reserved.',
    }),
    messages_limit: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'The messages that the plan allows per month; null without a limit.',
    }),
    resets_at: DateTime,
  },
  {
    title: 'Usage',
    examples: [
      { month: '2026-01', messages_sent: 1_204, messages_limit: 10_000, resets_at: '2026-02-01T00:00:00.000Z' },
    ],
  },
)

const seesText =
  '`all` conversations; those of their `teams` and their own; or only their `own` and unassigned ones of their teams.'
const WorkspaceView = Type.Object({
  id: Uuid,
  name: Type.String(),
  default_country: Type.String(),
  time_zone: Type.String({ description: 'IANA name, such as `Europe/Berlin`.' }),
  opt_out_words: Type.Array(Type.String()),
  requires_second_factor: Type.Boolean(),
  assign_on_reply: Type.Boolean({
    description: 'A member who replies in an unassigned conversation is assigned to it.',
  }),
  agents_see: OneOf(visibilities, { description: seesText }),
  viewers_see: OneOf(visibilities, { description: seesText }),
  plan: Type.Object({
    state: OneOf(['active', 'lapsed']),
    messages_per_month: NullableInteger,
    used: Type.Integer(),
    left: NullableInteger,
    resets_at: DateTime,
  }),
})
const WorkspaceChanges = Type.Object({
  name: Type.Optional(Type.String()),
  default_country: Type.Optional(Type.String({ maxLength: 20 })),
  time_zone: Type.Optional(Type.String({ maxLength: 80 })),
  opt_out_words: Type.Optional(Type.Array(Type.String(), { maxItems: 1_000 })),
  requires_second_factor: Type.Optional(Type.Boolean()),
  assign_on_reply: Type.Optional(Type.Boolean()),
  agents_see: Type.Optional(OneOf(visibilities)),
  viewers_see: Type.Optional(OneOf(visibilities)),
})

const KeyName = Type.String({ minLength: 1, maxLength: 80 })
const KeyScopes = Type.Array(Type.String({ maxLength: 80 }), { maxItems: 50 })
const NewKey = Type.Object({ name: KeyName, scopes: KeyScopes, expires_at: Type.Optional(NullableDateTime) })
const KeyChanges = Type.Object({
  name: Type.Optional(KeyName),
  scopes: Type.Optional(KeyScopes),
  expires_at: Type.Optional(NullableDateTime),
})
const CreatedKey = Type.Object({ ...KeySchema.properties, key: Type.String() })

const describeKey = ({ name, scopes, expires_at }: ApiKey) =>
  [name, ...scopes, ...(expires_at ? [`expires ${expires_at}`] : [])].join(', ')

export const accountTable = (db: Db, signals: Pick<Signals, 'accessChanged'>): readonly Row[] => [
  row({
    call: 'GET /me',
    operation: 'getMe',
    summary: 'Who am I?',
    description: 'The workspace a key acts on and the scopes it has. Every valid key may call it.',
    scope: null,
    data: Me,
    run: async ({ caller }) => ({
      account: { id: caller.workspaceId, name: caller.workspaceName },
      key: { id: caller.keyId, scopes: caller.scopes },
      version,
    }),
  }),
  row({
    call: 'GET /usage',
    operation: 'getUsage',
    summary: 'Usage of this month',
    description:
      'How many messages the workspace has sent this month and how many its plan allows. Any valid key may call it.',
    scope: null,
    data: Usage,
    run: ({ caller }) => requireUsage(db, caller.workspaceId),
  }),
  row({
    call: 'GET /workspace',
    members: roles,
    data: WorkspaceView,
    run: ({ caller }) => requireWorkspace(db, caller.workspaceId),
  }),
  row({
    call: 'PATCH /workspace',
    members: managers,
    audit: {
      action: 'workspace.changed',
      summary: (_: unknown, body: Static<typeof WorkspaceChanges>) =>
        describeFields(
          body,
          ...(['name', 'default_country', 'time_zone'] as const),
          ...(['opt_out_words', 'requires_second_factor', 'assign_on_reply', 'agents_see', 'viewers_see'] as const),
        ),
    },
    body: WorkspaceChanges,
    data: WorkspaceView,
    run: async ({ caller, body }) => {
      if (body.requires_second_factor !== undefined) await requireMayRequire(db, caller, body.requires_second_factor)
      const workspace = await updateWorkspace(db, caller.workspaceId, body)
      if (body.agents_see || body.viewers_see) signals.accessChanged(caller.workspaceId)
      return workspace
    },
  }),

  row({
    call: 'GET /keys',
    members: roles,
    data: Type.Array(KeySchema),
    run: ({ caller }) => listKeys(db, caller.workspaceId),
  }),
  row({
    call: 'POST /keys',
    members: managers,
    audit: { action: 'key.created', summary: describeKey },
    // The full key is shown once, and only its hash is stored.
    storeAnswer: false,
    body: NewKey,
    data: CreatedKey,
    status: 201,
    run: ({ caller, body }) => createKey(db, caller.workspaceId, { ...body, created_by: caller.member.id }),
  }),
  row({
    call: 'POST /keys/temporary',
    members: managers,
    audit: { action: 'key.created', summary: describeKey },
    storeAnswer: false,
    body: Type.Object({ scopes: KeyScopes }),
    data: CreatedKey,
    status: 201,
    run: ({ caller, body }) =>
      createTemporaryKey(db, caller.workspaceId, { scopes: body.scopes, created_by: caller.member.id }),
  }),
  row({
    call: 'PATCH /keys/:id',
    members: managers,
    audit: { action: 'key.changed', summary: describeKey },
    params: IdParams,
    body: KeyChanges,
    data: KeySchema,
    run: ({ caller, params, body }) => updateKey(db, caller.workspaceId, params.id, body),
  }),
  row({
    call: 'POST /keys/:id/revoke',
    members: managers,
    audit: { action: 'key.revoked', summary: (key: ApiKey) => key.name },
    params: IdParams,
    data: KeySchema,
    run: ({ caller, params }) => revokeKey(db, caller.workspaceId, params.id),
  }),
]

/** Only an owner changes the requirement, and with a second factor of their own: this proves that it works. */
async function requireMayRequire(db: Db, { workspaceId, member }: Session, isRequired: boolean): Promise<void> {
  if (member.role !== 'owner') throw forbidden('requires_second_factor: only an owner may change it')
  if (isRequired && !(await hasSecondFactor(db, { workspaceId, memberId: member.id }))) {
    throw badRequest('requires_second_factor: set up two-step sign-in for yourself first')
  }
}
