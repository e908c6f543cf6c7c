/**
 * The fields that a segment's filter can use: those of contacts, and those of their conversations.
 *
 * A contact has at most one conversation per connection. "is" means that one of them matches, "is not" that none does.
 */
import { isUuid } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import { contactFields, type FilterFields, notOneOf, timeOps } from '../segments/filter.ts'

export const statuses = ['open', 'pending', 'closed'] as const
/** Who answers: members, or the bot of an automation. */
export const handlers = ['team', 'bot'] as const

/**
 * When the service received the last message of the customer in conversation `v`, by the database's clock. Rows of the previous
 * release have only the channel's time, which is never later.
 */
export const receivedAt = (sql: Sql): Fragment => sql`greatest(v.last_received_at, v.last_inbound_at)`

/** Condition on conversation `v`: a clock of a target runs. Exactly that of the index. */
export const isDue = (sql: Sql): Fragment =>
  sql`v.due_at is not null and v.waiting_since is not null and v.status <> 'closed'`

/** When the time of a target runs out for conversation `v`; null while no clock runs. */
export const dueOf = (sql: Sql): Fragment => sql`(case when ${isDue(sql)} then v.due_at end)`

export const statusValue = { value: 'status', fault: notOneOf(statuses) } as const
export const connectionValue = {
  value: 'connection',
  fault: (value: string) => (value.trim() ? undefined : 'required'),
} as const

export const filterFields: FilterFields = {
  ...contactFields,
  last_inbound_at: timeOps(
    (sql) => sql`(
      select max(${receivedAt(sql)}) from conversations v
      where v.workspace_id = c.workspace_id and v.contact_id = c.id
    )`,
  ),
  connection: {
    has: { takes: connectionValue, condition: hasConnection },
    not_has: {
      takes: connectionValue,
      condition: (sql, workspaceId, value) => sql`not ${hasConnection(sql, workspaceId, value)}`,
    },
  },
  conversation_status: {
    is: { takes: statusValue, condition: (sql, _, value) => hasStatus(sql, value) },
    is_not: { takes: statusValue, condition: (sql, _, value) => sql`not ${hasStatus(sql, value)}` },
  },
}

/** Condition on contact `c`: it has a conversation on the connection with this id or name. */
function hasConnection(sql: Sql, workspaceId: string, value: string): Fragment {
  return sql`exists (
    select from conversations v
    where v.workspace_id = c.workspace_id and v.contact_id = c.id
      and v.connection_id in (${selectConnections(sql, workspaceId, value)})
  )`
}

/** The ids of the connections with this id or name. A connection that was disconnected may have the name of another one. */
export function selectConnections(sql: Sql, workspaceId: string, value: string): Fragment {
  const hasName = sql`k.name_key = ${fold(value.trim())}`
  const isNamed = isUuid(value) ? sql`(k.id = ${value} or ${hasName})` : hasName
  return sql`select k.id from channel_connections k where k.workspace_id = ${workspaceId} and ${isNamed}`
}

const hasStatus = (sql: Sql, status: string) => sql`
  exists (
    select from conversations v
    where v.workspace_id = c.workspace_id and v.contact_id = c.id and v.status = ${status}
  )`
