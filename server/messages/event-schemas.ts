/**
 * The schemas of all events, for the API document and the SDK's types. No route uses them: the statement that changes
 * the data builds the body of its event. A test validates recorded events against them.
 */
import { contentTypes } from '../channels/channel.ts'
import { ContactSchema, contactExample } from '../contacts/resource.ts'
import { ConversationSchema, conversationExample } from '../conversations/resource.ts'
import { NullableText, OneOf, type TSchema, Type, toPublic, Uuid, type WebhookOperation } from '../lib/schema.ts'
import { type EventName, eventNames } from '../webhooks/emit.ts'
import { MessageSchema, messageExample } from './resource.ts'

const accountId = '0199c1d2-5a00-7e10-8b6f-2d4c6e8fa001'

type EventDescription = {
  title: string
  event: EventName
  description: string
  id: string
  occurredAt: string
  data: TSchema
  example: object
}

function eventSchema({ title, event, description, id, occurredAt, data, example }: EventDescription): TSchema {
  return Type.Object(
    {
      id: Type.String({ format: 'uuid', description: 'Identical across retries: deduplicate on it.' }),
      event: Type.String({ const: event }),
      occurred_at: Type.String({ format: 'date-time', description: 'When it happened, not when it was delivered.' }),
      account_id: Type.String({ format: 'uuid', description: 'The workspace.' }),
      data,
    },
    { title, description, examples: [{ id, event, occurred_at: occurredAt, account_id: accountId, data: example }] },
  )
}

const received = {
  conversation_id: Uuid,
  contact_id: Uuid,
  content_type: OneOf(contentTypes),
  text: NullableText({ description: 'The text, the caption, the title of a tapped button, an emoji.' }),
  message: MessageSchema,
  contact: toPublic(ContactSchema),
}
const onMsgapp = Type.Object(
  {
    channel: Type.Optional(Type.Unsafe<undefined>({ not: {}, description: 'Never present on the primary channel.' })),
    ...received,
    msgapp_message_id: Type.String(),
  },
  { title: 'MsgappMessageReceived' },
)
const onSocial = Type.Object(
  { channel: Type.String({ const: 'social' }), ...received, social_message_id: Type.String() },
  { title: 'SocialMessageReceived' },
)
const onWeb = Type.Object(
  { channel: Type.String({ const: 'web' }), ...received, message_id: Uuid },
  { title: 'WebMessageReceived' },
)
const inbound = {
  ...messageExample,
  direction: 'inbound',
  sender_type: 'customer',
  content_text: 'Is my order on its way?',
  status: 'received',
}

const eventSchemas: Record<EventName, TSchema> = {
  'message.received': eventSchema({
    title: 'MessageReceived',
    event: 'message.received',
    description: 'A customer sent a message, on any channel. On the primary channel there is no `channel` key.',
    id: '0199c1d2-d171-7796-9b07-ad3e4f506172',
    occurredAt: '2026-01-07T11:15:29.000Z',
    data: Type.Unsafe<unknown>({ oneOf: [onMsgapp, onSocial, onWeb] }),
    example: {
      conversation_id: conversationExample.id,
      contact_id: contactExample.id,
      msgapp_message_id: inbound.msgapp_message_id,
      content_type: inbound.content_type,
      text: inbound.content_text,
      message: inbound,
      contact: contactExample,
    },
  }),
  'message.status_updated': eventSchema({
    title: 'MessageStatusUpdated',
    event: 'message.status_updated',
    description:
      'The delivery status of a message you sent on the primary channel. The same status can arrive more than once and out of order.',
    id: '0199c1d2-e282-76a7-8c18-be4f50617283',
    occurredAt: '2026-01-07T11:16:02.000Z',
    data: Type.Object({
      msgapp_message_id: NullableText({
        description: 'Null when the message failed before the channel gave it an id.',
      }),
      conversation_id: Uuid,
      status: OneOf(['sent', 'delivered', 'read', 'failed']),
      message: MessageSchema,
    }),
    example: {
      msgapp_message_id: messageExample.msgapp_message_id,
      conversation_id: conversationExample.id,
      status: 'delivered',
      message: messageExample,
    },
  }),
  'conversation.created': eventSchema({
    title: 'ConversationCreated',
    event: 'conversation.created',
    description: 'A new conversation was opened for a contact.',
    id: '0199c1d2-f393-75b8-9d29-cf5061728394',
    occurredAt: conversationExample.created_at,
    data: Type.Object({ conversation_id: Uuid, contact_id: Uuid, conversation: toPublic(ConversationSchema) }),
    example: {
      conversation_id: conversationExample.id,
      contact_id: contactExample.id,
      conversation: {
        ...conversationExample,
        ...{ last_message_text: null, last_message_at: null, last_inbound_at: null, unread_count: 0 },
      },
    },
  }),
  'contact.created': eventSchema({
    title: 'ContactCreated',
    event: 'contact.created',
    description: 'A contact was created, by any means.',
    id: '0199c1d3-04a4-74c9-8e3a-d06172839405',
    occurredAt: contactExample.created_at,
    data: Type.Object({
      contact_id: Uuid,
      phone: NullableText({ description: 'E.164. Null for a contact without a number.' }),
      name: NullableText(),
      social_username: Type.Optional(NullableText({ description: 'Only of a contact from a `social` thread.' })),
      contact: toPublic(ContactSchema),
    }),
    example: {
      contact_id: contactExample.id,
      phone: contactExample.phone,
      name: contactExample.name,
      contact: contactExample,
    },
  }),
}

const titleOf = (schema: TSchema): string => (schema as { title?: string }).title ?? ''

/** The `data` of the example of each event, for test events. */
export const eventSamples = Object.fromEntries(
  eventNames.map((name) => {
    const [example] = (eventSchemas[name] as { examples?: { data: object }[] }).examples ?? []
    return [name, example?.data ?? {}]
  }),
) as Record<EventName, object>

/** Any event. */
export const EventSchema = Type.Unsafe<unknown>({
  title: 'Event',
  oneOf: Object.values(eventSchemas),
  description: 'An event. `data` is open: read the keys you need and ignore the rest.',
  // Without a mapping, generators of clients take the names of the schemas for the names of the events.
  discriminator: {
    propertyName: 'event',
    mapping: Object.fromEntries(
      eventNames.map((name) => [name, `#/components/schemas/${titleOf(eventSchemas[name])}`]),
    ),
  },
  examples: (eventSchemas['contact.created'] as { examples?: object[] }).examples,
})

/** The requests that endpoints receive, for the document. */
export const eventWebhooks: readonly WebhookOperation[] = eventNames.map((name) => {
  const words = name.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return {
    name,
    operationId: `on${words.join('')}`,
    summary: `The event ${name}`,
    description: (eventSchemas[name] as { description?: string }).description ?? name,
    tags: ['Webhooks'],
    parameters: headersOf(name),
    body: eventSchemas[name],
    responses: {
      '2XX': { description: 'Received. Any 2xx within 5 seconds is a success.' },
      '4XX': { description: 'Failed and not retried, except 408 and 429.' },
      '5XX': { description: 'Retried, up to 5 attempts in all.' },
    },
  }
})

function headersOf(name: EventName): object[] {
  const signature = { type: 'string', pattern: '^t=[0-9]+(,v1=[0-9a-f]{64})+$' }
  const headers = [
    { suffix: 'Event', description: 'The name of the event.', schema: { type: 'string', const: name } },
    { suffix: 'Webhook-Id', description: 'The id of the webhook.', schema: { type: 'string', format: 'uuid' } },
    {
      suffix: 'Signature',
      description:
        'HMAC-SHA256 of `<t>.<raw body>`, keyed with the secret of the webhook. While the secret is rotated, one `v1` per valid secret: accept any.',
      schema: signature,
    },
  ]
  const common = { in: 'header', required: true }
  return [
    ...headers.map(({ suffix, ...rest }) => ({ name: `X-Service-${suffix}`, ...common, ...rest })),
    ...headers.map(({ suffix, schema }) => ({
      name: `X-Legacy-${suffix}`,
      ...common,
      description: `The same as \`X-Service-${suffix}\`, for older receivers.`,
      deprecated: true,
      schema,
    })),
  ]
}
