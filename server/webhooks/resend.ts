/**
 * Resending: one delivery, all events of a time range, or a test event: that of an automation tool, or a sample of an event.
 *
 * Resending creates a new delivery of the same event with the same event id, so receivers can recognize it.
 */
import { nowIso, nowMs } from '../lib/clock.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { idAt, newId, timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type EventName, sampleNameOf, type TestEventName } from './emit.ts'
import { getEndpoint, requireEndpoint, requireReady } from './endpoints.ts'
import type { Guard } from './guard.ts'
import { type DeliveryRow, findDelivery, toDelivery, unloggedColumns } from './log.ts'
import type { Delivery, Endpoint } from './resource.ts'

/** Sends the event of a delivery again. Returns the new delivery. With `endpointId`, only a delivery to that endpoint is found. */
export async function redeliver(
  sql: Sql,
  guard: Guard,
  workspaceId: string,
  id: string,
  endpointId?: string,
): Promise<Delivery> {
  const found = await findDelivery(sql, workspaceId, id)
  if (!found || (endpointId !== undefined && found.endpoint_id !== endpointId)) throw notFound('delivery')
  const endpoint = await getEndpoint(sql, workspaceId, found.endpoint_id)
  if (!endpoint) throw badRequest('webhook: it has been deleted')
  await requireReady(guard, endpoint)
  const [queued] = await sql<Omit<DeliveryRow, 'event'>[]>`
    insert into webhook_deliveries as d (workspace_id, endpoint_id, id, event_id)
    select e.workspace_id, e.id, ${newId()}, v.id
    from webhook_endpoints e join webhook_events v on v.workspace_id = e.workspace_id
    where e.workspace_id = ${workspaceId} and e.id = ${endpoint.id} and e.is_active and v.id = ${found.event_id}
    for key share of e
    returning ${unloggedColumns(sql)}`
  if (!queued) throw badRequest('delivery: its event is older than 30 days')
  return toDelivery({ ...queued, event: found.event })
}

export type Range = { from: string; to: string }

const maxRangeMs = 31 * 86_400_000
/** Deliveries of one endpoint that wait. A replay adds no more. */
const maxWaiting = 1_000_000
/** Events per statement: 5,000 are queued in 120 ms, and their delivery starts at once. */
const chunkSize = 5_000

/** Sends the stored events that an endpoint is subscribed to again: those recorded from `from` on and before `to`. */
export async function replay(
  sql: Sql,
  guard: Guard,
  workspaceId: string,
  endpointId: string,
  { from, to }: Range,
): Promise<{ queued: number }> {
  const begin = requireTime('from', from)
  const end = requireTime('to', to)
  if (begin >= end) throw badRequest('to: must be after from')
  if (end - begin > maxRangeMs) throw badRequest('to: at most 31 days after from')
  const endpoint = await requireEndpoint(sql, workspaceId, endpointId)
  await requireReady(guard, endpoint)
  // Later events are queued when they are recorded.
  const below = idAt(Math.min(end, nowMs()))
  let above: string | null = idAt(begin)
  const [waiting] = await sql<{ count: number }[]>`
    select count(*)::int as count from webhook_deliveries where workspace_id = ${workspaceId} and endpoint_id = ${endpointId}`
  let queued = 0
  while (above) {
    if ((waiting?.count ?? 0) + queued >= maxWaiting) {
      const since = timeOfId(above)
      throw badRequest(`webhook: a million deliveries wait; replay from ${since} again when they are done`)
    }
    const [done]: { queued: number; last_id: string | null }[] = await sql<
      { queued: number; last_id: string | null }[]
    >`
      -- The next events of the range.
      with chunk as (
        select id, event from webhook_events
        where workspace_id = ${workspaceId} and id > ${above} and id < ${below}
        order by id
        limit ${chunkSize}
      ),
      -- The endpoint, unless it was deactivated; locked against that.
      active_endpoint as (
        select workspace_id, id, events from webhook_endpoints
        where workspace_id = ${workspaceId} and id = ${endpointId} and is_active
        for key share
      ),
      -- A delivery for each event that the endpoint is subscribed to.
      queued_deliveries as (
        insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
        select e.workspace_id, e.id, gen_random_uuid(), c.id from chunk c join active_endpoint e on c.event = any(e.events)
        returning id
      )
      select (select count(*)::int from queued_deliveries) as queued,
        (select id from chunk where (select count(*) from chunk) = ${chunkSize} order by id desc limit 1) as last_id`
    queued += done?.queued ?? 0
    above = done?.last_id ?? null
  }
  return { queued }
}

/** Sends a test event to one integration. */
export async function sendTest(sql: Sql, guard: Guard, workspaceId: string, endpointId: string): Promise<Delivery> {
  const endpoint = await requireEndpoint(sql, workspaceId, endpointId)
  if (endpoint.provider === 'api') throw notFound('integration')
  const event: TestEventName = `${endpoint.provider}.test`
  const data = { message: 'A test from your workspace: this integration works.' }
  return queueTest(sql, guard, workspaceId, endpoint, { recorded: event, event, data })
}

/** Sends a sample of an event to one endpoint, whether or not it is subscribed to it. */
export async function sendSample(
  sql: Sql,
  guard: Guard,
  workspaceId: string,
  endpointId: string,
  { event, data }: { event: EventName; data: object },
): Promise<Delivery> {
  const endpoint = await requireEndpoint(sql, workspaceId, endpointId)
  return queueTest(sql, guard, workspaceId, endpoint, { recorded: sampleNameOf(event), event, data })
}

async function queueTest(
  sql: Sql,
  guard: Guard,
  workspaceId: string,
  endpoint: Endpoint,
  { recorded, event, data }: { recorded: TestEventName; event: string; data: object },
): Promise<Delivery> {
  await requireReady(guard, endpoint)
  const id = newId()
  const occurred_at = nowIso()
  const body = JSON.stringify({ id, event, occurred_at, account_id: workspaceId, data })
  const [queued] = await sql<Omit<DeliveryRow, 'event'>[]>`
    with active_endpoint as (
      select workspace_id, id from webhook_endpoints
      where workspace_id = ${workspaceId} and id = ${endpoint.id} and is_active
      for key share
    ),
    recorded_event as (
      insert into webhook_events (workspace_id, id, event, body, occurred_at)
      select t.workspace_id, ${id}, ${recorded}, ${body}, ${occurred_at} from active_endpoint t
    )
    insert into webhook_deliveries as d (workspace_id, endpoint_id, id, event_id)
    select t.workspace_id, t.id, ${newId()}, ${id} from active_endpoint t
    returning ${unloggedColumns(sql)}`
  if (!queued) throw badRequest('webhook: not active; switch it on first')
  return toDelivery({ ...queued, event: recorded })
}

/** The schema accepts a second 60, which is not a valid time. */
function requireTime(name: string, text: string): number {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw badRequest(`${name}: not a date-time`)
  return time
}
