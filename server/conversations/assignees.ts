/** Assignees: the members that conversations are assigned to. A viewer cannot be one. */
import { badRequest } from '../lib/errors.ts'
import { idFromTime } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'

/** Refuses an id that is not of a member who can be assigned. */
export async function requireAssignee(sql: Sql, workspaceId: string, memberId: string): Promise<{ email: string }> {
  const [member] = await sql<{ email: string; role: string }[]>`
    select email, role from members where workspace_id = ${workspaceId} and id = ${memberId}`
  if (!member) throw notMember()
  if (member.role === 'viewer') throw badRequest('assigned_agent_id: a viewer cannot be assigned')
  return { email: member.email }
}

export const notMember = () => badRequest('assigned_agent_id: not a member of this workspace')

/** Unassigns all conversations of a member, with a line in each thread. `byId`: the member who caused it. */
export async function unassignMember(
  sql: Sql,
  workspaceId: string,
  { id, byId }: { id: string; byId: string },
): Promise<void> {
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
