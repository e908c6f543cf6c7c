/**
 * Merging two contacts: their conversations. A connection on which only the merged contact has a conversation keeps it, with the other
 * contact. Where both have one, everything in it moves into the conversation of the contact that stays.
 */

import { moveRuns } from '../automation/move-runs.ts'
import { moveScheduled } from '../automation/scheduled.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { mergeEpisodes } from '../conversations/episodes/merging.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { moveRatings } from '../satisfaction/move-ratings.ts'
import { moveTargetChanges } from '../targets/move.ts'
import type { Merge } from './merge-contact-rows.ts'

/** The conversation `fromId` of the merged contact. `toId`: the one that takes its content; null when it stays. */
export type ConversationMove = { channel: ChannelName; fromId: string; toId: string | null }

/** Locks the conversations of both contacts, in order. Returns those of the merged contact. */
export async function lockMoves(sql: Sql, workspaceId: string, contacts: Merge): Promise<ConversationMove[]> {
  await sql`
    select id from conversations
    where workspace_id = ${workspaceId} and contact_id = any(${[contacts.toId, contacts.fromId]}::uuid[])
    order by id
    for update`
  return listMoves(sql, workspaceId, contacts)
}

/** The conversations of the merged contact. */
export async function listMoves(sql: Sql, workspaceId: string, { toId, fromId }: Merge): Promise<ConversationMove[]> {
  return sql<ConversationMove[]>`
    select f.channel, f.id as "fromId", t.id as "toId"
    from conversations f
    left join conversations t
      on t.workspace_id = f.workspace_id and t.contact_id = ${toId} and t.connection_id = f.connection_id
    where f.workspace_id = ${workspaceId} and f.contact_id = ${fromId}
    order by f.id`
}

/** Moves the timeline, labels, drafts, runs of automations, scheduled messages and ratings. Mentions refer to the timeline, so the caller has deferred that reference. */
export async function moveConversationRows(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    update timeline_entries set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
  await sql`
    update mentions set conversation_id = ${toId}
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}`
  await sql`
    insert into conversation_labels (workspace_id, conversation_id, label_id)
    select workspace_id, ${toId}, label_id from conversation_labels
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}
    on conflict do nothing`
  // A member with drafts in both conversations keeps both texts.
  await sql`
    insert into drafts as d (workspace_id, member_id, conversation_id, text, updated_at)
    select workspace_id, member_id, ${toId}, text, updated_at from drafts
    where workspace_id = ${workspaceId} and conversation_id = ${fromId}
    on conflict (workspace_id, member_id, conversation_id) do update set
      text = d.text || e'\\n' || excluded.text, updated_at = greatest(d.updated_at, excluded.updated_at)`
  await moveRuns(sql, workspaceId, fromId, toId)
  await moveScheduled(sql, workspaceId, fromId, toId)
  await moveTargetChanges(sql, workspaceId, fromId, toId)
  await moveRatings(sql, workspaceId, fromId, toId)
}

/** Adds the state of a conversation to the one that took its content, and deletes it. Its id leads to the other one from now on. */
export async function foldConversation(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await mergeEpisodes(sql, workspaceId, fromId, toId)
  await sql`
    update conversations t set
      unread_count = t.unread_count + f.unread_count,
      -- The status that asks for more work wins.
      status = case
        when 'open' in (t.status, f.status) then 'open' when 'pending' in (t.status, f.status) then 'pending' else 'closed' end,
      snoozed_until = case
        when 'open' not in (t.status, f.status) and 'pending' in (t.status, f.status)
        then least(t.snoozed_until, f.snoozed_until) end,
      waiting_since = least(
        case when t.status <> 'closed' then t.waiting_since end, case when f.status <> 'closed' then f.waiting_since end
      ),
      inbox_at = greatest(t.inbox_at, f.inbox_at),
      assigned_agent_id = coalesce(t.assigned_agent_id, f.assigned_agent_id),
      last_message_text = case
        when t.last_message_at is null or f.last_message_at > t.last_message_at then f.last_message_text
        else t.last_message_text end,
      last_message_at = greatest(t.last_message_at, f.last_message_at),
      last_inbound_identity = case
        when t.last_inbound_at is null or f.last_inbound_at > t.last_inbound_at then f.last_inbound_identity
        else t.last_inbound_identity end,
      last_inbound_at = greatest(t.last_inbound_at, f.last_inbound_at),
      last_received_at = greatest(t.last_received_at, f.last_received_at),
      -- A visitor must not see that a message was read which no member has read: with unread messages the earlier time is right, if
      -- both are known.
      read_up_to = case
        when t.unread_count = 0 and f.unread_count = 0 then greatest(t.read_up_to, f.read_up_to)
        when t.read_up_to < f.read_up_to then t.read_up_to
        when t.read_up_to >= f.read_up_to then f.read_up_to end,
      blocked_at = coalesce(t.blocked_at, f.blocked_at),
      is_channel_blocked = t.is_channel_blocked or f.is_channel_blocked,
      bot_run_id = coalesce(t.bot_run_id, f.bot_run_id),
      -- Ids are in the order of time.
      last_broadcast_message_id = greatest(t.last_broadcast_message_id, f.last_broadcast_message_id),
      rating_message_id = greatest(t.rating_message_id, f.rating_message_id),
      updated_at = now()
    from conversations f
    where t.workspace_id = ${workspaceId} and t.id = ${toId} and f.workspace_id = ${workspaceId} and f.id = ${fromId}`
  await sql`
    update merged_conversations set into_id = ${toId} where workspace_id = ${workspaceId} and into_id = ${fromId}`
  await sql`
    insert into merged_conversations (workspace_id, id, into_id) values (${workspaceId}, ${fromId}, ${toId})`
  await sql`delete from conversations where workspace_id = ${workspaceId} and id = ${fromId}`
}

/** Gives a conversation to the contact that stays. */
export async function giveConversation(sql: Sql, workspaceId: string, id: string, contactId: string): Promise<void> {
  await sql`
    update conversations set contact_id = ${contactId}, updated_at = now()
    where workspace_id = ${workspaceId} and id = ${id}`
}
