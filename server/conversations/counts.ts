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
import { agentOf, unassigned } from './conversations.ts'
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

/** The counts that all members share. */
export async function countInbox(sql: Sql, workspaceId: string): Promise<Omit<InboxCounts, 'mine'>> {
  const count = (condition: Fragment) => countUpToMax(sql, workspaceId, condition)
  const [counts] = await sql<Omit<InboxCounts, 'mine'>[]>`
    select ${count(hasInboxStatus(sql, workspaceId, 'open'))} as open, ${count(hasInboxStatus(sql, workspaceId, 'pending'))} as pending,
      ${count(sql`${isUnassigned(sql)} and ${inboxStatusOf(sql)} = 'open' and v.bot_run_id is null`)} as unassigned,
      ${count(sql`v.bot_run_id is not null`)} as bot,
      ${count(sql`v.unread_count > 0 and ${inboxStatusOf(sql)} = 'open'`)} as unread`
  return requireRow(counts, 'the inbox count')
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
  const openCounts = createTtlCache((workspaceId) => slow(workspaceId, (sql) => countOpen(sql, workspaceId)), sharedMs)
  const viewCount = createTtlCache((key) => {
    const [workspaceId, memberId, filters] = JSON.parse(key) as [string, string, Parameters<typeof readInboxQuery>[1]]
    const query = readInboxQuery({ member: { id: memberId } }, filters)
    return slow(workspaceId, (sql) => countMatches(sql, workspaceId, query))
  }, sharedMs)
  return async ({ workspaceId, member }) => {
    const open = await openCounts(workspaceId)
    const listed = await listViews(db, workspaceId, member.id)
    const views: SidebarCounts['views'] = []
    // A search costs more than a count may.
    for (const { id, filters } of listed.filter((view) => !view.filters.search).slice(0, maxViews)) {
      // Members share the count of a view unless it is about themselves.
      const isPersonal = /\bme\b/.test(filters.assigned ?? '')
      views.push({ id, ...(await viewCount(JSON.stringify([workspaceId, isPersonal ? member.id : '', filters]))) })
    }
    return { ...open, views }
  }
}

async function countOpen(sql: Sql, workspaceId: string): Promise<OpenCounts> {
  const counted = await sql<(Count & { kind: 'label' | 'member' | 'all' })[]>`
    with
    -- From one index, at most one more than are counted.
    open_conversations as (
      select v.workspace_id, v.id, ${agentOf(sql)} as agent
      from conversations v
      where v.workspace_id = ${workspaceId} and ${hasInboxStatus(sql, workspaceId, 'open')}
      limit ${maxOpen + 1}
    )
    select 'label' as kind, cl.label_id as id, count(*)::int as count
    from open_conversations v
    join conversation_labels cl on cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
    group by cl.label_id
    union all
    select 'member', v.agent, count(*)::int from open_conversations v group by v.agent
    union all
    select 'all', ${unassigned}::uuid, count(*)::int from open_conversations`
  const countsOf = (kind: 'label' | 'member'): Count[] =>
    counted.filter((one) => one.kind === kind && one.id !== unassigned).map(({ id, count }) => ({ id, count }))
  const has_more = counted.some(({ kind, count }) => kind === 'all' && count > maxOpen)
  return { labels: countsOf('label'), members: countsOf('member'), has_more }
}
