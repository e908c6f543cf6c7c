/**
 * The counts beside the lists of the inbox: of the tabs, and of the sidebar: open conversations of each label and member, and
 * conversations of each saved view.
 *
 * Labels and members are counted together among the open conversations, so their number does not matter. With more than `maxOpen` open
 * conversations the counts are minimums. Views are counted one by one, each at a fixed cost.
 *
 * The pages of all members ask for the counts of the sidebar after a change. So they are shared: a process counts each of them at most
 * once per `sharedMs`, and with the reads that one workspace cannot take from another (`lib/postgres/slow-reads.ts`).
 */
import type { Session } from '../accounts/callers.ts'
import { type Db, type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import { type Reader, type RestrictedReader, restrictionOf, teamsOf, visibleTo } from '../teams/visibility.ts'
import { agentOf, type ConversationStatus, unassigned } from './conversations.ts'
import { statuses } from './filter-fields.ts'
import { countMatches } from './inbox.ts'
import { hasInboxStatus, inboxStatusOf } from './inbox-plan.ts'
import { readInboxQuery } from './inbox-query.ts'
import { listViews } from './views.ts'

export type InboxCounts = {
  open: number
  pending: number
  mine: number
  unassigned: number
  unread: number
  /** With the bot. */
  bot: number
}

/** Counting stops here, because it is not free: this number means "or more". */
const maxCounted = 1_000

const countUpToMax = (sql: Sql, workspaceId: string, condition: Fragment): Fragment => sql`(
  select count(*)::int
  from (
    select from conversations v where v.workspace_id = ${workspaceId} and ${condition} limit ${maxCounted}
  ) counted
)`

/** The counts of all conversations, or of those that a restricted member sees. */
export async function countInbox(sql: Sql, reader: Reader): Promise<Omit<InboxCounts, 'mine'>> {
  const restricted = restrictionOf(reader)
  return restricted ? countVisible(sql, restricted) : countAll(sql, reader.workspaceId)
}

async function countAll(sql: Sql, workspaceId: string): Promise<Omit<InboxCounts, 'mine'>> {
  const count = (condition: Fragment) => countUpToMax(sql, workspaceId, condition)
  const [counts] = await sql<Omit<InboxCounts, 'mine'>[]>`
    select ${count(hasInboxStatus(sql, workspaceId, 'open'))} as open, ${count(hasInboxStatus(sql, workspaceId, 'pending'))} as pending,
      ${count(sql`${isUnassigned(sql)} and ${inboxStatusOf(sql)} = 'open' and v.bot_run_id is null`)} as unassigned,
      ${count(sql`v.bot_run_id is not null`)} as bot,
      ${count(sql`v.unread_count > 0 and ${inboxStatusOf(sql)} = 'open'`)} as unread`
  return requireRow(counts, 'the inbox count')
}

async function countVisible(sql: Sql, reader: RestrictedReader): Promise<Omit<InboxCounts, 'mine'>> {
  const [counts] = await sql<Omit<InboxCounts, 'mine'>[]>`
    with
    -- Open and pending ones of the member and of the member's teams.
    visible_conversations as (${visibleIn(sql, reader, ['open', 'pending'])})
    select least(count(*) filter (where v.inbox_status = 'open'), ${maxCounted})::int as open,
      least(count(*) filter (where v.inbox_status = 'pending'), ${maxCounted})::int as pending,
      least(count(*) filter (where v.inbox_status = 'open' and v.assigned_agent_id is null and not v.is_bot), ${maxCounted})::int
        as unassigned,
      least(count(*) filter (where v.is_bot), ${maxCounted})::int as bot,
      least(count(*) filter (where v.inbox_status = 'open' and v.is_unread), ${maxCounted})::int as unread
    from visible_conversations v`
  return requireRow(counts, 'the inbox count')
}

/** Conversations of a member, and of the member's teams, among which a restricted member's counts are made: about 10 ms. */
const maxVisible = 3_000

/**
 * The conversations with these statuses in the inbox that a restricted member sees, at most `maxVisible` of each index: those of the member,
 * and those of the member's teams. The condition is checked outside of the limits, so foreign conversations cost no further reads.
 */
function visibleIn(
  sql: Sql,
  reader: RestrictedReader,
  inboxStatuses: readonly (ConversationStatus | 'automated')[],
): Fragment {
  const { workspaceId, member } = reader
  const scan = (condition: Fragment) => sql`(
    select v.workspace_id, v.id, v.assigned_agent_id, v.team_id, ${agentOf(sql)} as agent, ${inboxStatusOf(sql)} as inbox_status,
      v.bot_run_id is not null as is_bot, v.unread_count > 0 as is_unread
    from conversations v
    where v.workspace_id = ${workspaceId} and ${condition} and ${inboxStatusOf(sql)} = any(${[...inboxStatuses]}::text[])
    limit ${maxVisible}
  )`
  return sql`
    select s.workspace_id, s.id, s.assigned_agent_id, s.team_id, s.agent, s.inbox_status, s.is_bot, s.is_unread
    from (
      ${scan(sql`${agentOf(sql)} = ${member.id}::uuid`)} union ${scan(sql`v.team_id = any(${teamsOf(sql, reader)})`)}
    ) s
    where ${visibleTo(sql, reader, sql`s`)}`
}

/** How many conversations with each label a restricted member sees. Of very many conversations it is a minimum. */
export async function countVisibleLabels(
  sql: Sql,
  reader: RestrictedReader,
): Promise<{ id: string; conversation_count: number }[]> {
  return sql<{ id: string; conversation_count: number }[]>`
    with visible_conversations as (${visibleIn(sql, reader, [...statuses, 'automated'])})
    select l.id, (
      select count(*)::int from visible_conversations v
      join conversation_labels cl on cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
      where cl.label_id = l.id
    ) as conversation_count
    from labels l
    where l.workspace_id = ${reader.workspaceId}
    order by l.name_key`
}

/** The open conversations that are assigned to the member. */
export async function countMine(sql: Sql, workspaceId: string, memberId: string): Promise<number> {
  const isMine = sql`${agentOf(sql)} = ${memberId}::uuid and ${inboxStatusOf(sql)} = 'open'`
  const [row] = await sql<{ mine: number }[]>`select ${countUpToMax(sql, workspaceId, isMine)} as mine`
  return requireRow(row, 'the count of assigned conversations').mine
}

/** Condition: conversation `v` is assigned to no member. */
const isUnassigned = (sql: Sql): Fragment => sql`${agentOf(sql)} = ${unassigned}::uuid`

type Count = { id: string; count: number }

type OpenCounts = {
  labels: Count[]
  members: Count[]
  teams: Count[]
  /** Of each team, those that are assigned to no member. */
  queues: Count[]
  /** There are more open conversations than were counted. */
  has_more: boolean
}

type SidebarCounts = OpenCounts & { views: (Count & { has_more: boolean })[] }

/** Shorter than the delay after which a page asks for the counts of a change (`dashboard/src/lib/live.tsx`), so it gets them. */
const sharedMs = 1_500
/** Open conversations among which labels and members are counted: about 10 ms. */
const maxOpen = 2_000
/** Views that are counted: the first ones of the list. */
const maxViews = 30

/** Counts for the sidebar of a member. */
export function createSidebarCounter(db: Db, slow: SlowReads): (session: Session) => Promise<SidebarCounts> {
  const openCounts = createTtlCache((key) => {
    const reader = JSON.parse(key) as Reader
    return slow(reader.workspaceId, (sql) => countOpen(sql, reader))
  }, sharedMs)
  const viewCount = createTtlCache((key) => {
    const [reader, memberId, filters] = JSON.parse(key) as [Reader, string, Parameters<typeof readInboxQuery>[1]]
    const query = readInboxQuery({ member: { id: memberId } }, filters)
    return slow(reader.workspaceId, (sql) => countMatches(sql, reader, query))
  }, sharedMs)
  return async (session) => {
    const { workspaceId, member } = session
    // Members who see all share the counts.
    const reader: Reader = restrictionOf(session) ?? { workspaceId }
    const open = await openCounts(JSON.stringify(reader))
    const listed = await listViews(db, workspaceId, member.id)
    const views: SidebarCounts['views'] = []
    // A search costs more than a count may.
    for (const { id, filters } of listed.filter((view) => !view.filters.search).slice(0, maxViews)) {
      // Members share the count of a view unless it is about themselves.
      const isPersonal = /\bme\b/.test(filters.assigned ?? '')
      views.push({ id, ...(await viewCount(JSON.stringify([reader, isPersonal ? member.id : '', filters]))) })
    }
    return { ...open, views }
  }
}

type Counted = 'label' | 'member' | 'team' | 'queue'

async function countOpen(sql: Sql, reader: Reader): Promise<OpenCounts> {
  const { workspaceId } = reader
  const restricted = restrictionOf(reader)
  const all = sql`
    select v.workspace_id, v.id, ${agentOf(sql)} as agent, v.team_id, v.bot_run_id is not null as is_bot
    from conversations v
    where v.workspace_id = ${workspaceId} and ${hasInboxStatus(sql, workspaceId, 'open')}
    limit ${maxOpen + 1}`
  const counted = await sql<(Count & { kind: Counted | 'all' })[]>`
    with
    -- From one index, at most one more than are counted; or those that a restricted member sees.
    open_conversations as (${restricted ? visibleIn(sql, restricted, ['open']) : all})
    select 'label' as kind, cl.label_id as id, count(*)::int as count
    from open_conversations v
    join conversation_labels cl on cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
    group by cl.label_id
    union all
    select 'member', v.agent, count(*)::int from open_conversations v group by v.agent
    union all
    select 'team', v.team_id, count(*)::int from open_conversations v where v.team_id is not null group by v.team_id
    union all
    select 'queue', v.team_id, count(*)::int from open_conversations v
    where v.team_id is not null and v.agent = ${unassigned}::uuid and not v.is_bot
    group by v.team_id
    union all
    select 'all', ${unassigned}::uuid, count(*)::int from open_conversations`
  const countsOf = (kind: Counted): Count[] =>
    counted.filter((one) => one.kind === kind && one.id !== unassigned).map(({ id, count }) => ({ id, count }))
  const has_more = counted.some(({ kind, count }) => kind === 'all' && count > maxOpen)
  return {
    ...{ labels: countsOf('label'), members: countsOf('member'), teams: countsOf('team'), queues: countsOf('queue') },
    has_more,
  }
}
