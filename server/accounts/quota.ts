/**
 * Quota: the messages of a calendar month (UTC) counted against the plan of the workspace.
 *
 * One message uses one quota unit. A single send counts its unit in the statement that writes the message. A broadcast
 * reserves the units of all its recipients before it starts, all or none, and releases those it does not use. A message
 * that the channel refused releases its unit.
 *
 * `plan_usage` is locked last (see the lock order in ARCHITECTURE.md): a statement locks its conversations first.
 */
import { type Fragment, requireRow, type Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { requirePlan, thisMonth } from './plans.ts'

/** The largest value of the counter's column, for a plan without a limit. */
const unlimited = 2_147_483_647

/** Reserves `count` units. Returns the month they count in, or undefined when the plan does not allow so many. */
export async function reserveQuota(sql: Sql, workspaceId: string, count: number): Promise<string | undefined> {
  const [reserved] = await sql<{ month: string }[]>`
    insert into plan_usage as u (workspace_id, month, message_count)
    select w.id, ${thisMonth(sql)}, ${count}::int
    from workspaces w
    where w.id = ${workspaceId} and w.plan_state = 'active' and ${count}::int <= coalesce(w.plan_messages_per_month, ${count}::int)
    on conflict (workspace_id, month) do update set message_count = u.message_count + excluded.message_count
      where u.message_count + excluded.message_count <=
        (select coalesce(w.plan_messages_per_month, ${unlimited}::int) from workspaces w where w.id = u.workspace_id)
    returning u.month::text`
  return reserved?.month
}

export async function releaseQuota(sql: Sql, workspaceId: string, month: string, count: number): Promise<void> {
  await sql`
    update plan_usage set message_count = greatest(0, message_count - ${count}::int)
    where workspace_id = ${workspaceId} and month = ${month}::text::date`
}

/** Moves reserved units to another month: a message counts in the month in which it is sent. */
export async function moveQuota(
  sql: Sql,
  workspaceId: string,
  { from, to, count }: { from: string; to: string; count: number },
): Promise<void> {
  await releaseQuota(sql, workspaceId, from, count)
  await sql`
    insert into plan_usage as u (workspace_id, month, message_count) values (${workspaceId}, ${to}::text::date, ${count})
    on conflict (workspace_id, month) do update set message_count = u.message_count + excluded.message_count`
}

/**
 * Members of a `with` list. `counted_quota` has the workspaces whose messages all fit into their plan; their units are
 * counted. `messages` is a from-item with one row per message, which has the alias `i` and the column `workspace_id`.
 */
export const countQuota = (sql: Sql, messages: Fragment): Fragment => sql`
  -- The units each workspace needs, with its plan.
  needed_quota as (
    select w.id as workspace_id, w.plan_state, w.plan_messages_per_month as plan_limit, count(*)::int as units
    from ${messages}
    join workspaces w on w.id = i.workspace_id
    group by w.id
  ),
  -- Counted only where all units of a workspace fit. Sorted, so that two batches cannot deadlock.
  counted_quota as (
    insert into plan_usage as u (workspace_id, month, message_count)
    select workspace_id, ${thisMonth(sql)}, units
    from needed_quota
    where plan_state = 'active' and (plan_limit is null or units <= plan_limit)
    order by workspace_id
    on conflict (workspace_id, month) do update set message_count = u.message_count + excluded.message_count
      where u.message_count + excluded.message_count <=
        coalesce((select plan_limit from needed_quota n where n.workspace_id = u.workspace_id), ${unlimited}::int)
    returning u.workspace_id
  )`

/**
 * The end of a statement: releases the units of messages that do not need theirs any more. `messages` is a relation with
 * `workspace_id`, `created_at` and `released_units`, which is 1, 0, or -1 for a message that needs its unit again.
 */
export const releaseQuotaOf = (sql: Sql, messages: Fragment): Fragment => sql`
  update plan_usage u set message_count = greatest(0, u.message_count - r.units)
  from (
    select workspace_id, date_trunc('month', created_at at time zone 'utc')::date as month, sum(released_units)::int as units
    from ${messages} where released_units <> 0 group by 1, 2
  ) r
  where u.workspace_id = r.workspace_id and u.month = r.month`

export type Usage = {
  /** A calendar month (UTC): `2026-01`. */
  month: string
  messages_sent: number
  /** Null when the plan has no limit. */
  messages_limit: number | null
  resets_at: string
}

/** The units of this month that are used or reserved. */
export async function requireUsage(sql: Sql, workspaceId: string): Promise<Usage> {
  const [usage] = await sql<Usage[]>`
    select to_char(${thisMonth(sql)}, 'YYYY-MM') as month, coalesce(u.message_count, 0) as messages_sent,
      w.plan_messages_per_month as messages_limit, (${thisMonth(sql)} + interval '1 month') at time zone 'utc' as resets_at
    from workspaces w
    left join plan_usage u on u.workspace_id = w.id and u.month = ${thisMonth(sql)}
    where w.id = ${workspaceId}`
  return requireRow(usage, 'the workspace of the caller')
}

/** Throws 402 when the plan does not allow one more message. Otherwise returns whether the plan has a limit. */
export async function requireQuota(sql: Sql, workspaceId: string): Promise<{ isLimited: boolean }> {
  const [plan] = await sql<{ has_quota: boolean; is_limited: boolean }[]>`
    select w.plan_state = 'active' and coalesce(u.message_count < w.plan_messages_per_month, true) as has_quota,
      w.plan_messages_per_month is not null as is_limited
    from workspaces w
    left join plan_usage u on u.workspace_id = w.id and u.month = ${thisMonth(sql)}
    where w.id = ${workspaceId}`
  if (!plan?.has_quota) throw await quotaError(sql, workspaceId)
  return { isLimited: plan.is_limited }
}

/**
 * Throws 402 when the plan does not allow `count` more messages in the month of `at`, as far as is known now. Reserves
 * nothing. Calls `count` only if the plan has a limit.
 */
export async function requireQuotaFor(
  sql: Sql,
  workspaceId: string,
  at: Date,
  count: () => Promise<number>,
): Promise<void> {
  const [plan] = await sql<{ state: string; units_left: number | null }[]>`
    select w.plan_state as state, w.plan_messages_per_month - coalesce(u.message_count, 0) as units_left
    from workspaces w
    left join plan_usage u on u.workspace_id = w.id and u.month = ${`${at.toISOString().slice(0, 7)}-01`}::text::date
    where w.id = ${workspaceId}`
  if (plan?.state === 'active' && plan.units_left === null) return
  const needed = plan?.state === 'active' ? await count() : 0
  if (plan?.state !== 'active' || needed > (plan.units_left ?? 0)) throw await quotaErrorOf(sql, workspaceId, needed)
}

/** The 402 for one message that does not fit into the plan. */
export async function quotaError(sql: Sql, workspaceId: string): Promise<ApiError> {
  const plan = await requirePlan(sql, workspaceId)
  if (plan.state === 'lapsed') return lapsedError()
  return new ApiError(
    'plan_limit_reached',
    `the plan allows ${plan.messages_per_month} messages a month, and they are used up`,
  )
}

/** The 402 for `count` messages that do not fit into the plan. */
export async function quotaErrorOf(sql: Sql, workspaceId: string, count: number): Promise<ApiError> {
  const plan = await requirePlan(sql, workspaceId)
  if (plan.state === 'lapsed') return lapsedError()
  return new ApiError(
    'plan_limit_reached',
    `the plan allows ${plan.messages_per_month} messages a month, and fewer than ${count} are left`,
  )
}

const lapsedError = () => new ApiError('subscription_lapsed', 'the subscription of this workspace has lapsed')
