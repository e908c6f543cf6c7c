/**
 * Plans: how many messages a workspace may send per calendar month (UTC), and whether its subscription is active.
 *
 * `quota.ts` counts the messages against the plan.
 */
import type { Sql } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Metrics } from '../lib/metrics.ts'

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

export async function requirePlan(sql: Sql, workspaceId: string): Promise<Plan> {
  const [plan] = isUuid(workspaceId)
    ? await sql<Plan[]>`
        select plan_messages_per_month as messages_per_month, plan_state as state
        from workspaces where id = ${workspaceId}`
    : []
  if (!plan) throw notFound('workspace')
  return plan
}

/** The calendar month (UTC) in which a message counts now. */
export const thisMonth = (sql: Sql) => sql`date_trunc('month', now() at time zone 'utc')::date`

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
