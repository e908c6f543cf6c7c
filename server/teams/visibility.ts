/**
 * Which conversations a member sees. The workspace says it for agents and for viewers; owners, admins and API keys see all.
 *
 * - `all`: every conversation.
 * - `teams`: those of the member's teams, and those that are assigned to the member.
 * - `own`: those that are assigned to the member, and unassigned ones of the member's teams.
 *
 * `visibleTo` is the only place that says so. All calls of members below `/conversations/{id}` pass a step that uses it
 * (`conversations/visible-step.ts`); lists, counts, searches and streams have the condition in their statements.
 */
import type { Sees } from '../accounts/members.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'

/** A caller as far as it matters here. Without a member: an API key. */
export type Reader = {
  workspaceId: string
  member?: { id: string } | undefined
  /** Absent: all. */
  sees?: Sees | undefined
}

/** A caller who sees only some of the conversations. */
export type RestrictedReader = { workspaceId: string; member: { id: string }; sees: Exclude<Sees, 'all'> }

/** The reader if it does not see all conversations. */
export function restrictionOf({ workspaceId, member, sees = 'all' }: Reader): RestrictedReader | undefined {
  return member && sees !== 'all' ? { workspaceId, member, sees } : undefined
}

/** The condition on conversation `v`, or on another row with its columns `assigned_agent_id` and `team_id`. */
export function visibleTo(sql: Sql, reader: Reader, row: Fragment = sql`v`): Fragment {
  const restriction = restrictionOf(reader)
  if (!restriction) return sql`true`
  const isOwn = sql`${row}.assigned_agent_id = ${restriction.member.id}::uuid`
  const isOfTeam = sql`${row}.team_id = any(${teamsOf(sql, restriction)})`
  return restriction.sees === 'teams'
    ? sql`coalesce(${isOwn} or ${isOfTeam}, false)`
    : sql`coalesce(${isOwn} or (${row}.assigned_agent_id is null and ${isOfTeam}), false)`
}

/** The ids of the teams of a member as an array, read once per statement. */
export const teamsOf = (sql: Sql, { workspaceId, member }: RestrictedReader): Fragment => sql`array(
  select tm.team_id from team_members tm where tm.workspace_id = ${workspaceId} and tm.member_id = ${member.id}
)`

/** The ids of the teams of a member. */
export async function listTeamIds(sql: Sql, workspaceId: string, memberId: string): Promise<string[]> {
  const rows = await sql<{ team_id: string }[]>`
    select team_id from team_members where workspace_id = ${workspaceId} and member_id = ${memberId} order by team_id`
  return rows.map(({ team_id }) => team_id)
}

/** A text that is the same for readers who see the same, for caches. */
export const keyOf = (reader: Reader): string => {
  const restriction = restrictionOf(reader)
  return restriction ? `${reader.workspaceId} ${restriction.sees} ${restriction.member.id}` : reader.workspaceId
}
