/**
 * What signed-in members do with webhooks: connect an automation tool and test
 * it, look at what was delivered, send it again. Owners and admins change,
 * everybody sees.
 */
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
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { createEndpoint, listEndpoints, tools } from './endpoints.ts'
import { deliveryStatuses, listDeliveries, redeliver, replay, sendTest } from './log.ts'
import { CreatedEndpoint, EndpointSchema, Events, Url, type Webhooks } from './routes.ts'

const managers = ['owner', 'admin'] as const

const NewIntegration = Type.Object({ provider: OneOf(tools), url: Url, events: Events })

const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })

const DeliveryView = Type.Object({
  id: Uuid,
  event_id: Uuid,
  event: Type.String(),
  status: OneOf(deliveryStatuses),
  attempt_count: Type.Integer(),
  created_at: DateTime,
  next_attempt_at: NullableDateTime,
  attempts: Type.Array(
    Type.Object({
      attempt: Type.Integer(),
      status: OneOf(deliveryStatuses),
      http_status: NullableInteger,
      duration_ms: NullableInteger,
      error: NullableText(),
      response: NullableText(),
      at: DateTime,
    }),
  ),
})

const Range = Type.Object({ from: DateTime, to: DateTime })

export const webhookDashboard =
  ({ db, sealer, guard, onQueued }: Webhooks) =>
  async (app: App) => {
    app.post(
      '/integrations',
      { config: { members: managers }, schema: { body: NewIntegration, response: { 201: DataOf(CreatedEndpoint) } } },
      async ({ session, body }, reply) => {
        reply.code(201)
        return { data: await createEndpoint(db, sealer, guard, session.workspaceId, body) }
      },
    )
    app.post(
      '/integrations/:id/test',
      { config: { members: managers }, schema: { params: IdParams, response: { 201: DataOf(DeliveryView) } } },
      async ({ session, params }, reply) => {
        const delivery = await sendTest(db, guard, session.workspaceId, params.id)
        onQueued()
        reply.code(201)
        return { data: delivery }
      },
    )

    app.get(
      '/webhooks',
      { schema: { response: { 200: DataOf(Type.Array(EndpointSchema)) } } },
      async ({ session }) => ({ data: await listEndpoints(db, session.workspaceId) }),
    )
    app.get(
      '/webhooks/:id/deliveries',
      { schema: { params: IdParams, querystring: ListQuery({}), response: { 200: ListOf(DeliveryView) } } },
      async ({ session, params, query }) => listDeliveries(db, session.workspaceId, params.id, readPosition(query)),
    )
    app.post(
      '/deliveries/:id/redeliver',
      { config: { members: managers }, schema: { params: IdParams, response: { 201: DataOf(DeliveryView) } } },
      async ({ session, params }, reply) => {
        const delivery = await redeliver(db, guard, session.workspaceId, params.id)
        onQueued()
        reply.code(201)
        return { data: delivery }
      },
    )
    app.post(
      '/webhooks/:id/replay',
      {
        config: { members: managers },
        schema: {
          params: IdParams,
          body: Range,
          response: { 202: DataOf(Type.Object({ queued: Type.Integer() })) },
        },
      },
      async ({ session, params, body }, reply) => {
        const replayed = await replay(db, guard, session.workspaceId, params.id, body)
        onQueued()
        reply.code(202)
        return { data: replayed }
      },
    )
  }
