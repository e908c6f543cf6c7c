/** `/webhooks`: manages the endpoints that events are posted to. */

import type { Signals } from '../accounts/signals.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import {
  DataOf,
  DateTime,
  Deleted,
  IdParams,
  inDocument,
  ListOf,
  NullableDateTime,
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
  providers,
  requireEndpoint,
  updateEndpoint,
} from './endpoints.ts'
import type { Guard } from './guard.ts'

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
    secret: Type.String({ pattern: '^whsec_', description: 'Signs the deliveries. Returned only here.' }),
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

export type Webhooks = {
  db: Db
  sealer: Sealer
  guard: Guard
  signals: Signals
}

export const webhookRoutes =
  ({ db, sealer, guard }: Webhooks) =>
  async (app: App) => {
    const config = { scope: 'webhooks:manage' }

    app.post(
      '/webhooks',
      {
        config,
        schema: {
          operationId: 'createWebhook',
          summary: 'Create a webhook',
          description: 'Only this response contains the `secret`. A workspace has at most 100 webhooks.',
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
  }
