/** `/search`, `/contacts/{id}/history`, `/overview` and `/checklist` for members. */

import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { contentTypes } from '../channels/channel.ts'
import { requirePublicConnection } from '../channels/connections.ts'
import { ContactName } from '../contacts/contact-name.ts'
import { channels } from '../contacts/resource.ts'
import { FoundConversation } from '../conversations/resource.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import {
  DateTime,
  IdParams,
  ListQuery,
  NullableDateTime,
  NullableInteger,
  NullableObject,
  NullableText,
  OneOf,
  Type,
  Uuid,
} from '../lib/schema.ts'
import { directions } from '../messages/resource.ts'
import { shownTo } from '../webhooks/endpoints.ts'
import { lastAttempt, providers } from '../webhooks/resource.ts'
import { dismissChecklist, readChecklist, steps } from './checklist.ts'
import { type BroadcastNames, HistoryEntrySchema, listHistory } from './history.ts'
import { readOverview } from './overview.ts'
import { searchMessages } from './search.ts'
import { searchNotes } from './search-notes.ts'

const SearchResultSchema = Type.Object({
  message: Type.Object({
    id: Uuid,
    conversation_id: Uuid,
    direction: OneOf(directions),
    content_type: OneOf(contentTypes),
    content_text: NullableText(),
    created_at: DateTime,
  }),
  snippet: Type.String({ description: 'About 120 characters around the first match, as plain text.' }),
  conversation: FoundConversation,
})

const Count = Type.Integer({ minimum: 0 })
const Day = Type.String({ format: 'date' })
const Traffic = Type.Object({ inbound: Count, outbound: Count })

const Channels = { msgapp: Traffic, social: Traffic, web: Traffic }
const average = { count: Count, average_seconds: NullableInteger }

const OverviewSchema = Type.Object({
  time_zone: Type.String({ description: 'Of the workspace: its days are those of the overview.' }),
  days: Type.Array(Type.Object({ day: Day, ...Channels })),
  hours: Type.Array(Type.Object({ at: DateTime, ...Channels }), {
    description: 'Of today, if `days` is 1; else empty.',
  }),
  first_day: NullableText({ format: 'date', description: 'The first day with messages.' }),
  funnel: Type.Object({ sent: Count, delivered: Count, read: Count, failed: Count }),
  funnel_since: NullableText({
    format: 'date',
    description: 'The first day of the funnel of a connection, if earlier days were not counted by connection.',
  }),
  responses: Type.Object({
    ...average,
    within: Type.Object({ five_minutes: Count, one_hour: Count, one_day: Count }),
    days: Type.Array(Type.Object({ day: Day, ...average })),
  }),
  previous: NullableObject(
    { ...Traffic.properties, responses: Type.Object(average) },
    {
      description:
        'As many days before, until the same time of day. Null if the workspace was not in use on all of them.',
    },
  ),
  open_conversations: Count,
  unassigned_conversations: Count,
  /** Of the workspace. Empty for one connection. */
  webhooks: Type.Array(
    Type.Object({
      id: Uuid,
      url: Type.String(),
      provider: OneOf(providers),
      is_active: Type.Boolean(),
      failure_count: Count,
      last_delivery_at: NullableDateTime,
      ...lastAttempt,
      waiting_count: Count,
    }),
  ),
})

const ranges = ['1', '7', '30', '90'] as const

const ChecklistSchema = Type.Object({
  items: Type.Array(Type.Object({ name: OneOf(steps), done: Type.Boolean() })),
  dismissed: Type.Boolean(),
})

const FoundNoteSchema = Type.Object({
  id: Uuid,
  snippet: Type.String({ description: 'About 120 characters around the first match, as plain text.' }),
  author: Type.Object({ name: NullableText({ description: 'Null for a removed member or an API key.' }) }),
  contact: ContactName,
  conversation: NullableObject(
    { id: Uuid, channel: OneOf(channels) },
    { description: 'Null for a note about the contact.' },
  ),
  created_at: DateTime,
})

type InsightsOptions = { db: Db; slow: SlowReads; broadcastNames: BroadcastNames }

export const insightsTable = ({ db, slow, broadcastNames }: InsightsOptions): readonly Row[] => [
  row({
    call: 'GET /search',
    members: roles,
    query: ListQuery({ q: Type.String() }),
    list: SearchResultSchema,
    run: ({ caller, query }) =>
      slow(caller.workspaceId, (sql) => searchMessages(sql, caller, query.q, readPosition(query))),
  }),
  row({
    call: 'GET /search/notes',
    members: roles,
    query: ListQuery({ q: Type.String() }),
    list: FoundNoteSchema,
    run: ({ caller, query }) =>
      slow(caller.workspaceId, (sql) => searchNotes(sql, caller, query.q, readPosition(query))),
  }),
  row({
    call: 'GET /contacts/:id/history',
    members: roles,
    params: IdParams,
    query: ListQuery({}),
    list: HistoryEntrySchema,
    run: ({ caller, params, query }) =>
      slow(caller.workspaceId, (sql) => listHistory(sql, caller, broadcastNames, params.id, readPosition(query))),
  }),
  row({
    call: 'GET /overview',
    members: roles,
    needsAll: true,
    query: Type.Object({ days: Type.Optional(OneOf(ranges)), connection_id: Type.Optional(Type.String()) }),
    data: OverviewSchema,
    run: async ({ caller, query: { days = '30', connection_id } }) => {
      const { workspaceId } = caller
      const connection = connection_id && (await requirePublicConnection(db, workspaceId, connection_id))
      const overview = await readOverview(db, workspaceId, Number(days), connection ? connection.id : undefined)
      const webhooks = overview.webhooks.map((endpoint) => shownTo(caller.member, endpoint))
      return { ...overview, webhooks }
    },
  }),
  row({
    call: 'GET /checklist',
    members: roles,
    data: ChecklistSchema,
    run: ({ caller }) => readChecklist(db, caller.workspaceId, caller.member),
  }),
  row({
    call: 'POST /checklist/dismiss',
    members: writers,
    audit: false,
    data: ChecklistSchema,
    run: ({ caller }) => dismissChecklist(db, caller.workspaceId, caller.member),
  }),
]
