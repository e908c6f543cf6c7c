/**
 * What a member's browser notifies about: customers' messages in unread conversations and ended snoozes, if they match the member's
 * preference, and unread mentions of the member. Messages that we sent are never among them.
 *
 * The browser asks after a `changed` event, with the cursor of the previous answer. A transaction may commit after a later cursor
 * was issued, so an answer repeats the entries of the last `overlapMs`; the browser drops those it has seen. A conversation has at
 * most one entry of each kind, the newest. A conversation that the member has open in a visible page has none.
 */

import type { Session } from '../accounts/callers.ts'
import { memberName } from '../accounts/members.ts'
import { type NotificationLevel, type Preferences, requirePreferences } from '../accounts/preferences.ts'
import type { ContentType } from '../channels/channel.ts'
import { type ContactName, contactName } from '../contacts/contact-name.ts'
import { hasInboxStatus } from '../conversations/inbox-plan.ts'
import { nowMs } from '../lib/clock.ts'
import { idAt, msOfId, newId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { visibleTo } from '../teams/visibility.ts'

export const notificationKinds = ['message', 'mention', 'snooze'] as const

type MemberNotification = {
  /** The id of the message, of the note that mentions the member, or of the line in the thread about the end of the snooze. */
  id: string
  kind: (typeof notificationKinds)[number]
  conversation_id: string
  contact: ContactName
  /** The member who wrote the note. */
  author: string | null
  content_type: ContentType
  /** Of the message or note; the last message after a snooze. At most 200 characters. */
  text: string | null
}

/** `sound` and `quiet_hours` are the member's preferences: the tab that notifies may show older ones. */
type NotificationAnswer = Pick<Preferences, 'sound' | 'quiet_hours'> & {
  items: MemberNotification[]
  cursor: string
}

const overlapMs = 10_000
/** A browser that was away for longer is not notified of what it missed: the unread counts show that. */
const maxAgeMs = 10 * 60_000
const maxItems = 20
/** Conversations with recent activity that are checked for the end of a snooze. */
const maxChecked = 500

/** Notifications since the cursor `after`, oldest first. Without a cursor there are none: the answer is the first cursor. */
export async function listNotifications(
  sql: Sql,
  reader: Session,
  after: string | undefined,
): Promise<NotificationAnswer> {
  const { workspaceId } = reader
  const memberId = reader.member.id
  const cursor = newId()
  const { notifications: level, sound, quiet_hours } = await requirePreferences(sql, workspaceId, memberId)
  if (!after || level === 'none') return { items: [], cursor, sound, quiet_hours }
  const sinceMs = Math.max(msOfId(after) - overlapMs, nowMs() - maxAgeMs)
  return { items: await listSince(sql, reader, { level, sinceMs }), cursor, sound, quiet_hours }
}

type Scope = { level: NotificationLevel; sinceMs: number }

async function listSince(sql: Sql, reader: Session, { level, sinceMs }: Scope): Promise<MemberNotification[]> {
  const { workspaceId } = reader
  const memberId = reader.member.id
  const since = new Date(sinceMs).toISOString()
  const isVisible = visibleTo(sql, reader)
  const isWanted = {
    all: isVisible,
    mine: sql`v.assigned_agent_id = ${memberId}::uuid`,
    mentions: sql`false`,
    none: sql`false`,
  }[level]
  return sql<MemberNotification[]>`
    with
    -- Conversations that the member has open in a visible page. Rows of closed pages expire after 30 seconds.
    viewed_conversations as (
      select conversation_id as id from member_presence
      where workspace_id = ${workspaceId} and member_id = ${memberId} and conversation_id is not null
        and seen_at > now() - interval '30 seconds'
    ),
    -- Unread conversations with activity since then, latest first: a range of their index.
    unread_conversations as (
      select v.id, v.contact_id
      from conversations v
      where v.workspace_id = ${workspaceId} and v.unread_count > 0 and v.bot_run_id is null
        and coalesce(v.inbox_at, v.created_at) >= ${since} and ${isWanted}
        and v.id not in (select id from viewed_conversations)
      order by coalesce(v.inbox_at, v.created_at) desc, v.id desc
      limit ${maxItems}
    ),
    -- Conversations that the end of a snooze opened since then. It moved them in the inbox, so they have recent activity.
    woken_conversations as (
      select e.id, v.id as conversation_id, v.contact_id, v.last_message_text
      from (
        select v.id, v.contact_id, v.last_message_text
        from conversations v
        where v.workspace_id = ${workspaceId} and ${hasInboxStatus(sql, workspaceId, 'open')}
          and coalesce(v.inbox_at, v.created_at) >= ${since} and ${isWanted}
          and v.id not in (select id from viewed_conversations)
        order by coalesce(v.inbox_at, v.created_at) desc
        limit ${maxChecked}
      ) v
      cross join lateral (
        select e.id from timeline_entries e
        where e.workspace_id = ${workspaceId} and e.conversation_id = v.id and e.id >= ${idAt(sinceMs)}
          and e.kind = 'status' and e.details->>'by' = 'timer'
        order by e.id desc
        limit 1
      ) e
      limit ${maxItems}
    ),
    -- The newest note of each conversation that mentions the member.
    unread_mentions as (
      select distinct on (n.conversation_id) n.id, n.conversation_id
      from mentions n
      join conversations v on v.workspace_id = n.workspace_id and v.id = n.conversation_id and ${isVisible}
      where n.workspace_id = ${workspaceId} and n.member_id = ${memberId} and n.read_at is null
        and n.id >= ${idAt(sinceMs)} and n.conversation_id not in (select id from viewed_conversations)
      order by n.conversation_id, n.id desc
      limit ${maxItems}
    ),
    -- The newest customer message of each unread conversation, mentions and ended snoozes. The id bounds what is read.
    entries as (
      select m.id, 'message' as kind, u.id as conversation_id, u.contact_id, null as author, m.content_type, m.content_text as text
      from unread_conversations u
      cross join lateral (
        select m.id, m.content_type, m.content_text
        from messages m
        where m.workspace_id = ${workspaceId} and m.conversation_id = u.id and m.id >= ${idAt(sinceMs)}
          and m.direction = 'inbound' and m.deleted_at is null
        order by m.id desc
        limit 1
      ) m
      union all
      select n.id, 'mention', n.conversation_id, v.contact_id, ${memberName(sql, sql`a`)}, 'text', e.text
      from unread_mentions n
      join timeline_entries e
        on e.workspace_id = ${workspaceId} and e.conversation_id = n.conversation_id and e.id = n.id
      join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
      left join members a on a.workspace_id = e.workspace_id and a.id = e.member_id
      union all
      select w.id, 'snooze', w.conversation_id, w.contact_id, null, 'text', w.last_message_text from woken_conversations w
    )
    select e.id, e.kind, e.conversation_id, e.author, e.content_type, left(e.text, 200) as text,
      ${contactName(sql)} as contact
    from entries e
    join contacts c on c.workspace_id = ${workspaceId} and c.id = e.contact_id
    order by e.id`
}
