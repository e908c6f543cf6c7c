/**
 * Events: what happened, recorded by the statement in which it happens, with
 * a delivery for every endpoint that wants to know.
 *
 * The body is made here, once, in the exact bytes a webhook carries, and kept
 * as text. A verb passes it along with its rows, and its statement keeps it
 * only if the thing came about and somebody is subscribed, or follows the
 * events on an open line (`listeners.ts`). So nothing is lost between the
 * commit and the queue, and nothing is sent that was rolled back.
 */
import type { Fragment, Sql } from '../lib/db.ts'
import { newId } from '../lib/id.ts'

export const eventNames = [
  'message.received',
  'message.status_updated',
  'conversation.created',
  'contact.created',
] as const
export type EventName = (typeof eventNames)[number]

/** Sent by a button in the dashboard to an endpoint of an automation tool. Not for subscription. */
export const testEventNames = ['tool_a.test', 'tool_b.test'] as const
export type TestEventName = (typeof testEventNames)[number]

/** An event in the making, as columns of the row it is about. */
export type Event = { event_id: string; event: EventName | TestEventName; event_body: string; occurred_at: string }

export function toEvent(
  workspaceId: string,
  event: EventName | TestEventName,
  occurredAt: string,
  data: Record<string, unknown>,
): Event {
  const id = newId()
  const body = { id, event, occurred_at: occurredAt, account_id: workspaceId, data }
  return { event_id: id, event, event_body: JSON.stringify(body), occurred_at: occurredAt }
}

/** The columns of an event in a record that carries one. */
export const eventColumns = (sql: Sql): Fragment =>
  sql`event_id uuid, event text, event_body text, occurred_at timestamptz`

/** Members of a `with` list: record the events of a relation that has `workspace_id` and the columns of an event. */
export function emit(sql: Sql, relation: Fragment): Fragment {
  return sql`
    happened as (
      select workspace_id, event_id, event, event_body, occurred_at from ${relation}
    ),
    told as (
      select h.workspace_id, h.event_id, e.id as endpoint_id
      from happened h
      join webhook_endpoints e on e.workspace_id = h.workspace_id and e.is_active and h.event = any(e.events)
      -- Whoever deletes an endpoint or switches it off waits for us, or we see that they did.
      for key share of e
    ),
    emitted as (
      insert into webhook_events (workspace_id, id, event, body, occurred_at)
      select h.workspace_id, h.event_id, h.event, h.event_body, h.occurred_at
      from happened h
      where exists (select from told t where t.workspace_id = h.workspace_id and t.event_id = h.event_id)
        -- Asked only of events no endpoint wants; the table is empty but for those who listen this minute.
        or exists (
          select from webhook_listeners l
          where l.workspace_id = h.workspace_id and l.expires_at > now() and h.event = any(l.events)
        )
    ),
    queued as (
      insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
      select t.workspace_id, t.endpoint_id, gen_random_uuid(), t.event_id from told t
    )`
}
