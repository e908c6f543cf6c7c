/**
 * Sign-in with OpenID Connect: which member a person is, and with which role.
 *
 * The account at the provider is linked to a member by issuer and subject. Only the first sign-in compares the e-mail, and only one that
 * the provider states as verified: with members, then with invitations. Addresses are equal apart from ASCII case; those that are only
 * equal after a fold (ß and ss) belong to different people. A person who is neither becomes a new member of the workspace of the settings
 * if the e-mail has one of the domains of the settings: at many providers every person can have an account.
 *
 * With several workspaces and none in the settings, a person enters those with a linked account or a proved address, and chooses among
 * several. An address that is not proved does not count there: the owner of any workspace could have invited it and used the link. In
 * the workspace of the settings the provider proves it, and the password and sessions from before end.
 *
 * A member has one account per issuer, so an e-mail that the provider gives to another person does not open the member. A removed member
 * stays known by the account and by the e-mail, and signs in again only after a new invitation.
 *
 * The provider is responsible for a second factor: the service asks for none.
 */
import { domainOfEmail } from '../../lib/email-domain.ts'
import { notFound } from '../../lib/errors.ts'
import type { OidcClient, OidcPerson } from '../../lib/oidc.ts'
import { type Db, type Sql, withRetries } from '../../lib/postgres/db.ts'
import { fold, lengthOf } from '../../lib/text.ts'
import { writeEntry } from '../audit.ts'
import {
  applyRole,
  insertMember,
  isEmail,
  isValidInvitation,
  lockMembers,
  type Member,
  type MemberRole,
  roles,
  setPassword,
  type UnassignMember,
  wasRemoved,
} from '../members.ts'
import { createSession, type Origin } from './sessions.ts'

/** The provider, and what the operator decided about its people. */
export type Oidc = {
  client: OidcClient
  name: string
  /** The role of each value of the claim. Undefined: the provider does not decide on roles. */
  roles: ReadonlyMap<string, MemberRole> | undefined
  /** People with an e-mail of these domains get an account without an invitation. */
  domains: readonly string[]
  /** Undefined: the only workspace. */
  workspaceId: string | undefined
}

/** What the operator decided about the people of the provider. */
type Policy = Omit<Oidc, 'client' | 'name'>

/** Why a person whom the provider knows cannot sign in. */
export type OidcRefusal = 'no_role' | 'unverified' | 'no_account' | 'removed' | 'other_account'

/** A person with the role that the provider states. Undefined: the provider does not decide on roles. */
export type OidcIdentity = Omit<OidcPerson, 'values'> & { role: MemberRole | undefined }

/** A workspace that a person may enter. `isHome`: people can become members of it. */
export type OidcWorkspace = { id: string; name: string; isHome: boolean }

type SignedIn = { ok: true; token: string }
type Refused = { ok: false; refusal: OidcRefusal }
type SignIn = { identity: OidcIdentity; workspace: OidcWorkspace; origin: Origin; unassign: UnassignMember }

/** Has the password of no one: sign-in and password reset accept only hashes of argon2id. */
const noPassword = 'none'
/** Workspaces of one person. */
const maxMembers = 20
const maxName = 200

/** The person as the settings see it, and the workspaces to enter: at least one. */
export async function identify(
  sql: Sql,
  policy: Policy,
  { values, ...person }: OidcPerson,
): Promise<{ ok: true; identity: OidcIdentity; workspaces: OidcWorkspace[] } | Refused> {
  const role = policy.roles && findRole(policy.roles, values)
  if (policy.roles && !role) return refuse('no_role')
  const identity = { ...person, role }
  const workspaces = await listWorkspacesOf(sql, policy, identity)
  if (workspaces.length === 0) return refuse(person.email === undefined ? 'unverified' : 'no_account')
  return { ok: true, identity, workspaces }
}

/** The workspace of the settings, or else the only one, or else those of which the person is a member, newest first. */
export async function listWorkspacesOf(
  sql: Sql,
  { workspaceId: chosen }: Pick<Policy, 'workspaceId'>,
  { issuer, subject, email }: OidcIdentity,
): Promise<OidcWorkspace[]> {
  const [home, another] = await sql<{ id: string; name: string }[]>`
    select id, name from workspaces
    where preview_of is null and (${chosen ?? null}::uuid is null or id = ${chosen ?? null})
    order by id limit 2`
  if (home && !another) return [{ ...home, isHome: true }]
  if (chosen) return []
  const linked = await sql<{ workspace_id: string }[]>`
    select workspace_id from oidc_accounts
    where issuer = ${issuer} and subject = ${subject} and member_id is not null
    limit ${maxMembers}`
  const members =
    email === undefined
      ? []
      : await sql<{ workspace_id: string; email: string }[]>`
          select workspace_id, email from members
          where email_key = ${fold(email)} and email_proved_at is not null
          limit ${maxMembers}`
  const own = members.filter((member) => email !== undefined && isSameEmail(member.email, email))
  const ids = [...linked, ...own].map(({ workspace_id }) => workspace_id)
  const workspaces = await sql<{ id: string; name: string }[]>`
    select id, name from workspaces where id = any(${ids}::uuid[]) order by id desc`
  return workspaces.map((workspace) => ({ ...workspace, isHome: false }))
}

/** Finds or creates the member of the workspace and starts a session. Returns the token for the cookie. */
export async function signInWithOidc(
  db: Db,
  { domains }: Pick<Policy, 'domains'>,
  { identity, workspace: { id: workspaceId, isHome }, origin, unassign }: SignIn,
): Promise<SignedIn | Refused> {
  const { role } = identity
  // A change of the role can deadlock with statements that change the member's conversations.
  return withRetries(() =>
    db.begin(async (sql): Promise<SignedIn | Refused> => {
      await lockMembers(sql, workspaceId)
      const found = await resolveMember(sql, workspaceId, { identity, mayJoin: isHome, domains })
      if (!found.ok) return found
      const member = await applyRole(sql, workspaceId, { id: found.memberId, role, unassign })
      if (!member) return refuse('no_account')
      const note = (action: 'member.joined' | 'member.role_changed' | 'session.created', summary: string) =>
        writeEntry(sql, workspaceId, { member, action, summary: `${summary}, with single sign-on` })
      if (found.isNew) await note('member.joined', `as ${member.role}`)
      else if (member.isChanged) await note('member.role_changed', `${member.email}, ${member.role}`)
      const token = await createSession(sql, workspaceId, member.id, origin, { isTrusted: true })
      await note('session.created', `from ${origin.address}`)
      return { ok: true, token }
    }),
  )
}

const refuse = (refusal: OidcRefusal): Refused => ({ ok: false, refusal })

/** The highest role of the values. */
const findRole = (roleOfValue: ReadonlyMap<string, MemberRole>, values: readonly string[]): MemberRole | undefined => {
  const stated = new Set(values.map((value) => roleOfValue.get(value)))
  return roles.find((role) => stated.has(role))
}

type Newcomer = { identity: OidcIdentity; mayJoin: boolean; domains: readonly string[] }
type Found = { ok: true; memberId: string; isNew: boolean }

/** The member of the account, or of its verified e-mail, or a new one. */
async function resolveMember(
  sql: Sql,
  workspaceId: string,
  { identity, mayJoin, domains }: Newcomer,
): Promise<Found | Refused> {
  const { issuer, subject, email, role } = identity
  const [account] = await sql<{ member_id: string | null }[]>`
    select member_id from oidc_accounts
    where workspace_id = ${workspaceId} and issuer = ${issuer} and subject = ${subject}`
  if (account?.member_id) return { ok: true, memberId: account.member_id, isNew: false }
  if (email === undefined || !isEmail(email)) return refuse(account ? 'removed' : 'unverified')
  const [member] = await sql<{ id: string; email: string; is_proved: boolean }[]>`
    select id, email, email_proved_at is not null as is_proved from members
    where workspace_id = ${workspaceId} and email_key = ${fold(email)}`
  if (member) {
    if (!isSameEmail(member.email, email) || !(member.is_proved || mayJoin)) return refuse('no_account')
    const isLinked = await linkAccount(sql, workspaceId, { issuer, subject, memberId: member.id })
    if (!isLinked) return refuse('other_account')
    if (!member.is_proved) await proveEmail(sql, workspaceId, member.id)
    return { ok: true, memberId: member.id, isNew: false }
  }
  if (!mayJoin) return refuse(account ? 'removed' : 'no_account')
  const invitedRole = await takeInvitation(sql, workspaceId, email)
  if (!invitedRole) {
    if (account || (await wasRemoved(sql, workspaceId, email))) return refuse('removed')
    if (!domains.includes(domainOfEmail(email) ?? '')) return refuse('no_account')
  }
  const joined = await createMember(sql, workspaceId, {
    name: identity.name,
    email,
    role: role ?? invitedRole ?? 'agent',
  })
  await linkAccount(sql, workspaceId, { issuer, subject, memberId: joined.id })
  return { ok: true, memberId: joined.id, isNew: true }
}

/** Returns false if the member has another account at the issuer. */
async function linkAccount(
  sql: Sql,
  workspaceId: string,
  { issuer, subject, memberId }: { issuer: string; subject: string; memberId: string },
): Promise<boolean> {
  const [other] = await sql`
    select 1 from oidc_accounts
    where workspace_id = ${workspaceId} and member_id = ${memberId} and issuer = ${issuer}`
  if (other) return false
  await sql`
    insert into oidc_accounts (workspace_id, issuer, subject, member_id, created_at)
    values (${workspaceId}, ${issuer}, ${subject}, ${memberId}, now())
    on conflict (workspace_id, issuer, subject) do update set
      member_id = excluded.member_id, created_at = excluded.created_at`
  return true
}

/** The inviter may have joined in the place of the person, so the password, the second factor and the sessions from before end. */
async function proveEmail(sql: Sql, workspaceId: string, memberId: string): Promise<void> {
  await setPassword(sql, workspaceId, { id: memberId, passwordHash: noPassword })
  await sql`update members set email_proved_at = now() where workspace_id = ${workspaceId} and id = ${memberId}`
  await sql`delete from member_second_factors where workspace_id = ${workspaceId} and member_id = ${memberId}`
  await sql`delete from sessions where workspace_id = ${workspaceId} and member_id = ${memberId}`
}

/** Uses up the pending invitation of the e-mail. Returns its role. */
async function takeInvitation(sql: Sql, workspaceId: string, email: string): Promise<MemberRole | undefined> {
  const [invitation] = await sql<{ id: string; email: string; role: MemberRole }[]>`
    select i.id, i.email, i.role from invitations i
    where i.workspace_id = ${workspaceId} and i.email_key = ${fold(email)} and ${isValidInvitation(sql)}`
  if (!invitation || !isSameEmail(invitation.email, email)) return undefined
  const taken = await sql`
    delete from invitations where workspace_id = ${workspaceId} and id = ${invitation.id} returning id`
  return taken.length > 0 ? invitation.role : undefined
}

type NewMember = { name: string | undefined; email: string; role: MemberRole }

function createMember(sql: Sql, workspaceId: string, { name: stated, email, role }: NewMember): Promise<Member> {
  const name = stated?.trim() ?? ''
  const usableName = name !== '' && lengthOf(name) <= maxName ? name : null
  return insertMember(sql, workspaceId, {
    email,
    name: usableName,
    role,
    passwordHash: noPassword,
    isEmailProved: true,
  })
}

const isSameEmail = (one: string, other: string): boolean => toAsciiLower(one) === toAsciiLower(other)
const toAsciiLower = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** The operator unlinks the accounts of all members with this e-mail, so that other accounts can be linked. Returns how many. */
export async function unlinkAccountsOf(db: Db, emailKey: string): Promise<number> {
  const members = await db<{ workspace_id: string; id: string }[]>`
    select workspace_id, id from members where email_key = ${emailKey}`
  if (members.length === 0) throw notFound('member')
  return db.begin(async (sql) => {
    let count = 0
    for (const { workspace_id, id } of members) {
      const unlinked = await sql`delete from oidc_accounts where workspace_id = ${workspace_id} and member_id = ${id}`
      count += unlinked.count
    }
    return count
  })
}
