/**
 * Moves the messages of a conversation into another one, for merging two contacts.
 *
 * Statements of sends and reports that wait for a moved row find it by its id: they never compare its conversation with the one
 * it had before.
 */
import type { Sql } from '../lib/postgres/db.ts'

/** Until the transaction ends, media and mentions may refer to a row that has moved. They are checked at the commit. */
export async function deferMoves(sql: Sql): Promise<void> {
  await sql`
    set constraints media_workspace_id_conversation_id_message_id_fkey,
      mentions_workspace_id_conversation_id_id_fkey deferred`
}

/**
 * Writes the visitor into messages of the web chat that an earlier release stored, while each contact has one visitor. The caller
 * does this before the conversations of two visitors become one: nothing else says whose messages they are.
 */
export async function nameVisitors(sql: Sql, workspaceId: string, contactIds: readonly string[]): Promise<void> {
  await sql`
    update messages m set visitor_id = i.external_id
    from conversations v
    join contact_identities i on i.workspace_id = v.workspace_id and i.contact_id = v.contact_id and i.channel = 'web'
    where v.workspace_id = ${workspaceId} and v.contact_id = any(${[...contactIds]}::uuid[]) and v.channel = 'web'
      and m.workspace_id = ${workspaceId} and m.conversation_id = v.id and m.visitor_id is null and not exists (
        select from contact_identities o
        where o.workspace_id = v.workspace_id and o.contact_id = v.contact_id and o.channel = 'web'
          and o.external_id <> i.external_id
      )`
}

/** The ids of the oldest messages of a conversation. */
export async function listOldest(
  sql: Sql,
  workspaceId: string,
  conversationId: string,
  limit: number,
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from messages
    where workspace_id = ${workspaceId} and conversation_id = ${conversationId}
    order by id
    limit ${limit}`
  return rows.map(({ id }) => id)
}

/** Moves the messages with these ids; without ids all, and the caller has locked both conversations, so none is added meanwhile. */
export async function moveMessages(
  sql: Sql,
  workspaceId: string,
  fromId: string,
  toId: string,
  ids?: readonly string[],
): Promise<void> {
  // Media is locked before messages, as in the fetch loop (see the lock order in ARCHITECTURE.md).
  await sql`
    update media set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}
      and ${ids ? sql`message_id = any(${[...ids]}::uuid[])` : sql`true`}`
  await sql`
    update messages set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}
      and ${ids ? sql`id = any(${[...ids]}::uuid[])` : sql`true`}`
}
