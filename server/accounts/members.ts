/**
 * Members: the people of a workspace, and invitations to become one.
 *
 * The role decides what a member may change: owners and admins manage the workspace, agents answer customers, viewers only read. Only an owner
 * creates, changes or removes an owner, and the last owner cannot be removed or demoted. An invitation is a link that works
 * once, within a week, and only while its inviter may invite to its role.
 *
 * The inviter sees a link too, and could use it with the address of any person. So an invitation has two tokens: only that of the e-mail
 * proves the address. Addresses that are not proved open the workspace with their password and count nowhere else.
 *
 * A removed member is refused from the next request on. Conversations assigned to the member become unassigned. API keys
 * the member created stay, and so do the member's entries in the audit log. The hash of the address stays too: single sign-on does not
 * admit the person again without an invitation.
 */
import { hashPassword, randomPassword, randomToken, sha256 } from '../lib/crypto.ts'
import { badRequest, forbidden, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Db, type Fragment, isDuplicate, requireRow, type Sql, withRetries } from '../lib/postgres/db.ts'
import { DateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import { fold, lengthOf } from '../lib/text.ts'
import { requirePassword } from './sign-in/passwords.ts'
import { hashInTurn } from './sign-in/throttle.ts'

export const roles = ['owner', 'admin', 'agent', 'viewer'] as const
export type MemberRole = (typeof roles)[number]

/** The roles that manage the workspace. */
export const managers = ['owner', 'admin'] as const
export const isManager = ({ role }: { role: MemberRole }): boolean => role === 'owner' || role === 'admin'
/** The roles that change anything but their own data. Conversations are assigned only to them. */
export const writers = ['owner', 'admin', 'agent'] as const

/** Which conversations the agents, or the viewers, of a workspace see (`teams/visibility.ts`). */
export const visibilities = ['all', 'teams', 'own'] as const
export type Sees = (typeof visibilities)[number]

/** What the member `m` of the workspace `w` sees. */
export const seesColumn = (sql: Sql): Fragment =>
  sql`case m.role when 'agent' then w.agents_see when 'viewer' then w.viewers_see else 'all' end`

/** The roles to which a member of a role may invite. */
const invitableRoles: Record<MemberRole, readonly MemberRole[]> = {
  owner: roles,
  admin: ['admin', 'agent', 'viewer'],
  agent: [],
  viewer: [],
}

/** A member, or a person with a pending invitation. */
export const MemberSchema = Type.Object({
  id: Uuid,
  email: Type.String(),
  name: NullableText(),
  role: OneOf(roles),
  state: OneOf(['active', 'invited']),
  has_second_factor: Type.Boolean(),
  created_at: DateTime,
})
export type ListedMember = Static<typeof MemberSchema>
export type Member = Omit<ListedMember, 'state' | 'has_second_factor'>

export async function listMembers(sql: Sql, workspaceId: string): Promise<ListedMember[]> {
  return sql<ListedMember[]>`
    select m.id, m.email, m.name, m.role, m.created_at, 'active' as state, f.confirmed_at is not null as has_second_factor
    from members m
    left join member_second_factors f on f.workspace_id = m.workspace_id and f.member_id = m.id
    where m.workspace_id = ${workspaceId}
    union all
    select id, email, null, role, created_at, 'invited', false from invitations
    where workspace_id = ${workspaceId} and expires_at > now()
    order by id`
}

/** `isEmailProved`: the person, the operator or the provider has proved that the address is the member's. */
type NewMember = {
  email: string
  name: string | null
  role: MemberRole
  passwordHash: string
  isEmailProved?: boolean | undefined
}

export async function insertMember(sql: Sql, workspaceId: string, input: NewMember): Promise<Member> {
  const email = requireEmail(input.email)
  const id = newId()
  try {
    const [member] = await sql<Member[]>`
      insert into members (workspace_id, id, email, email_key, name, role, password_hash, created_at, email_proved_at)
      values (${workspaceId}, ${id}, ${email}, ${fold(email)}, ${input.name}, ${input.role},
        ${input.passwordHash}, ${timeOfId(id)}, ${input.isEmailProved ? timeOfId(id) : null})
      returning id, email, name, role, created_at`
    if (member) return member
  } catch (error) {
    if (!isDuplicate(error, 'members_email_unique')) throw error
  }
  throw badRequest('email: already a member')
}

type InvitationInput = { email: string; role: MemberRole; by: { id: string; role: MemberRole } }

/** `mailToken` is for the e-mail only. */
type NewInvitation = { invitation: ListedMember & { invitation_token: string }; mailToken: string }

/** Of a workspace: each is listed, and can be accepted without a session. */
const maxInvitations = 1_000

/** Invites by e-mail. A second invitation replaces the first. Only this call returns the tokens; their hashes are stored. */
export async function inviteMember(
  sql: Sql,
  workspaceId: string,
  { email: input, role, by }: InvitationInput,
): Promise<NewInvitation> {
  const email = requireEmail(input)
  if (!invitableRoles[by.role].includes(role)) throw forbidden('only an owner may invite an owner')
  const id = newId()
  const token = randomToken()
  const mailToken = randomToken()
  const [invitation] = await sql<ListedMember[]>`
    insert into invitations (workspace_id, id, token_hash, mail_token_hash, email, email_key, role, invited_by, created_at,
      expires_at)
    select ${workspaceId}, ${id}, ${sha256(token)}, ${sha256(mailToken)}, ${email}, ${fold(email)}, ${role}, ${by.id},
      ${timeOfId(id)}, now() + interval '7 days'
    where not exists (select from members where workspace_id = ${workspaceId} and email_key = ${fold(email)})
      and (
        select count(*) from invitations
        where workspace_id = ${workspaceId} and expires_at > now() and email_key <> ${fold(email)}
      ) < ${maxInvitations}
    on conflict (workspace_id, email_key) do update set
      token_hash = excluded.token_hash, mail_token_hash = excluded.mail_token_hash, role = excluded.role,
      invited_by = excluded.invited_by, expires_at = excluded.expires_at
    where invitations.role <> 'owner' or ${by.role} = 'owner'
    returning id, email, null as name, role, created_at, 'invited' as state, false as has_second_factor`
  if (!invitation) throw badRequest(`email: ${await describeRefusal(sql, workspaceId, email)}`)
  return { invitation: { ...invitation, invitation_token: token }, mailToken }
}

/** Why no invitation was written: the email address is known, or there are too many invitations. */
async function describeRefusal(sql: Sql, workspaceId: string, email: string): Promise<string> {
  const [known] = await sql<{ name: string; is_member: boolean }[]>`
    select coalesce(name, email) as name, true as is_member from members
    where workspace_id = ${workspaceId} and email_key = ${fold(email)}
    union all
    select email, false from invitations
    where workspace_id = ${workspaceId} and email_key = ${fold(email)} and role = 'owner'
    limit 1`
  if (known?.is_member) return `${known.name} is already a member`
  if (known) return 'invited to be an owner, and only an owner can change that'
  return `the workspace has ${maxInvitations.toLocaleString('en')} open invitations, revoke one first`
}

/** Whether invitation `i` has not expired, and its inviter may still invite to its role. */
export const isValidInvitation = (sql: Sql): Fragment => sql`(
  i.expires_at > now() and exists (
    select from members inviter
    where inviter.workspace_id = i.workspace_id and inviter.id = i.invited_by
      and (inviter.role = 'owner' or inviter.role = 'admin' and i.role <> 'owner')
  ))`

export type Invitation = { workspace_id: string; workspace_name: string; email: string; role: MemberRole }

/** The invitation of a link, of the inviter's or of the e-mail's. */
export async function requireInvitation(sql: Sql, token: string): Promise<Invitation> {
  const [invitation] = await sql<Invitation[]>`
    select i.workspace_id, w.name as workspace_name, i.email, i.role
    from invitations i join workspaces w on w.id = i.workspace_id
    where (i.token_hash = ${sha256(token)} or i.mail_token_hash = ${sha256(token)}) and ${isValidInvitation(sql)}`
  if (!invitation) throw notFound('invitation')
  return invitation
}

/** Creates the member and deletes the invitation in one transaction. */
export async function acceptInvitation(
  db: Db,
  token: string,
  { name, password }: { name: string; password: string },
): Promise<{ workspaceId: string; member: Member }> {
  // Hashing is expensive, so the invitation is checked first.
  const invited = await requireInvitation(db, token)
  requirePassword(password, { email: invited.email, name, workspaceName: invited.workspace_name })
  const passwordHash = await hashInTurn(invited.workspace_id, password)
  return db.begin(async (sql) => {
    type Accepted = { workspace_id: string; email: string; role: MemberRole; is_mailed: boolean }
    const [invitation] = await sql<Accepted[]>`
      delete from invitations i
      where (i.token_hash = ${sha256(token)} or i.mail_token_hash = ${sha256(token)}) and ${isValidInvitation(sql)}
      returning workspace_id, email, role, coalesce(mail_token_hash = ${sha256(token)}, false) as is_mailed`
    if (!invitation) throw notFound('invitation')
    const { workspace_id: workspaceId, email, role, is_mailed: isEmailProved } = invitation
    const member = { email, name: name.trim() || null, role, passwordHash, isEmailProved }
    return { workspaceId, member: await insertMember(sql, workspaceId, member) }
  })
}

type MemberRemoval = { id: string; by: { role: MemberRole }; deleteReplies: DeleteReplies }

/** Deletes the personal canned replies of a member with their files, in the transaction of the caller. */
export type DeleteReplies = (sql: Sql, workspaceId: string, memberId: string) => Promise<void>

/** Releases what is assigned to a member, in the transaction of the caller. `byId`: the member who caused it. */
export type UnassignMember = (sql: Sql, workspaceId: string, member: { id: string; byId: string }) => Promise<void>

type RoleChange = { id: string; role: MemberRole; by: { id: string; role: MemberRole }; unassign: UnassignMember }

/**
 * Changes a member's role, with effect from the member's next request. Nothing stays assigned to a viewer, and invitations that the
 * member may no longer issue are deleted.
 */
export async function changeRole(
  db: Db,
  workspaceId: string,
  { id, role, by, unassign }: RoleChange,
): Promise<ListedMember> {
  // Unassigning the member's conversations can deadlock with statements that change them.
  return withRetries(() =>
    db.begin(async (sql) => {
      const member = await lockMember(sql, workspaceId, id)
      if (!member) throw notFound('member')
      requireRank(by, member.role, role)
      if (role !== 'owner') requireAnotherOwner(member)
      const [changed] = await sql<ListedMember[]>`
      update members set role = ${role}
      where workspace_id = ${workspaceId} and id = ${id}
      returning id, email, name, role, created_at, 'active' as state, exists (
        select from member_second_factors f
        where f.workspace_id = ${workspaceId} and f.member_id = ${id} and f.confirmed_at is not null
      ) as has_second_factor`
      await withdrawInvitations(sql, workspaceId, { by: id, allowed: invitableRoles[role] })
      if (role === 'viewer' && member.role !== 'viewer') await unassign(sql, workspaceId, { id, byId: by.id })
      return requireRow(changed, 'the locked member')
    }),
  )
}

type StatedRole = { id: string; role: MemberRole | undefined; unassign: UnassignMember }

/**
 * Gives a member the role that another system states, in the transaction of the caller. The last owner stays one. Locks the
 * workspace. Returns undefined if the member was removed.
 */
export async function applyRole(
  sql: Sql,
  workspaceId: string,
  { id, role, unassign }: StatedRole,
): Promise<(Member & { isChanged: boolean }) | undefined> {
  const member = await lockMember(sql, workspaceId, id)
  if (!member) return undefined
  const isLastOwner = member.role === 'owner' && member.owner_count === 1
  if (role === undefined || role === member.role || isLastOwner) return { ...member, isChanged: false }
  await sql`update members set role = ${role} where workspace_id = ${workspaceId} and id = ${id}`
  await withdrawInvitations(sql, workspaceId, { by: id, allowed: invitableRoles[role] })
  if (role === 'viewer') await unassign(sql, workspaceId, { id, byId: id })
  return { ...member, role, isChanged: true }
}

export type RemovedMember = { id: string; deleted: true; email: string; state: ListedMember['state'] }

/** Removes a member with the member's sessions and invitations, or withdraws an invitation. */
export async function removeMember(
  db: Db,
  workspaceId: string,
  { id, by, deleteReplies }: MemberRemoval,
): Promise<RemovedMember> {
  // Unassigning the member's conversations can deadlock with statements that change them.
  return withRetries(() =>
    db.begin(async (sql) => {
      const member = await lockMember(sql, workspaceId, id)
      if (member) {
        requireRank(by, member.role)
        requireAnotherOwner(member)
        await deleteReplies(sql, workspaceId, member.id)
        await withdrawInvitations(sql, workspaceId, { by: member.id, allowed: [] })
        await sql`delete from members where workspace_id = ${workspaceId} and id = ${id}`
        await sql`
          insert into removed_members (workspace_id, email_hash, removed_at)
          values (${workspaceId}, ${sha256(fold(member.email))}, now())
          on conflict (workspace_id, email_hash) do update set removed_at = excluded.removed_at`
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

/** Deletes the pending invitations of a member, except those to the allowed roles. */
async function withdrawInvitations(
  sql: Sql,
  workspaceId: string,
  { by, allowed }: { by: string; allowed: readonly MemberRole[] },
): Promise<void> {
  await sql`
    delete from invitations
    where workspace_id = ${workspaceId} and invited_by = ${by} and role <> all(${[...allowed]}::text[])`
}

/** Whether a member with this e-mail was removed from the workspace. */
export async function wasRemoved(sql: Sql, workspaceId: string, email: string): Promise<boolean> {
  const [removed] = await sql`
    select 1 from removed_members where workspace_id = ${workspaceId} and email_hash = ${sha256(fold(email))}`
  return removed !== undefined
}

type LockedMember = Member & { owner_count: number }

/** Locks the workspace and reads the member. Without the lock two owners could demote each other at the same time. */
async function lockMember(sql: Sql, workspaceId: string, id: string): Promise<LockedMember | undefined> {
  if (!isUuid(id)) return undefined
  await lockMembers(sql, workspaceId)
  const [member] = await sql<LockedMember[]>`
    select id, email, name, role, created_at,
      (select count(*)::int from members where workspace_id = ${workspaceId} and role = 'owner') as owner_count
    from members
    where workspace_id = ${workspaceId} and id = ${id}`
  return member
}

/** Members of the workspace are added, changed and removed by one transaction at a time. */
export async function lockMembers(sql: Sql, workspaceId: string): Promise<void> {
  await sql`select 1 from workspaces where id = ${workspaceId} for no key update`
}

/** Only an owner creates, changes or removes an owner. */
function requireRank(by: { role: MemberRole }, ...affected: MemberRole[]): void {
  if (by.role !== 'owner' && affected.includes('owner')) throw forbidden('only an owner may do this to an owner')
}

function requireAnotherOwner({ role, owner_count }: LockedMember): void {
  if (role === 'owner' && owner_count === 1)
    throw forbidden('this is the last owner: make another member an owner first')
}

/**
 * The operator sets a new password for the members with this e-mail and ends their sessions: for the members with a proved address,
 * or, if there is none, for all. The operator gives the password to the person, which proves the address.
 */
export async function resetPassword(db: Db, input: string): Promise<{ email: string; password: string }> {
  const email = requireEmail(input)
  const password = randomPassword()
  const passwordHash = await hashPassword(password)
  await db.begin(async (sql) => {
    const members = await sql<{ workspace_id: string; id: string }[]>`
      select workspace_id, id from members where email_key = ${fold(email)} and (email_proved_at is not null) =
        exists (select from members where email_key = ${fold(email)} and email_proved_at is not null)`
    if (members.length === 0) throw notFound('member')
    for (const { workspace_id, id } of members) {
      await setPassword(sql, workspace_id, { id, passwordHash })
      await sql`
        update members set email_proved_at = now()
        where workspace_id = ${workspace_id} and id = ${id} and email_proved_at is null`
      await sql`delete from sessions where workspace_id = ${workspace_id} and member_id = ${id}`
    }
  })
  return { email, password }
}

/** Sets the password of a member, in the transaction of the caller. A link that could still reset it ends, for all its members. */
export async function setPassword(
  sql: Sql,
  workspaceId: string,
  { id, passwordHash }: { id: string; passwordHash: string },
): Promise<void> {
  // In the order in which a reset locks them.
  await sql`
    delete from password_resets r using password_resets own
    where own.workspace_id = ${workspaceId} and own.member_id = ${id} and r.token_hash = own.token_hash`
  await sql`update members set password_hash = ${passwordHash} where workspace_id = ${workspaceId} and id = ${id}`
}

export function readPersonName(input: string): string {
  const name = input.trim()
  if (name === '' || lengthOf(name) > 200) throw badRequest('name: must have 1 to 200 characters')
  return name
}

function requireEmail(input: string): string {
  const email = input.trim()
  if (!isEmail(email)) throw badRequest('email: not an email address')
  return email
}

export const isEmail = (text: string): boolean => text.length <= 320 && /^[^\s@]+@[^\s@]+$/.test(text)

/** The name of member `alias` as other members see it: the e-mail address while the member has no name. */
export const memberName = (sql: Sql, alias: Fragment): Fragment =>
  sql`coalesce(nullif(btrim(${alias}.name), ''), ${alias}.email)`
