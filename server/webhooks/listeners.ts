/**
 * Listeners: whoever follows a workspace's events on an open line.
 *
 * An event is recorded when somebody wants it, and a listener is somebody for
 * a minute after it was last seen: long enough to come back after a break, or
 * to another process, and find what happened meanwhile. It has no address and
 * nothing is queued for it; it reads the events themselves.
 */
import type { Sql } from '../lib/db.ts'
import { newId } from '../lib/id.ts'
import type { EventName } from './emit.ts'

export type KeptEvent = { id: string; event: EventName; body: string }

/** Events of one read. A stream holds them in memory until its client has read them, so they are few. */
export const eventsAPage = 50

/** From now on these events are recorded. Answers the listener's id. */
export async function createListener(sql: Sql, workspaceId: string, events: readonly EventName[]): Promise<string> {
  const id = newId()
  await sql`
    insert into webhook_listeners (workspace_id, id, events, expires_at)
    values (${workspaceId}, ${id}, ${[...events]}, ${aWhileOn(sql)})`
  return id
}

/** It is still there: a minute more. False when its key is none any more, or it was away for too long. */
export async function keepListener(sql: Sql, workspaceId: string, id: string, keyId: string): Promise<boolean> {
  const kept = await sql`
    update webhook_listeners l set expires_at = ${aWhileOn(sql)}
    where l.workspace_id = ${workspaceId} and l.id = ${id} and exists (
      select from api_keys k
      where k.workspace_id = ${workspaceId} and k.id = ${keyId} and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())
    )
    returning l.id`
  return kept.length > 0
}

/** A page of the events after an id, oldest first, without the skipped ones. */
export async function listEventsAfter(
  sql: Sql,
  workspaceId: string,
  { after, events, skipped }: { after: string; events: readonly EventName[]; skipped: readonly string[] },
): Promise<KeptEvent[]> {
  return sql<KeptEvent[]>`
    select id, event, body from webhook_events
    where workspace_id = ${workspaceId} and id > ${after} and event = any(${[...events]})
      and id <> all(${[...skipped]}::uuid[])
    order by id
    limit ${eventsAPage}`
}

/** The ids of what is kept behind an id. */
export async function listEventIdsAfter(sql: Sql, workspaceId: string, after: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from webhook_events where workspace_id = ${workspaceId} and id > ${after} order by id`
  return rows.map(({ id }) => id)
}

export async function sweepListeners(sql: Sql): Promise<void> {
  await sql`delete from webhook_listeners where expires_at < now()`
}

/** Lines are asked every 15 seconds whether they are there, so this is a minute after any of them breaks. */
const aWhileOn = (sql: Sql) => sql`now() + interval '75 seconds'`
