/**
 * `/webhooks`, `/integrations`, `/deliveries`: manages endpoints and automation tools, shows the delivery log, resends. All
 * members may read, but only owners and admins see whole URLs; owners and admins may change.
 */
import { describeFields } from '../accounts/audit.ts'
import { managers } from '../accounts/members.ts'
import type { FairQueue } from '../lib/fair-queue.ts'
import { readPosition } from '../lib/page.ts'
import {
  DataOf,
  DateTime,
  Deleted,
  IdParams,
  ListOf,
  ListQuery,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  Type,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import {
  createEndpoint,
  type DeletedEndpoint,
  deleteEndpoint,
  type Endpoint,
  hostOf,
  listEndpoints,
  rotateSecret,
  shownTo,
  tools,
  updateEndpoint,
} from './endpoints.ts'
import { deliveryStatuses, listDeliveries, requireDelivery } from './log.ts'
import { redeliver, replay, sendTest } from './resend.ts'
import {
  CreatedEndpoint,
  DeliveryView,
  EndpointChanges,
  EndpointSchema,
  Events,
  NewEndpoint,
  NullableInteger,
  Rotation,
  Url,
  type Webhooks,
} from './routes.ts'

const NewIntegration = Type.Object({ provider: OneOf(tools), url: Url, events: Events })

/** The outcome of the last attempt, wherever members see an endpoint. */
export const lastAttempt = {
  last_attempt_at: NullableDateTime,
  last_attempt_http_status: NullableInteger,
  last_attempt_error: NullableText(),
}

const EndpointView = Type.Object({
  ...EndpointSchema.properties,
  ...lastAttempt,
  old_secret_until: NullableDateTime,
})

const DeliveryWithRequest = Type.Object({
  ...DeliveryView.properties,
  request: Type.Object({
    body: NullableText(),
    headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
  }),
})

const Range = Type.Object({ from: DateTime, to: DateTime })

const Replayed = Type.Object({ queued: Type.Integer() })

/** The audit log names only the host. */
const describeEndpoint = ({ url, events }: Endpoint) => `${hostOf(url)}, ${events.join(', ')}`

export const webhookDashboard =
  ({ db, bulk, sealer, guard, signals }: Webhooks & { bulk: FairQueue }) =>
  async (app: App) => {
    app.post(
      '/integrations',
      {
        config: {
          members: managers,
          audit: {
            action: 'integration.connected',
            summary: (endpoint: Endpoint) => `${endpoint.provider}, ${describeEndpoint(endpoint)}`,
          },
          hasSecret: true,
        },
        schema: { body: NewIntegration, response: { 201: DataOf(CreatedEndpoint) } },
      },
      async ({ session, body }, reply) => {
        reply.code(201)
        return { data: await createEndpoint(db, sealer, guard, session.workspaceId, body) }
      },
    )
    app.post(
      '/integrations/:id/test',
      {
        config: { members: managers, audit: 'integration.tested' },
        schema: { params: IdParams, response: { 201: DataOf(DeliveryView) } },
      },
      async ({ session, params }, reply) => {
        const delivery = await sendTest(db, guard, session.workspaceId, params.id)
        signals.deliveriesQueued()
        reply.code(201)
        return { data: delivery }
      },
    )

    app.get('/webhooks', { schema: { response: { 200: DataOf(Type.Array(EndpointView)) } } }, async ({ session }) => ({
      data: (await listEndpoints(db, session.workspaceId)).map((endpoint) => shownTo(session.member, endpoint)),
    }))
    app.post(
      '/webhooks',
      {
        config: { members: managers, audit: { action: 'webhook.created', summary: describeEndpoint }, hasSecret: true },
        schema: { body: NewEndpoint, response: { 201: DataOf(CreatedEndpoint) } },
      },
      async ({ session, body }, reply) => {
        reply.code(201)
        return { data: await createEndpoint(db, sealer, guard, session.workspaceId, { ...body, provider: 'api' }) }
      },
    )
    app.patch(
      '/webhooks/:id',
      {
        config: {
          members: managers,
          audit: {
            action: 'webhook.changed',
            summary: ({ url }: Endpoint, body: Static<typeof EndpointChanges>) =>
              [hostOf(url), body.url && 'url', describeFields(body, 'events', 'is_active')].filter(Boolean).join(', '),
          },
        },
        schema: { params: IdParams, body: EndpointChanges, response: { 200: DataOf(EndpointSchema) } },
      },
      async ({ session, params, body }) => ({
        data: await updateEndpoint(db, guard, session.workspaceId, params.id, body),
      }),
    )
    app.delete(
      '/webhooks/:id',
      {
        config: {
          members: managers,
          audit: { action: 'webhook.deleted', summary: ({ url }: DeletedEndpoint) => hostOf(url) },
        },
        schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
      },
      async ({ session, params }) => ({ data: await deleteEndpoint(db, session.workspaceId, params.id) }),
    )
    app.post(
      '/webhooks/:id/rotate-secret',
      {
        config: {
          members: managers,
          audit: {
            action: 'webhook.secret_rotated',
            summary: ({ url }: Endpoint, { overlap_hours = 0 }: Static<typeof Rotation>) =>
              `${hostOf(url)}, overlap_hours: ${overlap_hours}`,
          },
          hasSecret: true,
        },
        schema: { params: IdParams, body: Rotation, response: { 200: DataOf(CreatedEndpoint) } },
      },
      async ({ session, params, body }) => ({
        data: await rotateSecret(db, sealer, session.workspaceId, params.id, body.overlap_hours ?? 0),
      }),
    )
    app.get(
      '/webhooks/:id/deliveries',
      {
        schema: {
          params: IdParams,
          querystring: ListQuery({ status: Type.Optional(OneOf(deliveryStatuses)) }),
          response: { 200: ListOf(DeliveryView) },
        },
      },
      async ({ session, params, query }) =>
        listDeliveries(db, session.workspaceId, params.id, query, readPosition(query)),
    )
    app.get(
      '/deliveries/:id',
      { schema: { params: IdParams, response: { 200: DataOf(DeliveryWithRequest) } } },
      async ({ session, params }) => ({ data: await requireDelivery(db, session.workspaceId, params.id) }),
    )
    app.post(
      '/deliveries/:id/redeliver',
      {
        config: {
          members: managers,
          audit: { action: 'delivery.redelivered', summary: ({ event }: Static<typeof DeliveryView>) => event },
        },
        schema: { params: IdParams, response: { 201: DataOf(DeliveryView) } },
      },
      async ({ session, params }, reply) => {
        const delivery = await redeliver(db, guard, session.workspaceId, params.id)
        signals.deliveriesQueued()
        reply.code(201)
        return { data: delivery }
      },
    )
    app.post(
      '/webhooks/:id/replay',
      {
        config: {
          members: managers,
          audit: {
            action: 'webhook.replayed',
            summary: ({ queued }: Static<typeof Replayed>, { from, to }: Static<typeof Range>) =>
              `from ${from} to ${to}: ${queued}`,
          },
        },
        schema: { params: IdParams, body: Range, response: { 202: DataOf(Replayed) } },
      },
      async ({ session, params, body }, reply) => {
        const replayed = await bulk(session.workspaceId, () => replay(db, guard, session.workspaceId, params.id, body))
        signals.deliveriesQueued()
        reply.code(202)
        return { data: replayed }
      },
    )
  }
