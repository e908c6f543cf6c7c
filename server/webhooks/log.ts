/**
 * The log of deliveries, for members to look at, and sending again.
 *
 * A delivery is listed once, at its first word: what came of its first attempt,
 * or that it was canceled before. One that has not been spoken of yet is in the
 * queue alone, and comes first. Sending again makes a new delivery of the same
 * event, with the same id in its envelope: receivers know it by that.
 */
import type { Sql } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { encodeCursor, type Page, type Position } from '../lib/page.ts'
import { toEvent } from './emit.ts'
import { getEndpoint, requireEndpoint, requireReady } from './endpoints.ts'
import type { Guard } from './guard.ts'

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

export type Attempt = {
  /** From 1; 0 for what was canceled before it was tried. */
  attempt: number
  /** Where the delivery stood after it. */
  status: DeliveryStatus
  http_status: number | null
  duration_ms: number | null
  error: string | null
  response: string | null
  at: string
}

export type Delivery = {
  id: string
  event_id: string
  event: string
  status: DeliveryStatus
  attempt_count: number
  created_at: string
  /** Null when it is over, and while an attempt is under way. */
  next_attempt_at: string | null
  attempts: Attempt[]
}

/** Deliveries shown that have not been spoken of yet. */
const maxUntold = 50
/** Rows of the queue that are looked at to find them, on either side of now. */
const maxLooked = 100

/**
 * Deliveries to an endpoint, newest first. The first page has up to 50 more in front: those with no word yet. The cost
 * does not grow with the queue or the log.
 */
export async function listDeliveries(
  sql: Sql,
  workspaceId: string,
  endpointId: string,
  { limit, before }: Position,
): Promise<Page<Delivery>> {
  await requireEndpoint(sql, workspaceId, endpointId)
  // Looked at first, so that one which is spoken of meanwhile is in both, and not in neither.
  const isFirstPage = before > newId()
  const untold = isFirstPage ? await listUntold(sql, workspaceId, endpointId) : []
  const told = await sql<Told[]>`
    with firsts as (
      select id, delivery_id, event_id, event from webhook_attempts
      where workspace_id = ${workspaceId} and endpoint_id = ${endpointId} and id < ${before} and is_first
      order by id desc
      limit ${limit + 1}
    )
    select f.id as first_id, f.delivery_id as id, f.event_id, f.event, d.attempt_count, d.next_attempt_at, w.words
    from firsts f
    -- One probe each: the queue behind them is never read.
    left join lateral (
      select d.attempt_count, d.next_attempt_at from webhook_deliveries d
      where d.workspace_id = ${workspaceId} and d.endpoint_id = ${endpointId} and d.id = f.delivery_id
      limit 1
    ) d on true
    cross join lateral (
      select json_agg(json_build_object('id', a.id, 'attempt', a.attempt, 'status', a.status, 'http_status', a.http_status,
        'duration_ms', a.duration_ms, 'error', a.error, 'response', a.response) order by a.id) as words
      from webhook_attempts a
      where a.workspace_id = ${workspaceId} and a.delivery_id = f.delivery_id
    ) w
    order by f.id desc`
  const shown = told.slice(0, limit)
  const last = shown.at(-1)
  const known = new Set(shown.map(({ id }) => id))
  return {
    data: [...untold.filter(({ id }) => !known.has(id)), ...shown.map(toDelivery)],
    meta: { next_cursor: told.length > limit && last ? encodeCursor(last.first_id) : null },
  }
}

/** Send the event of a delivery once more. Answers the new delivery. */
export async function redeliver(sql: Sql, guard: Guard, workspaceId: string, id: string): Promise<Delivery> {
  const known = await getKnown(sql, workspaceId, id)
  if (!known) throw notFound('delivery')
  const endpoint = await getEndpoint(sql, workspaceId, known.endpoint_id)
  if (!endpoint) throw badRequest('webhook: deleted meanwhile')
  await requireReady(guard, endpoint)
  const [queued] = await sql<Queued[]>`
    insert into webhook_deliveries as d (workspace_id, endpoint_id, id, event_id)
    select e.workspace_id, e.id, ${newId()}, v.id
    from webhook_endpoints e join webhook_events v on v.workspace_id = e.workspace_id
    where e.workspace_id = ${workspaceId} and e.id = ${endpoint.id} and e.is_active and v.id = ${known.event_id}
    for key share of e
    returning d.id, d.created_at, d.next_attempt_at`
  if (!queued) throw badRequest('delivery: its event is no longer kept')
  return toPending(queued, known)
}

export type Range = { from: string; to: string }

const maxRangeMs = 31 * 86_400_000
/** Events looked at by one statement: 5,000 are queued in 120 ms, and the engine begins with them. */
const chunk = 5_000

/**
 * Send again what an endpoint is subscribed to, of a time: events that were recorded from `from` on and before `to`.
 * What is not kept any more is not sent.
 */
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
  // What happens from now on is queued by itself.
  const below = firstIdAt(Math.min(end, Date.now()))
  let above: string | null = firstIdAt(begin)
  let queued = 0
  while (above) {
    const [done]: { queued: number; last_id: string | null }[] = await sql<
      { queued: number; last_id: string | null }[]
    >`
      with part as (
        select id, event from webhook_events
        where workspace_id = ${workspaceId} and id > ${above} and id < ${below}
        order by id
        limit ${chunk}
      ),
      open as (
        select workspace_id, id, events from webhook_endpoints
        where workspace_id = ${workspaceId} and id = ${endpointId} and is_active
        for key share
      ),
      queued as (
        insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
        select o.workspace_id, o.id, gen_random_uuid(), p.id from part p join open o on p.event = any(o.events)
        returning id
      )
      select (select count(*)::int from queued) as queued,
        (select id from part where (select count(*) from part) = ${chunk} order by id desc limit 1) as last_id`
    queued += done?.queued ?? 0
    above = done?.last_id ?? null
  }
  return { queued }
}

/** Send a test event to an integration, and to nobody else. */
export async function sendTest(sql: Sql, guard: Guard, workspaceId: string, endpointId: string): Promise<Delivery> {
  const endpoint = await requireEndpoint(sql, workspaceId, endpointId)
  if (endpoint.provider === 'api') throw notFound('integration')
  await requireReady(guard, endpoint)
  const { event_id, event, event_body, occurred_at } = toEvent(
    workspaceId,
    `${endpoint.provider}.test`,
    new Date().toISOString(),
    { message: 'A test from your workspace: this integration works.' },
  )
  const [queued] = await sql<Queued[]>`
    with told as (
      select workspace_id, id from webhook_endpoints
      where workspace_id = ${workspaceId} and id = ${endpoint.id} and is_active
      for key share
    ),
    emitted as (
      insert into webhook_events (workspace_id, id, event, body, occurred_at)
      select t.workspace_id, ${event_id}, ${event}, ${event_body}, ${occurred_at} from told t
    )
    insert into webhook_deliveries as d (workspace_id, endpoint_id, id, event_id)
    select t.workspace_id, t.id, ${newId()}, ${event_id} from told t
    returning d.id, d.created_at, d.next_attempt_at`
  if (!queued) throw badRequest('webhook: not active; switch it on first')
  return toPending(queued, { event_id, event })
}

type Told = {
  first_id: string
  id: string
  event_id: string
  event: string
  /** Null when it is not in the queue any more. */
  attempt_count: number | null
  next_attempt_at: string | null
  words: (Omit<Attempt, 'at'> & { id: string })[]
}

function toDelivery({ first_id, words, id, event_id, event, attempt_count, next_attempt_at }: Told): Delivery {
  const attempts = words.map(({ id, ...word }) => ({ ...word, at: timeOfId(id) }))
  const tried = Math.max(...attempts.map(({ attempt }) => attempt))
  const isUnderWay = attempt_count !== null && attempt_count > tried
  return {
    id,
    event_id,
    event,
    status: attempt_count === null ? endOf(attempts) : 'pending',
    attempt_count: attempt_count ?? tried,
    created_at: timeOfId(first_id),
    next_attempt_at: isUnderWay ? null : next_attempt_at,
    attempts,
  }
}

/**
 * What became of a delivery that left the queue. An attempt may end after the delivery was canceled, and a success is one
 * all the same; one that left without a word was swept away after its endpoint was switched off.
 */
function endOf(attempts: readonly Attempt[]): DeliveryStatus {
  if (attempts.some(({ status }) => status === 'delivered')) return 'delivered'
  return attempts.findLast(({ status }) => status !== 'pending')?.status ?? 'canceled'
}

/** The newest in the queue that have no word in the log: not tried yet, or under way for the first time. */
async function listUntold(sql: Sql, workspaceId: string, endpointId: string): Promise<Delivery[]> {
  const rows = await sql<(Queued & { event_id: string; event: string; attempt_count: number })[]>`
    select d.id, d.event_id, v.event, d.attempt_count, d.created_at, d.next_attempt_at
    from (
      select id, event_id, attempt_count, created_at, next_attempt_at from webhook_deliveries
      where workspace_id = ${workspaceId} and endpoint_id = ${endpointId} and not is_retry
      order by next_attempt_at desc
      limit ${maxLooked}
    ) d
    join webhook_events v on v.workspace_id = ${workspaceId} and v.id = d.event_id
    where d.attempt_count = 0
      or not exists (select from webhook_attempts a where a.workspace_id = ${workspaceId} and a.delivery_id = d.id)
    order by d.created_at desc, d.id desc
    limit ${maxUntold}`
  return rows.map(({ attempt_count, ...row }) => ({
    ...toPending(row, row),
    attempt_count,
    next_attempt_at: attempt_count > 0 ? null : row.next_attempt_at,
  }))
}

type Known = { endpoint_id: string; event_id: string; event: string }

/** A delivery by its id alone, in the log or, before its first word, in the queue of one of the endpoints. */
async function getKnown(sql: Sql, workspaceId: string, id: string): Promise<Known | undefined> {
  if (!isUuid(id)) return undefined
  const [told] = await sql<Known[]>`
    select endpoint_id, event_id, event from webhook_attempts
    where workspace_id = ${workspaceId} and delivery_id = ${id}
    limit 1`
  if (told) return told
  const [queued] = await sql<Known[]>`
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

type Queued = { id: string; created_at: string; next_attempt_at: string }

function toPending(
  { id, created_at, next_attempt_at }: Queued,
  { event_id, event }: Pick<Known, 'event_id' | 'event'>,
): Delivery {
  return { id, event_id, event, status: 'pending', attempt_count: 0, created_at, next_attempt_at, attempts: [] }
}

/** A second 60 has the form of a time, but is none. */
function requireTime(name: string, text: string): number {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw badRequest(`${name}: not a date-time`)
  return time
}

/** Below every id made from this millisecond on, above every one made before. */
function firstIdAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
