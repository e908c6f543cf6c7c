/** `/webhooks`: manages the endpoints that events are posted to, lists deliveries and sends them again. */

import { describeFields } from '../accounts/audit.ts'
import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { FairQueue } from '../lib/fair-queue.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { DateTime, Deleted, IdParams, ListQuery, NullableText, OneOf, type Static, Type } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { type EventName, eventNames } from './emit.ts'
import {
  createEndpoint,
  type DeletedEndpoint,
  deleteEndpoint,
  hostOf,
  listEndpoints,
  maxEndpoints,
  requireEndpoint,
  rotateSecret,
  shownTo,
  updateEndpoint,
} from './endpoints.ts'
import type { Guard } from './guard.ts'
import { listDeliveries, requireDelivery } from './log.ts'
import { redeliver, replay, sendSample, sendTest } from './resend.ts'
import {
  CreatedEndpoint,
  DeliveryView,
  deliveryStatuses,
  type Endpoint,
  EndpointChanges,
  EndpointSchema,
  Events,
  NewEndpoint,
  Rotation,
  tools,
  Url,
} from './resource.ts'

const DeliveryParams = Type.Object({
  ...IdParams.properties,
  delivery_id: Type.String({ description: 'The uuid of a delivery to this webhook.' }),
})

type Webhooks = {
  db: Db
  bulk: FairQueue
  sealer: Sealer
  guard: Guard
  signals: Signals
  /** The `data` of a sample of each event. */
  samples: Readonly<Record<EventName, object>>
}

const NewIntegration = Type.Object({ provider: OneOf(tools), url: Url, events: Events })

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

const toolNames: Partial<Record<Endpoint['provider'], string>> = { tool_a: 'n8n', tool_b: 'Make' }
const toolNameOf = ({ provider }: Endpoint) => toolNames[provider] ?? provider

export const webhookTable = ({ db, bulk, sealer, guard, signals, samples }: Webhooks): readonly Row[] => [
  row({
    call: 'POST /webhooks',
    operation: 'createWebhook',
    summary: 'Create a webhook',
    description: `Only this response contains the \`secret\`. A workspace has at most ${maxEndpoints} webhooks.`,
    scope: 'webhooks:manage',
    members: managers,
    audit: { action: 'webhook.created', summary: describeEndpoint },
    hasSecret: true,
    body: NewEndpoint,
    data: CreatedEndpoint,
    status: 201,
    run: ({ caller, body }) => createEndpoint(db, sealer, guard, caller.workspaceId, { ...body, provider: 'api' }),
  }),
  row({
    call: 'GET /webhooks',
    operation: 'listWebhooks',
    summary: 'List webhooks',
    description: 'All webhooks, newest first, including those of dashboard integrations.',
    scope: 'webhooks:manage',
    members: roles,
    isShared: true,
    list: EndpointSchema,
    run: async ({ caller: { workspaceId, member } }) => {
      const endpoints = await listEndpoints(db, workspaceId)
      const shown = member ? endpoints.map((endpoint) => shownTo(member, endpoint)) : endpoints
      return { data: shown, meta: { next_cursor: null } }
    },
  }),
  row({
    call: 'GET /webhooks/:id',
    operation: 'getWebhook',
    summary: 'Read a webhook',
    description: 'One webhook, without its secret.',
    scope: 'webhooks:manage',
    params: IdParams,
    data: EndpointSchema,
    run: ({ caller, params }) => requireEndpoint(db, caller.workspaceId, params.id),
  }),
  row({
    call: 'PATCH /webhooks/:id',
    operation: 'updateWebhook',
    summary: 'Change a webhook',
    description: 'Only the fields present change.',
    scope: 'webhooks:manage',
    members: managers,
    audit: {
      action: 'webhook.changed',
      summary: ({ url }: Endpoint, body: Static<typeof EndpointChanges>) =>
        [hostOf(url), body.url && 'url', describeFields(body, 'events', 'is_active')].filter(Boolean).join(', '),
    },
    params: IdParams,
    body: EndpointChanges,
    data: EndpointSchema,
    run: ({ caller, params, body }) => updateEndpoint(db, guard, caller.workspaceId, params.id, body),
  }),
  row({
    call: 'DELETE /webhooks/:id',
    operation: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Nothing more is sent to it. Deleting one of a dashboard integration disconnects the integration.',
    scope: 'webhooks:manage',
    members: managers,
    audit: { action: 'webhook.deleted', summary: ({ url }: DeletedEndpoint) => hostOf(url) },
    params: IdParams,
    data: Deleted,
    run: ({ caller, params }) => deleteEndpoint(db, caller.workspaceId, params.id),
  }),
  row({
    call: 'POST /webhooks/:id/rotate-secret',
    operation: 'rotateWebhookSecret',
    summary: 'Rotate the secret',
    description:
      'Creates a new secret, which only this response contains. During the overlap, the signature header has one `v1` ' +
      'per valid secret, oldest first: `t=…,v1=<old>,v1=<new>`. At most four earlier secrets overlap.',
    scope: 'webhooks:manage',
    members: managers,
    audit: {
      action: 'webhook.secret_rotated',
      summary: ({ url }: Endpoint, { overlap_hours = 0 }: Static<typeof Rotation>) =>
        `${hostOf(url)}, overlap_hours: ${overlap_hours}`,
    },
    hasSecret: true,
    params: IdParams,
    body: Rotation,
    data: CreatedEndpoint,
    run: ({ caller, params, body }) => rotateSecret(db, sealer, caller.workspaceId, params.id, body.overlap_hours ?? 0),
  }),
  row({
    call: 'GET /webhooks/:id/deliveries',
    operation: 'listWebhookDeliveries',
    summary: 'List deliveries',
    description:
      'The deliveries to a webhook with their attempts, newest first, for 30 days. The first page includes queued ' +
      'deliveries that have not been attempted.',
    scope: 'webhooks:manage',
    members: roles,
    needsAll: true,
    isShared: true,
    params: IdParams,
    query: ListQuery({
      status: Type.Optional(OneOf(deliveryStatuses, { description: 'Only deliveries of this status.' })),
    }),
    list: DeliveryView,
    run: ({ caller, params, query }) => listDeliveries(db, caller.workspaceId, params.id, query, readPosition(query)),
  }),
  row({
    call: 'POST /webhooks/:id/deliveries/:delivery_id/redeliver',
    operation: 'redeliverWebhook',
    summary: 'Send an event again',
    description:
      'Queues a new delivery of the same event, with the same event `id`, and returns it. The webhook must be active, ' +
      'and the event at most 30 days old.',
    scope: 'webhooks:manage',
    params: DeliveryParams,
    data: DeliveryView,
    status: 202,
    run: async ({ caller, params }) => {
      const { id } = await requireEndpoint(db, caller.workspaceId, params.id)
      const delivery = await redeliver(db, guard, caller.workspaceId, params.delivery_id, id)
      signals.deliveriesQueued()
      return delivery
    },
  }),

  row({
    call: 'POST /integrations',
    members: managers,
    audit: {
      action: 'integration.connected',
      summary: (endpoint: Endpoint) => [toolNameOf(endpoint), describeEndpoint(endpoint)].join(', '),
    },
    hasSecret: true,
    body: NewIntegration,
    data: CreatedEndpoint,
    status: 201,
    run: ({ caller, body }) => createEndpoint(db, sealer, guard, caller.workspaceId, body),
  }),
  row({
    call: 'POST /integrations/:id/test',
    members: managers,
    audit: { action: 'integration.tested', isOfPath: true },
    params: IdParams,
    data: DeliveryView,
    status: 201,
    run: async ({ caller, params }) => {
      const delivery = await sendTest(db, guard, caller.workspaceId, params.id)
      signals.deliveriesQueued()
      return delivery
    },
  }),
  row({
    call: 'GET /deliveries/:id',
    members: roles,
    needsAll: true,
    params: IdParams,
    data: DeliveryWithRequest,
    run: ({ caller, params }) => requireDelivery(db, caller.workspaceId, params.id),
  }),
  row({
    call: 'POST /deliveries/:id/redeliver',
    members: managers,
    audit: { action: 'delivery.redelivered', summary: ({ event }: Static<typeof DeliveryView>) => event },
    params: IdParams,
    data: DeliveryView,
    status: 201,
    run: async ({ caller, params }) => {
      const delivery = await redeliver(db, guard, caller.workspaceId, params.id)
      signals.deliveriesQueued()
      return delivery
    },
  }),
  row({
    call: 'POST /webhooks/:id/test',
    members: managers,
    audit: { action: 'webhook.tested', summary: ({ event }: Static<typeof DeliveryView>) => event, isOfPath: true },
    params: IdParams,
    body: Type.Object({ event: OneOf(eventNames) }),
    data: DeliveryView,
    status: 201,
    run: async ({ caller, params, body: { event } }) => {
      const sample = { event, data: samples[event] }
      const delivery = await sendSample(db, guard, caller.workspaceId, params.id, sample)
      signals.deliveriesQueued()
      return delivery
    },
  }),
  row({
    call: 'POST /webhooks/:id/replay',
    members: managers,
    audit: {
      action: 'webhook.replayed',
      summary: ({ queued }: Static<typeof Replayed>, { from, to }: Static<typeof Range>) =>
        `from ${from} to ${to}: ${queued}`,
    },
    params: IdParams,
    body: Range,
    data: Replayed,
    status: 202,
    run: async ({ caller, params, body }) => {
      const replayed = await bulk(caller.workspaceId, () => replay(db, guard, caller.workspaceId, params.id, body))
      signals.deliveriesQueued()
      return replayed
    },
  }),
]
