/** `/conversations`: list, read, change, mark as read. Members list the inbox, count it, and change many at once. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AnyCaller } from '../accounts/callers.ts'
import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { channels } from '../contacts/resource.ts'
import { maxTagLength } from '../contacts/tags.ts'
import { ApiError, badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { readPosition } from '../lib/page.ts'
import { readChangePosition, updatedAfterFilter } from '../lib/postgres/changes.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import {
  ForMembers,
  IdParams,
  inDocument,
  ListQuery,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  TrimmedText,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { requireTeamName } from '../teams/teams.ts'
import { requireAssignee } from './assignees.ts'
import { type ChangeResult, maxSnoozeDays, updateConversation, updateConversations } from './changes.ts'
import { listConversations, readConversation, requireConversation, unreadConversation } from './conversations.ts'
import { countInbox, countMine } from './counts.ts'
import { handlers, statuses } from './filter-fields.ts'
import { type InboxContext, listInbox, requireInboxRow } from './inbox.ts'
import { inboxFilters, readInboxQuery } from './inbox-query.ts'
import { maxLabels } from './labels.ts'
import { listByActivity, listChangedConversations } from './recent.ts'
import { ConversationSchema, type InboxRow } from './resource.ts'
import { actorOf } from './timeline.ts'
import { listVisibleIds } from './visible-step.ts'

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
  connection_id: Type.Optional(
    Type.String({ format: 'uuid', description: 'Only conversations of this connection (`GET /connections`).' }),
  ),
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
  assigned_team_id: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'A uuid: only conversations of this team. `none`: only those of no team.',
      ...inDocument({
        anyOf: [{ type: 'string', format: 'uuid' }, { const: 'none' }],
        type: undefined,
        maxLength: undefined,
      }),
    }),
  ),
  label: Type.Optional(Type.String({ maxLength: 200, description: 'The id or the name of a label.' })),
  handled_by: Type.Optional(
    OneOf(handlers, { description: '`bot`: only conversations that an automation handles. `team`: only the others.' }),
  ),
  ...updatedAfterFilter('conversations'),
})

const LabelNames = (description: string) =>
  Type.Optional(Type.Array(TrimmedText(maxTagLength), { maxItems: maxLabels, description }))

const ConversationChanges = Type.Object(
  {
    status: Type.Optional(OneOf(statuses)),
    assigned_agent_id: Type.Optional(
      NullableText({ format: 'uuid', description: 'A member who is not a viewer (`GET /members`). Null unassigns.' }),
    ),
    assigned_team_id: Type.Optional(
      NullableText({ format: 'uuid', description: 'A team (`GET /teams`). Null: of no team.' }),
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
    add_labels: ForMembers(LabelNames('Names of labels to add.')),
    remove_labels: ForMembers(LabelNames('Names of labels to remove.')),
  },
  { title: 'ConversationChanges', examples: [{ status: 'open', labels: ['Delivery'] }] },
)

/** Refuses filters that cannot be combined or read. */
function requireUsable({ sort, updated_after, ...query }: Static<typeof ConversationsQuery>): void {
  const { assigned_agent_id: agentId, assigned_team_id: teamId } = query
  if (agentId !== undefined && agentId !== 'none' && !isUuid(agentId)) {
    throw badRequest('assigned_agent_id: must be a uuid or none')
  }
  if (teamId !== undefined && teamId !== 'none' && !isUuid(teamId)) {
    throw badRequest('assigned_team_id: must be a uuid or none')
  }
  if (sort !== undefined && updated_after !== undefined) throw badRequest('sort: not together with updated_after')
}

/** Runs before the schema, whose errors are all `bad_request`: an unknown channel has a code of its own. */
function requireKnownChannel({ query }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const { channel } = query as { channel?: unknown }
  const isKnown = channel === undefined || channels.some((name) => name === channel)
  done(isKnown ? undefined : new ApiError('invalid_request', `channel: must be one of ${channels.join(', ')}`))
}

const InboxQuery = ListQuery({ ...inboxFilters, contact_id: Type.Optional(Uuid) })

const count = (description: string) =>
  Type.Integer({ description: `${description} At most 1,000, which means 1,000 or more.` })
const Counts = Type.Object({
  open: count('`status=open`.'),
  pending: count('`status=pending`.'),
  mine: count('`assigned=me&status=open`.'),
  unassigned: count('Open conversations without an assigned member that are not with the bot.'),
  bot: count('`handled_by=bot`.'),
  unread: count('`unread=true&status=open`.'),
})

/** Conversations of one bulk change: one transaction locks them all. */
const maxBulk = 500
const BulkChanges = Type.Object({
  ids: Type.Array(Uuid, { minItems: 1, maxItems: maxBulk }),
  ...ConversationChanges.properties,
})
const State = Type.Object({
  status: OneOf(statuses),
  assigned_agent_id: NullableText(),
  assigned_team_id: NullableText(),
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

/** The e-mail address of the assigned member and the name of the assigned team. */
type Assigned = { agent?: string | undefined; team?: string | undefined }

const summarizeFields = ({ agent, team }: Assigned, changes: Static<typeof ConversationChanges>) => {
  const {
    status,
    assigned_agent_id: agentId,
    assigned_team_id: teamId,
    snoozed_until: until,
    labels,
    add_labels,
    remove_labels,
  } = changes
  return [
    status,
    agentId !== undefined && (agent ? `assigned to ${agent}` : 'unassigned'),
    teamId !== undefined && (team ? `team ${team}` : 'no team'),
    until !== undefined && (until ? `snoozed until ${until}` : 'not snoozed'),
    labels && `labels: ${labels.join(', ') || 'none'}`,
    add_labels && `added labels: ${add_labels.join(', ')}`,
    remove_labels && `removed labels: ${remove_labels.join(', ')}`,
  ]
    .filter(Boolean)
    .join('; ')
}
const summarizeChanges = ({ assigned_agent, assigned_team }: InboxRow, body: Static<typeof ConversationChanges>) =>
  summarizeFields({ agent: assigned_agent?.email, team: assigned_team?.name }, body)
/** The response schema removes `assigned`. */
const summarizeBulk = (
  results: (Static<typeof BulkResult> & { assigned?: Assigned })[],
  body: Static<typeof BulkChanges>,
) =>
  `${results.filter(({ error }) => !error).length} conversations: ${summarizeFields(results[0]?.assigned ?? {}, body)}`

type ConversationOptions = { db: Db; reads: Db; slow: SlowReads; context: InboxContext; signals: Signals }

export function conversationTable({ db, reads, slow, context, signals }: ConversationOptions): readonly Row[] {
  const readFor = async ({ workspaceId, member }: AnyCaller, id: string) =>
    member ? requireInboxRow(db, workspaceId, context, id) : requireConversation(reads, workspaceId, id)
  return [
    row({
      call: 'GET /conversations',
      operation: 'listConversations',
      summary: 'List conversations',
      description:
        'Newest first, of all channels unless filtered, each with its contact. With `updated_after`, oldest change first.',
      scope: 'conversations:read',
      isShared: true,
      preValidation: requireKnownChannel,
      query: ConversationsQuery,
      list: ConversationSchema,
      run: async ({ caller: { workspaceId }, query }) => {
        requireUsable(query)
        const changes = readChangePosition(query)
        const position = readPosition(query)
        const { label, assigned_agent_id, assigned_team_id, handled_by } = query
        const hasFixedPlan = [label, assigned_agent_id, assigned_team_id, handled_by].every(
          (filter) => filter === undefined,
        )
        const list = (sql: Sql) => {
          if (changes) return listChangedConversations(sql, workspaceId, query, changes)
          if (query.sort) return listByActivity(sql, workspaceId, query, { ...position, cursor: query.cursor })
          return listConversations(sql, workspaceId, query, position)
        }
        if (!hasFixedPlan) return slow(workspaceId, list)
        return list(changes || query.sort ? db : reads)
      },
    }),
    row({
      call: 'GET /conversations/:id',
      operation: 'getConversation',
      summary: 'Read a conversation',
      description: 'One conversation, with its contact.',
      scope: 'conversations:read',
      members: roles,
      params: IdParams,
      data: ConversationSchema,
      run: ({ caller, params }) => readFor(caller, params.id),
    }),
    row({
      call: 'PATCH /conversations/:id',
      operation: 'updateConversation',
      summary: 'Change a conversation',
      description:
        'Changes the status, the assigned member or team, the snooze or the labels. Updates only the fields present. A line in the thread names the key.',
      scope: 'conversations:write',
      members: writers,
      audit: { action: 'conversation.changed', summary: summarizeChanges },
      isQuiet: true,
      params: IdParams,
      body: ConversationChanges,
      data: ConversationSchema,
      run: async ({ caller, params, body }) => {
        const { workspaceId } = caller
        const { id } = await updateConversation(db, workspaceId, actorOf(caller), params.id, body)
        signals.inboxChanged(workspaceId, [id])
        return readFor(caller, id)
      },
    }),
    row({
      call: 'POST /conversations/:id/read',
      operation: 'readConversation',
      summary: 'Mark a conversation as read',
      description: 'Sets `unread_count` to 0. A visitor of the web chat sees that their messages were read.',
      scope: 'conversations:write',
      members: writers,
      audit: false,
      isQuiet: true,
      params: IdParams,
      data: ConversationSchema,
      run: async ({ caller, params }) => {
        const { id, channel } = await readConversation(db, caller.workspaceId, params.id)
        signals.inboxChanged(caller.workspaceId, [id])
        if (channel === 'web') signals.conversationRead(id)
        return readFor(caller, id)
      },
    }),
    row({
      call: 'POST /conversations/:id/unread',
      members: writers,
      audit: false,
      isQuiet: true,
      params: IdParams,
      data: ConversationSchema,
      run: async ({ caller, params }) => {
        const { id } = await unreadConversation(db, caller.workspaceId, params.id)
        signals.inboxChanged(caller.workspaceId, [id])
        return readFor(caller, id)
      },
    }),
    row({
      call: 'GET /conversations',
      members: roles,
      query: InboxQuery,
      list: ConversationSchema,
      run: async ({ caller, query }) => {
        const filters = { ...readInboxQuery(caller, query), contact_id: query.contact_id }
        const position = { limit: readPosition(query).limit, cursor: query.cursor }
        const list = (sql: Sql) => listInbox(sql, caller, context, filters, position)
        return filters.search || filters.labels || filters.tags ? slow(caller.workspaceId, list) : list(db)
      },
    }),
    row({
      call: 'GET /conversations/counts',
      members: roles,
      data: Counts,
      run: async ({ caller }) => {
        const { workspaceId, member } = caller
        const [counts, mine] = await Promise.all([countInbox(db, caller), countMine(db, workspaceId, member.id)])
        return { ...counts, mine }
      },
    }),
    row({
      call: 'POST /conversations/bulk',
      members: writers,
      audit: { action: 'conversations.changed', summary: summarizeBulk },
      isQuiet: true,
      body: BulkChanges,
      data: Type.Array(BulkResult),
      run: async ({ caller, body: { ids, ...changes } }) => {
        const { workspaceId, member } = caller
        const { assigned_agent_id: agentId, assigned_team_id: teamId } = changes
        const agent = agentId ? (await requireAssignee(db, workspaceId, agentId)).email : undefined
        const team = teamId ? await requireTeamName(db, workspaceId, teamId, 'assigned_team_id') : undefined
        const visible = await listVisibleIds(db, caller, ids)
        const isVisible = (id: string) => visible.has(id.toLowerCase())
        const changed = await updateConversations(
          db,
          workspaceId,
          { memberId: member.id },
          ids.filter(isVisible),
          changes,
        )
        signals.inboxChanged(workspaceId, ids.filter(isVisible))
        const byId = new Map(changed.map((result) => [result.id, result]))
        const requested = [...new Set(ids.map((id) => id.toLowerCase()))]
        const results = requested.map((id) => byId.get(id) ?? { id, error: notFound('conversation') })
        return results.map((result) => ({ ...toBulkResult(result), assigned: { agent, team } }))
      },
    }),
  ]
}
