/**
 * Conversations: one per contact and channel. The statements that write messages keep the last message and the unread
 * count of a conversation, so a list reads them without counting.
 */
import type { ChannelName } from '../contacts/contacts.ts'
import { resolveTagsOf, type Tag, tagIds, tagsJson } from '../contacts/tags.ts'
import { type Fragment, isoTime, type Sql } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { statuses } from './filter-fields.ts'
import { type Label, labelIds, labelsJson, resolveLabelsOf } from './labels.ts'

export type ConversationStatus = (typeof statuses)[number]

export type Conversation = {
  id: string
  channel: ChannelName
  contact_id: string
  status: ConversationStatus
  assigned_agent_id: string | null
  last_message_text: string | null
  last_message_at: string | null
  last_inbound_at: string | null
  unread_count: number
  labels: Label[]
  /** The status is `pending` until then. */
  snoozed_until: string | null
  created_at: string
  updated_at: string
  contact: {
    id: string
    phone: string | null
    social_username: string | null
    name: string | null
    email: string | null
    company: string | null
    tags: Tag[]
  }
}

export type ConversationFilters = {
  status?: ConversationStatus | undefined
  contact_id?: string | undefined
  channel?: ChannelName | undefined
}

export async function listConversations(
  sql: Sql,
  workspaceId: string,
  { status, contact_id, channel }: ConversationFilters,
  { limit, before }: Position,
): Promise<Page<Conversation>> {
  const conditions: Fragment[] = [sql`true`]
  if (status) conditions.push(sql`v.status = ${status}`)
  if (contact_id) conditions.push(sql`v.contact_id = ${contact_id}`)
  if (channel) conditions.push(sql`v.channel = ${channel}`)
  const all = conditions.reduce((one, other) => sql`${one} and ${other}`)
  const rows = await sql<ConversationRow[]>`
    select v.id, v.channel, v.contact_id, v.status, v.assigned_agent_id, v.last_message_text, v.last_message_at,
      v.last_inbound_at, v.unread_count, v.snoozed_until, v.created_at, v.updated_at, ${labelIds(sql)} as label_ids,
      c.phone, c.social_username, c.name, c.email, c.company, ${tagIds(sql)} as tag_ids
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId} and v.id < ${before} and ${all}
    order by v.id desc
    limit ${limit + 1}`
  const [tagsOf, labelsOf] = await Promise.all([
    resolveTagsOf(sql, workspaceId, rows),
    resolveLabelsOf(sql, workspaceId, rows),
  ])
  const { data, meta } = toPage(rows, limit)
  return { data: data.map((row) => toConversation(row, tagsOf, labelsOf)), meta }
}

/** A conversation with its contact, as flat columns. The database writes them three times as fast as JSON. */
type ConversationRow = Omit<Conversation, 'labels' | 'contact'> &
  Omit<Conversation['contact'], 'id' | 'tags'> & { tag_ids: string; label_ids: string }

/** Completes the row in place: copying it takes longer than reading it. */
function toConversation(
  row: ConversationRow,
  tagsOf: (ids: string) => Tag[],
  labelsOf: (ids: string) => Label[],
): Conversation {
  const { contact_id: id, phone, social_username, name, email, company } = row
  const contact = { id, phone, social_username, name, email, company, tags: tagsOf(row.tag_ids) }
  return Object.assign(row, { labels: labelsOf(row.label_ids), contact })
}

export async function requireConversation(sql: Sql, workspaceId: string, id: string): Promise<Conversation> {
  const [conversation] = isUuid(id)
    ? await sql<Conversation[]>`
        select ${conversationColumns(sql)}
        from conversations v
        join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
        where v.workspace_id = ${workspaceId} and v.id = ${id}`
    : []
  if (!conversation) throw notFound('conversation')
  return conversation
}

/** The workspace's conversations among these ids, in no order. */
export async function listConversationsById(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<Conversation[]> {
  return sql<Conversation[]>`
    select ${conversationColumns(sql)}
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId} and v.id = any(${[...ids]}::uuid[])`
}

/** Marks a conversation as read: a member opened it. */
export async function readConversation(sql: Sql, workspaceId: string, id: string): Promise<Conversation> {
  if (!isUuid(id)) throw notFound('conversation')
  await sql`
    update conversations set unread_count = 0
    where workspace_id = ${workspaceId} and id = ${id} and unread_count > 0`
  return requireConversation(sql, workspaceId, id)
}

/** The fields of conversation `v` with contact `c` as the API and events show them. */
export function conversationColumns(sql: Sql): Fragment {
  return sql`
    v.id, v.channel, v.contact_id, v.status, v.assigned_agent_id, v.last_message_text,
    ${isoTime(sql, sql`v.last_message_at`)} as last_message_at,
    ${isoTime(sql, sql`v.last_inbound_at`)} as last_inbound_at, v.unread_count, ${labelsJson(sql)} as labels,
    ${isoTime(sql, sql`v.snoozed_until`)} as snoozed_until,
    ${isoTime(sql, sql`v.created_at`)} as created_at, ${isoTime(sql, sql`v.updated_at`)} as updated_at,
    json_build_object(
      'id', c.id, 'phone', c.phone, 'social_username', c.social_username, 'name', c.name, 'email', c.email,
      'company', c.company, 'tags', ${tagsJson(sql)}
    ) as contact`
}
