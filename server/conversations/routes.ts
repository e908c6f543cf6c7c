/** `/conversations`: list and read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { channels } from '../contacts/contacts.ts'
import { TagSchema } from '../contacts/routes.ts'
import type { Db } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
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

export const ConversationSchema = Type.Object(
  {
    id: Uuid,
    channel: OneOf(channels),
    contact_id: Uuid,
    status: OneOf(statuses),
    assigned_agent_id: NullableText({ description: 'The member who looks after it.' }),
    last_message_text: NullableText(),
    last_message_at: NullableDateTime,
    last_inbound_at: NullableText({
      format: 'date-time',
      description: "When the customer last wrote, by the channel's clock: the 24-hour window runs from here.",
    }),
    unread_count: Type.Integer({ description: 'Customer messages since a member last opened it.' }),
    created_at: DateTime,
    updated_at: DateTime,
    contact: EmbeddedContact,
  },
  { title: 'Conversation' },
)

const ConversationsQuery = ListQuery({
  status: Type.Optional(OneOf(statuses)),
  contact_id: Type.Optional(Type.String({ format: 'uuid', description: "Only this contact's." })),
  channel: Type.Optional(OneOf(channels, { description: 'All when absent.' })),
})

/** Ahead of the schema, whose refusals are all `bad_request`: this one has a code of its own. */
function requireKnownChannel({ query }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const { channel } = query as { channel?: unknown }
  const isKnown = channel === undefined || channels.some((name) => name === channel)
  done(isKnown ? undefined : new ApiError('invalid_request', `channel: must be one of ${channels.join(', ')}`))
}

export const conversationRoutes = (db: Db) => async (app: App) => {
  app.get(
    '/conversations',
    {
      config: { scope: 'conversations:read' },
      preValidation: requireKnownChannel,
      schema: {
        operationId: 'listConversations',
        summary: 'List conversations',
        description: 'Newest first, on every channel unless filtered, each with its contact.',
        tags,
        querystring: ConversationsQuery,
        response: { 200: ListOf(ConversationSchema) },
      },
    },
    async ({ caller, query }) => listConversations(db, caller.workspaceId, query, readPosition(query)),
  )
  app.get(
    '/conversations/:id',
    {
      config: { scope: 'conversations:read' },
      schema: {
        operationId: 'getConversation',
        summary: 'Read a conversation',
        tags,
        params: IdParams,
        response: { 200: DataOf(ConversationSchema) },
      },
    },
    async ({ caller, params }) => ({ data: await requireConversation(db, caller.workspaceId, params.id) }),
  )
}
