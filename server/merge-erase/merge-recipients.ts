/**
 * Merging two contacts: their recipients in broadcasts.
 *
 * Recipients of the merged contact belong to the other one from then on. A broadcast that has both sends one message: the
 * pending recipient of the merged contact is skipped, and its reserved quota unit is released. A recipient that a caller named
 * by its phone number keeps that number.
 */
import { addCounts } from '../broadcasts/counts.ts'
import { releaseSkipped } from '../broadcasts/erase.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { Merge } from './merge-contact-rows.ts'

const mergedReason = 'the contact was merged with another recipient'

/** Locks the broadcasts that have a recipient of the merged contact without a message (lock order: ARCHITECTURE.md). */
export async function lockUnsentBroadcasts(sql: Sql, workspaceId: string, { fromId }: Merge): Promise<string[]> {
  const locked = await sql<{ id: string }[]>`
    select b.id from broadcasts b
    where b.workspace_id = ${workspaceId} and b.id in (
      select r.broadcast_id from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.message_id is null and r.contact_id is not null
        and r.contact_id = ${fromId}
    )
    order by b.id
    for no key update`
  return locked.map(({ id }) => id)
}

/** Gives recipients with a message to the contact that stays. Before the conversations of the merged contact change. */
export async function giveSentRecipients(sql: Sql, workspaceId: string, { toId, fromId }: Merge): Promise<void> {
  await sql`
    update broadcast_recipients r set contact_id = ${toId}
    from conversations v
    join messages m on m.workspace_id = v.workspace_id and m.conversation_id = v.id and m.broadcast_id is not null
    where v.workspace_id = ${workspaceId} and v.contact_id = ${fromId} and v.channel = 'msgapp'
      and r.workspace_id = ${workspaceId} and r.message_id = m.id and r.contact_id = ${fromId}`
}

/** Gives the recipients of messages that have moved to the contact that stays. */
export async function giveRecipientsOf(
  sql: Sql,
  workspaceId: string,
  { toId, fromId }: Merge,
  messageIds: readonly string[],
): Promise<void> {
  await sql`
    update broadcast_recipients set contact_id = ${toId}
    where workspace_id = ${workspaceId} and message_id = any(${[...messageIds]}::uuid[]) and contact_id = ${fromId}`
}

/** Gives recipients without a message to the contact that stays; skips those that it has already. */
export async function giveUnsentRecipients(
  sql: Sql,
  workspaceId: string,
  { toId, fromId }: Merge,
  broadcastIds: readonly string[],
): Promise<void> {
  if (broadcastIds.length === 0) return
  const skipped = await sql<{ broadcast_id: string; count: number }[]>`
    with
    -- The broadcasts that the contact that stays is in: with a message, or waiting for one.
    shared_broadcasts as (
      select m.broadcast_id from conversations v
      join messages m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
      where v.workspace_id = ${workspaceId} and v.contact_id = ${toId} and v.channel = 'msgapp'
        and m.broadcast_id = any(${[...broadcastIds]}::uuid[])
      union
      select r.broadcast_id from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.message_id is null and r.contact_id is not null
        and r.contact_id = ${toId}
    ),
    -- The recipients of the merged contact, in the order of their keys.
    locked_recipients as (
      select r.broadcast_id, r.place, r.status as status_before,
        r.status = 'pending' and r.broadcast_id in (select s.broadcast_id from shared_broadcasts s) as is_repeated
      from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.message_id is null and r.contact_id is not null
        and r.contact_id = ${fromId}
      order by r.broadcast_id, r.place
      for no key update
    ),
    -- With the contact that stays; a second message to it is skipped.
    moved_recipients as (
      update broadcast_recipients r set contact_id = ${toId},
        status = case when l.is_repeated then 'skipped' else r.status end,
        reason = case when l.is_repeated then ${mergedReason} else r.reason end
      from locked_recipients l
      where r.workspace_id = ${workspaceId} and r.broadcast_id = l.broadcast_id and r.place = l.place
      returning r.workspace_id, r.broadcast_id, l.status_before, r.status as status_after, l.is_repeated
    ),
    -- The counters of their broadcasts.
    updated_counts as (${addCounts(sql, sql`moved_recipients`)})
    select broadcast_id, count(*)::int as count from moved_recipients where is_repeated group by broadcast_id`
  await releaseSkipped(sql, workspaceId, skipped)
}
