/**
 * What a segment's filter can ask about conversations.
 *
 * A contact has at most one conversation a channel, so "is" means one of
 * them, "is not" means none of them.
 */
import type { Sql } from '../lib/db.ts'
import { type FilterFields, notOneOf, timeOps } from '../segments/filter.ts'

export const statuses = ['open', 'pending', 'closed'] as const

const aStatus = { value: 'status', fault: notOneOf(statuses) } as const

export const conversationFields: FilterFields = {
  last_inbound_at: timeOps(
    (sql) => sql`(
      select max(v.last_inbound_at) from conversations v
      where v.workspace_id = c.workspace_id and v.contact_id = c.id
    )`,
  ),
  conversation_status: {
    is: { takes: aStatus, condition: (sql, _, value) => hasStatus(sql, value) },
    is_not: { takes: aStatus, condition: (sql, _, value) => sql`not ${hasStatus(sql, value)}` },
  },
}

const hasStatus = (sql: Sql, status: string) => sql`
  exists (
    select from conversations v
    where v.workspace_id = c.workspace_id and v.contact_id = c.id and v.status = ${status}
  )`
