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
  const uploads = await releaseUploads(sql, workspaceId, contactId, ids)
  await sql`
    delete from messages m using conversations v
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and m.workspace_id = ${workspaceId}
      and m.conversation_id = v.id and m.id = any(${[...ids]}::uuid[])`
  return [...media.map(({ id }) => id), ...uploads]
}

/**
 * Releases the uploaded files that these messages were sent with, and deletes the rows of files that no other message
 * uses. Returns the ids of those, for the store. The file of a broadcast stays: other recipients have it.
 */
async function releaseUploads(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  messageIds: readonly string[],
): Promise<string[]> {
  const left = await sql<{ id: string; use_count: number }[]>`
    with used as (
      select token, count(*)::int as uses
      from (
        select distinct m.id, link[1] as token
        from conversations v
        join messages m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
        cross join lateral regexp_matches(
          coalesce(m.media_url, '') || ' ' || coalesce(m.content::text, '') || ' ' || coalesce(m.content_text, ''),
          '/media/([0-9A-Za-z]{43})', 'g'
        ) as link
        where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and m.id = any(${[...messageIds]}::uuid[])
          and m.direction = 'outbound' and m.sender_type <> 'bot'
      ) links
      group by token
    )
    update uploads u set use_count = u.use_count - used.uses
    from used
    where u.workspace_id = ${workspaceId} and u.token = used.token
    returning u.id, u.use_count`
  const unused = left.filter(({ use_count }) => use_count <= 0).map(({ id }) => id)
  if (unused.length > 0)
    await sql`delete from uploads where workspace_id = ${workspaceId} and id = any(${unused}::uuid[])`
  return unused
}
