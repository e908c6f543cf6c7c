/** The member and the team that a step of a simulated run assigns. Pure. */
import { notMember } from '../../conversations/assignees.ts'
import { notTeam } from '../../teams/teams.ts'
import type { SetStep } from '../definition.ts'
import type { ThreadState } from './state.ts'

type Assignment = Pick<SetStep, 'assigned_agent_id' | 'assigned_team_id'>
type Names = ReadonlyMap<string, string>

export function assign(
  state: ThreadState,
  { assigned_agent_id: memberId, assigned_team_id: teamId }: Assignment,
): void {
  if (memberId !== undefined) state.assigned_agent_id = memberId
  if (teamId !== undefined) state.assigned_team_id = teamId?.toLowerCase() ?? null
}

/** In words. Throws as the step does when the member or the team does not exist. */
export function describeAssignment(
  { memberNames, teamNames }: { memberNames: Names; teamNames: Names },
  { assigned_agent_id: memberId, assigned_team_id: teamId }: Assignment,
): string[] {
  const member = memberId && memberNames.get(memberId)
  if (memberId && member === undefined) throw notMember()
  const team = teamId && teamNames.get(teamId.toLowerCase())
  if (teamId && team === undefined) throw notTeam('assigned_team_id')
  return [
    ...(memberId === undefined ? [] : [member ? `assigned to ${member}` : 'unassigned']),
    ...(teamId === undefined ? [] : [team ? `assigned to the team ${team}` : 'removed from its team']),
  ]
}
