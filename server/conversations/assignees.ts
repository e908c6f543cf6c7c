/** Assignees: the members and teams that conversations are assigned to. A viewer cannot be one. */
import { badRequest } from '../lib/errors.ts'
import { idFromTime } from '../lib/id.ts'
import { type Db, type Sql, withRetries } from '../lib/postgres/db.ts'
import { leaveTeams } from '../teams/teams.ts'

/** Refuses an id that is not of a member who can be assigned. */
export async function requireAssignee(sql: Sql, workspaceId: string, memberId: string): Promise<{ email: string }> {
  const [member] = await sql<{ email: string; role: string }[]>`
    select email, role from members where workspace_id = ${workspaceId} and id = ${memberId}`
  if (!member) throw notMember()
  if (member.role === 'viewer') throw badRequest('assigned_agent_id: a viewer cannot be assigned')
  return { email: member.email }
}

export const notMember = () => badRequest('assigned_agent_id: not a member of this workspace')

/** Unassigns all conversations of a member, with a line in each thread, and takes the member out of all teams. `byId`: the member who caused it. */
export async function unassignMember(
  sql: Sql,
  workspaceId: string,
  { id, byId }: { id: string; byId: string },
): Promise<void> {
  await leaveTeams(sql, workspaceId, id)
  await sql`
    with unassigned_conversations as (
      update conversations set assigned_agent_id = null, updated_at = now()
      where workspace_id = ${workspaceId} and assigned_agent_id = ${id}
      returning workspace_id, id
    )
    insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, details, created_at)
    select v.workspace_id, v.id, ${idFromTime(sql, sql`now()`)}, 'assigned', ${byId}::uuid, '{"assignee_id": null}', now()
    from unassigned_conversations v`
}

/** Conversations of a team in one transaction: about 30 ms. */
const releasedAtOnce = 500

/** Takes all conversations of a team from it, with a line in each thread. `byId`: the member who caused it. */
export async function releaseConversations(
  db: Db,
  workspaceId: string,
  { id, byId }: { id: string; byId: string },
): Promise<void> {
  for (let isMore = true; isMore; ) {
    const released = await withRetries(
      () => db`
        with
        -- In the order in which other statements lock them.
        locked_conversations as (
          select v.workspace_id, v.id from conversations v
          where v.workspace_id = ${workspaceId} and v.id in (
            select o.id from conversations o where o.workspace_id = ${workspaceId} and o.team_id = ${id} limit ${releasedAtOnce}
          )
          order by v.id
          for no key update
        ),
        released_conversations as (
          update conversations v set team_id = null, updated_at = now()
          from locked_conversations l
          where v.workspace_id = l.workspace_id and v.id = l.id and v.team_id = ${id}
          returning v.workspace_id, v.id
        )
        insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, details, created_at)
        select v.workspace_id, v.id, ${idFromTime(db, db`now()`)}, 'assigned', ${byId}::uuid, '{"team": null}', now()
        from released_conversations v
        returning 1`,
    )
    isMore = released.length > 0
  }
}
