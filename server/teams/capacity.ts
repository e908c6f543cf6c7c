/** Policies of teams, and capacities of members: the settings of the assignment engine. */
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'

export const policies = ['none', 'round_robin', 'fewest_open'] as const
export type Policy = (typeof policies)[number]

export const maxCapacity = 200
export const defaultCapacity = 20
/** A day. */
export const maxReturnMinutes = 1_440

export type PolicyChanges = { policy?: Policy | undefined; return_minutes?: number | null | undefined }
export type TeamPolicy = { id: string; name: string; policy: Policy; return_minutes: number | null }

/** Waits for the engine while it decides about the team. */
export async function updatePolicy(
  sql: Sql,
  workspaceId: string,
  id: string,
  { policy, return_minutes: minutes }: PolicyChanges,
): Promise<TeamPolicy> {
  if (policy === undefined && minutes === undefined) throw badRequest('policy: nothing to change')
  const [team] = isUuid(id)
    ? await sql<TeamPolicy[]>`
        update teams set policy = coalesce(${policy ?? null}::text, policy),
          return_minutes = ${minutes === undefined ? sql`return_minutes` : sql`${minutes}::int`}
        where workspace_id = ${workspaceId} and id = ${id}
        returning id, name, policy, return_minutes`
    : []
  if (!team) throw notFound('team')
  return team
}

export type MemberCapacity = { id: string; email: string; capacity: number }

/** Waits for the engine while it decides about the member. */
export async function updateCapacity(
  sql: Sql,
  workspaceId: string,
  id: string,
  capacity: number,
): Promise<MemberCapacity> {
  const [member] = isUuid(id)
    ? await sql<(MemberCapacity & { role: string })[]>`
        select id, email, role from members where workspace_id = ${workspaceId} and id = ${id}`
    : []
  if (!member) throw notFound('member')
  if (member.role === 'viewer') throw badRequest('capacity: a viewer cannot be assigned')
  await sql`
    insert into member_availability (workspace_id, member_id, capacity) values (${workspaceId}, ${id}, ${capacity})
    on conflict (workspace_id, member_id) do update set capacity = excluded.capacity`
  return { id: member.id, email: member.email, capacity }
}
