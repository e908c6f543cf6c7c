/**
 * Daily counters of outbound messages by connection and status.
 *
 * Every statement that changes statuses adds the differences to one of eight rows of the day and connection, chosen at random, so
 * that concurrent statements seldom wait for each other. A read sums them. A message counts on the day it was created
 * (UTC). A message that fails after it was sent no longer counts as sent. Messages of the web chat do not count: no provider reports
 * their delivery, so they would lower the share of delivered messages.
 *
 * Release 0.1.0 counted without connections, in `message_outcomes`, and may still do so during an upgrade.
 */
import { type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'

const shards = 8

/**
 * Member of a `with` list, for a relation of messages with `workspace_id, connection_id, created_at, status_before, status`. Only
 * messages with `isCounted` count.
 */
export function countOutcomes(sql: Sql, messages: Fragment, isCounted: Fragment = sql`true`): Fragment {
  const difference = (condition: (status: Fragment) => Fragment) =>
    sql`sum(n * ((${condition(sql`status`)})::int - (${condition(sql`status_before`)})::int))`
  return sql`
    -- Adds the status changes to the daily counters.
    counted_outcomes as (
      insert into connection_outcomes as o (workspace_id, day, connection_id, shard, sent, delivered, read, failed)
      select workspace_id, day, connection_id, ${Math.floor(Math.random() * shards)}::int,
        ${difference((status) => sql`${status} in ('sent', 'delivered', 'read')`)},
        ${difference((status) => sql`${status} in ('delivered', 'read')`)},
        ${difference((status) => sql`${status} = 'read'`)},
        ${difference((status) => sql`${status} = 'failed'`)}
      from (
        -- Most messages of a batch change in the same way, so changes are grouped before they are evaluated.
        select workspace_id, (created_at at time zone 'utc')::date as day, connection_id, status_before, status, count(*) as n
        from ${messages}
        where status <> status_before and ${isCounted}
        group by 1, 2, 3, 4, 5
      ) changes
      group by 1, 2, 3
      order by 1, 2, 3
      on conflict (workspace_id, day, connection_id, shard) do update set
        sent = o.sent + excluded.sent, delivered = o.delivered + excluded.delivered, read = o.read + excluded.read,
        failed = o.failed + excluded.failed
    )`
}

/** The connection of message `m`. */
export const connectionOf = (sql: Sql): Fragment => sql`(
  select v.connection_id from conversations v where v.workspace_id = m.workspace_id and v.id = m.conversation_id
)`

/** Whether a message has a provider that reports its delivery, for a relation of messages with `visitor_id`. */
export const hasReports = (sql: Sql): Fragment => sql`visitor_id is null`

export type Funnel = { sent: number; delivered: number; read: number; failed: number }

/** The totals of messages created on or after a day (UTC). */
export async function sumOutcomes(sql: Sql, workspaceId: string, firstDay: string): Promise<Funnel> {
  const [funnel] = await sql<Funnel[]>`
    select ${sums(sql)}
    from (
      select sent, delivered, read, failed from connection_outcomes
      where workspace_id = ${workspaceId} and day >= ${firstDay}::text::date
      union all
      select sent, delivered, read, failed from message_outcomes
      where workspace_id = ${workspaceId} and day >= ${firstDay}::text::date
    ) o`
  return requireRow(funnel, 'the outcomes')
}

/**
 * Those of one connection. `since`: the first day that is counted by connection, if that is later than `firstDay`; the totals then
 * begin there.
 */
export async function sumOutcomesOf(
  sql: Sql,
  workspaceId: string,
  connectionId: string,
  firstDay: string,
): Promise<Funnel & { since: string | null }> {
  const [funnel] = await sql<(Funnel & { since: string | null })[]>`
    with counted as (
      select max(day) + 1 as since from message_outcomes where workspace_id = ${workspaceId} and day >= ${firstDay}::text::date
    )
    select ${sums(sql)}, (select since::text from counted) as since
    from connection_outcomes
    where workspace_id = ${workspaceId} and connection_id = ${connectionId}
      and day >= coalesce((select since from counted), ${firstDay}::text::date)`
  return requireRow(funnel, 'the outcomes of a connection')
}

const sums = (sql: Sql): Fragment => sql`
  coalesce(sum(sent), 0)::int as sent, coalesce(sum(delivered), 0)::int as delivered, coalesce(sum(read), 0)::int as read,
  coalesce(sum(failed), 0)::int as failed`
