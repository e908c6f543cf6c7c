/**
 * Quota: the messages of a calendar month (UTC) counted against the plan of the workspace. A plan says how many they may be, and
 * whether the subscription is active.
 *
 * One message uses one quota unit. A single send counts its unit in the statement that writes the message. A broadcast
 * reserves the units of all its recipients before it starts, all or none, and releases those it does not use. A message
 * that the channel refused releases its unit.
 *
 * `plan_usage` is locked last (see the lock order in ARCHITECTURE.md): a statement locks its conversations first.
 */
import { ApiError, notFound } from '../lib/errors.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import type { Metrics } from '../lib/process/metrics.ts'

/** `messages_per_month` is null when the plan has no limit. */
export type Plan = { messages_per_month: number | null; state: 'active' | 'lapsed' }

export async function setPlan(sql: Sql, workspaceId: string, plan: Plan): Promise<Plan> {
  const [stored] = await sql<Plan[]>`
    update workspaces
    set plan_messages_per_month = ${plan.messages_per_month}, plan_state = ${plan.state}
    where id = ${workspaceId}
    returning plan_messages_per_month as messages_per_month, plan_state as state`
  if (!stored) throw notFound('workspace')
  return stored
}

/** The calendar month (UTC) in which a message counts now. */
const thisMonth = (sql: Sql): Fragment => sql`date_trunc('month', now() at time zone 'utc')::date`

/** The largest value of the counter's column, for a plan without a limit. */
const unlimited = 2_147_483_647

/** Reserves `count` units and returns the month they count in. Throws 402 when the plan does not allow so many. */
export async function reserveQuota(sql: Sql, workspaceId: string, count: number): Promise<string> {
  const [reserved] = await sql<{ month: string }[]>`
    insert into plan_usage as u (workspace_id, month, message_count)
    select w.id, ${thisMonth(sql)}, ${count}::int
    from workspaces w
    where w.id = ${workspaceId} and w.plan_state = 'active' and ${count}::int <= coalesce(w.plan_messages_per_month, ${count}::int)
    on conflict (workspace_id, month) do update set message_count = u.message_count + excluded.message_count
      where u.message_count + excluded.message_count <=
        (select coalesce(w.plan_messages_per_month, ${unlimited}::int) from workspaces w where w.id = u.workspace_id)
    returning u.month::text`
  if (!reserved) throw await quotaError(sql, workspaceId, count)
  return reserved.month
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

export type Quota = Plan & {
  /** A calendar month (UTC): `2026-01`. */
  month: string
  /** The units that are used or reserved. */
  used: number
  /** Null when the plan has no limit. The limit may have been lowered below the use. */
  left: number | null
  resets_at: string
}

/** The quota of this month, or of the month of a later time, as far as is known now. */
export async function readQuota(sql: Sql, workspaceId: string, at: string | null = null): Promise<Quota> {
  const [quota] = await sql<Quota[]>`
    select w.plan_state as state, w.plan_messages_per_month as messages_per_month, to_char(m.month, 'YYYY-MM') as month,
      coalesce(u.message_count, 0) as used,
      case when w.plan_messages_per_month is not null
        then greatest(0, w.plan_messages_per_month - coalesce(u.message_count, 0)) end as left,
      (m.month + interval '1 month') at time zone 'utc' as resets_at
    from workspaces w
    cross join (select date_trunc('month', greatest(${at}::timestamptz, now()) at time zone 'utc')::date as month) m
    left join plan_usage u on u.workspace_id = w.id and u.month = m.month
    where w.id = ${workspaceId}`
  if (!quota) throw notFound('workspace')
  return quota
}

export type Usage = {
  month: string
  messages_sent: number
  messages_limit: number | null
  resets_at: string
}

/** The quota of this month as the API shows it. */
export async function requireUsage(sql: Sql, workspaceId: string): Promise<Usage> {
  const { month, used, messages_per_month, resets_at } = await readQuota(sql, workspaceId)
  return { month, messages_sent: used, messages_limit: messages_per_month, resets_at }
}

/**
 * Throws 402 when the plan does not allow `count` more messages in the month of `at`, as far as is known now. Reserves
 * nothing. Calls `count` only if the plan has a limit, and returns whether it has one.
 */
export async function requireQuota(
  sql: Sql,
  workspaceId: string,
  { at = null, count = () => 1 }: { at?: string | null; count?: () => number | Promise<number> } = {},
): Promise<{ isLimited: boolean }> {
  const quota = await readQuota(sql, workspaceId, at)
  const isLimited = quota.left !== null
  const needed = quota.state === 'active' && isLimited ? await count() : 0
  if (quota.state === 'lapsed' || needed > (quota.left ?? 0)) throw refuse(quota, needed)
  return { isLimited }
}

/** The 402 for `count` messages that do not fit into the plan. */
export async function quotaError(sql: Sql, workspaceId: string, count = 1): Promise<ApiError> {
  return refuse(await readQuota(sql, workspaceId), count)
}

function refuse({ state, messages_per_month: limit }: Plan, count: number): ApiError {
  if (state === 'lapsed') return new ApiError('subscription_lapsed', 'the subscription of this workspace has lapsed')
  const left = count === 1 ? 'they are used up' : `fewer than ${count} are left`
  return new ApiError('plan_limit_reached', `the plan allows ${limit} messages a month, and ${left}`)
}

/** Bounds the number of Prometheus series: the oldest workspaces with a limit have one each. */
const maxWatched = 1_000

export function watchPlans(sql: Sql, metrics: Metrics): void {
  metrics.gauges(
    'parley_plan_messages',
    'Messages of this month, and how many the plan allows, of workspaces with a limit.',
    ['workspace', 'what'],
    async () => {
      const plans = await sql<{ workspace: string; used: number; limit: number }[]>`
        select w.id as workspace, coalesce(u.message_count, 0) as used, w.plan_messages_per_month as limit
        from workspaces w
        left join plan_usage u on u.workspace_id = w.id and u.month = ${thisMonth(sql)}
        where w.plan_messages_per_month is not null
        order by w.id
        limit ${maxWatched}`
      return plans.flatMap(({ workspace, used, limit }) => [
        { labels: { workspace, what: 'used' }, value: used },
        { labels: { workspace, what: 'limit' }, value: limit },
      ])
    },
  )
}
