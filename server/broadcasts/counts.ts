/**
 * The counters of a broadcast: exact at every read, at the same cost for ten recipients and for a million.
 *
 * Every statement that changes the status of recipients adds its differences to one of sixteen counter rows, chosen at
 * random, so that concurrent statements seldom wait for each other. A read adds the rows up.
 */
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import type { StatusFollower } from '../messages/status-follower.ts'

const recipientStatuses = ['pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'skipped'] as const
export type RecipientStatus = (typeof recipientStatuses)[number]

const shards = 16

/** Adds the status changes of a relation that has `workspace_id, broadcast_id, status_before, status_after` to the counters. */
export function addCounts(sql: Sql, changes: Fragment): Fragment {
  const difference = (condition: (status: Fragment) => Fragment) =>
    sql`sum((${condition(sql`status_after`)})::int - (${condition(sql`status_before`)})::int)`
  return sql`
    insert into broadcast_counts as c (workspace_id, broadcast_id, shard, sent, delivered, read, failed, skipped, settled_at)
    select workspace_id, broadcast_id, ${Math.floor(Math.random() * shards)}::int,
      ${difference((status) => sql`${status} in ('sent', 'delivered', 'read')`)},
      ${difference((status) => sql`${status} in ('delivered', 'read')`)},
      ${difference((status) => sql`${status} = 'read'`)},
      ${difference((status) => sql`${status} = 'failed'`)},
      ${difference((status) => sql`${status} = 'skipped'`)},
      case when bool_or(status_before in ('pending', 'sending')) then clock_timestamp() end
    from ${changes}
    where status_after not in ('pending', 'sending') and status_after <> status_before
    group by workspace_id, broadcast_id
    order by workspace_id, broadcast_id
    on conflict (workspace_id, broadcast_id, shard) do update set
      sent = c.sent + excluded.sent, delivered = c.delivered + excluded.delivered, read = c.read + excluded.read,
      failed = c.failed + excluded.failed, skipped = c.skipped + excluded.skipped,
      settled_at = greatest(c.settled_at, excluded.settled_at)`
}

/** The sums of broadcast `b`, for a lateral join. */
export const sumCounts = (sql: Sql): Fragment => sql`
  select coalesce(sum(c.sent), 0)::int as sent_count, coalesce(sum(c.delivered), 0)::int as delivered_count,
    coalesce(sum(c.read), 0)::int as read_count, coalesce(sum(c.failed), 0)::int as failed_count,
    coalesce(sum(c.skipped), 0)::int as skipped_count, max(c.settled_at) as settled_at,
    b.total_count - coalesce(sum(c.sent + c.failed + c.skipped), 0)::int as pending_count
  from broadcast_counts c
  where c.workspace_id = b.workspace_id and c.broadcast_id = b.id`

/** Recipients mirror the status of their message. Only messages of bots are joined, so other messages cost almost nothing. */
export const recipientFollower: StatusFollower = {
  follow: (sql, messages) => sql`
    -- The recipients whose status differs, locked in order (lock order: ARCHITECTURE.md).
    locked_recipients as (
      select r.workspace_id, r.broadcast_id, r.place, r.status as status_before, m.status as status_after, m.error
      from ${messages} m
      join broadcast_recipients r on r.workspace_id = m.workspace_id and r.message_id = m.id
      where m.sender_type = 'bot' and m.status <> 'pending' and r.status <> m.status
      order by r.workspace_id, r.broadcast_id, r.place
      for no key update of r
    ),
    -- Their new status.
    updated_recipients as (
      update broadcast_recipients r set status = f.status_after, reason = f.error
      from locked_recipients f
      where r.workspace_id = f.workspace_id and r.broadcast_id = f.broadcast_id and r.place = f.place
      returning r.workspace_id, r.broadcast_id, f.status_before, f.status_after
    ),
    -- The counters of their broadcasts.
    updated_counts as (${addCounts(sql, sql`updated_recipients`)})`,
  awaitsRetry: (sql) => sql`exists (
    select from broadcast_recipients r
    where r.workspace_id = m.workspace_id and r.message_id = m.id and r.status = 'pending'
  )`,
}
