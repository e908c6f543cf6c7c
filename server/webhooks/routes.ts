/** `/webhooks`: manages the endpoints that events are posted to, lists deliveries and sends them again. */

import type { Signals } from '../accounts/signals.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import {
  DataOf,
  DateTime,
  Deleted,
  IdParams,
  inDocument,
  ListOf,
  ListQuery,
  NullableDateTime,
  NullableText,
  OneOf,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { eventNames } from './emit.ts'
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  maxEndpoints,
  providers,
  requireEndpoint,
  rotateSecret,
  updateEndpoint,
} from './endpoints.ts'
import type { Guard } from './guard.ts'
import { deliveryStatuses, listDeliveries } from './log.ts'
import { redeliver } from './resend.ts'

const tags = ['Webhooks']

const endpoint = {
  id: Uuid,
  url: Type.String({ format: 'uri' }),
  events: Type.Array(OneOf(eventNames)),
  is_active: Type.Boolean({
    description: 'Becomes false after 15 consecutive failed events; nothing is sent while false.',
  }),
  last_delivery_at: Type.Unsafe<string | null>({ ...NullableDateTime, description: 'The time of the last success.' }),
  failure_count: Type.Integer({ description: 'Consecutive failed events; a success resets it to 0.' }),
  created_at: DateTime,
  provider: OneOf(providers, {
    description: '`api`, or the automation tool that was connected in the dashboard. No effect on delivery.',
  }),
}
const created = { url: 'https://example.com/hooks/parley', events: ['message.received', 'message.status_updated'] }
const endpointExample = {
  id: '0199c1d2-c060-7885-8af6-9c2d3e4f5061',
  ...created,
  is_active: true,
  last_delivery_at: '2026-01-09T12:00:01.000Z',
  failure_count: 0,
  created_at: '2026-01-05T09:00:00.000Z',
  provider: 'api',
}
export const EndpointSchema = Type.Object(endpoint, { title: 'Webhook', examples: [endpointExample] })
export const CreatedEndpoint = Type.Object(
  {
    ...endpoint,
    secret: Type.String({
      pattern: '^whsec_',
      description: 'Signs the deliveries. Returned only on creation and rotation.',
    }),
  },
  {
    title: 'CreatedWebhook',
    examples: [{ ...endpointExample, last_delivery_at: null, secret: 'whsec_8Zq2nB7fKx4LmT1vYc6Rp0Wd9Js3Hg5U' }],
  },
)

export const Url = Type.String({
  maxLength: 2_000,
  description: 'https, without credentials. Every address its name resolves to must be public.',
  ...inDocument({ format: 'uri', pattern: '^https://' }),
})
export const Events = Type.Array(OneOf(eventNames), {
  minItems: 1,
  maxItems: 100,
  description: 'The events to send; duplicates are ignored.',
})
export const NewEndpoint = Type.Object({ url: Url, events: Events }, { title: 'NewWebhook', examples: [created] })
export const EndpointChanges = Type.Object(
  {
    url: Type.Optional(Url),
    events: Type.Optional(Events),
    is_active: Type.Optional(
      Type.Boolean({ description: 'True also resets the failures; false cancels the queued deliveries.' }),
    ),
  },
  { title: 'WebhookChanges', examples: [{ is_active: true }] },
)

export const Rotation = Type.Object(
  {
    overlap_hours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 72,
        description:
          'How long the previous secret also signs. With 0, or when absent, all earlier secrets stop at once.',
      }),
    ),
  },
  { title: 'SecretRotation', examples: [{ overlap_hours: 24 }] },
)

export const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })

const AttemptView = Type.Object({
  attempt: Type.Integer({ description: 'From 1; 0 if the delivery was canceled before its first attempt.' }),
  status: OneOf(deliveryStatuses, { description: 'The status of the delivery after this attempt.' }),
  http_status: Type.Unsafe<number | null>({ ...NullableInteger, description: 'Null if there was no response.' }),
  duration_ms: NullableInteger,
  error: NullableText({ description: 'Why the attempt failed; null after a success.' }),
  response: NullableText({ description: 'The beginning of the response body, at most 16 KB.' }),
  at: DateTime,
})

export const DeliveryView = Type.Object(
  {
    id: Uuid,
    event_id: Type.String({
      format: 'uuid',
      description: 'The `id` in the body; the same when an event is sent again.',
    }),
    event: Type.String({ description: 'The name of the event.' }),
    status: OneOf(deliveryStatuses),
    attempt_count: Type.Integer(),
    created_at: DateTime,
    next_attempt_at: Type.Unsafe<string | null>({
      ...NullableDateTime,
      description: 'Null when the delivery has ended, and while an attempt is in flight.',
    }),
    attempts: Type.Array(AttemptView),
  },
  {
    title: 'WebhookDelivery',
    examples: [
      {
        id: '0199c1d3-0b40-7a51-9c02-1f2e3d4c5b6a',
        event_id: '0199c1d3-0b3f-7c15-8d01-6a5b4c3d2e1f',
        event: 'message.received',
        status: 'pending',
        attempt_count: 1,
        created_at: '2026-01-09T12:00:01.000Z',
        next_attempt_at: '2026-01-09T12:00:04.120Z',
        attempts: [
          {
            attempt: 1,
            status: 'pending',
            http_status: 503,
            duration_ms: 120,
            error: 'answered 503',
            response: 'Service Unavailable',
            at: '2026-01-09T12:00:01.120Z',
          },
        ],
      },
    ],
  },
)

const DeliveryParams = Type.Object({
  ...IdParams.properties,
  delivery_id: Type.String({ description: 'The uuid of a delivery to this webhook.' }),
})

export type Webhooks = {
  db: Db
  sealer: Sealer
  guard: Guard
  signals: Signals
}

export const webhookRoutes =
  ({ db, sealer, guard, signals }: Webhooks) =>
  async (app: App) => {
    const config = { scope: 'webhooks:manage' }

    app.post(
      '/webhooks',
      {
        config: { ...config, hasSecret: true },
        schema: {
          operationId: 'createWebhook',
          summary: 'Create a webhook',
          description: `Only this response contains the \`secret\`. A workspace has at most ${maxEndpoints} webhooks.`,
          tags,
          body: NewEndpoint,
          response: { 201: DataOf(CreatedEndpoint) },
        },
      },
      async ({ caller, body }, reply) => {
        reply.code(201)
        return { data: await createEndpoint(db, sealer, guard, caller.workspaceId, { ...body, provider: 'api' }) }
      },
    )
    app.get(
      '/webhooks',
      {
        config: { ...config, isShared: true },
        schema: {
          operationId: 'listWebhooks',
          summary: 'List webhooks',
          description: 'All webhooks, newest first, including those of dashboard integrations.',
          tags,
          response: { 200: ListOf(EndpointSchema) },
        },
      },
      async ({ caller }) => ({ data: await listEndpoints(db, caller.workspaceId), meta: { next_cursor: null } }),
    )
    app.get(
      '/webhooks/:id',
      {
        config,
        schema: {
          operationId: 'getWebhook',
          summary: 'Read a webhook',
          description: 'One webhook, without its secret.',
          tags,
          params: IdParams,
          response: { 200: DataOf(EndpointSchema) },
        },
      },
      async ({ caller, params }) => ({ data: await requireEndpoint(db, caller.workspaceId, params.id) }),
    )
    app.patch(
      '/webhooks/:id',
      {
        config,
        schema: {
          operationId: 'updateWebhook',
          summary: 'Change a webhook',
          description: 'Only the fields present change.',
          tags,
          params: IdParams,
          body: EndpointChanges,
          response: { 200: DataOf(EndpointSchema) },
        },
      },
      async ({ caller, params, body }) => ({
        data: await updateEndpoint(db, guard, caller.workspaceId, params.id, body),
      }),
    )
    app.delete(
      '/webhooks/:id',
      {
        config,
        schema: {
          operationId: 'deleteWebhook',
          summary: 'Delete a webhook',
          description:
            'Nothing more is sent to it. Deleting one of a dashboard integration disconnects the integration.',
          tags,
          params: IdParams,
          response: { 200: DataOf(Deleted) },
        },
      },
      async ({ caller, params }) => ({ data: await deleteEndpoint(db, caller.workspaceId, params.id) }),
    )
    app.post(
      '/webhooks/:id/rotate-secret',
      {
        config: { ...config, hasSecret: true },
        schema: {
          operationId: 'rotateWebhookSecret',
          summary: 'Rotate the secret',
          description:
            'Creates a new secret, which only this response contains. During the overlap, the signature header has one `v1` ' +
            'per valid secret, oldest first: `t=…,v1=<old>,v1=<new>`. At most four earlier secrets overlap.',
          tags,
          params: IdParams,
          body: Rotation,
          response: { 200: DataOf(CreatedEndpoint) },
        },
      },
      async ({ caller, params, body }) => ({
        data: await rotateSecret(db, sealer, caller.workspaceId, params.id, body.overlap_hours ?? 0),
      }),
    )
    app.get(
      '/webhooks/:id/deliveries',
      {
        config: { ...config, isShared: true },
        schema: {
          operationId: 'listWebhookDeliveries',
          summary: 'List deliveries',
          description:
            'The deliveries to a webhook with their attempts, newest first, for 30 days. The first page includes queued ' +
            'deliveries that have not been attempted.',
          tags,
          params: IdParams,
          querystring: ListQuery({
            status: Type.Optional(OneOf(deliveryStatuses, { description: 'Only deliveries of this status.' })),
          }),
          response: { 200: ListOf(DeliveryView) },
        },
      },
      async ({ caller, params, query }) =>
        listDeliveries(db, caller.workspaceId, params.id, query, readPosition(query)),
    )
    app.post(
      '/webhooks/:id/deliveries/:delivery_id/redeliver',
      {
        config,
        schema: {
          operationId: 'redeliverWebhook',
          summary: 'Send an event again',
          description:
            'Queues a new delivery of the same event, with the same event `id`, and returns it. The webhook must be active, ' +
            'and the event at most 30 days old.',
          tags,
          params: DeliveryParams,
          response: { 202: DataOf(DeliveryView) },
        },
      },
      async ({ caller, params }, reply) => {
        const { id } = await requireEndpoint(db, caller.workspaceId, params.id)
        const delivery = await redeliver(db, guard, caller.workspaceId, params.delivery_id, id)
        signals.deliveriesQueued()
        reply.code(202)
        return { data: delivery }
      },
    )
  }
