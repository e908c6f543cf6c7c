/** Canceling: removes the queued deliveries of an endpoint that is deactivated or deleted, and logs them as canceled. */
import type { Fragment, Sql } from '../lib/db.ts'
import { idFromTime } from '../lib/id.ts'

/** Cancels all deliveries of an endpoint, in the caller's transaction. */
export async function cancelDeliveries(
  sql: Sql,
  workspaceId: string,
  endpointId: string,
  reason: string,
): Promise<void> {
  // Waits for workers that are settling some of them. The next statement sees their changes.
  await sql`
    select count(*) from (
      select from webhook_deliveries
      where workspace_id = ${workspaceId} and endpoint_id = ${endpointId}
      order by id
      for update
    ) d`
  await sql`
    with canceled_deliveries as (
      delete from webhook_deliveries d
      where d.workspace_id = ${workspaceId} and d.endpoint_id = ${endpointId}
      returning d.workspace_id, d.endpoint_id, d.id, d.event_id, d.attempt_count
    )
    ${logCanceled(sql, reason)}`
}

/** Cancels deliveries that a statement queued because it did not see that the endpoint was just deactivated. */
export async function sweepDeliveries(sql: Sql): Promise<void> {
  await sql`
    with canceled_deliveries as (
      delete from webhook_deliveries d using webhook_endpoints e
      where e.workspace_id = d.workspace_id and e.id = d.endpoint_id and not e.is_active
      returning d.workspace_id, d.endpoint_id, d.id, d.event_id, d.attempt_count
    )
    ${logCanceled(sql, 'the endpoint was switched off')}`
}

/** Adds the rows of `canceled_deliveries` to the log. */
const logCanceled = (sql: Sql, reason: string): Fragment => sql`
  insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, error, is_first)
  select c.workspace_id, c.endpoint_id, ${idFromTime(sql, sql`clock_timestamp()`)}, c.id, c.event_id, v.event, c.attempt_count, 'canceled', ${reason},
    case when c.attempt_count = 0 then true else ${isUnlogged(sql, sql`c`)} end
  from canceled_deliveries c join webhook_events v on v.workspace_id = c.workspace_id and v.id = c.event_id`

/**
 * Whether the log has no entry of a delivery yet. Needed for retries, and for deliveries whose first attempt ended with a
 * crash of its worker. The first attempt of a delivery that is still held needs no look-up.
 */
export const isUnlogged = (sql: Sql, row: Fragment): Fragment => sql`
  not exists (
    select from webhook_attempts logged where logged.workspace_id = ${row}.workspace_id and logged.delivery_id = ${row}.id
  )`
