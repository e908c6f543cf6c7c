/**
 * The recorded events that members read, newest first, with their deliveries.
 *
 * A filter has no index: a page checks events for at most `budgetMs`, and its cursor continues the search.
 */
import { notFound } from '../lib/errors.ts'
import { isUuid, timeOfId } from '../lib/id.ts'
import { encodeCursor, type Page, type Position } from '../lib/page.ts'
import { type Fragment, plannedPerCall, type Sql } from '../lib/postgres/db.ts'
import type { Static } from '../lib/schema.ts'
import { createYielder } from '../lib/time.ts'
import type { EventName } from './emit.ts'
import { listEndpoints } from './endpoints.ts'
import { type DeliveryRow, entriesColumn, toDelivery } from './log.ts'
import type { EventView, EventWithBody } from './resource.ts'

export type EventFilter = {
  event?: EventName | undefined
  /** The id of the event, or a part of its body: an id, a phone number, a name. */
  search?: string | undefined
}

type EventSummary = Static<typeof EventView>
type WholeEvent = Static<typeof EventWithBody>
type EventDelivery = WholeEvent['deliveries'][number]

type EventRow = Pick<WholeEvent, 'id' | 'event' | 'occurred_at' | 'body'>

const firstRead = 200
const maxRead = 5_000
const budgetMs = 500
/** Queue rows that are read to find deliveries without an attempt. A longer queue may hide some of them. */
const maxQueueRows = 20_000

/** A page may have fewer events than `limit`, or none, and still have a next one. */
export async function listEvents(
  sql: Sql,
  workspaceId: string,
  filter: EventFilter,
  { limit, before }: Position,
): Promise<Page<EventSummary>> {
  const deadline = performance.now() + budgetMs
  const found: string[] = []
  let position = before
  for (let size = firstRead; ; size = Math.min(2 * size, maxRead)) {
    const rows = await sql<{ id: string; is_match: boolean }[]>`
      select id, ${isMatch(sql, filter)} as is_match from webhook_events
      where workspace_id = ${workspaceId} and id < ${position}
      order by id desc
      limit ${size}`
    for (const { id, is_match } of rows) if (is_match) found.push(id)
    const last = rows.at(-1)
    const isEnd = rows.length < size || !last
    if (found.length > limit || isEnd || performance.now() > deadline) {
      const shown = found.slice(0, limit)
      const next = found.length > limit ? shown.at(-1) : isEnd ? undefined : last.id
      return {
        data: await readEvents(sql, workspaceId, shown),
        meta: { next_cursor: next ? encodeCursor(next) : null },
      }
    }
    position = last.id
  }
}

/** An event with its body and all its deliveries, newest first. */
export async function requireEvent(sql: Sql, workspaceId: string, id: string): Promise<WholeEvent> {
  const [row] = isUuid(id) ? await selectEvents(sql, workspaceId, [id]) : []
  if (!row) throw notFound('event')
  return { ...toEvent(row), body: row.body, deliveries: await listDeliveriesOf(sql, workspaceId, [row]) }
}

function isMatch(sql: Sql, { event, search }: EventFilter): Fragment {
  const isEvent = event ? sql`event = ${event}` : sql`true`
  if (!search) return isEvent
  // Bodies are JSON, so they have quotes and backslashes as escapes.
  const text = JSON.stringify(search).slice(1, -1)
  return plannedPerCall(sql, sql`(${isEvent} and (strpos(body, ${text}) > 0))`)
}

async function readEvents(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<EventSummary[]> {
  if (ids.length === 0) return []
  const rows = await selectEvents(sql, workspaceId, ids)
  const deliveries = await listDeliveriesOf(sql, workspaceId, rows)
  const events: EventSummary[] = []
  // A body may have half a megabyte.
  const yieldIfDue = createYielder()
  for (const row of rows) {
    await yieldIfDue()
    const newest = new Map<string, EventDelivery>()
    for (const delivery of deliveries) {
      const { event_id, endpoint } = delivery
      if (event_id === row.id && !newest.has(endpoint.id)) newest.set(endpoint.id, delivery)
    }
    events.push({ ...toEvent(row), deliveries: [...newest.values()] })
  }
  return events
}

const selectEvents = (sql: Sql, workspaceId: string, ids: readonly string[]) => sql<EventRow[]>`
  select id, event, occurred_at, body from webhook_events
  where workspace_id = ${workspaceId} and id = any(${[...ids]}::uuid[])
  order by id desc`

function toEvent({ id, event, occurred_at, body }: EventRow): Omit<EventSummary, 'deliveries'> {
  const { data }: { data: Record<string, unknown> } = JSON.parse(body)
  const [noun = ''] = event.split('.')
  const subject = (data[noun] as { id?: unknown } | undefined)?.id ?? data[`${noun}_id`]
  return {
    id,
    event,
    occurred_at,
    recorded_at: timeOfId(id),
    subject_id: typeof subject === 'string' ? subject : null,
  }
}

/** The deliveries of events to endpoints that exist, newest first: those of the log and those that wait for their first attempt. */
async function listDeliveriesOf(sql: Sql, workspaceId: string, events: readonly EventRow[]): Promise<EventDelivery[]> {
  const ids = events.map(({ id }) => id)
  const endpoints = new Map((await listEndpoints(sql, workspaceId)).map((endpoint) => [endpoint.id, endpoint]))
  const rows = await sql<(DeliveryRow & { endpoint_id: string })[]>`
    -- The attempts, one row per delivery.
    with logged_deliveries as (
      select a.endpoint_id, a.delivery_id, a.event_id, ${entriesColumn(sql)} from webhook_attempts a
      where a.workspace_id = ${workspaceId} and a.event_id = any(${ids}::uuid[])
      group by a.endpoint_id, a.delivery_id, a.event_id
    ),
    -- The deliveries that are not settled yet.
    queued_deliveries as (
      select q.endpoint_id, q.id, q.event_id, q.attempt_count, q.next_attempt_at, q.created_at
      from (
        select endpoint_id, id, event_id, attempt_count, next_attempt_at, created_at from webhook_deliveries
        where workspace_id = ${workspaceId}
        limit ${maxQueueRows}
      ) q
      where q.event_id = any(${ids}::uuid[])
    )
    select coalesce(l.delivery_id, q.id) as id, coalesce(l.endpoint_id, q.endpoint_id) as endpoint_id, v.id as event_id, v.event,
      q.attempt_count, q.next_attempt_at, q.created_at as queued_at, l.entries
    from logged_deliveries l
    full join queued_deliveries q on q.id = l.delivery_id
    join webhook_events v on v.workspace_id = ${workspaceId} and v.id = coalesce(l.event_id, q.event_id)`
  return rows
    .flatMap((row) => {
      const endpoint = endpoints.get(row.endpoint_id)
      return endpoint ? { ...toDelivery(row), endpoint } : []
    })
    .sort((one, other) => other.created_at.localeCompare(one.created_at))
}
