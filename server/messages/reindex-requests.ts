/**
 * Requests to read a message again. The digest (`insights/digest.ts`) serves them within a second.
 *
 * The digest reads messages in the order of their ids, each once. A statement adds a request when it changes a message
 * that the digest has read, or when a message is written later than its id says. The table is `message_revisits`.
 */
import type { Fragment, Sql } from '../lib/db.ts'

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

export async function listReindexRequests(sql: Sql, limit: number): Promise<ReindexRequest[]> {
  return sql<ReindexRequest[]>`
    select workspace_id, id, message_id,
      created_at < now() - make_interval(secs => ${expirySeconds}) as is_expired
    from message_revisits r
    order by r.created_at
    limit ${limit}`
}

export async function deleteReindexRequests(sql: Sql, requests: readonly ReindexRequest[]): Promise<void> {
  if (requests.length === 0) return
  await sql`
    delete from message_revisits r
    using unnest(${requests.map(({ workspace_id }) => workspace_id)}::uuid[], ${requests.map(({ id }) => id)}::uuid[])
      as i (workspace_id, id)
    where r.workspace_id = i.workspace_id and r.id = i.id`
}
