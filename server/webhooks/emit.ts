/**
 * Events: what happened, recorded by the statement in which it happens.
 *
 * The body is made here, once, in the exact bytes a webhook will carry, and
 * kept as text. A verb passes it along with its rows, and its statement keeps
 * it only if the thing came about.
 */
import type { Fragment, Sql } from '../lib/db.ts'
import { newId } from '../lib/id.ts'

export type EventName = 'message.received' | 'message.status_updated' | 'conversation.created' | 'contact.created'

/** An event in the making, as columns of the row it is about. */
export type Event = { event_id: string; event: EventName; event_body: string; occurred_at: string }

export function toEvent(
  workspaceId: string,
  event: EventName,
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

/** A member of a `with` list: record the events of a relation that has `workspace_id` and the columns of an event. */
export function emit(sql: Sql, relation: Fragment): Fragment {
  return sql`
    emitted as (
      insert into webhook_events (workspace_id, id, event, body, occurred_at)
      select workspace_id, event_id, event, event_body, occurred_at from ${relation}
    )`
}

/** Events are for whoever is told of them soon after; a week later nobody is. */
export async function sweepEvents(sql: Sql): Promise<void> {
  await sql`delete from webhook_events where created_at < now() - interval '7 days'`
}
