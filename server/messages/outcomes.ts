/**
 * Daily counters of outbound messages by status.
 *
 * Every statement that changes statuses adds the differences to one of eight rows of the day, chosen at random, so that
 * concurrent statements seldom wait for each other. A read sums the eight. A message counts on the day it was created
 * (UTC). A message that fails after it was sent no longer counts as sent. Messages of the web chat do not count: no provider reports
 * their delivery, so they would lower the share of delivered messages.
 */
import type { Fragment, Sql } from '../lib/postgres/db.ts'

const shards = 8

/**
 * Member of a `with` list, for a relation of messages with `workspace_id, created_at, status_before, status`. Only messages with
 * `isCounted` count.
 */
export function countOutcomes(sql: Sql, messages: Fragment, isCounted: Fragment = sql`true`): Fragment {
  const difference = (condition: (status: Fragment) => Fragment) =>
    sql`sum(n * ((${condition(sql`status`)})::int - (${condition(sql`status_before`)})::int))`
  return sql`
    -- Adds the status changes to the daily counters.
    counted_outcomes as (
      insert into message_outcomes as o (workspace_id, day, shard, sent, delivered, read, failed)
      select workspace_id, day, ${Math.floor(Math.random() * shards)}::int,
        ${difference((status) => sql`${status} in ('sent', 'delivered', 'read')`)},
        ${difference((status) => sql`${status} in ('delivered', 'read')`)},
        ${difference((status) => sql`${status} = 'read'`)},
        ${difference((status) => sql`${status} = 'failed'`)}
      from (
        -- Most messages of a batch change in the same way, so changes are grouped before they are evaluated.
        select workspace_id, (created_at at time zone 'utc')::date as day, status_before, status, count(*) as n
        from ${messages}
        where status <> status_before and ${isCounted}
        group by 1, 2, 3, 4
      ) changes
      group by 1, 2
      order by 1, 2
      on conflict (workspace_id, day, shard) do update set
        sent = o.sent + excluded.sent, delivered = o.delivered + excluded.delivered, read = o.read + excluded.read,
        failed = o.failed + excluded.failed
    )`
}

/** Whether a message has a provider that reports its delivery, for a relation of messages with `visitor_id`. */
export const hasReports = (sql: Sql): Fragment => sql`visitor_id is null`

export type Funnel = { sent: number; delivered: number; read: number; failed: number }

/** The totals of messages created on or after a day. */
export async function sumOutcomes(sql: Sql, workspaceId: string, firstDay: string): Promise<Funnel> {
  const [funnel] = await sql<Funnel[]>`
    select coalesce(sum(sent), 0)::int as sent, coalesce(sum(delivered), 0)::int as delivered,
      coalesce(sum(read), 0)::int as read, coalesce(sum(failed), 0)::int as failed
    from message_outcomes
    where workspace_id = ${workspaceId} and day >= ${firstDay}::text::date`
  return funnel ?? { sent: 0, delivered: 0, read: 0, failed: 0 }
}
