/** `/conversations` for members: list the inbox, count it, change one conversation or many, mark as read. */
import type { FastifyRequest } from 'fastify'
import type { Signals } from '../accounts/signals.ts'
import { contentTypes } from '../channels/channel.ts'
import { maxTagLength } from '../contacts/tags.ts'
import type { Db, Sql } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import {
  DataOf,
  IdParams,
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
import { requireAssignee } from './assignees.ts'
import { type ChangeResult, updateConversation, updateConversations } from './changes.ts'
import { readConversation } from './conversations.ts'
import { statuses } from './filter-fields.ts'
import { countInbox, countMine, type InboxContext, type InboxRow, listInbox, requireInboxRow } from './inbox.ts'
import { inboxFilters, readInboxQuery } from './inbox-query.ts'
import { maxLabels } from './labels.ts'
import { ConversationSchema } from './routes.ts'

/** A conversation with fields that the public API does not have. */
const MemberConversation = Type.Object(
  {
    ...ConversationSchema.properties,
    window_closes_at: NullableText({
      format: 'date-time',
      description:
        'Until then free-form messages can be sent. Null when the channel has no window (web) or the customer has not written yet.',
    }),
    late_window_closes_at: NullableText({
      format: 'date-time',
      description:
        'Until then a member may still reply, if the channel gives members a longer window than programs (social).',
    }),
    inbox_at: NullableText({
      format: 'date-time',
      description:
        'The last message of the customer or reply of a member. Null: only automated messages so far, so it is not in the inbox.',
    }),
    waiting_since: NullableText({
      format: 'date-time',
      description: 'The first message of the customer without a reply of a member.',
    }),
    assigned_agent: Type.Unsafe<InboxRow['assigned_agent']>({
      type: ['object', 'null'],
      properties: { id: Uuid, name: NullableText(), email: Type.String() },
      required: ['id', 'name', 'email'],
    }),
    last_message: Type.Unsafe<InboxRow['last_message']>({
      type: ['object', 'null'],
      properties: {
        direction: OneOf(['inbound', 'outbound']),
        content_type: OneOf(contentTypes),
        content_kind: NullableText(),
        content_text: NullableText(),
        status: OneOf(['received', 'pending', 'sent', 'failed', 'delivered', 'read']),
      },
      required: ['direction', 'content_type', 'content_kind', 'content_text', 'status'],
    }),
  },
  { title: 'MemberConversation' },
)

const InboxQuery = ListQuery({ ...inboxFilters, contact_id: Type.Optional(Uuid) })

const count = (description: string) =>
  Type.Integer({ description: `${description} At most 1,000, which means 1,000 or more.` })
const Counts = Type.Object({
  open: count('`status=open`.'),
  pending: count('`status=pending`.'),
  mine: count('`assigned=me&status=open`.'),
  unassigned: count('Open conversations without an assigned member.'),
  unread: count('`unread=true&status=open`.'),
})

const LabelNames = (description: string) =>
  Type.Optional(Type.Array(TrimmedText(maxTagLength), { maxItems: maxLabels, description }))
const changeFields = {
  status: Type.Optional(OneOf(statuses)),
  assigned_agent_id: Type.Optional(NullableText({ format: 'uuid' })),
  snoozed_until: Type.Optional(
    NullableText({
      description: 'A date-time in the future: the status is `pending` until then. Null ends the snooze.',
    }),
  ),
  labels: LabelNames('Names: exactly these labels. Unknown ones are created.'),
  add_labels: LabelNames('Names of labels to add.'),
  remove_labels: LabelNames('Names of labels to remove.'),
}
const Changes = Type.Object(changeFields)

/** Conversations of one bulk change: one transaction locks them all. */
const maxBulk = 500
const BulkChanges = Type.Object({
  ids: Type.Array(Uuid, { minItems: 1, maxItems: maxBulk }),
  ...changeFields,
})
const State = Type.Object({
  status: OneOf(statuses),
  assigned_agent_id: NullableText(),
  snoozed_until: NullableDateTime,
  labels: Type.Array(Type.String()),
})
const BulkResult = Type.Object({
  id: Uuid,
  before: Type.Optional(State),
  after: Type.Optional(State),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
})

const toBulkResult = (result: ChangeResult): Static<typeof BulkResult> =>
  'error' in result ? { id: result.id, error: { code: result.error.code, message: result.error.message } } : result

const summarizeFields = (agent: string | undefined, changes: Static<typeof Changes>) => {
  const { status, assigned_agent_id: agentId, snoozed_until: until, labels, add_labels, remove_labels } = changes
  return [
    status,
    agentId !== undefined && (agent ? `assigned to ${agent}` : 'unassigned'),
    until !== undefined && (until ? `snoozed until ${until}` : 'not snoozed'),
    labels && `labels: ${labels.join(', ') || 'none'}`,
    add_labels && `added labels: ${add_labels.join(', ')}`,
    remove_labels && `removed labels: ${remove_labels.join(', ')}`,
  ]
    .filter(Boolean)
    .join('; ')
}
const summarizeChanges = ({ assigned_agent }: Static<typeof MemberConversation>, body: Static<typeof Changes>) =>
  summarizeFields(assigned_agent?.email, body)
/** The response schema removes `assignee`. */
const summarizeBulk = (
  results: Static<typeof BulkResult>[],
  body: Static<typeof BulkChanges>,
  { handlerResult }: FastifyRequest,
) => {
  const { assignee } = handlerResult as { assignee?: { email: string } }
  return `${results.filter(({ error }) => !error).length} conversations: ${summarizeFields(assignee?.email, body)}`
}

type ConversationDashboardOptions = { db: Db; slow: SlowReads; context: InboxContext; signals: Signals }

export const conversationDashboard = (options: ConversationDashboardOptions) => async (app: App) => {
  const { db, slow, context, signals } = options
  app.get(
    '/conversations',
    { schema: { querystring: InboxQuery, response: { 200: ListOf(MemberConversation) } } },
    async ({ session, query }) => {
      const filters = { ...readInboxQuery(session, query), contact_id: query.contact_id }
      const position = { limit: readPosition(query).limit, cursor: query.cursor }
      const list = (sql: Sql) => listInbox(sql, session.workspaceId, context, filters, position)
      return filters.search || filters.label ? slow(session.workspaceId, list) : list(db)
    },
  )
  app.get(
    '/conversations/counts',
    { schema: { response: { 200: DataOf(Counts) } } },
    async ({ session: { workspaceId, member } }) => {
      const [counts, mine] = await Promise.all([countInbox(db, workspaceId), countMine(db, workspaceId, member.id)])
      return { data: { ...counts, mine } }
    },
  )
  app.get(
    '/conversations/:id',
    { schema: { params: IdParams, response: { 200: DataOf(MemberConversation) } } },
    async ({ session, params }) => ({ data: await requireInboxRow(db, session.workspaceId, context, params.id) }),
  )
  app.patch(
    '/conversations/:id',
    {
      config: { audit: { action: 'conversation.changed', summary: summarizeChanges }, isQuiet: true },
      schema: { params: IdParams, body: Changes, response: { 200: DataOf(MemberConversation) } },
    },
    async ({ session: { workspaceId, member }, params, body }) => {
      const { id } = await updateConversation(db, workspaceId, { memberId: member.id }, params.id, body)
      signals.inboxChanged(workspaceId, [id])
      return { data: await requireInboxRow(db, workspaceId, context, id) }
    },
  )
  app.post(
    '/conversations/bulk',
    {
      config: { audit: { action: 'conversations.changed', summary: summarizeBulk }, isQuiet: true },
      schema: { body: BulkChanges, response: { 200: DataOf(Type.Array(BulkResult)) } },
    },
    async ({ session: { workspaceId, member }, body: { ids, ...changes } }) => {
      const { assigned_agent_id: agentId } = changes
      const assignee = agentId ? await requireAssignee(db, workspaceId, agentId) : undefined
      const results = await updateConversations(db, workspaceId, { memberId: member.id }, ids, changes)
      signals.inboxChanged(workspaceId, ids)
      return { data: results.map(toBulkResult), assignee }
    },
  )
  app.post(
    '/conversations/:id/read',
    {
      config: { audit: false, isQuiet: true },
      schema: { params: IdParams, response: { 200: DataOf(MemberConversation) } },
    },
    async ({ session: { workspaceId }, params }) => {
      const { id } = await readConversation(db, workspaceId, params.id)
      signals.inboxChanged(workspaceId, [id])
      return { data: await requireInboxRow(db, workspaceId, context, id) }
    },
  )
}
