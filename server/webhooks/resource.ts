/** Webhooks, deliveries and events: their schemas, with the SQL of the fields of a webhook. */
import { Column, resource } from '../lib/resource.ts'
import {
  DateTime,
  ForMembers,
  inDocument,
  NullableDateTime,
  NullableInteger,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import { eventNames, testEventNames } from './emit.ts'

/** Automation tools that members connect in the dashboard. */
export const tools = ['tool_a', 'tool_b'] as const
export const providers = ['api', ...tools] as const
export type Provider = (typeof providers)[number]

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** The outcome of the last attempt, wherever members see an endpoint. */
export const lastAttempt = {
  last_attempt_at: ForMembers(NullableDateTime),
  last_attempt_http_status: ForMembers(NullableInteger),
  last_attempt_error: ForMembers(NullableText()),
}

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
const created = {
  url: 'https://example.com/hooks/parley',
  events: ['message.received', 'message.status_updated'],
}
const endpointExample = {
  id: '0199c1d2-c060-7885-8af6-9c2d3e4f5061',
  ...created,
  is_active: true,
  last_delivery_at: '2026-01-09T12:00:01.000Z',
  failure_count: 0,
  created_at: '2026-01-05T09:00:00.000Z',
  provider: 'api',
}
export const EndpointSchema = Type.Object(
  {
    ...endpoint,
    ...lastAttempt,
    /** When the last earlier secret stops signing. */
    old_secret_until: ForMembers(
      Column(
        NullableDateTime,
        (sql) => sql`(select max(until) from unnest(e.old_secrets_until) as o (until) where until > now())`,
      ),
    ),
  },
  { title: 'Webhook', examples: [endpointExample] },
)
export type Endpoint = Required<Static<typeof EndpointSchema>>

/** The columns of endpoint `e` but the secrets. */
export const { columns: endpointColumns } = resource('e', EndpointSchema)

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

const AttemptSchema = Type.Object({
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
    attempts: Type.Array(AttemptSchema),
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
export type Attempt = Static<typeof AttemptSchema>
export type Delivery = Static<typeof DeliveryView>

const EndpointRef = Type.Object({
  id: Uuid,
  url: Type.String(),
  provider: OneOf(providers),
  is_active: Type.Boolean(),
})

const EventFields = {
  id: Uuid,
  event: OneOf([...eventNames, ...testEventNames]),
  occurred_at: DateTime,
  recorded_at: DateTime,
  /** The id of the message, conversation or contact that the event is about. */
  subject_id: NullableText(),
}

/** With the newest delivery to each endpoint. There is none if only an event stream received the event. */
export const EventView = Type.Object({
  ...EventFields,
  deliveries: Type.Array(Type.Object({ id: Uuid, status: OneOf(deliveryStatuses), endpoint: EndpointRef })),
})

export const EventWithBody = Type.Object({
  ...EventFields,
  body: Type.String(),
  deliveries: Type.Array(Type.Object({ ...DeliveryView.properties, endpoint: EndpointRef })),
})
