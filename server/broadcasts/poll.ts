/** What the broadcast loop finds when it polls: the broadcasts of all workspaces that are not completed, each with its state. */
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import type { Metrics } from '../lib/process/metrics.ts'
import { hasWork } from './choose.ts'
import { sumCounts } from './counts.ts'
import { isHeld, senderOf } from './pace.ts'
import { isDone } from './resource.ts'

export type OpenBroadcast = {
  workspace_id: string
  id: string
  /** The number that sends it; null: the workspace has none. */
  connection_id: string | null
  /** The header of `run.ts` says what the loop does in each state. */
  state: 'due' | 'filling' | 'sending' | 'waiting' | 'canceled' | 'done'
}

/** Whether a broadcast is scheduled for now, or started or canceled and not completed. */
export const hasOpen = (sql: Sql): Fragment => sql`
  exists (select from broadcasts where status = 'scheduled' and scheduled_at <= now())
  or exists (select from broadcasts where completed_at is null and status <> 'scheduled' and status <> 'draft')`

/** Scheduled broadcasts whose time has come, then those that are started or canceled and not completed. */
export async function listOpen(sql: Sql): Promise<OpenBroadcast[]> {
  const due = await sql<OpenBroadcast[]>`
    select workspace_id, id, connection_id, 'due' as state from broadcasts
    where status = 'scheduled' and scheduled_at <= now() and not is_paused
    order by scheduled_at
    limit 100`
  const started = await sql<OpenBroadcast[]>`
    select b.workspace_id, b.id, ${senderOf(sql)} as connection_id,
      case
        when b.status = 'canceled' then 'canceled'
        when ${isDone(sql)} then 'done'
        when b.is_paused then 'waiting'
        when not b.is_filled then 'filling'
        when ${hasWork(sql)} and not ${isHeld(sql)} then 'sending'
        else 'waiting'
      end as state
    from broadcasts b cross join lateral (${sumCounts(sql)}) n
    -- The second condition is that of the index.
    where b.completed_at is null and b.status <> 'scheduled' and b.status <> 'draft'
    order by b.workspace_id, b.id`
  return [...due, ...started]
}

/** The gauge of broadcasts by status. */
export function watchBroadcasts(sql: Sql, metrics: Metrics): void {
  metrics.gauge('parley_broadcasts', 'Broadcasts, by status; paused ones count as paused.', 'status', async () => {
    const rows = await sql<{ status: string; count: number }[]>`
      select case when b.is_paused or b.status = 'sending' and exists (
          select from broadcast_paces p
          where p.workspace_id = b.workspace_id and p.connection_id = ${senderOf(sql)} and p.breaker_state <> 'closed'
        ) then 'paused' else b.status end as status, count(*)::int as count
      from broadcasts b group by 1`
    const none = { draft: 0, scheduled: 0, sending: 0, sent: 0, canceled: 0, paused: 0 }
    return { ...none, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) }
  })
}
