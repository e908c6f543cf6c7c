/** Merging two conversations: the changes that their clocks have not followed yet. Clocks move with their episodes. */
import type { Sql } from '../lib/postgres/db.ts'

/** The transaction has locked both conversations. */
export async function moveTargetChanges(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    update target_changes set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
}
