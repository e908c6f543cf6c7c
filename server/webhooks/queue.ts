/**
 * The queue of deliveries: claiming and releasing.
 *
 * A delivery row is the job. A claim leases it for a little longer than an attempt may take, so the rows of a crashed worker
 * become claimable again and are at worst posted twice; receivers deduplicate on the event id. Claims are fair: each endpoint
 * gives up its oldest due deliveries, at most its own capacity, and the rest of its queue is not read. All times are the
 * database's.
 *
 * The queue can be empty now and hold 100,000 rows in a second, and plans are made before that. So no statement leaves the
 * planner a choice: endpoints and due rows are read in the order of one index, rows are claimed and settled by their location
 * (ctid), and everything else is looked up for one row at a time.
 */
import type { Times } from '../../common/times.ts'
import { type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'
import { countWaiting, type Waiting } from '../lib/postgres/waiting.ts'
import type { Metrics } from '../lib/process/metrics.ts'
import type { ClaimPlan } from './scheduler.ts'

export const maxAttempts = 5

/** The endpoint of a claimed delivery. The deliveries of one claim share it. */
export type ClaimedEndpoint = {
  workspace_id: string
  endpoint_id: string
  url: string
  /** Sealed. */
  secret: string
  /** Earlier secrets that also sign, sealed, oldest first. */
  old_secrets: string[]
}

export type ClaimedDelivery = {
  workspace_id: string
  endpoint_id: string
  id: string
  /** The row's ctid. It stays valid as long as this process holds the lease. */
  row_location: string
  event_id: string
  event: string
  body: string
  /** Above `maxAttempts` if a worker crashed during the last attempt, or never stored its outcome. */
  attempt: number
  endpoint: ClaimedEndpoint
}

/** The columns of the endpoint are null except in one row of each endpoint. */
type ClaimedRow = Omit<ClaimedDelivery, 'workspace_id' | 'endpoint'> & {
  [Column in Exclude<keyof ClaimedEndpoint, 'endpoint_id'>]: ClaimedEndpoint[Column] | null
}

export const hasQueued = (sql: Sql): Fragment => sql`exists (select from webhook_deliveries)`

/**
 * Leases due deliveries within the plan: the oldest of each endpoint, endpoints in turn. If not all fit into the limit for
 * unproven endpoints, new endpoints come before poor ones and the rest is random.
 */
export async function claimDeliveries(
  sql: Sql,
  plan: ClaimPlan,
  { leaseMs }: Pick<Times['webhooks'], 'leaseMs'>,
): Promise<ClaimedDelivery[]> {
  const rows = await sql<ClaimedRow[]>`
    -- Every endpoint with a delivery in the queue, found by one index probe each.
    with recursive queued_endpoints as (
      (select d.workspace_id, d.endpoint_id from webhook_deliveries d order by d.endpoint_id limit 1)
      union all
      select n.workspace_id, n.endpoint_id
      from queued_endpoints q
      cross join lateral (
        select d.workspace_id, d.endpoint_id from webhook_deliveries d
        where d.endpoint_id > q.endpoint_id order by d.endpoint_id limit 1
      ) n
    ),
    -- The active ones that may start a delivery, with their capacity and secrets.
    open_endpoints as (
      select q.endpoint_id, coalesce(p.capacity, ${plan.newCapacity}) as capacity, coalesce(p.standing, 'new') as standing,
        e.workspace_id, e.url, e.secret, e.old_secrets
      from queued_endpoints q
      left join unnest(${plan.endpointIds}::uuid[], ${plan.capacities}::int[], ${plan.standings}::text[])
        as p (endpoint_id, capacity, standing) on p.endpoint_id = q.endpoint_id
      cross join lateral (
        select e.workspace_id, e.url, e.secret, case when e.old_secrets is null then '{}' else array(
            select o.secret from unnest(e.old_secrets, e.old_secrets_until) with ordinality as o (secret, until, position)
            where o.until > now() order by o.position
          ) end as old_secrets
        from webhook_endpoints e
        where e.workspace_id = q.workspace_id and e.id = q.endpoint_id and e.is_active
        limit 1
      ) e
      where coalesce(p.capacity, ${plan.newCapacity}) > 0
    ),
    -- Their oldest due deliveries, retries first, locked; ranked within the proven and within the unproven endpoints.
    candidates as (
      select d.row_location, d.id, d.position, o.standing,
        row_number() over (partition by o.standing = 'proven' order by o.standing, d.position, random()) as rank
      from open_endpoints o
      cross join lateral (
        select d.row_location, d.id, row_number() over (order by not d.is_retry, d.next_attempt_at) as position
        from (
          select row_location, id, is_retry, next_attempt_at from (${dueDeliveries(sql, sql`is_retry`)}) retries
          union all
          select row_location, id, is_retry, next_attempt_at from (${dueDeliveries(sql, sql`not is_retry`)}) first_attempts
          limit o.capacity
        ) d
      ) d
    ),
    -- The candidates within the limits, the first of every endpoint before the second of any.
    due as (
      select row_location, id, position from candidates
      where standing = 'proven' or rank <= ${plan.unprovenCapacity}
      order by position
      limit ${plan.limit}
    ),
    -- Takes the lease and counts the attempt.
    claimed as (
      update webhook_deliveries
      set leased_until = now() + make_interval(secs => ${leaseMs / 1000}), attempt_count = attempt_count + 1
      where ctid = any(array(select row_location from due))
      returning workspace_id, endpoint_id, id, ctid as row_location, event_id, attempt_count
    )
    -- The columns of an endpoint come with its first delivery only.
    select c.endpoint_id, c.id, c.row_location::text as row_location, c.event_id, v.event, v.body, c.attempt_count as attempt,
      o.workspace_id, o.url, o.secret, o.old_secrets
    from claimed c
    cross join lateral (
      select event, body from webhook_events v where v.workspace_id = c.workspace_id and v.id = c.event_id limit 1
    ) v
    left join open_endpoints o on o.endpoint_id = c.endpoint_id and c.id in (select id from due where position = 1)`
  return withEndpoints(rows)
}

function withEndpoints(rows: readonly ClaimedRow[]): ClaimedDelivery[] {
  const endpoints = new Map<string, ClaimedEndpoint>()
  for (const { workspace_id, endpoint_id, url, secret, old_secrets } of rows) {
    if (workspace_id !== null && url !== null && secret !== null && old_secrets !== null)
      endpoints.set(endpoint_id, { workspace_id, endpoint_id, url, secret, old_secrets })
  }
  return rows.map(({ endpoint_id, id, row_location, event_id, event, body, attempt }) => {
    const endpoint = requireRow(endpoints.get(endpoint_id), 'the endpoint of a claimed delivery')
    const { workspace_id } = endpoint
    return { workspace_id, endpoint_id, id, row_location, event_id, event, body, attempt, endpoint }
  })
}

/** The oldest due deliveries of endpoint `o` that are not leased, at most its capacity, locked. */
const dueDeliveries = (sql: Sql, condition: Fragment) => sql`
  select ctid as row_location, id, is_retry, next_attempt_at
  from webhook_deliveries
  where endpoint_id = o.endpoint_id and ${condition} and next_attempt_at <= now()
    and (leased_until is null or leased_until <= now())
  order by next_attempt_at
  limit o.capacity
  for update skip locked`

/** Undoes claims: nothing was sent, so the attempt is not counted. */
export async function releaseDeliveries(
  sql: Sql,
  deliveries: readonly Pick<ClaimedDelivery, 'workspace_id' | 'id' | 'row_location' | 'attempt'>[],
): Promise<void> {
  await sql`
    update webhook_deliveries d set leased_until = null, attempt_count = d.attempt_count - 1
    from unnest(${deliveries.map(({ workspace_id }) => workspace_id)}::uuid[], ${deliveries.map(({ id }) => id)}::uuid[],
      ${deliveries.map(({ attempt }) => attempt)}::int[]) as c (workspace_id, id, attempt)
    where d.ctid = any(${deliveries.map(({ row_location }) => row_location)}::text[]::tid[])
      and d.workspace_id = c.workspace_id and d.id = c.id and d.attempt_count = c.attempt`
}

/** How many deliveries are queued, and the age of the oldest. */
export const countQueued = (sql: Sql): Promise<Waiting> =>
  countWaiting(sql, sql`select created_at from webhook_deliveries`)

/** Gauges: the depth of the queue, the age of its oldest delivery, and endpoints by state. */
export function watchDeliveries(sql: Sql, metrics: Metrics): void {
  metrics.gauge(
    'parley_webhook_queue',
    'Queued deliveries, and the age of the oldest in seconds.',
    'what',
    async () => {
      const { count, oldest_seconds } = await countQueued(sql)
      return { depth: count, oldest_seconds: oldest_seconds ?? 0 }
    },
  )
  metrics.gauge('parley_webhook_endpoints', 'Webhook endpoints, by state.', 'state', async () => {
    const [endpoints] = await sql<{ active: number; inactive: number; failing: number }[]>`
      select count(*) filter (where is_active)::int as active, count(*) filter (where not is_active)::int as inactive,
        count(*) filter (where is_active and failure_count > 0)::int as failing
      from webhook_endpoints`
    return { active: 0, inactive: 0, failing: 0, ...endpoints }
  })
}
