/**
 * Conversations: one per contact and connection. The statements that write messages keep the last message and the unread
 * count of a conversation, so a list reads them without counting.
 */
import type { ChannelName } from '../contacts/resource.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Page, Position } from '../lib/page.ts'
import { readValues } from '../lib/page-text.ts'
import { type Fragment, plannedPerCall, type Sql } from '../lib/postgres/db.ts'
import type { handlers, statuses } from './filter-fields.ts'
import { findLabeled } from './labels.ts'
import { type Conversation, foundConversation, publicConversation } from './resource.ts'

export type ConversationStatus = (typeof statuses)[number]

export type ConversationFilters = {
  status?: ConversationStatus | undefined
  contact_id?: string | undefined
  channel?: ChannelName | undefined
  connection_id?: string | undefined
  /** A member's id, or `none`. */
  assigned_agent_id?: string | undefined
  /** A team's id, or `none`. */
  assigned_team_id?: string | undefined
  /** The id or the name of a label. */
  label?: string | undefined
  handled_by?: (typeof handlers)[number] | undefined
}

/** One page, newest first. A pool with prepared statements suits the filters `status`, `contact_id`, `channel` and `connection_id` only. */
export async function listConversations(
  sql: Sql,
  workspaceId: string,
  filters: ConversationFilters,
  { limit, before }: Position,
): Promise<Page<Conversation>> {
  const selected = await selectConversations(sql, workspaceId, filters)
  if (!selected) return { data: [], meta: { next_cursor: null } }
  const { channel, connection_id, status, contact_id } = filters
  const isIndexed = (channel || connection_id) && !status && !contact_id
  // Each connection has an index of its own. The newest conversations are among the newest of each.
  const newest = sql`v.id in (
    select n.id from channel_connections k
    cross join lateral (
      select v.id from conversations v
      where v.workspace_id = ${workspaceId} and v.connection_id = k.id and v.id < ${before} and ${selected.condition}
      order by v.id desc
      limit ${limit + 1}
    ) n
    where k.workspace_id = ${workspaceId} and ${channel ? sql`k.channel_name = ${channel}` : sql`true`}
      and ${connection_id ? sql`k.id = ${connection_id}` : sql`true`}
    order by n.id desc
    limit ${limit + 1}
  )`
  const range = sql`${isIndexed ? newest : sql`v.id < ${before} and ${selected.condition}`} order by v.id desc limit ${limit + 1}`
  return publicConversation.writePage(sql, workspaceId, await readRows(sql, workspaceId, range), limit)
}

/**
 * The condition of the filters on conversation `v`, or undefined when no conversation can match. In an object, because `await` would
 * run a fragment.
 */
export async function selectConversations(
  sql: Sql,
  workspaceId: string,
  { status, contact_id, channel, connection_id, ...others }: ConversationFilters,
): Promise<{ condition: Fragment } | undefined> {
  const { assigned_agent_id: agentId, assigned_team_id: teamId, label, handled_by } = others
  const conditions: Fragment[] = [sql`true`]
  if (status) conditions.push(sql`v.status = ${status}`)
  if (contact_id) conditions.push(sql`v.contact_id = ${contact_id}`)
  if (channel) conditions.push(sql`v.channel = ${channel}`)
  if (connection_id) conditions.push(sql`v.connection_id = ${connection_id}`)
  if (agentId) conditions.push(sql`${agentOf(sql)} = ${agentId === 'none' ? unassigned : agentId}::uuid`)
  if (teamId) conditions.push(teamId === 'none' ? sql`v.team_id is null` : sql`v.team_id = ${teamId}::uuid`)
  if (handled_by) conditions.push(handled_by === 'bot' ? sql`v.bot_run_id is not null` : sql`v.bot_run_id is null`)
  if (label !== undefined) {
    const labeled = await findLabeled(sql, workspaceId, [label])
    if (!labeled) return undefined
    const { ids, tagIds } = labeled
    const isLabeled = ids ? sql`v.id = any(${ids}::uuid[])` : hasLabel(sql, workspaceId, tagIds)
    conditions.push(plannedPerCall(sql, isLabeled))
  }
  return { condition: conditions.reduce((one, other) => sql`${one} and ${other}`) }
}

const hasLabel = (sql: Sql, workspaceId: string, labelIds: readonly string[]): Fragment => sql`exists (
  select from conversation_labels cl
  where cl.workspace_id = ${workspaceId} and cl.label_id = any(${[...labelIds]}::uuid[]) and cl.conversation_id = v.id
)`

/** The rows of conversations `v` in a range: a condition, an order and a limit. `extra`: a further column. */
export const readRows = (
  sql: Sql,
  workspaceId: string,
  range: Fragment,
  extra: Fragment = sql``,
): Promise<unknown[][]> =>
  readValues(sql`
    select ${publicConversation.rowColumns(sql)}${extra}
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId} and ${range}`)

/** `window_from`: when the customer last wrote, by the channel's clock. */
export async function requireConversation(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<Conversation & { window_from: string | null }> {
  const [conversation] = isUuid(id)
    ? await sql<(Conversation & { window_from: string | null })[]>`
        select ${publicConversation.columns(sql)}, v.last_inbound_at as window_from
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
    select ${foundConversation.columns(sql)}
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId} and v.id = any(${[...ids]}::uuid[])`
}

/** Marks a conversation as read: a member opened it, or an API key did. */
export async function readConversation(sql: Sql, workspaceId: string, id: string): Promise<Conversation> {
  if (!isUuid(id)) throw notFound('conversation')
  await sql`
    update conversations set unread_count = 0, read_up_to = last_received_at, updated_at = now()
    where workspace_id = ${workspaceId} and id = ${id} and unread_count > 0`
  return requireConversation(sql, workspaceId, id)
}

/** Marks a conversation as unread, so that members see it again. Its position in the inbox does not change. */
export async function unreadConversation(sql: Sql, workspaceId: string, id: string): Promise<Conversation> {
  if (!isUuid(id)) throw notFound('conversation')
  await sql`
    update conversations set unread_count = 1, updated_at = now()
    where workspace_id = ${workspaceId} and id = ${id} and unread_count = 0`
  return requireConversation(sql, workspaceId, id)
}

/** Members have read the messages that were received up to this time. */
export async function getReadUpTo(sql: Sql, workspaceId: string, id: string): Promise<string | undefined> {
  const [row] = await sql<{ read_up_to: string | null }[]>`
    select read_up_to from conversations where workspace_id = ${workspaceId} and id = ${id}`
  return row?.read_up_to ?? undefined
}

/** Exactly the expression of the index on assignees. */
export const agentOf = (sql: Sql): Fragment =>
  sql`coalesce(v.assigned_agent_id, '00000000-0000-0000-0000-000000000000'::uuid)`
/** The value of `agentOf` for a conversation without a member. */
export const unassigned = '00000000-0000-0000-0000-000000000000'
