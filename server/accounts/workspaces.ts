/**
 * Workspaces: the tenants. Everything else belongs to exactly one of them.
 */
import { isSupportedCountry } from 'libphonenumber-js/min'
import { hashPassword, randomPassword } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { lengthOf } from '../lib/text.ts'
import { insertMember, requirePassword } from './members.ts'

export type Plan = { messages_per_month: number | null; state: 'active' | 'lapsed' }

export type NewWorkspace = {
  name: string
  default_country: string
  owner: { email: string; password?: string | undefined; name?: string | undefined }
  is_demo?: boolean
}

export type CreatedWorkspace = { workspace_id: string; owner: { email: string; password: string } }

/** Make a workspace and its owner, in the caller's transaction. Without a password one is made up; it is answered once. */
export async function createWorkspace(sql: Sql, given: NewWorkspace): Promise<CreatedWorkspace> {
  const name = given.name.trim()
  if (name === '' || lengthOf(name) > 80) throw badRequest('name: must have 1 to 80 characters')
  if (!isSupportedCountry(given.default_country)) {
    throw badRequest(`country: '${given.default_country}' is no two-letter country code such as US`)
  }
  const id = newId()
  const password = given.owner.password ?? randomPassword()
  requirePassword(password)
  const passwordHash = await hashPassword(password)
  await sql`
    insert into workspaces (id, name, default_country, is_demo, created_at)
    values (${id}, ${name}, ${given.default_country}, ${given.is_demo ?? false}, ${timeOfId(id)})`
  const member = { email: given.owner.email, name: given.owner.name ?? null, role: 'owner', passwordHash } as const
  const { email } = await insertMember(sql, id, member)
  return { workspace_id: id, owner: { email, password } }
}

export async function setPlan(sql: Sql, workspaceId: string, plan: Plan): Promise<Plan> {
  const [stored] = await sql<Plan[]>`
    update workspaces
    set plan_messages_per_month = ${plan.messages_per_month}, plan_state = ${plan.state}
    where id = ${workspaceId}
    returning plan_messages_per_month as messages_per_month, plan_state as state`
  if (!stored) throw notFound('workspace')
  return stored
}

export async function requirePlan(sql: Sql, workspaceId: string): Promise<Plan> {
  const [plan] = isUuid(workspaceId)
    ? await sql<Plan[]>`
        select plan_messages_per_month as messages_per_month, plan_state as state
        from workspaces where id = ${workspaceId}`
    : []
  if (!plan) throw notFound('workspace')
  return plan
}
