/**
 * The queue of deliveries: what is due, who has it, what came of it.
 *
 * A claim is a lease a little longer than an attempt may take, so the rows of
 * a worker that died come back by themselves and at worst are posted twice.
 * Claims are fair: each endpoint with something due gives up to its own room,
 * and the queue behind it, however long, is not looked at. Time is the
 * database's.
 *
 * The queue may be empty now and hold 100,000 in a second, and plans are made
 * before. So no statement leaves a choice: endpoints and what is due are read
 * in the order of one index, rows are claimed and settled by their place on
 * disk, and everything else is looked up for one row at a time.
 */
import type { Db, Fragment, Sql } from '../lib/db.ts'
import { newId } from '../lib/id.ts'
import type { Metrics } from '../lib/metrics.ts'
import { testEventNames } from './emit.ts'

/** Longer than an attempt with its settling may take; a worker that died is made up for after this. */
export const leaseSeconds = 8

export const maxAttempts = 5
/** Failed events in a row after which an endpoint is switched off. */
export const maxFailures = 15
/** Pauses after an attempt, each give or take a fifth. */
const pausesSeconds = [3, 6, 12, 24]

export type Claimed = {
  workspace_id: string
  endpoint_id: string
  id: string
  /** Where on disk it is as long as it is ours. */
  place: string
  event_id: string
  event: string
  body: string
  /** Beyond `maxAttempts`: whoever made the last one died of it, or never said what came of it. */
  attempt: number
  url: string
  /** Sealed. */
  secret: string
}

/** `new`: nothing came of it yet; `proven`: it took its last delivery well; `poor`: it is slow or failing. */
export type Standing = 'new' | 'proven' | 'poor'

/**
 * How many more each endpoint may have under way. Those not listed are new to us: they may have `otherwise`. All that are
 * not proven share `unprovenRoom`, the new before the poor.
 */
export type Rooms = {
  ids: readonly string[]
  rooms: readonly number[]
  standings: readonly Standing[]
  otherwise: number
  unprovenRoom: number
}

/**
 * Lease what is due, up to `limit`, the oldest of each endpoint, endpoints in turn; chance decides who is left out.
 * The endpoints that have anything in the queue are found by one probe of the index each.
 */
export async function claimDeliveries(sql: Sql, limit: number, rooms: Rooms): Promise<Claimed[]> {
  return sql<Claimed[]>`
    with recursive waiting as (
      (select d.endpoint_id from webhook_deliveries d order by d.endpoint_id limit 1)
      union all
      select (
        select d.endpoint_id from webhook_deliveries d where d.endpoint_id > w.endpoint_id order by d.endpoint_id limit 1
      )
      from waiting w where w.endpoint_id is not null
    ),
    open as (
      select w.endpoint_id, coalesce(k.room, ${rooms.otherwise}) as room, coalesce(k.standing, 'new') as standing
      from waiting w
      left join unnest(${rooms.ids}::uuid[], ${rooms.rooms}::int[], ${rooms.standings}::text[])
        as k (endpoint_id, room, standing) on k.endpoint_id = w.endpoint_id
      where w.endpoint_id is not null and coalesce(k.room, ${rooms.otherwise}) > 0
    ),
    ready as (
      select d.place, d.turn, o.standing,
        row_number() over (partition by o.standing = 'proven' order by o.standing, d.turn, random()) as rank
      from open o
      cross join lateral (
        select d.place, row_number() over (order by not d.is_retry, d.next_attempt_at) as turn
        from (
          select * from (${dueOf(sql, sql`is_retry`)}) retries
          union all
          select * from (${dueOf(sql, sql`not is_retry`)}) firsts
          limit o.room
        ) d
      ) d
    ),
    due as (
      select place from ready
      where standing = 'proven' or rank <= ${rooms.unprovenRoom}
      order by turn
      limit ${limit}
    ),
    claimed as (
      update webhook_deliveries
      set leased_until = now() + make_interval(secs => ${leaseSeconds}), attempt_count = attempt_count + 1
      where ctid = any(array(select place from due))
      returning workspace_id, endpoint_id, id, ctid as place, event_id, attempt_count
    )
    select c.workspace_id, c.endpoint_id, c.id, c.place::text as place, c.event_id, v.event, v.body,
      c.attempt_count as attempt, e.url, e.secret
    from claimed c
    cross join lateral (
      select url, secret from webhook_endpoints e
      where e.workspace_id = c.workspace_id and e.id = c.endpoint_id and e.is_active
      limit 1
    ) e
    cross join lateral (
      select event, body from webhook_events v where v.workspace_id = c.workspace_id and v.id = c.event_id limit 1
    ) v`
}

/** The oldest due deliveries of endpoint `o` that nobody has, as many as it has room for. */
const dueOf = (sql: Sql, which: Fragment) => sql`
  select ctid as place, is_retry, next_attempt_at
  from webhook_deliveries
  where endpoint_id = o.endpoint_id and ${which} and next_attempt_at <= now()
    and (leased_until is null or leased_until <= now())
  order by next_attempt_at
  limit o.room
  for update skip locked`

/** What came of an attempt. */
export type Attempted = {
  delivery: Pick<Claimed, 'workspace_id' | 'endpoint_id' | 'id' | 'place' | 'event_id' | 'event' | 'attempt'>
  outcome: 'delivered' | 'again' | 'failed'
  http_status: number | null
  duration_ms: number
  error: string | null
  response: string | null
  /** Its lease may be over: whether it is still ours must be asked. */
  isLate?: boolean
}

/**
 * Write what came of attempts, in the order in which they ended: what was delivered or failed for good leaves the queue,
 * the rest comes back after its pause; each endpoint's failures are counted on, back to nothing at a success, and an
 * endpoint that reaches the limit is switched off, once, and what waits for it is canceled.
 */
export async function settleAttempts(db: Db, attempted: readonly Attempted[]): Promise<void> {
  const rows = attempted.map(({ delivery, outcome, isLate, ...rest }): Row => {
    const isOver = outcome !== 'again' || delivery.attempt >= maxAttempts
    const status = outcome === 'delivered' ? 'delivered' : isOver ? 'failed' : 'pending'
    return { ...delivery, ...rest, attempt_id: newId(), status }
  })
  const held = await listHeld(
    db,
    attempted.flatMap(({ delivery, isLate }) => (isLate ? [delivery] : [])),
  )
  const tallies = tally(rows.filter(({ id }, i) => !attempted[i]?.isLate || held.has(id)))
  if (tallies.length < 2) return writeAttempts(db, rows, tallies)
  await db.begin(async (sql) => {
    // Every batch locks its endpoints in the order of their ids, so that no two batches deadlock. It needs a statement of
    // its own: one that locks and updates in one go updates rows as they were before it waited.
    await sql`
      select 1 from webhook_endpoints e
      join unnest(${tallies.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${tallies.map(({ endpoint_id }) => endpoint_id)}::uuid[]) as t (workspace_id, id)
        on t.workspace_id = e.workspace_id and t.id = e.id
      order by e.id
      for no key update of e`
    await writeAttempts(sql, rows, tallies)
  })
}

/** Give claims back as if they had not been made: nothing was sent, and none of it is the receiver's fault. */
export async function returnDeliveries(sql: Sql, claimed: readonly Attempted['delivery'][]): Promise<void> {
  await sql`
    update webhook_deliveries d set leased_until = null, attempt_count = d.attempt_count - 1
    from unnest(${claimed.map(({ workspace_id }) => workspace_id)}::uuid[], ${claimed.map(({ id }) => id)}::uuid[],
      ${claimed.map(({ attempt }) => attempt)}::int[]) as c (workspace_id, id, attempt)
    where d.ctid = any(${claimed.map(({ place }) => place)}::text[]::tid[])
      and d.workspace_id = c.workspace_id and d.id = c.id and d.attempt_count = c.attempt`
}

/** Which of these nobody else has claimed since. What somebody else has is theirs to count. */
async function listHeld(sql: Sql, deliveries: readonly Attempted['delivery'][]): Promise<Set<string>> {
  if (deliveries.length === 0) return new Set()
  const held = await sql<{ id: string; attempt_count: number }[]>`
    select id, attempt_count from webhook_deliveries
    where ctid = any(${deliveries.map(({ place }) => place)}::text[]::tid[])`
  const attempts = new Map(held.map((row) => [row.id, row.attempt_count]))
  return new Set(deliveries.flatMap(({ id, attempt }) => (attempts.get(id) === attempt ? [id] : [])))
}

type Row = Attempted['delivery'] &
  Pick<Attempted, 'http_status' | 'duration_ms' | 'error' | 'response'> & {
    attempt_id: string
    status: 'delivered' | 'failed' | 'pending'
  }

async function writeAttempts(sql: Sql, rows: readonly Row[], tallies: readonly Tally[]): Promise<void> {
  await sql`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, endpoint_id uuid, id uuid, place tid, event_id uuid, event text, attempt int, attempt_id uuid,
        status text, http_status int, duration_ms int, error text, response text
      )
    ),
    tallied as (
      select *
      from json_to_recordset(${JSON.stringify(tallies)}::text::json) as t (
        workspace_id uuid, endpoint_id uuid, first_run int, longest_run int, last_run int, has_success boolean,
        http_status int, error text
      )
    ),
    counted as (
      update webhook_endpoints e set
        failure_count = case
          when e.failure_count + t.first_run >= ${maxFailures} or t.longest_run >= ${maxFailures} then ${maxFailures}
          when t.has_success then t.last_run
          else e.failure_count + t.first_run end,
        is_active = e.failure_count + t.first_run < ${maxFailures} and t.longest_run < ${maxFailures},
        last_delivery_at = case when t.has_success then now() else e.last_delivery_at end,
        last_attempt_at = now(), last_attempt_http_status = t.http_status, last_attempt_error = t.error
      from tallied t
      where e.workspace_id = t.workspace_id and e.id = t.endpoint_id and e.is_active
      returning e.workspace_id, e.id, e.is_active
    ),
    there as (
      select workspace_id, endpoint_id, id, ctid as place, attempt_count
      from webhook_deliveries
      where ctid = any(array(select place from given))
      for update
    ),
    -- Whoever had the lease when it was over, and was late, has nothing to say any more.
    ours as (
      select t.place, t.endpoint_id, g.id, g.status
      from there t
      join given g on g.workspace_id = t.workspace_id and g.endpoint_id = t.endpoint_id and g.id = t.id
        and g.attempt = t.attempt_count
    ),
    gone as (
      delete from webhook_deliveries where ctid = any(array(select place from ours where status <> 'pending'))
    ),
    later as (
      update webhook_deliveries set
        is_retry = true,
        leased_until = null,
        next_attempt_at = now() + make_interval(
          secs => (${pausesSeconds}::int[])[least(attempt_count, ${pausesSeconds.length})] * (0.8 + random() * 0.4)
        )
      where ctid = any(array(
        select place from ours
        where status = 'pending' and endpoint_id not in (select id from counted where not is_active)
      ))
    ),
    canceled as (
      delete from webhook_deliveries d
      where d.workspace_id = any(array(select workspace_id from counted where not is_active))
        and d.endpoint_id = any(array(select id from counted where not is_active))
        and d.id <> all(array(select id from given where status <> 'pending'))
      returning d.workspace_id, d.endpoint_id, d.id, d.event_id, d.attempt_count
    )
    insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, http_status,
      duration_ms, error, response, is_first)
    select g.workspace_id, g.endpoint_id, g.attempt_id, g.id, g.event_id, g.event, least(g.attempt, ${maxAttempts}), g.status, g.http_status,
      g.duration_ms, g.error, g.response,
      case
        when g.attempt = 1 and g.id in (select id from ours) then true
        else ${isUntold(sql, sql`g`)} end
    from given g
    where exists (select from webhook_endpoints e where e.workspace_id = g.workspace_id and e.id = g.endpoint_id)
    union all
    select c.workspace_id, c.endpoint_id, ${laterId(sql)}, c.id, c.event_id, v.event, least(c.attempt_count, ${maxAttempts}), 'canceled', null, null,
      'the endpoint was switched off', null,
      case
        when c.attempt_count = 0 then true
        when c.id in (select id from given) then false
        else ${isUntold(sql, sql`c`)} end
    from canceled c join webhook_events v on v.workspace_id = c.workspace_id and v.id = c.event_id`
}

/**
 * Whether the log has no word of a delivery yet. One whose first attempt ended with its worker has none after that. Asked
 * only about those, and about retries: the first attempt of a delivery that is still ours needs no look.
 */
const isUntold = (sql: Sql, row: Fragment) => sql`
  not exists (select from webhook_attempts a where a.workspace_id = ${row}.workspace_id and a.delivery_id = ${row}.id)`

/** An id of ours made by the database, for rows it finds itself: the time, then chance. */
const laterId = (sql: Sql) => sql`
  (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) ||
    '8' || substr(md5(random()::text), 1, 15))::uuid`

type Tally = {
  workspace_id: string
  endpoint_id: string
  /** Failed events before the first success. */
  first_run: number
  /** The most failed events in a row after a success. */
  longest_run: number
  /** Failed events since the last success. */
  last_run: number
  has_success: boolean
  /** Of the last attempt. */
  http_status: number | null
  error: string | null
}

type Counted = Pick<Row, 'workspace_id' | 'endpoint_id' | 'event' | 'status' | 'http_status' | 'error'>

/**
 * The effect of a batch on each of its endpoints: on the failure count, whatever it was before, and the last attempt. A
 * failed test event does not count; a delivered one resets the count as any success does.
 */
export function tally(rows: readonly Counted[]): Tally[] {
  const tallies = new Map<string, Tally>()
  for (const { workspace_id, endpoint_id, event, status, http_status, error } of rows) {
    const tallied = tallies.get(endpoint_id) ?? {
      workspace_id,
      endpoint_id,
      first_run: 0,
      longest_run: 0,
      last_run: 0,
      has_success: false,
      http_status,
      error,
    }
    Object.assign(tallied, { http_status, error })
    tallies.set(endpoint_id, tallied)
    if (status === 'pending' || (status === 'failed' && isTestEvent(event))) continue
    if (status === 'delivered') {
      tallied.has_success = true
      tallied.last_run = 0
    } else if (tallied.has_success) {
      tallied.last_run++
      tallied.longest_run = Math.max(tallied.longest_run, tallied.last_run)
    } else {
      tallied.first_run++
    }
  }
  return [...tallies.values()].sort((one, other) => (one.endpoint_id < other.endpoint_id ? -1 : 1))
}

const isTestEvent = (event: string): boolean => testEventNames.some((name) => name === event)

/** Drop what waits for an endpoint, in the caller's transaction; the log keeps it as canceled. */
export async function cancelDeliveries(
  sql: Sql,
  workspaceId: string,
  endpointId: string,
  reason: string,
): Promise<void> {
  // Whoever settles some of them is waited for, and seen by what follows.
  await sql`
    select count(*) from (
      select from webhook_deliveries
      where workspace_id = ${workspaceId} and endpoint_id = ${endpointId}
      order by id
      for update
    ) d`
  await sql`
    with canceled as (
      delete from webhook_deliveries d
      where d.workspace_id = ${workspaceId} and d.endpoint_id = ${endpointId}
      returning d.workspace_id, d.endpoint_id, d.id, d.event_id, d.attempt_count
    )
    ${logCanceled(sql, reason)}`
}

/** Deliveries queued by a statement that did not see its endpoint being switched off. */
export async function sweepDeliveries(sql: Sql): Promise<void> {
  await sql`
    with canceled as (
      delete from webhook_deliveries d using webhook_endpoints e
      where e.workspace_id = d.workspace_id and e.id = d.endpoint_id and not e.is_active
      returning d.workspace_id, d.endpoint_id, d.id, d.event_id, d.attempt_count
    )
    ${logCanceled(sql, 'the endpoint was switched off')}`
}

/** The log's last word on what a statement has as `canceled`. */
const logCanceled = (sql: Sql, reason: string): Fragment => sql`
  insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, error, is_first)
  select c.workspace_id, c.endpoint_id, ${laterId(sql)}, c.id, c.event_id, v.event, c.attempt_count, 'canceled', ${reason},
    case when c.attempt_count = 0 then true else ${isUntold(sql, sql`c`)} end
  from canceled c join webhook_events v on v.workspace_id = c.workspace_id and v.id = c.event_id`

/** How much waits, for how long, and how many endpoints are switched on and off. */
export function watchDeliveries(sql: Sql, metrics: Metrics): void {
  metrics.gauge(
    'parley_webhook_queue',
    'Deliveries that wait, and the age of the oldest in seconds.',
    'what',
    async () => {
      // Beyond a hundred thousand it is many; counting them all would cost the database more than the number is worth.
      const [queue] = await sql<{ depth: number; oldest: number }[]>`
      select count(*)::int as depth, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest
      from (select created_at from webhook_deliveries limit 100000) d`
      return { depth: queue?.depth ?? 0, oldest_seconds: queue?.oldest ?? 0 }
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
