/**
 * Erases a contact's messages, in chunks, and their files.
 *
 * A file is deleted from the store before its row. If the store fails, the erasure stops, and a repeated request continues
 * with the remaining rows. In the other order a file could remain without a row that refers to it.
 */
import type { Sql } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'

const concurrentDeletes = 8
const chunkSize = 200

/** Deletes all media of a contact's conversations, in the store and in the database. */
export async function eraseMediaOf(sql: Sql, store: Store, workspaceId: string, contactId: string): Promise<void> {
  for (;;) {
    const media = await sql<{ id: string }[]>`
      select m.id from conversations v
      join media m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
      where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId}
      limit ${chunkSize}`
    if (media.length === 0) return
    const ids = media.map(({ id }) => id)
    for (let i = 0; i < ids.length; i += concurrentDeletes) {
      await Promise.all(ids.slice(i, i + concurrentDeletes).map((id) => store.delete(id)))
    }
    await sql`delete from media where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])`
  }
}

/** The ids of up to `limit` messages of a contact. */
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

/** Locks messages, so that no report changes them until the transaction ends. */
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

/** Deletes messages. Returns the ids of their files, for the caller to delete from the store. */
export async function deleteMessagesOf(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  ids: readonly string[],
): Promise<string[]> {
  // Media is locked before messages, as in the fetch loop (see the lock order in ARCHITECTURE.md).
  const media = await sql<{ id: string }[]>`
    delete from media m using conversations v
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and m.workspace_id = ${workspaceId}
      and m.conversation_id = v.id and m.message_id = any(${[...ids]}::uuid[])
    returning m.id`
  const uploads = await releaseUploads(sql, workspaceId, contactId, ids)
  await sql`
    delete from messages m using conversations v
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and m.workspace_id = ${workspaceId}
      and m.conversation_id = v.id and m.id = any(${[...ids]}::uuid[])`
  return [...media.map(({ id }) => id), ...uploads]
}

/**
 * Reduces the use count of the uploaded files of these messages and deletes the rows of files that no other message uses.
 * Returns their ids, for the store. The file of a broadcast stays: other recipients have it.
 */
async function releaseUploads(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  messageIds: readonly string[],
): Promise<string[]> {
  const files = await sql<{ id: string; use_count: number }[]>`
    with used_files as (
      select token, count(*)::int as uses
      from (
        select distinct m.id, link[1] as token
        from conversations v
        join messages m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
        cross join lateral regexp_matches(
          -- A customer's text may quote the link of any file; only the file of a visitor's message is the visitor's.
          coalesce(m.media_url, '') || case when m.direction = 'outbound'
            then ' ' || coalesce(m.content::text, '') || ' ' || coalesce(m.content_text, '') else '' end,
          '/media/([0-9A-Za-z]{43})', 'g'
        ) as link
        where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and m.id = any(${[...messageIds]}::uuid[])
          and m.sender_type <> 'bot'
      ) links
      group by token
    )
    update uploads u set use_count = u.use_count - f.uses
    from used_files f
    where u.workspace_id = ${workspaceId} and u.token = f.token
    returning u.id, u.use_count`
  const unused = files.filter(({ use_count }) => use_count <= 0).map(({ id }) => id)
  if (unused.length > 0)
    await sql`delete from uploads where workspace_id = ${workspaceId} and id = any(${unused}::uuid[])`
  return unused
}
