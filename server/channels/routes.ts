/**
 * The members' routes of channels: connect, check and disconnect a channel, dismiss its signals.
 * Every member may read, but only owners and admins see verify tokens; owners and admins may change.
 */

import { isManager, managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { type ChannelName, channels as channelNames } from '../contacts/resource.ts'
import type { Sealer } from '../lib/crypto.ts'
import { notFound } from '../lib/errors.ts'
import type { Db } from '../lib/postgres/db.ts'
import {
  DateTime,
  Deleted,
  IdParams,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import { dismissAccountSignal } from './account-signals.ts'
import { type Channel, type CheckStep, severities } from './channel.ts'
import { deleteConnection, listConnections, requireConnection, settleCheck } from './connections.ts'
import { configureConnection } from './settings.ts'

const states = ['unchecked', 'connected', 'failing'] as const

const SignalView = Type.Object(
  {
    key: Type.String(),
    severity: OneOf(severities, { description: '`restriction`: the provider blocks messages of the account.' }),
    text: Type.String(),
    at: DateTime,
    expires_at: NullableDateTime,
  },
  { title: 'Signal' },
)

const ConnectionView = Type.Object({
  id: Uuid,
  channel: OneOf(channelNames),
  callback_url: NullableText(),
  verify_token: NullableText(),
  callback_verified_at: NullableDateTime,
  callback_received_at: NullableDateTime,
  messages_per_second: Type.Integer(),
  state: OneOf(states),
  last_error: NullableText(),
  checked_at: NullableDateTime,
  account_id: Type.String(),
  phone_number_id: Type.String(),
  base_url: Type.String(),
  api_version: Type.String(),
  simulator: NullableText(),
  signals: Type.Array(SignalView, { description: 'The reports of the provider about the account, most severe first.' }),
})

const Settings = Type.Object({
  account_id: Type.Optional(Type.String({ maxLength: 100 })),
  phone_number_id: Type.Optional(Type.String({ maxLength: 100 })),
  access_token: Type.Optional(Type.String({ maxLength: 2_100 })),
  app_secret: Type.Optional(Type.String({ maxLength: 300 })),
  verify_token: Type.Optional(Type.String({ maxLength: 300 })),
  base_url: Type.Optional(Type.String({ maxLength: 500 })),
  api_version: Type.Optional(Type.String({ maxLength: 20 })),
  messages_per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
})

const CheckView = Type.Object({
  state: OneOf(states),
  steps: Type.Array(
    Type.Object({ step: Type.String(), ok: Type.Boolean(), field: NullableText(), message: Type.String() }),
  ),
})

type ChannelDashboardOptions = { db: Db; sealer: Sealer; channels: Record<ChannelName, Channel>; publicUrl: string }

export const channelTable = ({ db, sealer, channels, publicUrl }: ChannelDashboardOptions): readonly Row[] => [
  row({
    call: 'GET /channels',
    members: roles,
    data: Type.Array(ConnectionView),
    run: async ({ caller }) => {
      const connections = await listConnections(db, sealer, caller.workspaceId, publicUrl)
      const hidden = isManager(caller.member) ? {} : { verify_token: null }
      return connections.map((connection) => ({ ...connection, ...hidden }))
    },
  }),
  row({
    call: 'PUT /channels/:channel',
    members: managers,
    audit: { action: 'channel.connected', summary: ({ channel }: Static<typeof ConnectionView>) => channel },
    params: Type.Object({ channel: Type.String() }),
    body: Settings,
    data: ConnectionView,
    run: async ({ caller: { workspaceId }, params, body }) => {
      const channel = channelNames.find((name) => name === params.channel)
      if (!channel) throw notFound('channel')
      const { id } = await db.begin((sql) => configureConnection(sql, sealer, workspaceId, channel, body))
      const saved = (await listConnections(db, sealer, workspaceId, publicUrl)).find((listed) => listed.id === id)
      if (!saved) throw notFound('channel')
      return saved
    },
  }),
  row({
    call: 'POST /channels/:id/check',
    members: managers,
    audit: { action: 'channel.checked', summary: ({ state }: Static<typeof CheckView>) => state },
    params: IdParams,
    data: CheckView,
    run: async ({ caller: { workspaceId }, params: { id } }) => {
      const connection = await requireConnection(db, sealer, workspaceId, id)
      const steps = await channels[connection.channel].check(connection)
      const outcome = toOutcome(steps)
      await settleCheck(db, workspaceId, id, outcome)
      return { state: outcome.state, steps }
    },
  }),
  row({
    call: 'POST /channels/:id/signals/dismiss',
    members: managers,
    audit: { action: 'channel.signal_dismissed', summary: ({ key }: { key: string }) => key },
    params: IdParams,
    body: Type.Object({ key: Type.String({ maxLength: 600 }), at: DateTime }),
    data: Type.Object({ key: Type.String(), dismissed: Type.Literal(true) }),
    run: async ({ caller: { workspaceId }, params: { id }, body }) => {
      await dismissAccountSignal(db, workspaceId, id, body)
      return { key: body.key, dismissed: true as const }
    },
  }),
  row({
    call: 'DELETE /channels/:id',
    members: managers,
    audit: { action: 'channel.disconnected', summary: ({ channel }: { channel: ChannelName }) => channel },
    params: IdParams,
    data: Deleted,
    run: async ({ caller: { workspaceId }, params: { id } }) => {
      const data = { id, deleted: true, channel: await db.begin((sql) => deleteConnection(sql, workspaceId, id)) }
      return data
    },
  }),
]

function toOutcome(steps: readonly CheckStep[]): { state: 'connected' | 'failing'; last_error: string | null } {
  const failed = steps.find(({ ok }) => !ok)
  return failed ? { state: 'failing', last_error: failed.message } : { state: 'connected', last_error: null }
}
