/**
 * Conversations of members who are offline return to the queue of their team, when their customer has waited for as long as the team
 * has set.
 */
import { type Db, type Sql, withRetries } from '../../lib/postgres/db.ts'
import { changeConversations } from '../changes.ts'
import { agentOf } from '../conversations.ts'
import { isCounted } from './queue.ts'

type DueMember = { workspace_id: string; team_id: string; member_id: string }
type Returned = { workspaceId: string; conversationIds: string[] }

/** Members of one run. The next run has the others. */
const maxMembers = 200
/** Conversations of one transaction. */
const maxBatch = 50

export async function returnConversations(db: Db): Promise<Returned[]> {
  const due = await db<DueMember[]>`
    select distinct t.workspace_id, t.id as team_id, m.id as member_id
    from teams t
    join members m on m.workspace_id = t.workspace_id
    left join member_availability a on a.workspace_id = m.workspace_id and a.member_id = m.id
    join conversations v on v.workspace_id = m.workspace_id and ${agentOf(db)} = m.id and ${isCounted(db)}
      and v.team_id = t.id and v.waiting_since <= now() - make_interval(mins => t.return_minutes)
    where t.return_minutes is not null and coalesce(a.state, 'offline') = 'offline'
    limit ${maxMembers}`
  const returned: Returned[] = []
  for (const one of due) {
    const conversationIds = await withRetries(() => db.begin((sql) => returnOf(sql, one)) as Promise<string[]>)
    if (conversationIds.length > 0) returned.push({ workspaceId: one.workspace_id, conversationIds })
  }
  return returned
}

/** Locks in the order of the engine. The member may be back, or the setting off, by now. */
async function returnOf(
  sql: Sql,
  { workspace_id: workspaceId, team_id: teamId, member_id: memberId }: DueMember,
): Promise<string[]> {
  const [team] = await sql<{ minutes: number | null }[]>`
    select return_minutes as minutes from teams
    where workspace_id = ${workspaceId} and id = ${teamId}
    for no key update`
  if (!team?.minutes) return []
  const [member] = await sql<{ state: string }[]>`
    select state from member_availability
    where workspace_id = ${workspaceId} and member_id = ${memberId}
    for no key update`
  if (member && member.state !== 'offline') return []
  const rows = await sql<{ id: string; minutes: number }[]>`
    select v.id, floor(extract(epoch from now() - v.waiting_since) / 60)::int as minutes
    from conversations v
    where v.workspace_id = ${workspaceId} and ${agentOf(sql)} = ${memberId} and ${isCounted(sql)}
      and v.team_id = ${teamId} and v.waiting_since <= now() - make_interval(mins => ${team.minutes})
    order by v.id
    limit ${maxBatch}
    for no key update`
  // Few return at a time, and each has its own number of minutes.
  for (const { id, minutes } of rows) {
    const actor = { policy: 'offline', minutes, from: memberId } as const
    await changeConversations(sql, workspaceId, actor, [id], { assigned_agent_id: null })
  }
  return rows.map(({ id }) => id)
}
