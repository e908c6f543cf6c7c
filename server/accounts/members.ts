/**
 * Members: the people of a workspace, and invitations to become one.
 *
 * A role decides what a member may change: owner and admin run the workspace,
 * agents answer customers. Only an owner makes another owner. An invitation is
 * a link that works once, for a week.
 */
import { hashPassword, randomPassword, randomToken, sha256 } from '../lib/crypto.ts'
import { type Db, isDuplicate, type Sql } from '../lib/db.ts'
import { badRequest, forbidden, notFound } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { fold, lengthOf } from '../lib/text.ts'

export const roles = ['owner', 'admin', 'agent'] as const
export type MemberRole = (typeof roles)[number]

export type Member = { id: string; email: string; name: string | null; role: MemberRole; created_at: string }

/** A member, or somebody who has not answered the invitation yet. */
export type ListedMember = Member & { state: 'active' | 'invited' }

export async function listMembers(sql: Sql, workspaceId: string): Promise<ListedMember[]> {
  return sql<ListedMember[]>`
    select id, email, name, role, created_at, 'active' as state from members where workspace_id = ${workspaceId}
    union all
    select id, email, null, role, created_at, 'invited' from invitations
    where workspace_id = ${workspaceId} and expires_at > now()
    order by id`
}

type NewMember = { email: string; name: string | null; role: MemberRole; passwordHash: string }

export async function insertMember(sql: Sql, workspaceId: string, given: NewMember): Promise<Member> {
  const email = requireEmail(given.email)
  const id = newId()
  try {
    const [member] = await sql<Member[]>`
      insert into members (workspace_id, id, email, email_key, name, role, password_hash, created_at)
      values (${workspaceId}, ${id}, ${email}, ${fold(email)}, ${given.name}, ${given.role},
        ${given.passwordHash}, ${timeOfId(id)})
      returning id, email, name, role, created_at`
    if (member) return member
  } catch (error) {
    if (!isDuplicate(error, 'members_email_unique')) throw error
  }
  throw badRequest('email: already a member')
}

type Inviting = { email: string; role: MemberRole; by: { id: string; role: MemberRole } }

/** Invite by e-mail; a second invitation replaces the first. The token is seen only here. */
export async function inviteMember(
  sql: Sql,
  workspaceId: string,
  { email: given, role, by }: Inviting,
): Promise<ListedMember & { invitation_token: string }> {
  const email = requireEmail(given)
  if (role === 'owner' && by.role !== 'owner') throw forbidden('only an owner makes another owner')
  const id = newId()
  const token = randomToken()
  const [invited] = await sql<ListedMember[]>`
    insert into invitations (workspace_id, id, token_hash, email, email_key, role, invited_by, created_at, expires_at)
    select ${workspaceId}, ${id}, ${sha256(token)}, ${email}, ${fold(email)}, ${role}, ${by.id}, ${timeOfId(id)},
      now() + interval '7 days'
    where not exists (select from members where workspace_id = ${workspaceId} and email_key = ${fold(email)})
    on conflict (workspace_id, email_key) do update set
      token_hash = excluded.token_hash, role = excluded.role, invited_by = excluded.invited_by,
      expires_at = excluded.expires_at
    returning id, email, null as name, role, created_at, 'invited' as state`
  if (!invited) throw badRequest('email: already a member')
  return { ...invited, invitation_token: token }
}

/** Become a member; the invitation is used up in the same transaction. */
export async function acceptInvitation(
  db: Db,
  token: string,
  { name, password }: { name: string; password: string },
): Promise<{ workspaceId: string; member: Member }> {
  requirePassword(password)
  // Hashing is hard work: not for whoever has no invitation.
  const [open] = await db`select 1 from invitations where token_hash = ${sha256(token)} and expires_at > now()`
  if (!open) throw notFound('invitation')
  const passwordHash = await hashPassword(password)
  return db.begin(async (sql) => {
    const [invitation] = await sql<{ workspace_id: string; email: string; role: MemberRole }[]>`
      delete from invitations where token_hash = ${sha256(token)} and expires_at > now()
      returning workspace_id, email, role`
    if (!invitation) throw notFound('invitation')
    const { workspace_id: workspaceId, email, role } = invitation
    return {
      workspaceId,
      member: await insertMember(sql, workspaceId, { email, name: name.trim() || null, role, passwordHash }),
    }
  })
}

/** Give everybody with this e-mail a new password and end their sessions. */
export async function resetPassword(db: Db, given: string): Promise<{ email: string; password: string }> {
  const email = requireEmail(given)
  const password = randomPassword()
  const passwordHash = await hashPassword(password)
  await db.begin(async (sql) => {
    const changed = await sql`
      update members set password_hash = ${passwordHash} where email_key = ${fold(email)} returning id`
    if (changed.length === 0) throw notFound('member')
    await sql`
      delete from sessions s using members m
      where m.email_key = ${fold(email)} and s.workspace_id = m.workspace_id and s.member_id = m.id`
  })
  return { email, password }
}

export function requirePassword(password: string): void {
  const length = lengthOf(password)
  if (length < 8 || length > 200) throw badRequest('password: must have 8 to 200 characters')
}

function requireEmail(text: string): string {
  const email = text.trim()
  if (email.length > 320 || !/^[^\s@]+@[^\s@]+$/.test(email)) throw badRequest('email: not an e-mail address')
  return email
}
