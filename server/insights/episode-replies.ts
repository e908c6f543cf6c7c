/**
 * The replies of an episode after the status of one changed.
 *
 * Preparing a reply counts it at once (`messages/sending/prepare.ts`). A reply that fails later was no reply, and one that arrives after it
 * failed was one. As with the wait of the customer (`waits.ts`), the digest counts again within a second.
 */
import type { Fragment, Sql } from '../lib/postgres/db.ts'

/** A reply of a member, whose conversation the transaction has locked in an earlier statement. */
type Reply = { workspace_id: string; conversation_id: string; id: string }

/** Condition on message `m`: a reply of a person. Of the messages without a member only those of the provider's own app have `sent_at`. */
export const isReply = (sql: Sql): Fragment => sql`(
  m.direction = 'outbound' and m.status <> 'failed' and m.sender_type = 'agent' and (m.sender_id is not null or m.sent_at is not null)
)`

/** Counts the replies of the episodes of these messages again. An episode that a reply opened is deleted if nothing is left in it. Returns changed conversations. */
export async function recountReplies(
  sql: Sql,
  replies: readonly Reply[],
): Promise<{ workspace_id: string; id: string }[]> {
  if (replies.length === 0) return []
  return sql<{ workspace_id: string; id: string }[]>`
    with
    -- The episode of each reply, with the numbers that its conversation has while it is open.
    touched_episodes as (
      select distinct e.workspace_id, e.conversation_id, e.id, e.opened_at, e.opened_by, e.closed_at, e.first_reply_at, e.first_reply_by,
        case when e.closed_at is null then v.episode_replies else e.replies end as replies,
        case when e.closed_at is null then v.episode_messages else e.customer_messages end as customer_messages
      from unnest(${replies.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${replies.map(({ conversation_id }) => conversation_id)}::uuid[], ${replies.map(({ id }) => id)}::uuid[])
        as i (workspace_id, conversation_id, id)
      join conversations v on v.workspace_id = i.workspace_id and v.id = i.conversation_id
      join messages m on m.workspace_id = i.workspace_id and m.conversation_id = i.conversation_id and m.id = i.id
      join lateral (
        select p.workspace_id, p.conversation_id, p.id, p.opened_at, p.opened_by, p.closed_at, p.first_reply_at, p.first_reply_by, p.replies,
          p.customer_messages
        from episodes p
        where p.workspace_id = i.workspace_id and p.conversation_id = i.conversation_id and p.opened_at <= m.created_at
          and (p.closed_at is null or p.closed_at > m.created_at)
        order by p.opened_at desc, p.id desc
        limit 1
      ) e on true
    ),
    -- Their replies, counted.
    counted_episodes as (
      select t.workspace_id, t.conversation_id, t.id, t.closed_at, n.count, n.first_at, n.first_by,
        t.opened_by = 'member' and n.count = 0 and t.customer_messages = 0 as is_empty
      from touched_episodes t
      cross join lateral (
        select count(*)::int as count, min(m.created_at) as first_at, (array_agg(m.sender_id order by m.id))[1] as first_by
        from messages m
        where m.workspace_id = t.workspace_id and m.conversation_id = t.conversation_id and ${isReply(sql)}
          and m.created_at >= t.opened_at and (t.closed_at is null or m.created_at < t.closed_at)
      ) n
      where (n.count, n.first_at, n.first_by) is distinct from (t.replies, t.first_reply_at, t.first_reply_by)
    ),
    deleted_episodes as (
      delete from episodes e using counted_episodes c
      where e.workspace_id = c.workspace_id and e.id = c.id and c.is_empty
    ),
    updated_episodes as (
      update episodes e set replies = case when c.closed_at is null then e.replies else c.count end,
        first_reply_at = c.first_at, first_reply_by = c.first_by, office_first_reply_s = null, updated_at = now()
      from counted_episodes c
      where e.workspace_id = c.workspace_id and e.id = c.id and not c.is_empty
    )
    update conversations v set
      episode_replies = case when v.episode_id = c.id then c.count else v.episode_replies end,
      episode_id = case when v.episode_id = c.id and c.is_empty then null else v.episode_id end,
      updated_at = now()
    from (
      -- One episode of each conversation: the open one, if it is among them.
      select distinct on (workspace_id, conversation_id) workspace_id, conversation_id, id, count, is_empty from counted_episodes
      order by workspace_id, conversation_id, closed_at desc nulls first
    ) c
    where v.workspace_id = c.workspace_id and v.id = c.conversation_id
    returning v.workspace_id, v.id`
}
