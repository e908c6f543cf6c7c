/** What the checks, uses and callbacks of a connection leave in its row. */
import { nowMs } from '../lib/clock.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { Connection } from './channel.ts'
import type { ConnectionState } from './connection-rows.ts'
import { remember } from './recent.ts'

/** The last outcome of each connection that this process recorded. */
const lastOutcomes = new Map<string, { error: string | null; at: number }>()
const rerecordMs = 30_000

/** The time of the last callback of each connection that this process recorded. */
const lastCallbacks = new Map<string, number>()

/** Forgets what this process recorded: the connection has new settings. */
export function forgetOutcomes(id: string): void {
  lastOutcomes.delete(id)
  lastCallbacks.delete(id)
}

/** Stores the outcome of a check. */
export async function settleCheck(
  sql: Sql,
  workspaceId: string,
  id: string,
  { state, last_error, address }: { state: ConnectionState; last_error: string | null; address?: string | undefined },
): Promise<void> {
  lastOutcomes.delete(id)
  await sql`
    update channel_connections set state = ${state}, last_error = ${last_error}, checked_at = now(),
      address = coalesce(${address ?? null}, address)
    where workspace_id = ${workspaceId} and id = ${id}`
}

/**
 * Records the outcome of a use: an error of the connection for members, or null when it works. Every send may call this:
 * the same outcome reaches the database at most every 30 seconds, and a row changes only when its outcome does.
 */
export async function recordConnectionOutcome(
  sql: Sql,
  workspaceId: string,
  id: string,
  error: string | null,
): Promise<void> {
  const before = lastOutcomes.get(id)
  if (before && before.error === error && nowMs() - before.at < rerecordMs) return
  remember(lastOutcomes, id, { error, at: nowMs() })
  const state = error === null ? 'connected' : 'failing'
  await sql`
    update channel_connections set state = ${state}, last_error = ${error}, checked_at = now()
    where workspace_id = ${workspaceId} and id = ${id}
      and (state <> ${state} or last_error is distinct from ${error})`
}

/** Records the time of a handshake or of a callback with a valid signature. Callbacks are recorded every 30 seconds at most. */
export async function recordCallback(
  sql: Sql,
  { workspace_id, id }: Pick<Connection, 'workspace_id' | 'id'>,
  event: 'verified' | 'received',
): Promise<void> {
  if (event === 'received') {
    if (nowMs() - (lastCallbacks.get(id) ?? 0) < rerecordMs) return
    remember(lastCallbacks, id, nowMs())
  }
  await sql`
    update channel_connections set ${sql(`callback_${event}_at`)} = now()
    where workspace_id = ${workspace_id} and id = ${id}`
}
