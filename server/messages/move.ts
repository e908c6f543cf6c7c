/**
 * Moves the messages of a conversation into another one, for merging two contacts.
 *
 * The caller has locked both conversations, so no message is added meanwhile. Statements of sends and reports that wait for a
 * moved row find it by its id: they never compare its conversation with the one it had before.
 */
import type { Sql } from '../lib/db.ts'

/** Until the transaction ends, media and mentions may refer to a row that has moved. They are checked at the commit. */
export async function deferMoves(sql: Sql): Promise<void> {
  await sql`
    set constraints media_workspace_id_conversation_id_message_id_fkey,
      mentions_workspace_id_conversation_id_id_fkey deferred`
}

export async function moveMessages(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  // Media is locked before messages, as in the fetch loop (see the lock order in ARCHITECTURE.md).
  await sql`
    update media set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
  await sql`
    update messages set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
}
