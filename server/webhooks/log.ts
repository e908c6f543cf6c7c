/**
 * The log of deliveries, for members to look at.
 *
 * A delivery is listed once, at its first word: what came of its first attempt,
 * or that it was canceled before. One that has not been spoken of yet is in the
 * queue alone, and comes first. Those of one status are listed at the word that
 * gave it to them, and those that wait in the order of their ids, which is none.
 * Whatever is asked for, a page is read off an index.
 */
import { webhookHeaders } from '../../common/webhook-request.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { encodeCursor, type Page, type Position } from '../lib/page.ts'
import { requireEndpoint } from './endpoints.ts'

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'canceled'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

type Attempt = {
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
  { status }: { status?: DeliveryStatus | undefined },
  { limit, before }: Position,
): Promise<Page<Delivery>> {
  await requireEndpoint(sql, workspaceId, endpointId)
  // Looked at first, so that one which is spoken of meanwhile is in both, and not in neither.
  const isFirstPage = status === undefined && before > newId()
  const untold = isFirstPage ? await listUntold(sql, workspaceId, endpointId) : []
  const place = { endpointId, before, limit: limit + 1 }
  const picked = status === undefined ? pickFirsts(sql, workspaceId, place) : pickOf(sql, workspaceId, place, status)
  const told = await readPicked(sql, workspaceId, endpointId, picked)
  const shown = told.slice(0, limit)
  const last = shown.at(-1)
  const known = new Set(shown.map(({ id }) => id))
  return {
    data: [...untold.filter(({ id }) => !known.has(id)), ...shown.map(toDelivery)],
    meta: { next_cursor: told.length > limit && last ? encodeCursor(last.place) : null },
  }
}

/** What an attempt sends, as far as it is kept. */
export type SentRequest = {
  /** Null: the event is no longer kept. */
  body: string | null
  headers: { name: string; value: string }[]
}

/** A delivery with what was sent, or is to be. */
export async function requireDelivery(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<Delivery & { request: SentRequest }> {
  const known = await getKnown(sql, workspaceId, id)
  if (!known) throw notFound('delivery')
  const { endpoint_id, event_id, event } = known
  const picked = sql`
    select ${id}::uuid as place, ${id}::uuid as delivery_id, ${event_id}::uuid as event_id, ${event}::text as event`
  const [delivery] = await readPicked(sql, workspaceId, endpoint_id, picked)
  // It was in the queue a moment ago, and left it without a word.
  if (!delivery || !(delivery.words || delivery.queued_at)) throw notFound('delivery')
  const [kept] = await sql<{ body: string }[]>`
    select body from webhook_events where workspace_id = ${workspaceId} and id = ${event_id}`
  // A signature is made for an attempt, and is not kept.
  const headers = Object.entries(webhookHeaders(event, endpoint_id, 't=…,v1=…')).map(([name, value]) => ({
    name,
    value,
  }))
  return { ...toDelivery(delivery), request: { body: kept?.body ?? null, headers } }
}

type Place = { endpointId: string; before: string; limit: number }

/** Deliveries at their first word. */
const pickFirsts = (sql: Sql, workspaceId: string, { endpointId, before, limit }: Place): Fragment => sql`
  select id as place, delivery_id, event_id, event from webhook_attempts
  where workspace_id = ${workspaceId} and endpoint_id = ${endpointId} and id < ${before} and is_first
  order by id desc
  limit ${limit}`

/**
 * Deliveries of a status. A success is a success, also of what was canceled before; otherwise the last word counts.
 * Successes are never far from each other, as an endpoint without any is switched off; the rest has its own index.
 */
function pickOf(sql: Sql, workspaceId: string, { endpointId, before, limit }: Place, status: DeliveryStatus): Fragment {
  if (status === 'pending') {
    return sql`
      select d.id as place, d.id as delivery_id, d.event_id, v.event
      from webhook_deliveries d
      join webhook_events v on v.workspace_id = d.workspace_id and v.id = d.event_id
      where d.workspace_id = ${workspaceId} and d.endpoint_id = ${endpointId} and d.id < ${before}
      order by d.id desc
      limit ${limit}`
  }
  // Written out, so that the planner sees which index it is about.
  const word = { delivered: sql`'delivered'`, failed: sql`'failed'`, canceled: sql`'canceled'` }[status]
  const isOverruled =
    status === 'delivered'
      ? sql`b.status = 'delivered' and b.id > a.id`
      : sql`b.status = 'delivered' or (b.status <> 'pending' and b.id > a.id)`
  return sql`
    select a.id as place, a.delivery_id, a.event_id, a.event from webhook_attempts a
    where a.workspace_id = ${workspaceId} and a.endpoint_id = ${endpointId} and a.id < ${before} and a.status = ${word}
      and not exists (
        select from webhook_attempts b
        where b.workspace_id = ${workspaceId} and b.delivery_id = a.delivery_id and (${isOverruled})
        -- Keeps it a probe for each row of the page: joined instead, it may be the whole log against itself.
        offset 0
      )
    order by a.id desc
    limit ${limit}`
}

/** All there is to know of some deliveries to an endpoint, in the order of their places. */
async function readPicked(sql: Sql, workspaceId: string, endpointId: string, picked: Fragment): Promise<Told[]> {
  return sql<Told[]>`
    with picked as (${picked})
    select p.place, p.delivery_id as id, p.event_id, p.event, d.attempt_count, d.next_attempt_at,
      d.created_at as queued_at, w.words
    from picked p
    -- One probe each: the queue behind them is never read.
    left join lateral (
      select d.attempt_count, d.next_attempt_at, d.created_at from webhook_deliveries d
      where d.workspace_id = ${workspaceId} and d.endpoint_id = ${endpointId} and d.id = p.delivery_id
      limit 1
    ) d on true
    cross join lateral (
      select json_agg(json_build_object('id', a.id, 'attempt', a.attempt, 'status', a.status, 'http_status', a.http_status,
        'duration_ms', a.duration_ms, 'error', a.error, 'response', a.response) order by a.id) as words
      from webhook_attempts a
      where a.workspace_id = ${workspaceId} and a.delivery_id = p.delivery_id
    ) w
    order by p.place desc`
}

type Told = {
  /** Where it stands in its list. */
  place: string
  id: string
  event_id: string
  event: string
  /** Null when it is not in the queue any more, with the next two. */
  attempt_count: number | null
  next_attempt_at: string | null
  queued_at: string | null
  /** Null before the first. */
  words: (Omit<Attempt, 'at'> & { id: string })[] | null
}

function toDelivery({ words, id, event_id, event, attempt_count, next_attempt_at, queued_at }: Told): Delivery {
  const attempts = (words ?? []).map(({ id, ...word }) => ({ ...word, at: timeOfId(id) }))
  const tried = Math.max(0, ...attempts.map(({ attempt }) => attempt))
  const isUnderWay = attempt_count !== null && attempt_count > tried
  return {
    id,
    event_id,
    event,
    status: attempt_count === null ? endOf(attempts) : 'pending',
    attempt_count: attempt_count ?? tried,
    created_at: attempts[0]?.at ?? queued_at ?? timeOfId(id),
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
export async function getKnown(sql: Sql, workspaceId: string, id: string): Promise<Known | undefined> {
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

export type Queued = { id: string; created_at: string; next_attempt_at: string }

export function toPending(
  { id, created_at, next_attempt_at }: Queued,
  { event_id, event }: Pick<Known, 'event_id' | 'event'>,
): Delivery {
  return { id, event_id, event, status: 'pending', attempt_count: 0, created_at, next_attempt_at, attempts: [] }
}
