/** Merging two contacts: their ratings move with the conversations. */
import type { Sql } from '../lib/postgres/db.ts'

export async function moveRatings(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    update ratings set conversation_id = ${toId} where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
}

/** Gives the ratings of a contact to another one. */
export async function giveRatings(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    update ratings set contact_id = ${toId} where workspace_id = ${workspaceId} and contact_id = ${fromId}`
}
