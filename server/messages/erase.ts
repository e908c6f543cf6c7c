/**
 * What was said with somebody, erased: messages a chunk at a time, however many
 * there are, and the files that came with them.
 *
 * Files go before their rows. So a store that does not work stops the erasing
 * where it is, and whoever asks again finds what is left; the other way round
 * a file would outlive the only row that knows of it.
 */
import type { Sql } from '../lib/db.ts'
import type { Store } from '../lib/store.ts'
import { giveUploadsBack } from './uploads.ts'

const mediaAtOnce = 8
const mediaChunk = 200

/** Drop every file somebody sent or was sent, and forget it. */
export async function eraseMediaOf(sql: Sql, store: Store, workspaceId: string, contactId: string): Promise<void> {
  for (;;) {
    const media = await sql<{ id: string }[]>`
      select m.id from conversations v
      join media m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
      where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId}
      limit ${mediaChunk}`
    if (media.length === 0) return
    const ids = media.map(({ id }) => id)
    for (let i = 0; i < ids.length; i += mediaAtOnce) {
      await Promise.all(ids.slice(i, i + mediaAtOnce).map((id) => store.delete(id)))
    }
    await sql`delete from media where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])`
  }
}

/** The ids of some of the messages with somebody. */
export async function listMessagesOf(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  limit: number,
): Promise<string[]> {
  const messages = await sql<{ id: string }[]>`
    select m.id from conversations v
    join messages m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId}
    order by m.conversation_id, m.id
    limit ${limit}`
  return messages.map(({ id }) => id)
}

/** Hold them: no report moves them until the transaction ends. */
export async function lockMessagesOf(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  ids: readonly string[],
): Promise<void> {
  await sql`
    select m.id from conversations v
    join messages m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and m.id = any(${[...ids]}::uuid[])
    order by m.conversation_id, m.id
    for update of m`
}

/** Delete them; answers the files that went with them, to be dropped from the store. */
export async function deleteMessagesOf(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  ids: readonly string[],
): Promise<string[]> {
  // Media before messages, as whoever fetches them does.
  const media = await sql<{ id: string }[]>`
    delete from media m using conversations v
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and m.workspace_id = ${workspaceId}
      and m.conversation_id = v.id and m.message_id = any(${[...ids]}::uuid[])
    returning m.id`
  const uploads = await giveUploadsBack(sql, workspaceId, contactId, ids)
  // Nor may a search meet words whose message is gone, should the erasing break off.
  await sql`
    delete from message_words w using conversations v
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and w.workspace_id = ${workspaceId}
      and w.conversation_id = v.id and w.id = any(${[...ids]}::uuid[])`
  await sql`
    delete from messages m using conversations v
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and m.workspace_id = ${workspaceId}
      and m.conversation_id = v.id and m.id = any(${[...ids]}::uuid[])`
  return [...media.map(({ id }) => id), ...uploads]
}
