/** `/conversations`: list and read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { channels } from '../contacts/contacts.ts'
import { contactExample, TagSchema } from '../contacts/schemas.ts'
import type { Db } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { readPosition } from '../lib/page.ts'
import {
  Color,
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
import { listConversations, requireConversation } from './conversations.ts'
import { statuses } from './filter-fields.ts'

const tags = ['Conversations']

const EmbeddedContact = Type.Object(
  {
    id: Uuid,
    phone: NullableText(),
    social_username: NullableText(),
    name: NullableText(),
    email: NullableText(),
    company: NullableText(),
    tags: Type.Array(TagSchema),
  },
  { title: 'EmbeddedContact' },
)

export const LabelSchema = Type.Object({ id: Uuid, name: Type.String(), color: Color }, { title: 'Label' })

const embeddedExample = {
  id: contactExample.id,
  phone: contactExample.phone,
  social_username: contactExample.social_username,
  name: contactExample.name,
  email: contactExample.email,
  company: contactExample.company,
  tags: contactExample.tags,
}
export const conversationExample = {
  id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4',
  channel: 'msgapp',
  contact_id: contactExample.id,
  status: 'open',
  assigned_agent_id: null,
  last_message_text: 'Is my order on its way?',
  last_message_at: '2026-01-07T11:15:30.000Z',
  last_inbound_at: '2026-01-07T11:15:29.000Z',
  unread_count: 1,
  labels: [{ id: '0199c1d2-9f42-7d61-8a05-1b2c3d4e5f60', name: 'Delivery', color: '#2563eb' }],
  snoozed_until: null,
  created_at: '2026-01-07T11:15:30.000Z',
  updated_at: '2026-01-07T11:15:30.000Z',
  contact: embeddedExample,
}

export const ConversationSchema = Type.Object(
  {
    id: Uuid,
    channel: OneOf(channels),
    contact_id: Uuid,
    status: OneOf(statuses),
    assigned_agent_id: NullableText({ format: 'uuid', description: 'The member it is assigned to.' }),
    last_message_text: NullableText(),
    last_message_at: NullableDateTime,
    last_inbound_at: NullableText({
      format: 'date-time',
      description: "When the customer last wrote, by the channel's clock. The 24-hour window starts here.",
    }),
    unread_count: Type.Integer({
      description: 'Messages of the customer since a member last opened the conversation.',
    }),
    labels: Type.Array(LabelSchema, { description: 'By name.' }),
    snoozed_until: NullableText({
      format: 'date-time',
      description: 'The status is `pending` until then. Null when the conversation is not snoozed.',
    }),
    created_at: DateTime,
    updated_at: DateTime,
    contact: EmbeddedContact,
  },
  { title: 'Conversation', examples: [conversationExample] },
)

const ConversationsQuery = ListQuery({
  status: Type.Optional(OneOf(statuses)),
  contact_id: Type.Optional(Type.String({ format: 'uuid', description: 'Only conversations of this contact.' })),
  channel: Type.Optional(OneOf(channels, { description: 'All when absent.' })),
})

/** Runs before the schema, whose errors are all `bad_request`: an unknown channel has a code of its own. */
function requireKnownChannel({ query }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const { channel } = query as { channel?: unknown }
  const isKnown = channel === undefined || channels.some((name) => name === channel)
  done(isKnown ? undefined : new ApiError('invalid_request', `channel: must be one of ${channels.join(', ')}`))
}

export const conversationRoutes = (reads: Db) => async (app: App) => {
  app.get(
    '/conversations',
    {
      config: { scope: 'conversations:read', isShared: true },
      preValidation: requireKnownChannel,
      schema: {
        operationId: 'listConversations',
        summary: 'List conversations',
        description: 'Newest first, of all channels unless filtered, each with its contact.',
        tags,
        querystring: ConversationsQuery,
        response: { 200: ListOf(ConversationSchema) },
      },
    },
    async ({ caller, query }) => listConversations(reads, caller.workspaceId, query, readPosition(query)),
  )
  app.get(
    '/conversations/:id',
    {
      config: { scope: 'conversations:read' },
      schema: {
        operationId: 'getConversation',
        summary: 'Read a conversation',
        description: 'One conversation, with its contact.',
        tags,
        params: IdParams,
        response: { 200: DataOf(ConversationSchema) },
      },
    },
    async ({ caller, params }) => ({ data: await requireConversation(reads, caller.workspaceId, params.id) }),
  )
}
