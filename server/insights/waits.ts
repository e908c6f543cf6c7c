/**
 * The wait of a customer after the status of a member's reply changed.
 *
 * Preparing a reply ends the wait at once (`messages/sending/prepare.ts`). A reply that fails later was no reply, and one that arrives after it
 * failed was one. The statement that changes the status requests the message for the digest (`messages/reindex-requests.ts`), which calls
 * this function within a second: a crash loses no request, and sending does not pay for it. The replies of the episode are counted again too.
 */
import { bottom } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { isRatingAnswer } from '../satisfaction/answers.ts'
import { recountReplies } from './episode-replies.ts'

type MessageRef = { workspace_id: string; id: string }

export type RestoredWaits = {
  /** The conversations in which a wait or the replies of an episode changed. */
  changed: { workspace_id: string; id: string }[]
  /** Ids of replies whose conversation another transaction has locked. */
  lockedOut: string[]
}

/** Computes the waits of conversations again, for those of the messages that are replies of members. */
export async function restoreWaits(sql: Sql, messages: readonly MessageRef[]): Promise<RestoredWaits> {
  if (messages.length === 0) return { changed: [], lockedOut: [] }
  const replies = await sql<{ id: string; workspace_id: string; conversation_id: string }[]>`
    select m.id, m.workspace_id, m.conversation_id
    from unnest(${messages.map(({ workspace_id }) => workspace_id)}::uuid[],
      ${messages.map(({ id }) => id)}::uuid[]) as i (workspace_id, id)
    join messages m on m.workspace_id = i.workspace_id and m.id = i.id
    where m.direction = 'outbound' and m.sender_id is not null`
  const conversations = new Map(replies.map((reply) => [reply.conversation_id, reply.workspace_id]))
  if (conversations.size === 0) return { changed: [], lockedOut: [] }
  // Locked first, so that the next statement reads all messages that came before the lock.
  const locked = await sql<{ workspace_id: string; id: string }[]>`
    select v.workspace_id, v.id
    from unnest(${[...conversations.values()]}::uuid[], ${[...conversations.keys()]}::uuid[]) as i (workspace_id, id)
    join conversations v on v.workspace_id = i.workspace_id and v.id = i.id
    order by v.id
    for no key update of v skip locked`
  const lockedIds = new Set(locked.map(({ id }) => id))
  const changed = await sql<{ workspace_id: string; id: string }[]>`
    with
    -- The last reply of each conversation that did not fail, and its last closing. Of the messages without a member only
    -- those that were written in the provider's app have the time of the channel.
    answered_conversations as (
      select i.workspace_id, i.id,
        coalesce((
          select m.id from messages m
          where m.workspace_id = i.workspace_id and m.conversation_id = i.id and m.direction = 'outbound'
            and m.status <> 'failed' and (m.sender_id is not null or m.sent_at is not null)
          order by m.id desc
          limit 1
        ), ${bottom}) as reply_id,
        coalesce((
          select e.id from timeline_entries e
          where e.workspace_id = i.workspace_id and e.conversation_id = i.id and e.kind = 'status'
            and e.details->>'status' = 'closed'
          order by e.id desc
          limit 1
        ), ${bottom}) as closed_id
      from unnest(${locked.map(({ workspace_id }) => workspace_id)}::uuid[], ${[...lockedIds]}::uuid[]) as i (workspace_id, id)
    ),
    -- The customer's first message since then that needs a reply: a reaction and a rating do not. One before the closing counts only
    -- without a later one: the conversation was reopened by a member.
    waits as (
      select a.workspace_id, a.id, (
        select m.created_at from messages m
        where m.workspace_id = a.workspace_id and m.conversation_id = a.id and m.direction = 'inbound'
          and m.content_type <> 'reaction' and m.id > a.reply_id and not (${isRatingAnswer(sql)})
        order by m.id < a.closed_id, m.id
        limit 1
      ) as since
      from answered_conversations a
    )
    update conversations v set waiting_since = w.since, updated_at = now()
    from waits w
    where v.workspace_id = w.workspace_id and v.id = w.id and v.waiting_since is distinct from w.since
    returning v.workspace_id, v.id`
  const recounted = await recountReplies(
    sql,
    replies.filter(({ conversation_id }) => lockedIds.has(conversation_id)),
  )
  return {
    changed: [...changed, ...recounted],
    lockedOut: replies.filter(({ conversation_id }) => !lockedIds.has(conversation_id)).map(({ id }) => id),
  }
}
