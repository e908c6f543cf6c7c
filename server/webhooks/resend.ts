/**
 * Sending again: one delivery, everything of a time, or a test.
 *
 * It makes a new delivery of the same event, with the same id in its envelope:
 * receivers know it by that.
 */
import { nowIso, nowMs } from '../lib/clock.ts'
import type { Sql } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { idAt, newId } from '../lib/id.ts'
import { toTestEvent } from './emit.ts'
import { getEndpoint, requireEndpoint, requireReady } from './endpoints.ts'
import type { Guard } from './guard.ts'
import { type Delivery, getKnown, type Queued, toPending } from './log.ts'

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
  const below = idAt(Math.min(end, nowMs()))
  let above: string | null = idAt(begin)
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
  const { event_id, event, event_body, occurred_at } = toTestEvent(workspaceId, `${endpoint.provider}.test`, nowIso(), {
    message: 'A test from your workspace: this integration works.',
  })
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

/** A second 60 has the form of a time, but is none. */
function requireTime(name: string, text: string): number {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw badRequest(`${name}: not a date-time`)
  return time
}
