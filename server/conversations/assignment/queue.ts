/** The queue of a team: its open conversations without a member, in the order in which they are assigned. */
import { type Fragment, isoTime, type Sql } from '../../lib/postgres/db.ts'
import { agentOf } from '../conversations.ts'
import { inboxStatusOf } from '../inbox-plan.ts'

/** Condition: conversation `v` is in the queue of its team. Exactly that of the index `conversations_queued`. */
export const isQueued = (sql: Sql): Fragment => sql`(
  v.team_id is not null and v.assigned_agent_id is null and v.status = 'open' and v.bot_run_id is null
  and v.blocked_at is null and v.inbox_at is not null
)`

/** The longest wait first, then conversations whose customer does not wait. The order of the index. */
export const queueOrder = (sql: Sql): Fragment => sql`v.waiting_since, v.inbox_at, v.id`

/** Condition: conversation `v` counts against the capacity of its member. The first part reads the index of the inbox. */
export const isCounted = (sql: Sql): Fragment => sql`(${inboxStatusOf(sql)} = 'open' and v.bot_run_id is null)`

/** A queue is counted up to this number, which means so many or more, and so are positions in it: about a millisecond. */
export const maxQueued = 1_000

export type Queued = { id: string; team_id: string; position: number; waiting_since: string | null }

/** Of these conversations, those among the first `maxQueued` of their team's queue. One read, however many they are. */
export async function listQueued(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<Queued[]> {
  return sql<Queued[]>`
    with
    -- Only the queues of these conversations are read.
    queue_teams as (
      select distinct v.team_id from conversations v
      where v.workspace_id = ${workspaceId} and v.id = any(${[...ids]}::uuid[]) and ${isQueued(sql)}
    )
    select q.id, t.team_id, q.position, ${isoTime(sql, sql`q.waiting_since`)} as waiting_since
    from queue_teams t
    cross join lateral (
      select v.id, v.waiting_since, (row_number() over (order by ${queueOrder(sql)}))::int as position
      from conversations v
      where v.workspace_id = ${workspaceId} and v.team_id = t.team_id and ${isQueued(sql)}
      order by ${queueOrder(sql)}
      limit ${maxQueued}
    ) q
    where q.id = any(${[...ids]}::uuid[])`
}

/** How many conversations count against the capacities of these members. */
export async function countOpen(
  sql: Sql,
  workspaceId: string,
  memberIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql<{ id: string; open: number }[]>`
    select i.id, (
      select count(*)::int from conversations v
      where v.workspace_id = ${workspaceId} and ${agentOf(sql)} = i.id and ${isCounted(sql)}
    ) as open
    from unnest(${[...memberIds]}::uuid[]) as i (id)`
  return new Map(rows.map(({ id, open }) => [id, open]))
}
