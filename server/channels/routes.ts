/**
 * `/connections` of the API, and the members' routes of channels: connect, check and disconnect a number, an account or a site, choose
 * the default of a channel, dismiss signals. Every member may read, but only owners and admins see verify tokens; owners and
 * admins may change.
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
import { settleCheck } from './connection-outcomes.ts'
import { listConnections, listPublicConnections, requireConnection, requirePublicConnection } from './connections.ts'
import { PublicConnectionSchema } from './resource.ts'
import { type ConnectionChoice, type ConnectionSettings, configureConnection } from './settings.ts'
import { deleteConnection, lockConnections, makeDefault, requireConnected } from './store-connection.ts'

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
  name: Type.String(),
  address: NullableText({ description: 'The phone number, user name or host; null until it is known.' }),
  is_default: Type.Boolean({ description: 'Used when nothing else decides.' }),
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

const settings = {
  name: Type.Optional(Type.String({ maxLength: 200 })),
  address: Type.Optional(Type.String({ maxLength: 300, description: 'The host of a site. Only for the web channel.' })),
  account_id: Type.Optional(Type.String({ maxLength: 100 })),
  phone_number_id: Type.Optional(Type.String({ maxLength: 100 })),
  access_token: Type.Optional(Type.String({ maxLength: 2_100 })),
  app_secret: Type.Optional(Type.String({ maxLength: 300 })),
  verify_token: Type.Optional(Type.String({ maxLength: 300 })),
  base_url: Type.Optional(Type.String({ maxLength: 500 })),
  api_version: Type.Optional(Type.String({ maxLength: 20 })),
  messages_per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
}

/** For the audit log. */
const describe = ({ channel, name }: { channel: ChannelName; name: string }): string => `${channel}: ${name}`

const CheckView = Type.Object({
  state: OneOf(states),
  steps: Type.Array(
    Type.Object({ step: Type.String(), ok: Type.Boolean(), field: NullableText(), message: Type.String() }),
  ),
})

type ChannelDashboardOptions = { db: Db; sealer: Sealer; channels: Record<ChannelName, Channel>; publicUrl: string }

export const channelTable = ({ db, sealer, channels, publicUrl }: ChannelDashboardOptions): readonly Row[] => {
  const configure = async (workspaceId: string, choice: ConnectionChoice, input: ConnectionSettings) => {
    const { id } = await db.begin((sql) => configureConnection(sql, sealer, workspaceId, choice, input))
    return requireListed(workspaceId, id)
  }
  const requireListed = async (workspaceId: string, id: string) => {
    const saved = (await listConnections(db, sealer, workspaceId, publicUrl)).find((listed) => listed.id === id)
    if (!saved) throw notFound('channel')
    return saved
  }
  return [
    row({
      call: 'GET /connections',
      operation: 'listConnections',
      summary: 'List connections',
      description:
        'All numbers, social accounts and sites of the workspace, oldest first. A disconnected one is listed while it has conversations or an unfinished broadcast.',
      scope: 'conversations:read',
      list: PublicConnectionSchema,
      run: async ({ caller }) => ({
        data: await listPublicConnections(db, caller.workspaceId),
        meta: { next_cursor: null },
      }),
    }),
    row({
      call: 'GET /connections/:id',
      operation: 'getConnection',
      summary: 'Read a connection',
      description: 'One number, social account or site of the workspace.',
      scope: 'conversations:read',
      failures: [404],
      params: IdParams,
      data: PublicConnectionSchema,
      run: ({ caller, params }) => requirePublicConnection(db, caller.workspaceId, params.id),
    }),
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
      audit: { action: 'channel.connected', summary: describe },
      params: Type.Object({ channel: Type.String() }),
      body: Type.Object(settings),
      data: ConnectionView,
      run: ({ caller: { workspaceId }, params, body }) => {
        const channel = channelNames.find((name) => name === params.channel)
        if (!channel) throw notFound('channel')
        return configure(workspaceId, { channel }, body)
      },
    }),
    row({
      call: 'POST /channels',
      members: managers,
      audit: { action: 'channel.connected', summary: describe },
      body: Type.Object({ channel: OneOf(channelNames), ...settings }),
      status: 201,
      data: ConnectionView,
      run: ({ caller: { workspaceId }, body: { channel, ...input } }) =>
        configure(workspaceId, { channel, isAnother: true }, input),
    }),
    row({
      call: 'PATCH /channels/:id',
      members: managers,
      audit: { action: 'channel.changed', summary: describe },
      params: IdParams,
      body: Type.Object({
        is_default: Type.Optional(Type.Literal(true, { description: 'Makes it the default of its channel.' })),
        ...settings,
      }),
      data: ConnectionView,
      run: async ({ caller: { workspaceId }, params: { id }, body: { is_default, ...input } }) => {
        if (Object.keys(input).length > 0) await configure(workspaceId, { id }, input)
        if (is_default) {
          await db.begin(async (sql) => {
            const rows = await lockConnections(sql, sealer, workspaceId)
            await makeDefault(sql, workspaceId, requireConnected(rows, id))
          })
        }
        return requireListed(workspaceId, id)
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
        const adapter = channels[connection.channel]
        const [steps, address] = await Promise.all([adapter.check(connection), adapter.fetchAddress?.(connection)])
        const outcome = toOutcome(steps)
        await settleCheck(db, workspaceId, id, { ...outcome, address })
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
      audit: { action: 'channel.disconnected', summary: describe },
      params: IdParams,
      data: Deleted,
      run: async ({ caller: { workspaceId }, params: { id } }) => {
        const { channel, name } = await db.begin((sql) => deleteConnection(sql, sealer, workspaceId, id))
        return { id, deleted: true, channel, name }
      },
    }),
  ]
}

function toOutcome(steps: readonly CheckStep[]): { state: 'connected' | 'failing'; last_error: string | null } {
  const failed = steps.find(({ ok }) => !ok)
  return failed ? { state: 'failing', last_error: failed.message } : { state: 'connected', last_error: null }
}
