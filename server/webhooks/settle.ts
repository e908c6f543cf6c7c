/**
 * Settling: stores the outcomes of attempts.
 *
 * A delivery that succeeded or failed for good leaves the queue; the others wait for their retry. The failures of each
 * endpoint are counted in the order in which the attempts ended, and a success resets the count. An endpoint that reaches
 * `maxFailures` is deactivated, once, and its queued deliveries are canceled.
 */
import type { Times } from '../../common/times.ts'
import { newId } from '../lib/id.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import { attemptColumns, canceledEntries, isUnlogged, switchedOff } from './cancel.ts'
import { type ClaimedDelivery, maxAttempts } from './queue.ts'
import { maxFailures, type Outcome, type Tally, tallyOutcomes } from './tally.ts'

/** Deliveries that are canceled by the statement that deactivates their endpoint. */
const maxCanceled = 1_000

export type AttemptResult = {
  outcome: 'delivered' | 'again' | 'failed'
  http_status: number | null
  duration_ms: number
  error: string | null
  response: string | null
}

export type Attempt = AttemptResult & {
  delivery: Pick<
    ClaimedDelivery,
    'workspace_id' | 'endpoint_id' | 'id' | 'row_location' | 'event_id' | 'event' | 'attempt'
  >
  /** Its lease may have expired, so another worker may have claimed the delivery. */
  isLate?: boolean
}

/** Stores attempts, in the order in which they ended. */
export async function settleAttempts(
  db: Db,
  attempts: readonly Attempt[],
  { backoffMs }: Pick<Times['webhooks'], 'backoffMs'>,
): Promise<void> {
  const held = await listHeldIds(
    db,
    attempts.flatMap(({ delivery, isLate }) => (isLate ? [delivery] : [])),
  )
  const rows = attempts.map(toRow)
  const tallies = tallyOutcomes(rows.filter(({ id, isLate }) => !isLate || held.has(id)))
  // A success writes values that do not depend on the row.
  const write = (sql: Sql) => writeAttempts(sql, rows, tallies, backoffMs)
  if (tallies.length < 2 || tallies.every(isSuccess)) return write(db)
  await db.begin(async (sql) => {
    // Batches lock their endpoints in the order of ids, so that no two deadlock. This needs a statement of its own: a
    // statement that locks and updates at once updates the rows as they were before it waited.
    await sql`
      select 1 from webhook_endpoints e
      join unnest(${tallies.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${tallies.map(({ endpoint_id }) => endpoint_id)}::uuid[]) as t (workspace_id, id)
        on t.workspace_id = e.workspace_id and t.id = e.id
      order by e.id
      for no key update of e`
    await write(sql)
  })
}

type AttemptRow = ReturnType<typeof toRow>

function toRow({ delivery, outcome, ...result }: Attempt) {
  const isOver = outcome !== 'again' || delivery.attempt >= maxAttempts
  const status: Outcome['status'] = outcome === 'delivered' ? 'delivered' : isOver ? 'failed' : 'pending'
  return { ...delivery, ...result, attempt_id: newId(), status }
}

const isSuccess = ({ has_success, first_run, longest_run }: Tally): boolean =>
  has_success && first_run === 0 && longest_run === 0

/** The ids of those deliveries that no other worker has claimed since. The other worker counts the outcome of the rest. */
async function listHeldIds(sql: Sql, deliveries: readonly Attempt['delivery'][]): Promise<Set<string>> {
  if (deliveries.length === 0) return new Set()
  const queued = await sql<{ id: string; attempt_count: number }[]>`
    select id, attempt_count from webhook_deliveries
    where ctid = any(${deliveries.map(({ row_location }) => row_location)}::text[]::tid[])`
  const attempts = new Map(queued.map((row) => [row.id, row.attempt_count]))
  return new Set(deliveries.flatMap(({ id, attempt }) => (attempts.get(id) === attempt ? [id] : [])))
}

/**
 * An endpoint that is healthy and stays so is updated once a second, so `last_delivery_at` is up to a second behind.
 */
async function writeAttempts(
  sql: Sql,
  rows: readonly AttemptRow[],
  tallies: readonly Tally[],
  backoffMs: readonly number[],
): Promise<void> {
  await sql`
    -- The attempts to store.
    with attempts as (
      select workspace_id, endpoint_id, id, row_location, event_id, event, attempt, attempt_id, status, http_status,
        duration_ms, error, response
      from unnest(
        ${arrayOf(rows, ({ workspace_id }) => workspace_id)}::text::uuid[],
        ${arrayOf(rows, ({ endpoint_id }) => endpoint_id)}::text::uuid[],
        ${arrayOf(rows, ({ id }) => id)}::text::uuid[],
        ${arrayOf(rows, ({ row_location }) => `"${row_location}"`)}::text::tid[],
        ${arrayOf(rows, ({ event_id }) => event_id)}::text::uuid[],
        ${arrayOf(rows, ({ event }) => event)}::text::text[],
        ${arrayOf(rows, ({ attempt }) => attempt)}::text::int[],
        ${arrayOf(rows, ({ attempt_id }) => attempt_id)}::text::uuid[],
        ${arrayOf(rows, ({ status }) => status)}::text::text[],
        ${arrayOf(rows, ({ http_status }) => http_status)}::text::int[],
        ${arrayOf(rows, ({ duration_ms }) => duration_ms)}::text::int[],
        ${rows.map(({ error }) => error)}::text[], ${rows.map(({ response }) => response)}::text[]
      ) as r (
        workspace_id, endpoint_id, id, row_location, event_id, event, attempt, attempt_id, status, http_status, duration_ms,
        error, response
      )
    ),
    -- Their effect on each endpoint.
    tallies as (
      select workspace_id, endpoint_id, first_run, longest_run, last_run, has_success, http_status, error
      from json_to_recordset(${JSON.stringify(tallies)}::text::json) as r (
        workspace_id uuid, endpoint_id uuid, first_run int, longest_run int, last_run int, has_success boolean,
        http_status int, error text
      )
    ),
    -- The endpoints to update, locked in the order of ids.
    changed_endpoints as (
      select t.workspace_id, t.endpoint_id, t.first_run, t.longest_run, t.last_run, t.has_success, t.http_status, t.error
      from tallies t join webhook_endpoints e on e.workspace_id = t.workspace_id and e.id = t.endpoint_id
      where e.is_active and (
        not t.has_success or t.first_run > 0 or t.longest_run > 0 or e.failure_count > 0 or e.last_attempt_error is not null
        or e.last_attempt_http_status is distinct from t.http_status
        or e.last_delivery_at is null or e.last_delivery_at < now() - interval '1 second'
      )
      order by e.id
      for no key update of e
    ),
    -- Counts failures and deactivates the endpoints that reached the limit.
    counted_endpoints as (
      update webhook_endpoints e set
        failure_count = case
          when e.failure_count + t.first_run >= ${maxFailures} or t.longest_run >= ${maxFailures} then ${maxFailures}
          when t.has_success then t.last_run
          else e.failure_count + t.first_run end,
        is_active = e.failure_count + t.first_run < ${maxFailures} and t.longest_run < ${maxFailures},
        last_delivery_at = case when t.has_success then now() else e.last_delivery_at end,
        last_attempt_at = now(), last_attempt_http_status = t.http_status, last_attempt_error = t.error
      from changed_endpoints t
      where e.workspace_id = t.workspace_id and e.id = t.endpoint_id and e.is_active
      returning e.workspace_id, e.id, e.is_active
    ),
    -- The attempts of deliveries in the queue, once the endpoints are locked.
    queued_attempts as (
      select a.row_location, a.workspace_id, a.endpoint_id, a.id, a.attempt, a.status
      from (select count(*) from counted_endpoints) locked cross join attempts a
    ),
    -- Delivered, or failed for good. A worker whose lease expired changes nothing in the queue. \`is true\` makes the condition a
    -- filter: a join would read the whole queue.
    removed_deliveries as (
      delete from webhook_deliveries
      where ctid = any(array(select row_location from queued_attempts where status <> 'pending'))
        and ((workspace_id, id, attempt_count) in (select workspace_id, id, attempt from queued_attempts)) is true
      returning id
    ),
    -- To be retried, unless their endpoint was deactivated above.
    rescheduled_deliveries as (
      update webhook_deliveries set
        is_retry = true,
        leased_until = null,
        next_attempt_at = now() + make_interval(
          secs => (${backoffMs}::int[])[least(attempt_count, ${backoffMs.length})] * (0.8 + random() * 0.4) / 1000
        )
      where ctid = any(array(
          select row_location from queued_attempts
          where status = 'pending' and endpoint_id not in (select id from counted_endpoints where not is_active)
        ))
        and ((workspace_id, id, attempt_count) in (select workspace_id, id, attempt from queued_attempts)) is true
      returning id
    ),
    -- Other deliveries of the endpoints that were deactivated above. If there are many, the rest is canceled by \`cancel.ts\`: this
    -- statement settles attempts of all workspaces.
    canceled_deliveries as (
      delete from webhook_deliveries d
      where d.ctid = any(array(
        select q.ctid from webhook_deliveries q
        where q.workspace_id = any(array(select workspace_id from counted_endpoints where not is_active))
          and q.endpoint_id = any(array(select id from counted_endpoints where not is_active))
          and q.id <> all(array(select id from attempts where status <> 'pending'))
        limit ${maxCanceled}
      ))
      returning d.workspace_id, d.endpoint_id, d.id, d.event_id, d.attempt_count
    ),
    -- The deliveries that this worker held.
    held_deliveries as (
      select id from removed_deliveries union all select id from rescheduled_deliveries
    )
    insert into webhook_attempts (workspace_id, ${attemptColumns(sql)})
    select a.workspace_id, a.endpoint_id, a.attempt_id, a.id, a.event_id, a.event, least(a.attempt, ${maxAttempts}), a.status,
      a.http_status, a.duration_ms, a.error, a.response,
      case
        when a.attempt = 1 and a.id in (select id from held_deliveries) then true
        else ${isUnlogged(sql, sql`a`)} end
    from attempts a
    where exists (select from webhook_endpoints e where e.workspace_id = a.workspace_id and e.id = a.endpoint_id)
    union all
    ${canceledEntries(sql, switchedOff, sql`c.id in (select id from attempts)`)}`
}

/**
 * The text of an array whose items need no escaping. PostgreSQL reads arrays in less time than one JSON document.
 */
function arrayOf(rows: readonly AttemptRow[], toText: (row: AttemptRow) => string | number | null): string {
  let text = ''
  for (const row of rows) text += `${text ? ',' : '{'}${toText(row) ?? 'null'}`
  return text ? `${text}}` : '{}'
}
