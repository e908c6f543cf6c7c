/**
 * Canceling: removes the queued deliveries of an endpoint that is not active, and logs them as canceled.
 *
 * It happens in chunks after the endpoint was deactivated. An endpoint can have a million deliveries, and statements of other
 * workspaces may wait for the one that removes them.
 */
import { idFromTime } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { maxAttempts } from './queue.ts'

/** Deliveries per statement. */
const chunkSize = 5_000

/** Cancels the deliveries of an endpoint if it is not active. */
export const cancelDeliveries = (sql: Sql, workspaceId: string, endpointId: string, reason: string): Promise<void> =>
  cancelWhere(sql, sql`e.workspace_id = ${workspaceId} and e.id = ${endpointId}`, reason)

/** The reason when a deactivated endpoint is found with queued deliveries. */
export const switchedOff = 'the endpoint was switched off'

/** Cancels what is left: of endpoints that were deactivated by failures, and of statements that did not see it. */
export const sweepDeliveries = (sql: Sql): Promise<void> => cancelWhere(sql, sql`true`, switchedOff)

/**
 * A delivery that a worker is settling is skipped; the next sweep finds it if it is still there. Deleted by place: the planner may find the key of
 * a delivery by the index of those that are due, which reads all deliveries of the endpoint for each of them.
 */
async function cancelWhere(sql: Sql, isEndpoint: Fragment, reason: string): Promise<void> {
  for (let count = 1; count > 0; ) {
    const [canceled] = await sql<{ count: number }[]>`
      with chunk as (
        select d.workspace_id, d.ctid as place
        from webhook_endpoints e
        join webhook_deliveries d on d.workspace_id = e.workspace_id and d.endpoint_id = e.id
        where not e.is_active and ${isEndpoint}
        limit ${chunkSize}
        for update of d skip locked
      ),
      canceled_deliveries as (
        delete from webhook_deliveries d using chunk c
        where d.workspace_id = c.workspace_id and d.ctid = c.place
        returning d.workspace_id, d.endpoint_id, d.id, d.event_id, d.attempt_count
      ),
      logged as (
        insert into webhook_attempts (workspace_id, ${attemptColumns(sql)})
        ${canceledEntries(sql, reason)}
      )
      select count(*)::int as count from chunk`
    count = canceled?.count ?? 0
  }
}

/** The other columns of the log, in the order of its entries here and in `settle.ts`. */
export const attemptColumns = (sql: Sql): Fragment => sql`
  endpoint_id, id, delivery_id, event_id, event, attempt, status, http_status, duration_ms, error, response, is_first`

/** The log entries of `canceled_deliveries`. `isLogged`: the same statement logs an attempt of the delivery. */
export const canceledEntries = (sql: Sql, reason: string, isLogged: Fragment = sql`false`): Fragment => sql`
  select c.workspace_id, c.endpoint_id, ${idFromTime(sql, sql`clock_timestamp()`)}, c.id, c.event_id, v.event,
    least(c.attempt_count, ${maxAttempts}), 'canceled', null::int, null::int, ${reason}::text, null::text,
    case
      when c.attempt_count = 0 then true
      when ${isLogged} then false
      else ${isUnlogged(sql, sql`c`)} end
  from canceled_deliveries c join webhook_events v on v.workspace_id = c.workspace_id and v.id = c.event_id`

/**
 * Whether the log has no entry of a delivery yet. Needed for retries, and for deliveries whose first attempt ended with a
 * crash of its worker. The first attempt of a delivery that is still held needs no look-up.
 */
export const isUnlogged = (sql: Sql, row: Fragment): Fragment => sql`
  not exists (
    select from webhook_attempts logged where logged.workspace_id = ${row}.workspace_id and logged.delivery_id = ${row}.id
  )`
