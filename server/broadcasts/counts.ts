/**
 * The counters of a broadcast: exact at every read, at the same cost for ten recipients and for a million.
 *
 * Every statement that changes the status of recipients adds its differences to one of sixteen counter rows, chosen at
 * random, so that concurrent statements seldom wait for each other. A read adds the rows up. Responses have sixteen rows of their
 * own: the statements that store them never wait for those that send.
 */
import { nowMs } from '../lib/clock.ts'
import { idAt } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import type { ResponseKind, StatusFollower } from '../messages/status-follower.ts'

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
    coalesce(sum(c.replied), 0)::int as replied_count, coalesce(sum(c.tapped), 0)::int as tapped_count,
    coalesce(sum(c.opted_out), 0)::int as opted_out_count,
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
      update broadcast_recipients r set status = f.status_after, reason = f.error,
        delivered_at = case
          when f.status_after in ('delivered', 'read') then coalesce(r.delivered_at, now()) else r.delivered_at end,
        read_at = case when f.status_after = 'read' then now() else r.read_at end
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
  respond: (sql, responses) => sql`
    -- The recipients who responded in time, one index lookup each. Before the delivery is reported, the time runs from the send. A
    -- fast reply arrives before the channel has confirmed the message to us: its recipient is still in flight.
    responding_recipients as (
      select distinct on (r.workspace_id, r.broadcast_id, q.kind, r.place)
        r.workspace_id, r.broadcast_id, q.kind, r.place, q.at
      from ${responses} q
      cross join lateral (
        select r.workspace_id, r.broadcast_id, r.place
        from broadcast_recipients r
        where r.workspace_id = q.workspace_id and r.message_id = q.message_id
          and r.status in ('sending', 'sent', 'delivered', 'read')
          and (r.delivered_at > q.at - make_interval(hours => ${responseHours})
            or r.delivered_at is null and r.message_id > ${idAt(nowMs() - responseHours * 3_600_000)})
        limit 1
      ) r
      order by r.workspace_id, r.broadcast_id, q.kind, r.place, q.at
    ),
    -- Each kind of response counts once.
    inserted_responses as (
      insert into broadcast_responses (workspace_id, broadcast_id, kind, place, at)
      select workspace_id, broadcast_id, kind, place, at from responding_recipients
      on conflict do nothing
      returning workspace_id, broadcast_id, kind
    ),
    -- The counters of their broadcasts.
    counted_responses as (
      insert into broadcast_counts as c (workspace_id, broadcast_id, shard, sent, delivered, read, failed, skipped, replied,
        tapped, opted_out)
      select workspace_id, broadcast_id, ${shards + Math.floor(Math.random() * shards)}::int, 0, 0, 0, 0, 0,
        ${countKind(sql, 'replied')}, ${countKind(sql, 'tapped')}, ${countKind(sql, 'opted_out')}
      from inserted_responses
      group by workspace_id, broadcast_id
      order by workspace_id, broadcast_id
      on conflict (workspace_id, broadcast_id, shard) do update set
        replied = c.replied + excluded.replied, tapped = c.tapped + excluded.tapped,
        opted_out = c.opted_out + excluded.opted_out
    )`,
}

/** A response counts for this long after the delivery. */
const responseHours = 72

const countKind = (sql: Sql, kind: ResponseKind): Fragment => sql`count(*) filter (where kind = ${kind})`
