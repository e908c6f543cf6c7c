/** Moves what the digest derived from the messages of a conversation into another one, for merging two contacts. */
import type { Sql } from '../lib/postgres/db.ts'

/** Until the transaction ends the digest reads no message: it would write words for the conversation that a message had before. */
export async function pauseDigest(sql: Sql): Promise<void> {
  await sql`select from message_digest for update`
}

/** Moves the words of the messages with these ids. The caller has paused the digest. */
export async function moveWords(
  sql: Sql,
  workspaceId: string,
  fromId: string,
  toId: string,
  ids: readonly string[],
): Promise<void> {
  await sql`
    update message_words set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId} and id = any(${[...ids]}::uuid[])`
}

/** Moves everything. The caller has locked both conversations, so the digest skips them until the commit. */
export async function moveDigested(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    update message_words set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
  // The customer waits since the earlier of two unanswered messages.
  await sql`
    insert into message_waits as w (workspace_id, conversation_id, since)
    select workspace_id, ${toId}, since from message_waits
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}
    on conflict (workspace_id, conversation_id) do update set since = least(w.since, excluded.since)`
  await sql`
    insert into message_answers as a (workspace_id, conversation_id, message_id, since)
    select workspace_id, ${toId}, message_id, since from message_answers
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}
    on conflict (workspace_id, conversation_id) do update set message_id = excluded.message_id, since = excluded.since
    where excluded.message_id > a.message_id`
}
