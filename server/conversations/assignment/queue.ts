/** The queue of a team: its open conversations without a member, in the order in which they are assigned. */
import type { Fragment, Sql } from '../../lib/postgres/db.ts'
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
