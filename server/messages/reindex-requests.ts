/**
 * Requests to read a message again. The digest (`insights/digest.ts`) serves them within a second.
 *
 * The digest reads messages in the order of their ids, each once. A statement adds a request when it changes a message
 * that the digest has read, or when a message is written later than its id says. The table is `message_revisits`.
 */
import type { Fragment, Sql } from '../lib/postgres/db.ts'

/** After this time the digest drops a request whose message does not exist. */
const expirySeconds = 120

export type ReindexRequest = { workspace_id: string; id: string; message_id: string; is_expired: boolean }

/** Member of a `with` list: requests each message of a relation that has `workspace_id, id`. */
export const reindexMessages = (sql: Sql, messages: Fragment): Fragment => sql`
  -- Requests the messages for the digest.
  reindex_requests as (
    insert into message_revisits (workspace_id, message_id) select workspace_id, id from ${messages}
  )`

/**
 * Member of a `with` list: requests the replies in a relation of messages that have failed, or that had. A failed reply is not
 * an answer. All of them are requested, because the digest may be counting one at this moment from before it failed.
 */
export const reindexFailedReplies = (sql: Sql, messages: Fragment): Fragment => sql`
  -- Requests the replies for the digest.
  failed_reply_requests as (
    insert into message_revisits (workspace_id, message_id)
    select m.workspace_id, m.id from ${messages} m
    where 'failed' in (m.status, m.status_before) and m.sender_type = 'agent'
  )`

/** Requests one message before it is written, so that a crash in between does not lose the request. */
export async function requestReindex(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await sql`insert into message_revisits (workspace_id, message_id) values (${workspaceId}, ${id})`
}

/** The oldest requests: at most `size`, whose texts have about `maxBytes`. A text counts with at most `maxTextBytes`. */
export async function listReindexRequests(
  sql: Sql,
  { size, maxBytes, maxTextBytes }: { size: number; maxBytes: number; maxTextBytes: number },
): Promise<ReindexRequest[]> {
  const requests = await sql<(ReindexRequest & { bytes: number })[]>`
    select r.workspace_id, r.id, r.message_id,
      r.created_at < now() - make_interval(secs => ${expirySeconds}) as is_expired,
      coalesce((
        select least(coalesce(octet_length(m.content_text), 0), ${maxTextBytes}::int) from messages m
        where m.workspace_id = r.workspace_id and m.id = r.message_id
        limit 1
      ), 0) as bytes
    from (select workspace_id, id, message_id, created_at from message_revisits order by created_at limit ${size}) r
    order by r.created_at`
  let total = 0
  const end = requests.findIndex(({ bytes }, i) => {
    total += bytes
    return i > 0 && total > maxBytes
  })
  return end === -1 ? requests : requests.slice(0, end)
}

export async function deleteReindexRequests(sql: Sql, requests: readonly ReindexRequest[]): Promise<void> {
  if (requests.length === 0) return
  await sql`
    delete from message_revisits r
    using unnest(${requests.map(({ workspace_id }) => workspace_id)}::uuid[], ${requests.map(({ id }) => id)}::uuid[])
      as i (workspace_id, id)
    where r.workspace_id = i.workspace_id and r.id = i.id`
}
