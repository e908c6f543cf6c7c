/** `/search`, `/overview` and `/checklist` for members. */

import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { contentTypes } from '../channels/channel.ts'
import { ConversationSchema } from '../conversations/resource.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import {
  DateTime,
  ListQuery,
  NullableDateTime,
  NullableInteger,
  NullableText,
  OneOf,
  Type,
  toPublic,
  Uuid,
} from '../lib/schema.ts'
import { directions } from '../messages/resource.ts'
import { shownTo } from '../webhooks/endpoints.ts'
import { lastAttempt, providers } from '../webhooks/resource.ts'
import { dismissChecklist, readChecklist, steps } from './checklist.ts'
import { readOverview } from './overview.ts'
import { searchMessages } from './search.ts'

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
  // Without the title of the resource, which has more fields for members.
  conversation: Type.Object(toPublic(ConversationSchema).properties),
})

const Count = Type.Integer({ minimum: 0 })
const Day = Type.String({ format: 'date' })
const Traffic = Type.Object({ inbound: Count, outbound: Count })

const OverviewSchema = Type.Object({
  days: Type.Array(Type.Object({ day: Day, msgapp: Traffic, social: Traffic, web: Traffic })),
  funnel: Type.Object({ sent: Count, delivered: Count, read: Count, failed: Count }),
  responses: Type.Object({
    count: Count,
    average_seconds: NullableInteger,
    within: Type.Object({ five_minutes: Count, one_hour: Count, one_day: Count }),
    days: Type.Array(Type.Object({ day: Day, count: Count, average_seconds: NullableInteger })),
  }),
  open_conversations: Count,
  unassigned_conversations: Count,
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

const ranges = ['7', '30', '90'] as const

const ChecklistSchema = Type.Object({
  items: Type.Array(Type.Object({ name: OneOf(steps), done: Type.Boolean() })),
  dismissed: Type.Boolean(),
})

export const insightsTable = (db: Db, slow: SlowReads): readonly Row[] => [
  row({
    call: 'GET /search',
    members: roles,
    query: ListQuery({ q: Type.String() }),
    list: SearchResultSchema,
    run: ({ caller: { workspaceId }, query }) =>
      slow(workspaceId, (sql) => searchMessages(sql, workspaceId, query.q, readPosition(query))),
  }),
  row({
    call: 'GET /overview',
    members: roles,
    query: Type.Object({ days: Type.Optional(OneOf(ranges)) }),
    data: OverviewSchema,
    run: async ({ caller, query }) => {
      const overview = await readOverview(db, caller.workspaceId, Number(query.days ?? '30'))
      const webhooks = overview.webhooks.map((endpoint) => shownTo(caller.member, endpoint))
      return { ...overview, webhooks }
    },
  }),
  row({
    call: 'GET /checklist',
    members: roles,
    data: ChecklistSchema,
    run: ({ caller }) => readChecklist(db, caller.workspaceId),
  }),
  row({
    call: 'POST /checklist/dismiss',
    members: writers,
    audit: false,
    data: ChecklistSchema,
    run: ({ caller }) => dismissChecklist(db, caller.workspaceId),
  }),
]
