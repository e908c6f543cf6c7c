/**
 * What became of the messages sent on a day, kept by whoever moves a status.
 *
 * Every statement that moves messages adds its differences to one of eight
 * rows of their day, so that statements side by side seldom wait for each
 * other; a read adds those up. A message counts on the day it was made (UTC).
 * One that failed after it was sent is no longer among those sent.
 */
import type { Fragment, Sql } from '../lib/db.ts'

const shards = 8

/** Member of a `with` list, for a relation that has `workspace_id, created_at, status_before, status` of messages. */
export function countOutcomes(sql: Sql, moved: Fragment): Fragment {
  const difference = (condition: (status: Fragment) => Fragment) =>
    sql`sum(n * ((${condition(sql`status`)})::int - (${condition(sql`status_before`)})::int))`
  return sql`
    outcomes as (
      insert into message_outcomes as o (workspace_id, day, shard, sent, delivered, read, failed)
      select workspace_id, day, ${Math.floor(Math.random() * shards)}::int,
        ${difference((status) => sql`${status} in ('sent', 'delivered', 'read')`)},
        ${difference((status) => sql`${status} in ('delivered', 'read')`)},
        ${difference((status) => sql`${status} = 'read'`)},
        ${difference((status) => sql`${status} = 'failed'`)}
      from (
        -- Nearly all of a batch make the same move: so a message is counted, and a move is looked at.
        select workspace_id, (created_at at time zone 'utc')::date as day, status_before, status, count(*) as n
        from ${moved}
        where status <> status_before
        group by 1, 2, 3, 4
      ) moves
      group by 1, 2
      order by 1, 2
      on conflict (workspace_id, day, shard) do update set
        sent = o.sent + excluded.sent, delivered = o.delivered + excluded.delivered, read = o.read + excluded.read,
        failed = o.failed + excluded.failed
    )`
}

export type Funnel = { sent: number; delivered: number; read: number; failed: number }

/** Of the messages made since this day. */
export async function sumOutcomes(sql: Sql, workspaceId: string, firstDay: string): Promise<Funnel> {
  const [funnel] = await sql<Funnel[]>`
    select coalesce(sum(sent), 0)::int as sent, coalesce(sum(delivered), 0)::int as delivered,
      coalesce(sum(read), 0)::int as read, coalesce(sum(failed), 0)::int as failed
    from message_outcomes
    where workspace_id = ${workspaceId} and day >= ${firstDay}::text::date`
  return funnel ?? { sent: 0, delivered: 0, read: 0, failed: 0 }
}
