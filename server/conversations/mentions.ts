/** Mentions: the notes that name a member. A mention is unread until the member opens its conversation. */
import type { Session } from '../accounts/callers.ts'
import { memberName } from '../accounts/members.ts'
import { type ContactName, contactName } from '../contacts/contact-name.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { visibleTo } from '../teams/visibility.ts'

export type Mention = {
  /** The id of the note. */
  id: string
  conversation_id: string
  text: string
  author: { id: string; name: string | null }
  contact: ContactName
  channel: ChannelName
  read_at: string | null
  created_at: string
}

export type MentionFilters = { unread: boolean }

/** The mentions of a member in conversations that the member sees, newest first. */
export async function listMentions(
  sql: Sql,
  reader: Session,
  { unread }: MentionFilters,
  { limit, before }: Position,
): Promise<Page<Mention>> {
  const { workspaceId, member } = reader
  const rows = await sql<Mention[]>`
    select n.id, n.conversation_id, e.text, e.created_at, n.read_at, v.channel,
      json_build_object('id', e.member_id, 'name', ${memberName(sql, sql`a`)}) as author,
      ${contactName(sql)} as contact
    from mentions n
    join timeline_entries e
      on e.workspace_id = n.workspace_id and e.conversation_id = n.conversation_id and e.id = n.id
    join conversations v on v.workspace_id = n.workspace_id and v.id = n.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    left join members a on a.workspace_id = e.workspace_id and a.id = e.member_id
    where n.workspace_id = ${workspaceId} and n.member_id = ${member.id} and n.id < ${before} and ${visibleTo(sql, reader)}
      and ${unread ? sql`n.read_at is null` : sql`true`}
    order by n.id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
}

/** Marks the member's mentions in a conversation as read. Returns how many were unread. */
export async function readMentions(
  sql: Sql,
  workspaceId: string,
  memberId: string,
  conversationId: string,
): Promise<number> {
  const read = await sql`
    update mentions set read_at = now()
    where workspace_id = ${workspaceId} and member_id = ${memberId} and conversation_id = ${conversationId}
      and read_at is null`
  return read.count
}
