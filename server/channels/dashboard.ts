/**
 * The members' routes of channels: connect, check and disconnect a channel, dismiss its signals, list and refresh templates.
 * Every member may read, but only owners and admins see verify tokens; owners and admins may change.
 */
import { isManager, managers } from '../accounts/members.ts'
import { type ChannelName, channels as channelNames } from '../contacts/contacts.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import {
  DataOf,
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
import type { App } from '../lib/server.ts'
import { type Channel, type CheckStep, severities } from './channel.ts'
import { deleteConnection, listConnections, requireConnection, requireMsgapp, settleCheck } from './connections.ts'
import { configureConnection } from './settings.ts'
import { dismissSignal } from './signals.ts'
import { listTemplates, refreshTemplates } from './templates.ts'

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

const TemplateView = Type.Object({
  name: Type.String(),
  language: Type.String(),
  status: Type.String(),
  category: Type.String(),
  parameter_format: Type.String(),
  components: Type.Unknown(),
  status_reason: NullableText({ description: "The provider's reason for the status." }),
  quality: NullableText({ description: "The provider's rating: GREEN, YELLOW or RED." }),
  previous_category: NullableText({ description: 'The category before the last change by the provider.' }),
  updated_at: DateTime,
})

type ChannelDashboardOptions = { db: Db; sealer: Sealer; channels: Record<ChannelName, Channel>; publicUrl: string }

export const channelDashboard =
  ({ db, sealer, channels, publicUrl }: ChannelDashboardOptions) =>
  async (app: App) => {
    app.get('/channels', { schema: { response: { 200: DataOf(Type.Array(ConnectionView)) } } }, async ({ session }) => {
      const connections = await listConnections(db, sealer, session.workspaceId, publicUrl)
      const hidden = isManager(session.member) ? {} : { verify_token: null }
      return { data: connections.map((connection) => ({ ...connection, ...hidden })) }
    })
    app.put(
      '/channels/:channel',
      {
        config: {
          members: managers,
          audit: { action: 'channel.connected', summary: ({ channel }: Static<typeof ConnectionView>) => channel },
        },
        schema: {
          params: Type.Object({ channel: Type.String() }),
          body: Settings,
          response: { 200: DataOf(ConnectionView) },
        },
      },
      async ({ session: { workspaceId }, params, body }) => {
        const channel = channelNames.find((name) => name === params.channel)
        if (!channel) throw notFound('channel')
        const { id } = await db.begin((sql) => configureConnection(sql, sealer, workspaceId, channel, body))
        const saved = (await listConnections(db, sealer, workspaceId, publicUrl)).find((listed) => listed.id === id)
        if (!saved) throw notFound('channel')
        return { data: saved }
      },
    )
    app.post(
      '/channels/:id/check',
      {
        config: {
          members: managers,
          audit: { action: 'channel.checked', summary: ({ state }: Static<typeof CheckView>) => state },
        },
        schema: { params: IdParams, response: { 200: DataOf(CheckView) } },
      },
      async ({ session: { workspaceId }, params: { id } }) => {
        const connection = await requireConnection(db, sealer, workspaceId, id)
        const steps = await channels[connection.channel].check(connection)
        const outcome = toOutcome(steps)
        await settleCheck(db, workspaceId, id, outcome)
        return { data: { state: outcome.state, steps } }
      },
    )
    app.post(
      '/channels/:id/signals/dismiss',
      {
        config: {
          members: managers,
          audit: { action: 'channel.signal_dismissed', summary: ({ key }: { key: string }) => key },
        },
        schema: {
          params: IdParams,
          body: Type.Object({ key: Type.String({ maxLength: 600 }), at: DateTime }),
          response: { 200: DataOf(Type.Object({ key: Type.String(), dismissed: Type.Literal(true) })) },
        },
      },
      async ({ session: { workspaceId }, params: { id }, body }) => {
        await dismissSignal(db, workspaceId, id, body)
        return { data: { key: body.key, dismissed: true as const } }
      },
    )
    app.delete(
      '/channels/:id',
      {
        config: {
          members: managers,
          audit: { action: 'channel.disconnected', summary: ({ channel }: { channel: ChannelName }) => channel },
        },
        schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
      },
      async ({ session: { workspaceId }, params: { id } }) => {
        const data = { id, deleted: true, channel: await db.begin((sql) => deleteConnection(sql, workspaceId, id)) }
        return { data }
      },
    )

    app.get('/templates', { schema: { response: { 200: DataOf(Type.Array(TemplateView)) } } }, async ({ session }) => ({
      data: await listTemplates(db, session.workspaceId),
    }))
    app.post(
      '/templates/refresh',
      {
        config: { members: managers, audit: 'template.refreshed' },
        schema: { response: { 200: DataOf(Type.Array(TemplateView)) } },
      },
      async ({ session: { workspaceId } }) => {
        const connection = await requireMsgapp(db, sealer, workspaceId)
        if (!(await refreshTemplates(db, channels.msgapp, connection))) {
          throw new ApiError('platform_error', 'the channel did not return its templates; check the connection')
        }
        return { data: await listTemplates(db, workspaceId) }
      },
    )
  }

function toOutcome(steps: readonly CheckStep[]): { state: 'connected' | 'failing'; last_error: string | null } {
  const failed = steps.find(({ ok }) => !ok)
  return failed ? { state: 'failing', last_error: failed.message } : { state: 'connected', last_error: null }
}
