/** `/conversations`: list, read, change, mark as read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Signals } from '../accounts/signals.ts'
import { channels } from '../contacts/contacts.ts'
import { contactExample, TagSchema } from '../contacts/schemas.ts'
import { maxTagLength } from '../contacts/tags.ts'
import { readChangePosition, updatedAfterFilter } from '../lib/changes.ts'
import type { Db, Sql } from '../lib/db.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { readPosition } from '../lib/page.ts'
import {
  Color,
  DataOf,
  DateTime,
  IdParams,
  inDocument,
  ListOf,
  ListQuery,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  TrimmedText,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import type { SlowReads } from '../lib/slow-reads.ts'
import { maxSnoozeDays, updateConversation } from './changes.ts'
import { listConversations, readConversation, requireConversation } from './conversations.ts'
import { statuses } from './filter-fields.ts'
import { maxLabels } from './labels.ts'
import { listByActivity, listChangedConversations } from './recent.ts'

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
  last_inbound_at: '2026-01-07T11:15:30.000Z',
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
      description:
        'When the service received the last message of the customer. The 24-hour window starts at the time that the channel gives for it, which can be earlier.',
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
  sort: Type.Optional(
    OneOf(['activity'], {
      description:
        '`activity`: by the last message, newest first. By creation when absent. Not together with `updated_after`.',
    }),
  ),
  status: Type.Optional(OneOf(statuses, { description: 'All when absent.' })),
  contact_id: Type.Optional(Type.String({ format: 'uuid', description: 'Only conversations of this contact.' })),
  channel: Type.Optional(OneOf(channels, { description: 'All when absent.' })),
  assigned_agent_id: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'A uuid: only conversations of this member. `none`: only unassigned ones.',
      ...inDocument({
        anyOf: [{ type: 'string', format: 'uuid' }, { const: 'none' }],
        type: undefined,
        maxLength: undefined,
      }),
    }),
  ),
  label: Type.Optional(Type.String({ maxLength: 200, description: 'The id or the name of a label.' })),
  ...updatedAfterFilter('conversations'),
})

const ConversationChanges = Type.Object(
  {
    status: Type.Optional(OneOf(statuses)),
    assigned_agent_id: Type.Optional(
      NullableText({ format: 'uuid', description: 'A member who is not a viewer (`GET /members`). Null unassigns.' }),
    ),
    snoozed_until: Type.Optional(
      NullableText({
        maxLength: 100,
        ...inDocument({ format: 'date-time' }),
        description: `A date-time within the next ${maxSnoozeDays} days: the status is \`pending\` until then. Null ends the snooze.`,
      }),
    ),
    labels: Type.Optional(
      Type.Array(TrimmedText(maxTagLength), {
        maxItems: maxLabels,
        description: 'Names: exactly these labels. Labels that the workspace lacks are created.',
      }),
    ),
  },
  { title: 'ConversationChanges', examples: [{ status: 'open', labels: ['Delivery'] }] },
)

/** Refuses filters that cannot be combined or read. */
function requireUsable({ assigned_agent_id: agentId, sort, updated_after }: Static<typeof ConversationsQuery>): void {
  if (agentId !== undefined && agentId !== 'none' && !isUuid(agentId)) {
    throw badRequest('assigned_agent_id: must be a uuid or none')
  }
  if (sort !== undefined && updated_after !== undefined) throw badRequest('sort: not together with updated_after')
}

/** Runs before the schema, whose errors are all `bad_request`: an unknown channel has a code of its own. */
function requireKnownChannel({ query }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const { channel } = query as { channel?: unknown }
  const isKnown = channel === undefined || channels.some((name) => name === channel)
  done(isKnown ? undefined : new ApiError('invalid_request', `channel: must be one of ${channels.join(', ')}`))
}

type ConversationRoutesOptions = { db: Db; reads: Db; slow: SlowReads; signals: Signals }

export const conversationRoutes =
  ({ db, reads, slow, signals }: ConversationRoutesOptions) =>
  async (app: App) => {
    app.get(
      '/conversations',
      {
        config: { scope: 'conversations:read', isShared: true },
        preValidation: requireKnownChannel,
        schema: {
          operationId: 'listConversations',
          summary: 'List conversations',
          description:
            'Newest first, of all channels unless filtered, each with its contact. With `updated_after`, oldest change first.',
          tags,
          querystring: ConversationsQuery,
          response: { 200: ListOf(ConversationSchema) },
        },
      },
      async ({ caller: { workspaceId }, query }) => {
        requireUsable(query)
        const changes = readChangePosition(query)
        const position = readPosition(query)
        const hasFixedPlan = query.label === undefined && query.assigned_agent_id === undefined
        const list = (sql: Sql) => {
          if (changes) return listChangedConversations(sql, workspaceId, query, changes)
          if (query.sort) return listByActivity(sql, workspaceId, query, { ...position, cursor: query.cursor })
          return listConversations(sql, workspaceId, query, position)
        }
        if (!hasFixedPlan) return slow(workspaceId, list)
        return list(changes || query.sort ? db : reads)
      },
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
    app.patch(
      '/conversations/:id',
      {
        config: { scope: 'conversations:write', isQuiet: true },
        schema: {
          operationId: 'updateConversation',
          summary: 'Change a conversation',
          description:
            'Changes the status, the assigned member, the snooze or the labels. Updates only the fields present. A line in the thread names the key.',
          tags,
          params: IdParams,
          body: ConversationChanges,
          response: { 200: DataOf(ConversationSchema) },
        },
      },
      async ({ caller: { workspaceId, keyId }, params, body }) => {
        const { id } = await updateConversation(db, workspaceId, { keyId }, params.id, body)
        signals.inboxChanged(workspaceId, [id])
        return { data: await requireConversation(reads, workspaceId, id) }
      },
    )
    app.post(
      '/conversations/:id/read',
      {
        config: { scope: 'conversations:write', isQuiet: true },
        schema: {
          operationId: 'readConversation',
          summary: 'Mark a conversation as read',
          description: 'Sets `unread_count` to 0.',
          tags,
          params: IdParams,
          response: { 200: DataOf(ConversationSchema) },
        },
      },
      async ({ caller: { workspaceId }, params }) => {
        const conversation = await readConversation(db, workspaceId, params.id)
        signals.inboxChanged(workspaceId, [conversation.id])
        return { data: conversation }
      },
    )
  }
