/**
 * Listeners: clients that follow a workspace's events on an event stream.
 *
 * Events are recorded only if a subscriber exists. A listener counts as a subscriber until a minute after its last heartbeat, so
 * a client that reconnects, also to another process, finds the events in between. Nothing is queued for a listener: it reads
 * the recorded events.
 */
import { newId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { EventName } from './emit.ts'

export type RecordedEvent = { id: string; event: EventName; body: string }

/** Events per read. A stream holds them in memory until its client has read them, so they are few. */
export const eventPageSize = 50

/** Records these events from now on. Returns the id of the listener. */
export async function createListener(sql: Sql, workspaceId: string, events: readonly EventName[]): Promise<string> {
  const id = newId()
  await sql`
    insert into webhook_listeners (workspace_id, id, events, expires_at)
    values (${workspaceId}, ${id}, ${[...events]}, ${listenerExpiry(sql)})`
  return id
}

/** Extends the listener. False if its key is no longer valid or has lost the scope, or if the listener has expired. */
export async function renewListener(sql: Sql, workspaceId: string, id: string, keyId: string): Promise<boolean> {
  const renewed = await sql`
    update webhook_listeners l set expires_at = ${listenerExpiry(sql)}
    where l.workspace_id = ${workspaceId} and l.id = ${id} and exists (
      select from api_keys k
      where k.workspace_id = ${workspaceId} and k.id = ${keyId} and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now()) and 'webhooks:manage' = any(k.scopes)
    )
    returning l.id`
  return renewed.length > 0
}

/** A page of the events after an id, oldest first, without the skipped ones. */
export async function listEventsAfter(
  sql: Sql,
  workspaceId: string,
  { after, events, skipped }: { after: string; events: readonly EventName[]; skipped: readonly string[] },
): Promise<RecordedEvent[]> {
  return sql<RecordedEvent[]>`
    select id, event, body from webhook_events
    where workspace_id = ${workspaceId} and id > ${after} and event = any(${[...events]})
      and id <> all(${[...skipped]}::uuid[])
    order by id
    limit ${eventPageSize}`
}

/** The ids of the events after an id. */
export async function listEventIdsAfter(sql: Sql, workspaceId: string, after: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from webhook_events where workspace_id = ${workspaceId} and id > ${after} order by id`
  return rows.map(({ id }) => id)
}

export async function sweepListeners(sql: Sql): Promise<void> {
  await sql`delete from webhook_listeners where expires_at < now()`
}

/** Streams have a heartbeat every 15 seconds, so this is at least a minute after a connection is lost. */
const listenerExpiry = (sql: Sql) => sql`now() + interval '75 seconds'`
