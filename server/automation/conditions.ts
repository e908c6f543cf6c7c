/** Evaluates conditions of automations for a contact and a conversation. */
import { nowMs } from '../lib/clock.ts'
import { type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'
import { type Filter, type Rule, toCondition } from '../segments/filter.ts'
import { automationFields, type Constants, resolveConstants } from './fields.ts'
import { asksHours, meetsHours, readHours } from './office-hours.ts'

export type Subject = { workspaceId: string; contactId: string; conversationId: string | null }

/** Which of the filters match. An absent filter matches. All that need the database share one statement. */
export async function evaluate(
  sql: Sql,
  { workspaceId, contactId, conversationId }: Subject,
  filters: readonly (Filter | undefined)[],
  constants: Constants,
): Promise<boolean[]> {
  const hasHours = filters.some((filter) => filter && asksHours(filter))
  const schedule = hasHours ? await readHours(sql, workspaceId, conversationId) : undefined
  const known = (rule: Rule) => meetsHours(rule, schedule, nowMs())
  const resolved = filters.map((filter) => (filter ? resolveConstants(filter, constants, known) : true))
  const open = resolved.filter((one): one is Filter => typeof one !== 'boolean')
  if (open.length === 0) return resolved as boolean[]
  const conditions = open.map((filter): Fragment => {
    const condition = toCondition(sql, workspaceId, automationFields, filter)
    return sql`coalesce(${condition}, false)`
  })
  const [row] = await sql<{ results: boolean[] }[]>`
    select array[${conditions.reduce((one, other) => sql`${one}, ${other}`)}] as results
    from contacts c
    left join conversations v on v.workspace_id = c.workspace_id and v.id = ${conversationId}
    where c.workspace_id = ${workspaceId} and c.id = ${contactId}`
  const results = row ? [...row.results] : open.map(() => false)
  return resolved.map((one) =>
    typeof one === 'boolean' ? one : requireRow(results.shift(), 'the result of a condition'),
  )
}
