/** Merging two contacts: their runs, and the changes that may start some, move with the conversations. */
import type { Sql } from '../lib/postgres/db.ts'

/**
 * Moves the runs of a conversation into another one. If a bot is in both, the one that stays goes on and the other ends. The transaction has
 * locked both conversations.
 */
export async function moveRuns(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    update automation_runs r set state = 'ended', reason = 'merged', ended_at = now(), due_at = null, lease_id = null,
      leased_until = null
    from conversations f, conversations t
    where f.workspace_id = ${workspaceId} and f.id = ${fromId} and t.workspace_id = ${workspaceId} and t.id = ${toId}
      and t.bot_run_id is not null and r.workspace_id = ${workspaceId} and r.id = f.bot_run_id`
  await sql`
    update automation_runs set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
  await sql`
    update automation_triggers set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
}

/** Gives the runs of a contact to another one. */
export async function giveRuns(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    update automation_runs set contact_id = ${toId} where workspace_id = ${workspaceId} and contact_id = ${fromId}`
  await sql`
    update automation_triggers set contact_id = ${toId} where workspace_id = ${workspaceId} and contact_id = ${fromId}`
}
