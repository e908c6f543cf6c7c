/**
 * Members: the people of a workspace, and invitations to become one.
 *
 * A role decides what a member may change: owner and admin run the workspace,
 * agents answer customers. Only an owner makes another owner, or touches one,
 * and the last owner stays one. An invitation is a link that works once, for a
 * week.
 *
 * A member who is removed is out on their next request. What they looked after
 * is nobody's then; keys they made stay, as do the traces of what they did.
 */
import { hashPassword, randomPassword, randomToken, sha256, verifyPassword } from '../lib/crypto.ts'
import { type Db, isDuplicate, type Sql, withRetries } from '../lib/db.ts'
import { badRequest, forbidden, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { fold, lengthOf } from '../lib/text.ts'
import { endOtherSessions, type Session } from './sessions.ts'
import { checkGuess, signedInMember } from './throttle.ts'

export const roles = ['owner', 'admin', 'agent'] as const
export type MemberRole = (typeof roles)[number]

/** Who runs the workspace. */
export const managers = ['owner', 'admin'] as const

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
    where invitations.role <> 'owner' or ${by.role} = 'owner'
    returning id, email, null as name, role, created_at, 'invited' as state`
  if (!invited) throw badRequest('email: already a member, or invited to be an owner')
  return { ...invited, invitation_token: token }
}

export type Invitation = { workspace_name: string; email: string; role: MemberRole }

/** What an invitation is to, for whoever has its link. */
export async function requireInvitation(sql: Sql, token: string): Promise<Invitation> {
  const [invitation] = await sql<Invitation[]>`
    select w.name as workspace_name, i.email, i.role
    from invitations i join workspaces w on w.id = i.workspace_id
    where i.token_hash = ${sha256(token)} and i.expires_at > now()`
  if (!invitation) throw notFound('invitation')
  return invitation
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

type Changing = { id: string; by: { role: MemberRole } }

/** Give a member another role; it holds from their next request on. */
export async function changeRole(
  db: Db,
  workspaceId: string,
  { id, role, by }: Changing & { role: MemberRole },
): Promise<ListedMember> {
  return db.begin(async (sql) => {
    const member = await lockMember(sql, workspaceId, id)
    if (!member) throw notFound('member')
    requireRank(by, member.role, role)
    if (role !== 'owner') requireAnotherOwner(member)
    const [changed] = await sql<ListedMember[]>`
      update members set role = ${role}
      where workspace_id = ${workspaceId} and id = ${id}
      returning id, email, name, role, created_at, 'active' as state`
    if (!changed) throw new Error('a member just locked is not there')
    return changed
  })
}

export type Removed = { id: string; deleted: true; email: string; state: ListedMember['state'] }

/** Remove a member, with their sessions, or take an invitation back. */
export async function removeMember(db: Db, workspaceId: string, { id, by }: Changing): Promise<Removed> {
  // Conversations that become nobody's may be in the middle of something else.
  return withRetries(() =>
    db.begin(async (sql) => {
      const member = await lockMember(sql, workspaceId, id)
      if (member) {
        requireRank(by, member.role)
        requireAnotherOwner(member)
        await sql`delete from members where workspace_id = ${workspaceId} and id = ${id}`
        return { id: member.id, deleted: true, email: member.email, state: 'active' } as const
      }
      const [invitation] = isUuid(id)
        ? await sql<{ id: string; email: string; role: MemberRole }[]>`
            delete from invitations where workspace_id = ${workspaceId} and id = ${id} returning id, email, role`
        : []
      if (!invitation) throw notFound('member')
      requireRank(by, invitation.role)
      return { id: invitation.id, deleted: true, email: invitation.email, state: 'invited' } as const
    }),
  )
}

type Locked = Member & { owner_count: number }

/** A member, for a change in the caller's transaction. One at a time in a workspace: or two owners demote each other at once. */
async function lockMember(sql: Sql, workspaceId: string, id: string): Promise<Locked | undefined> {
  if (!isUuid(id)) return undefined
  await sql`select 1 from workspaces where id = ${workspaceId} for no key update`
  const [member] = await sql<Locked[]>`
    select id, email, name, role, created_at,
      (select count(*)::int from members where workspace_id = ${workspaceId} and role = 'owner') as owner_count
    from members
    where workspace_id = ${workspaceId} and id = ${id}`
  return member
}

/** Only an owner touches an owner, or makes one. */
function requireRank(by: { role: MemberRole }, ...touched: MemberRole[]): void {
  if (by.role !== 'owner' && touched.includes('owner')) throw forbidden('only an owner may do this to an owner')
}

function requireAnotherOwner({ role, owner_count }: Locked): void {
  if (role === 'owner' && owner_count === 1) throw forbidden('the last owner stays: make somebody else an owner first')
}

export type ProfileChanges = {
  name?: string | undefined
  current_password?: string | undefined
  new_password?: string | undefined
}

/** Changes a member's own name or password. A new password needs the current one, and ends the member's other sessions. */
export async function updateProfile(
  db: Db,
  session: Session,
  { name, current_password: current, new_password: wanted }: ProfileChanges,
): Promise<void> {
  const { workspaceId, member } = session
  const changes = {
    ...(name === undefined ? {} : { name: readPersonName(name) }),
    ...(wanted === undefined
      ? {}
      : { password_hash: await changePassword(db, workspaceId, { id: member.id, current, wanted }) }),
  }
  if (Object.keys(changes).length === 0) return
  await db.begin(async (sql) => {
    await sql`update members set ${sql(changes)} where workspace_id = ${workspaceId} and id = ${member.id}`
    if (wanted !== undefined) await endOtherSessions(sql, session)
  })
}

type ChangingPassword = { id: string; current: string | undefined; wanted: string }

/** Answers the hash to keep. */
async function changePassword(
  sql: Sql,
  workspaceId: string,
  { id, current, wanted }: ChangingPassword,
): Promise<string> {
  requirePassword(wanted, 'new_password')
  if (current === undefined) throw badRequest('current_password: required')
  const isRight = await checkGuess(sql, signedInMember(id), async () => {
    const [member] = await sql<{ password_hash: string }[]>`
      select password_hash from members where workspace_id = ${workspaceId} and id = ${id}`
    return (await verifyPassword(current, member?.password_hash)) || undefined
  })
  if (!isRight) throw badRequest('current_password: wrong')
  return hashPassword(wanted)
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

export function requirePassword(password: string, field = 'password'): void {
  const length = lengthOf(password)
  if (length < 8 || length > 200) throw badRequest(`${field}: must have 8 to 200 characters`)
}

export function readPersonName(given: string): string {
  const name = given.trim()
  if (name === '' || lengthOf(name) > 200) throw badRequest('name: must have 1 to 200 characters')
  return name
}

function requireEmail(text: string): string {
  const email = text.trim()
  if (email.length > 320 || !/^[^\s@]+@[^\s@]+$/.test(email)) throw badRequest('email: not an e-mail address')
  return email
}
