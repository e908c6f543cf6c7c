/** Conversations `v` whose customer waits for a reply of a member now, and the condition of a report's filters on them. */
import { allOf } from '../../conversations/inbox-plan.ts'
import type { Fragment, Sql } from '../../lib/postgres/db.ts'
import { type Dimension, dimensions, noKey } from './facts.ts'
import type { Filters } from './request.ts'

/** A conversation with a bot waits for no member. One that is snoozed is pending: like the open ones of the inbox, the figure is work of now. */
export const isWaiting = (sql: Sql): Fragment =>
  sql`v.waiting_since is not null and v.status = 'open' and v.bot_run_id is null and v.episode_id is not null`

const keys = (sql: Sql): Record<Exclude<Dimension, 'label'>, Fragment> => ({
  team: sql`v.team_id`,
  connection: sql`v.connection_id`,
  member: sql`v.assigned_agent_id`,
})

/** The key of a conversation, with its label `cl` for labels. */
export const waitingKey = (sql: Sql, rows: Dimension): Fragment =>
  sql`coalesce(${rows === 'label' ? sql`cl.label_id` : keys(sql)[rows]}, ${noKey})::text`

/** `rows`: the statement has `cl`, one row for each label. */
export function withFilters(sql: Sql, filters: Filters, rows?: Dimension): Fragment {
  const conditions = dimensions.flatMap((dimension) => {
    const id = filters[dimension]
    if (id === undefined) return []
    if (dimension !== 'label' || rows === 'label') return [sql`${waitingKey(sql, dimension)} = ${id}`]
    const labels = sql`select from conversation_labels cl where cl.workspace_id = v.workspace_id and cl.conversation_id = v.id`
    return [id === noKey ? sql`not exists (${labels})` : sql`exists (${labels} and cl.label_id = ${id})`]
  })
  return allOf(sql, conditions)
}
