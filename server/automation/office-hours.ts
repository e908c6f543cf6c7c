/** The office hours that an automation reads: those of the conversation's team, of its connection, or of the workspace. */
import { isOpen, nextOpening, type Schedule } from '../hours/hours.ts'
import { scheduleOf } from '../hours/schedules.ts'
import { nowMs } from '../lib/clock.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type Filter, isGroup, type Rule } from '../segments/filter.ts'
import { StepFailed } from './decisions.ts'

/** Without a conversation: those of the workspace. Undefined: always open. */
export async function readHours(
  sql: Sql,
  workspaceId: string,
  conversationId: string | null,
): Promise<Schedule | undefined> {
  const [conversation] = await sql<{ teamId: string | null; connectionId: string | null }[]>`
    select v.team_id as "teamId", v.connection_id as "connectionId" from conversations v
    where v.workspace_id = ${workspaceId} and v.id = ${conversationId}`
  return scheduleOf(sql, workspaceId, conversation ?? {})
}

/** Whether a rule on the hours is met; undefined for every other rule. */
export function meetsHours({ field, value }: Rule, schedule: Schedule | undefined, atMs: number): boolean | undefined {
  return field === 'hours' ? isOpen(schedule, atMs) === (value === 'open') : undefined
}

export const asksHours = ({ rules }: Filter): boolean =>
  rules.some((rule) => (isGroup(rule) ? rule.rules.some(isOnHours) : isOnHours(rule)))

const isOnHours = ({ field }: Rule): boolean => field === 'hours'

/** How long a run waits for the opening: 0 while it is open. */
export function msUntilOpening(schedule: Schedule | undefined, atMs = nowMs()): number {
  const opensMs = nextOpening(schedule, atMs)
  if (opensMs === undefined) throw new StepFailed('the office hours have no opening')
  return opensMs - atMs
}
