/**
 * Assigns the queue of a team.
 *
 * One transaction locks the row of the team, then the rows of its available members in the order of their ids, and only then counts
 * their conversations. Every assignment of the engine to a member happens while the engine holds the member's row, from before the count
 * to the commit. So no two of them count the same free capacity, whatever the teams and processes. Members may exceed a capacity by hand,
 * and so may a customer who reopens a conversation.
 *
 * The reasons to look at a queue are rows of `assignment_requests`. They are deleted in the transaction that assigns: a process that
 * dies leaves them, and a cause that commits later leaves its own.
 */
import { type Db, type Fragment, type Sql, withRetries } from '../../lib/postgres/db.ts'
import type { Policy } from '../../teams/capacity.ts'
import { changeConversations } from '../changes.ts'
import { chooseMembers, type Pick } from './choose.ts'
import { countOpen, isQueued, queueOrder } from './queue.ts'

export type TeamKey = { workspace_id: string; team_id: string }

/** `isBusy`: another process decides about the team. `hasMore`: the batch was full, or a conversation changed at this moment. */
export type AssignResult = { conversationIds: string[]; policy: Policy; isBusy: boolean; hasMore: boolean }

/** Conversations of one transaction: each costs about a millisecond, and the team is locked meanwhile. */
const maxBatch = 50

export const hasRequests = (sql: Sql): Fragment => sql`exists (select from assignment_requests)`

/** The teams with requests. Workspaces take turns, each with the team that has waited longest. */
export async function listRequestedTeams(sql: Sql, limit: number): Promise<TeamKey[]> {
  return sql<TeamKey[]>`
    with
    -- Of all workspaces. Where members are available, few rows exist at a time.
    requested_teams as (
      select workspace_id, team_id, min(id) as first_id from assignment_requests group by workspace_id, team_id
    )
    select workspace_id, team_id
    from requested_teams
    order by row_number() over (partition by workspace_id order by first_id), first_id
    limit ${limit}`
}

export async function assignTeam(db: Db, key: TeamKey): Promise<AssignResult> {
  return withRetries(() => db.begin((sql) => assignLocked(sql, key)) as Promise<AssignResult>)
}

async function assignLocked(sql: Sql, { workspace_id: workspaceId, team_id: teamId }: TeamKey): Promise<AssignResult> {
  type Team = { policy: Policy; last_assigned_id: string | null }
  const [team] = await sql<Team[]>`
    select policy, last_assigned_id from teams
    where workspace_id = ${workspaceId} and id = ${teamId}
    for no key update skip locked`
  const none: AssignResult = { conversationIds: [], policy: 'none', isBusy: false, hasMore: false }
  if (!team && (await isExisting(sql, workspaceId, teamId))) return { ...none, isBusy: true }
  // Later statements see what these requests announce.
  await sql`delete from assignment_requests where workspace_id = ${workspaceId} and team_id = ${teamId}`
  if (!team || team.policy === 'none') return none
  const { policy, last_assigned_id: lastId } = team
  const members = await lockMembers(sql, workspaceId, teamId)
  if (members.length === 0) return { ...none, policy }
  const open = await countOpen(
    sql,
    workspaceId,
    members.map(({ id }) => id),
  )
  const candidates = members.map(({ id, capacity }) => ({ id, capacity, open: open.get(id) ?? 0 }))
  const free = candidates.reduce((sum, one) => sum + Math.max(0, one.capacity - one.open), 0)
  const limit = Math.min(free, maxBatch)
  if (limit === 0) return { ...none, policy }
  const { ids, isComplete } = await lockQueue(sql, workspaceId, teamId, limit)
  const picks = chooseMembers(policy, candidates, lastId, ids.length)
  for (const assigned of groupByMember(ids, picks)) await assign(sql, workspaceId, policy, assigned)
  const last = picks.at(-1)
  if (last) {
    await sql`
      update teams set last_assigned_id = ${last.memberId} where workspace_id = ${workspaceId} and id = ${teamId}`
  }
  const hasMore = !isComplete || (ids.length === limit && free > limit)
  // A request of its own, behind those of other teams.
  if (hasMore) await sql`insert into assignment_requests (workspace_id, team_id) values (${workspaceId}, ${teamId})`
  return { conversationIds: ids.slice(0, picks.length), policy, isBusy: false, hasMore }
}

async function isExisting(sql: Sql, workspaceId: string, teamId: string): Promise<boolean> {
  const [found] = await sql`select from teams where workspace_id = ${workspaceId} and id = ${teamId}`
  return found !== undefined
}

/** The available members of the team. Their rows are the locks of their capacities. */
async function lockMembers(sql: Sql, workspaceId: string, teamId: string): Promise<{ id: string; capacity: number }[]> {
  return sql<{ id: string; capacity: number }[]>`
    select a.member_id as id, a.capacity
    from team_members tm
    join member_availability a on a.workspace_id = tm.workspace_id and a.member_id = tm.member_id
    join members m on m.workspace_id = a.workspace_id and m.id = a.member_id
    where tm.workspace_id = ${workspaceId} and tm.team_id = ${teamId} and a.state = 'available' and a.capacity > 0
      and m.role <> 'viewer'
    order by a.member_id
    for no key update of a`
}

/**
 * The first conversations of the queue, locked in the order of their ids. `isComplete`: none of them left the queue before it was
 * locked, for example because a member took it.
 */
async function lockQueue(
  sql: Sql,
  workspaceId: string,
  teamId: string,
  limit: number,
): Promise<{ ids: string[]; isComplete: boolean }> {
  const first = await sql<{ id: string }[]>`
    select v.id from conversations v
    where v.workspace_id = ${workspaceId} and v.team_id = ${teamId} and ${isQueued(sql)}
    order by ${queueOrder(sql)}
    limit ${limit}`
  if (first.length === 0) return { ids: [], isComplete: true }
  const locked = await sql<{ id: string }[]>`
    select v.id from conversations v
    where v.workspace_id = ${workspaceId} and v.team_id = ${teamId} and ${isQueued(sql)}
      and v.id = any(${first.map(({ id }) => id)}::uuid[])
    order by v.id
    for no key update`
  const kept = new Set(locked.map(({ id }) => id))
  return { ids: first.flatMap(({ id }) => (kept.has(id) ? [id] : [])), isComplete: kept.size === first.length }
}

type Assigned = { memberId: string; capacity: number; open: Map<string, number> }

function groupByMember(ids: readonly string[], picks: readonly Pick[]): Assigned[] {
  const groups = new Map<string, Assigned>()
  picks.forEach(({ memberId, capacity, open }, i) => {
    const group = groups.get(memberId) ?? { memberId, capacity, open: new Map() }
    groups.set(memberId, group)
    group.open.set(ids[i] ?? '', open)
  })
  return [...groups.values()]
}

async function assign(
  sql: Sql,
  workspaceId: string,
  policy: Exclude<Policy, 'none'>,
  { memberId, capacity, open }: Assigned,
): Promise<void> {
  const actor = { policy, capacity, open }
  const results = await changeConversations(sql, workspaceId, actor, [...open.keys()], { assigned_agent_id: memberId })
  for (const result of results) if ('error' in result) throw result.error
}
