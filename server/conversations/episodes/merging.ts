/** Merging two conversations: their episodes. */
import type { Sql } from '../../lib/postgres/db.ts'

/**
 * Moves the episodes of a conversation into another one; the transaction has locked both. Two open episodes become one: the older stays, with
 * the counts of both and the first assignment and reply of either. The caller deletes the conversation `fromId` afterwards.
 */
export async function mergeEpisodes(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    with
    -- The open episodes, the older one first.
    open_episodes as (
      select e.id, e.first_assigned_at, e.first_reply_at, e.first_reply_by,
        row_number() over (order by e.opened_at, e.id) as position
      from episodes e
      where e.workspace_id = ${workspaceId} and e.conversation_id in (${fromId}, ${toId}) and e.closed_at is null
    ),
    -- The newer one ends in the older.
    deleted_episode as (
      delete from episodes e using open_episodes o
      where e.workspace_id = ${workspaceId} and e.id = o.id and o.position = 2
    )
    update episodes e set
      first_assigned_at = least(e.first_assigned_at, o.first_assigned_at),
      first_reply_at = least(e.first_reply_at, o.first_reply_at),
      first_reply_by = case when o.first_reply_at < e.first_reply_at or e.first_reply_at is null then o.first_reply_by else e.first_reply_by end,
      office_first_reply_s = null, updated_at = now()
    from open_episodes a
    join open_episodes o on o.position = 2
    where a.position = 1 and e.workspace_id = ${workspaceId} and e.id = a.id`
  await sql`
    update episodes set conversation_id = ${toId}, updated_at = now()
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
  await sql`
    update conversations t set
      episode_id = (
        select e.id from episodes e where e.workspace_id = ${workspaceId} and e.conversation_id = ${toId} and e.closed_at is null
      ),
      episode_messages = t.episode_messages + f.episode_messages,
      episode_replies = t.episode_replies + f.episode_replies
    from conversations f
    where t.workspace_id = ${workspaceId} and t.id = ${toId} and f.workspace_id = ${workspaceId} and f.id = ${fromId}`
}
