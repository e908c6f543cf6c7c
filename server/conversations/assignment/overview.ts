/** What the pages show of the assignment: policies and queues of teams, availability, capacity and load of members. */
import { type MemberRole, memberName } from '../../accounts/members.ts'
import type { Fragment, Sql } from '../../lib/postgres/db.ts'
import type { AvailabilityState } from '../../teams/availability.ts'
import { defaultCapacity, type Policy } from '../../teams/capacity.ts'
import { type Reader, restrictionOf, teamsOf } from '../../teams/visibility.ts'
import { countOpen, isQueued, maxQueued } from './queue.ts'

export type AssignmentTeam = {
  id: string
  name: string
  color: string
  policy: Policy
  return_minutes: number | null
  queued: number
  /** Since when the customer of the first conversation has waited. */
  waiting_since: string | null
  member_count: number
  available_count: number
}

export type AssignmentMember = {
  id: string
  name: string
  role: MemberRole
  state: AvailabilityState
  is_chosen: boolean
  since: string | null
  capacity: number
  open: number
  team_ids: string[]
}

/** All teams; for a member who sees only some conversations, the teams of the member. */
export async function listAssignmentTeams(sql: Sql, reader: Reader): Promise<AssignmentTeam[]> {
  return sql<AssignmentTeam[]>`
    select t.id, t.name, t.color, t.policy, t.return_minutes, q.queued, q.waiting_since, m.member_count, m.available_count
    from teams t
    cross join lateral (
      select count(*)::int as queued, min(f.waiting_since) as waiting_since
      from (
        select v.waiting_since from conversations v
        where v.workspace_id = t.workspace_id and v.team_id = t.id and ${isQueued(sql)}
        limit ${maxQueued}
      ) f
    ) q
    cross join lateral (
      select count(*)::int as member_count, count(*) filter (where a.state = 'available')::int as available_count
      from team_members tm
      join members p on p.workspace_id = tm.workspace_id and p.id = tm.member_id and p.role <> 'viewer'
      left join member_availability a on a.workspace_id = tm.workspace_id and a.member_id = tm.member_id
      where tm.workspace_id = t.workspace_id and tm.team_id = t.id
    ) m
    where t.workspace_id = ${reader.workspaceId} and ${isOfReader(sql, reader, sql`t.id`)}
    order by t.name_key`
}

/** Without viewers: no conversation is assigned to them. For a member who sees only some conversations, those of the same teams. */
export async function listAssignmentMembers(sql: Sql, reader: Reader): Promise<AssignmentMember[]> {
  const { workspaceId, member: own } = reader
  const members = await sql<Omit<AssignmentMember, 'open'>[]>`
    select m.id, ${memberName(sql, sql`m`)} as name, m.role, coalesce(a.state, 'offline') as state,
      coalesce(a.is_away_chosen, false) as is_chosen, a.changed_at as since,
      coalesce(a.capacity, ${defaultCapacity}::int) as capacity, array(
        select tm.team_id from team_members tm where tm.workspace_id = m.workspace_id and tm.member_id = m.id
      ) as team_ids
    from members m
    left join member_availability a on a.workspace_id = m.workspace_id and a.member_id = m.id
    where m.workspace_id = ${workspaceId} and m.role <> 'viewer' and (m.id = ${own?.id ?? null} or exists (
      select from team_members o
      where o.workspace_id = m.workspace_id and o.member_id = m.id and ${isOfReader(sql, reader, sql`o.team_id`)}
    ) or ${restrictionOf(reader) === undefined})
    order by name, m.id`
  const open = await countOpen(
    sql,
    workspaceId,
    members.map(({ id }) => id),
  )
  return members.map((member) => ({ ...member, open: open.get(member.id) ?? 0 }))
}

/** Condition: the member sees the queue of the team. */
function isOfReader(sql: Sql, reader: Reader, teamId: Fragment): Fragment {
  const restriction = restrictionOf(reader)
  return restriction ? sql`${teamId} = any(${teamsOf(sql, restriction)})` : sql`true`
}
