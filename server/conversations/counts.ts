/**
 * The counts beside the lists of the inbox: of the tabs, and of the sidebar: open conversations of each label and member, and
 * conversations of each saved view.
 *
 * Labels and members are counted together among the open conversations, so their number does not matter. With more than `maxOpen` open
 * conversations the counts are minimums. Views are counted one by one, each at a fixed cost.
 */
import type { Session } from '../accounts/callers.ts'
import { type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'
import { agentOf, unassigned } from './conversations.ts'
import { countMatches, hasInboxStatus, inboxStatusOf } from './inbox.ts'
import { readInboxQuery } from './inbox-query.ts'
import { listViews } from './views.ts'

export type InboxCounts = { open: number; pending: number; mine: number; unassigned: number; unread: number }

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
    select ${count(hasInboxStatus(sql, 'open'))} as open, ${count(hasInboxStatus(sql, 'pending'))} as pending,
      ${count(sql`${isUnassigned(sql)} and ${inboxStatusOf(sql)} = 'open'`)} as unassigned,
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

type SidebarCounts = {
  labels: Count[]
  members: Count[]
  views: Count[]
  /** There are more open conversations than were counted. */
  has_more: boolean
}

/** Open conversations among which labels and members are counted: about 10 ms. */
const maxOpen = 2_000
/** Views that are counted: the first ones of the list. */
const maxViews = 30

export async function countSidebar(sql: Sql, session: Session): Promise<SidebarCounts> {
  const { workspaceId, member } = session
  const counted = await sql<(Count & { kind: 'label' | 'member' | 'all' })[]>`
    with
    -- The newest ones of the index, at most one more than are counted.
    open_conversations as (
      select v.workspace_id, v.id, ${agentOf(sql)} as agent
      from conversations v
      where v.workspace_id = ${workspaceId} and ${hasInboxStatus(sql, 'open')}
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
  const views: Count[] = []
  const listed = await listViews(sql, workspaceId, member.id)
  // A search costs more than a count may.
  for (const { id, filters } of listed.filter((view) => !view.filters.search).slice(0, maxViews)) {
    views.push({ id, count: await countMatches(sql, workspaceId, readInboxQuery(session, filters)) })
  }
  const countsOf = (kind: 'label' | 'member'): Count[] =>
    counted.filter((one) => one.kind === kind && one.id !== unassigned).map(({ id, count }) => ({ id, count }))
  const has_more = counted.some(({ kind, count }) => kind === 'all' && count > maxOpen)
  return { labels: countsOf('label'), members: countsOf('member'), views, has_more }
}
