/**
 * The delivery log that members read.
 *
 * A delivery is listed once, at the position of its first log entry: its first attempt, or its cancellation before that. A
 * delivery without an entry is only in the queue, and comes first. A list by status shows each delivery at the entry that gave it
 * the status; pending deliveries are sorted by id, which is arbitrary. Every page is read from an index.
 */
import { webhookHeaders } from '../../common/webhook-request.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { encodeCursor, type Page, type Position } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { sentNameOf } from './emit.ts'
import { requireEndpoint } from './endpoints.ts'
import type { Attempt, Delivery, DeliveryStatus } from './resource.ts'

/** Queue rows that are read to find deliveries without a log entry. */
const maxQueueRows = 100

/**
 * Deliveries to an endpoint, newest first. Up to half of the first page are deliveries that have no log entry yet. The cost
 * does not grow with the queue or the log.
 */
export async function listDeliveries(
  sql: Sql,
  workspaceId: string,
  endpointId: string,
  { status }: { status?: DeliveryStatus | undefined },
  { limit, before }: Position,
): Promise<Page<Delivery>> {
  await requireEndpoint(sql, workspaceId, endpointId)
  // Read before the log, so that a delivery whose first attempt ends in between is in both lists and not in neither.
  const isFirstPage = status === undefined && before > newId()
  const unlogged = isFirstPage ? await listUnlogged(sql, workspaceId, endpointId, Math.floor(limit / 2)) : []
  const loggedLimit = limit - unlogged.length
  const range = { endpointId, before, limit: loggedLimit + 1 }
  const selection =
    status === undefined ? selectFirstEntries(sql, workspaceId, range) : selectByStatus(sql, workspaceId, range, status)
  const logged = await readDeliveries(sql, workspaceId, endpointId, selection)
  const shown = logged.slice(0, loggedLimit)
  const last = shown.at(-1)
  const shownIds = new Set(shown.map(({ id }) => id))
  return {
    data: [...unlogged.filter(({ id }) => !shownIds.has(id)), ...shown.map(toDelivery)],
    meta: { next_cursor: logged.length > loggedLimit && last ? encodeCursor(last.position) : null },
  }
}

/** The request of an attempt, as far as it is stored. */
export type SentRequest = {
  /** Null: the event is older than 30 days. */
  body: string | null
  headers: { name: string; value: string }[]
}

/** A delivery with its request. */
export async function requireDelivery(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<Delivery & { request: SentRequest }> {
  const found = await findDelivery(sql, workspaceId, id)
  if (!found) throw notFound('delivery')
  const { endpoint_id, event_id, event } = found
  const selection = sql`
    select ${id}::uuid as position, ${id}::uuid as delivery_id, ${event_id}::uuid as event_id, ${event}::text as event`
  const [delivery] = await readDeliveries(sql, workspaceId, endpoint_id, selection)
  // It was in the queue a moment ago, and was removed without a log entry.
  if (!delivery || !(delivery.entries || delivery.queued_at)) throw notFound('delivery')
  const [stored] = await sql<{ body: string }[]>`
    select body from webhook_events where workspace_id = ${workspaceId} and id = ${event_id}`
  // Each attempt has its own signature, which is not stored.
  const headers = Object.entries(webhookHeaders(sentNameOf(event), endpoint_id, 't=…,v1=…')).map(([name, value]) => ({
    name,
    value,
  }))
  return { ...toDelivery(delivery), request: { body: stored?.body ?? null, headers } }
}

type LogRange = { endpointId: string; before: string; limit: number }

/** Deliveries at the position of their first entry. */
const selectFirstEntries = (sql: Sql, workspaceId: string, { endpointId, before, limit }: LogRange): Fragment => sql`
  select id as position, delivery_id, event_id, event from webhook_attempts
  where workspace_id = ${workspaceId} and endpoint_id = ${endpointId} and id < ${before} and is_first
  order by id desc
  limit ${limit}`

/**
 * Deliveries of a status. A success counts even if the delivery was canceled before it; otherwise the last entry counts.
 * Successes are frequent, because an endpoint without any is deactivated; the other statuses have an index of their own.
 */
function selectByStatus(
  sql: Sql,
  workspaceId: string,
  { endpointId, before, limit }: LogRange,
  status: DeliveryStatus,
): Fragment {
  if (status === 'pending') {
    return sql`
      select d.id as position, d.id as delivery_id, d.event_id, v.event
      from webhook_deliveries d
      join webhook_events v on v.workspace_id = d.workspace_id and v.id = d.event_id
      where d.workspace_id = ${workspaceId} and d.endpoint_id = ${endpointId} and d.id < ${before}
      order by d.id desc
      limit ${limit}`
  }
  // Literals, so that the planner can use the partial index.
  const literal = { delivered: sql`'delivered'`, failed: sql`'failed'`, canceled: sql`'canceled'` }[status]
  const isOverruled =
    status === 'delivered'
      ? sql`b.status = 'delivered' and b.id > a.id`
      : sql`b.status = 'delivered' or (b.status <> 'pending' and b.id > a.id)`
  return sql`
    select a.id as position, a.delivery_id, a.event_id, a.event from webhook_attempts a
    where a.workspace_id = ${workspaceId} and a.endpoint_id = ${endpointId} and a.id < ${before} and a.status = ${literal}
      and not exists (
        select from webhook_attempts b
        where b.workspace_id = ${workspaceId} and b.delivery_id = a.delivery_id and (${isOverruled})
        -- Keeps it one index probe per row of the page. A join might compare the whole log with itself.
        offset 0
      )
    order by a.id desc
    limit ${limit}`
}

/** Reads the selected deliveries of an endpoint, from queue and log, in the order of their positions. */
async function readDeliveries(
  sql: Sql,
  workspaceId: string,
  endpointId: string,
  selection: Fragment,
): Promise<(DeliveryRow & { position: string })[]> {
  return sql<(DeliveryRow & { position: string })[]>`
    with selected_deliveries as (${selection})
    select p.position, p.delivery_id as id, p.event_id, p.event, d.attempt_count, d.next_attempt_at,
      d.created_at as queued_at, w.entries
    from selected_deliveries p
    -- One index probe each: the rest of the queue is not read.
    left join lateral (
      select d.attempt_count, d.next_attempt_at, d.created_at from webhook_deliveries d
      where d.workspace_id = ${workspaceId} and d.endpoint_id = ${endpointId} and d.id = p.delivery_id
      limit 1
    ) d on true
    cross join lateral (
      select ${entriesColumn(sql)} from webhook_attempts a
      where a.workspace_id = ${workspaceId} and a.delivery_id = p.delivery_id
    ) w
    order by p.position desc`
}

/** The attempts `a` of a delivery. */
export const entriesColumn = (sql: Sql): Fragment => sql`
  json_agg(json_build_object('id', a.id, 'attempt', a.attempt, 'status', a.status, 'http_status', a.http_status,
    'duration_ms', a.duration_ms, 'error', a.error, 'response', a.response) order by a.id) as entries`

/** A delivery `d` of the queue without a log entry. */
export const unloggedColumns = (sql: Sql): Fragment => sql`
  d.id, d.event_id, d.attempt_count, d.next_attempt_at, d.created_at as queued_at, null as entries`

export type DeliveryRow = {
  id: string
  event_id: string
  event: string
  /** This and the next two are null if the delivery is no longer in the queue. */
  attempt_count: number | null
  next_attempt_at: string | null
  queued_at: string | null
  /** Null if the log has none. */
  entries: (Omit<Attempt, 'at'> & { id: string })[] | null
}

export function toDelivery({
  entries,
  id,
  event_id,
  event,
  attempt_count,
  next_attempt_at,
  queued_at,
}: DeliveryRow): Delivery {
  const attempts = (entries ?? []).map(({ id, ...entry }) => ({ ...entry, at: timeOfId(id) }))
  const endedCount = Math.max(0, ...attempts.map(({ attempt }) => attempt))
  const isInFlight = attempt_count !== null && attempt_count > endedCount
  return {
    id,
    event_id,
    event,
    status: attempt_count === null ? finalStatusOf(attempts) : 'pending',
    attempt_count: attempt_count ?? endedCount,
    created_at: attempts[0]?.at ?? queued_at ?? timeOfId(id),
    next_attempt_at: isInFlight ? null : next_attempt_at,
    attempts,
  }
}

/**
 * The status of a delivery that left the queue. An attempt may succeed after the delivery was canceled. A delivery without an
 * entry was removed after its endpoint was deactivated.
 */
function finalStatusOf(attempts: readonly Attempt[]): DeliveryStatus {
  if (attempts.some(({ status }) => status === 'delivered')) return 'delivered'
  return attempts.findLast(({ status }) => status !== 'pending')?.status ?? 'canceled'
}

/** The newest queued deliveries without a log entry: not attempted yet, or with the first attempt in flight. */
async function listUnlogged(sql: Sql, workspaceId: string, endpointId: string, limit: number): Promise<Delivery[]> {
  const rows = await sql<DeliveryRow[]>`
    select ${unloggedColumns(sql)}, v.event
    from (
      select id, event_id, attempt_count, created_at, next_attempt_at from webhook_deliveries
      where workspace_id = ${workspaceId} and endpoint_id = ${endpointId} and not is_retry
      order by next_attempt_at desc
      limit ${maxQueueRows}
    ) d
    join webhook_events v on v.workspace_id = ${workspaceId} and v.id = d.event_id
    where d.attempt_count = 0
      or not exists (select from webhook_attempts a where a.workspace_id = ${workspaceId} and a.delivery_id = d.id)
    order by d.created_at desc, d.id desc
    limit ${limit}`
  return rows.map(toDelivery)
}

type FoundDelivery = { endpoint_id: string; event_id: string; event: string }

/** Finds a delivery by its id: in the log or, before its first entry, in the queue of one of the endpoints. */
export async function findDelivery(sql: Sql, workspaceId: string, id: string): Promise<FoundDelivery | undefined> {
  if (!isUuid(id)) return undefined
  // It may leave the queue between the two reads, and is in the log then.
  return (
    (await findLogged(sql, workspaceId, id)) ??
    (await findQueued(sql, workspaceId, id)) ??
    (await findLogged(sql, workspaceId, id))
  )
}

async function findLogged(sql: Sql, workspaceId: string, id: string): Promise<FoundDelivery | undefined> {
  const [logged] = await sql<FoundDelivery[]>`
    select endpoint_id, event_id, event from webhook_attempts
    where workspace_id = ${workspaceId} and delivery_id = ${id}
    limit 1`
  return logged
}

async function findQueued(sql: Sql, workspaceId: string, id: string): Promise<FoundDelivery | undefined> {
  const [queued] = await sql<FoundDelivery[]>`
    select e.id as endpoint_id, d.event_id, v.event
    from webhook_endpoints e
    cross join lateral (
      select d.event_id from webhook_deliveries d
      where d.workspace_id = ${workspaceId} and d.endpoint_id = e.id and d.id = ${id}
      limit 1
    ) d
    join webhook_events v on v.workspace_id = ${workspaceId} and v.id = d.event_id
    where e.workspace_id = ${workspaceId}`
  return queued
}
