/**
 * Sign-in with OpenID Connect: which member a person is, and with which role.
 *
 * The account at the provider is linked to a member by issuer and subject. Only the first sign-in compares the e-mail, and only one that
 * the provider states as verified: with members, then with invitations. Addresses are equal apart from ASCII case; those that are only
 * equal after a fold (ß and ss) belong to different people. A person who is neither becomes a new member of the workspace of the settings.
 *
 * A member has one account per issuer, so an e-mail that the provider gives to another person does not open the member. A removed member
 * stays known by the account and signs in again only after a new invitation.
 *
 * The provider is responsible for a second factor: the service asks for none.
 */
import { type Db, type Sql, withRetries } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import type { OidcClient, OidcPerson } from '../lib/oidc.ts'
import { fold, lengthOf } from '../lib/text.ts'
import { writeEntry } from './audit.ts'
import {
  applyRole,
  insertMember,
  isEmail,
  lockMembers,
  type Member,
  type MemberRole,
  roles,
  type UnassignMember,
} from './members.ts'
import { createSession, type Origin } from './sessions.ts'

/** The provider, and what the operator decided about its people. */
export type Oidc = {
  client: OidcClient
  name: string
  /** The role of each value of the claim. Undefined: the provider does not decide on roles. */
  roles: ReadonlyMap<string, MemberRole> | undefined
  /** Undefined: the only workspace. */
  workspaceId: string | undefined
}

/** Why a person whom the provider knows cannot sign in. */
export type OidcRefusal = 'no_role' | 'unverified' | 'no_account' | 'removed' | 'other_account'

type SignedIn = { ok: true; workspaceId: string; token: string }
type Refused = { ok: false; refusal: OidcRefusal }
type SignIn = { person: OidcPerson; origin: Origin; unassign: UnassignMember }

/** Has the password of no one: sign-in and password reset accept only hashes of argon2id. */
const noPassword = 'none'
/** Members with one folded e-mail. */
const maxMembers = 20
const maxName = 200

/** Finds or creates the member and starts a session. Returns the token for the cookie. */
export async function signInWithOidc(
  db: Db,
  { roles: roleOfValue, workspaceId: chosen }: Pick<Oidc, 'roles' | 'workspaceId'>,
  { person, origin, unassign }: SignIn,
): Promise<SignedIn | Refused> {
  const role = roleOfValue && findRole(roleOfValue, person.values)
  if (roleOfValue && !role) return refuse('no_role')
  const home = await getHome(db, chosen)
  const workspaceId = home ?? (chosen ? undefined : await findWorkspace(db, person))
  if (!workspaceId) return refuse(person.email === undefined ? 'unverified' : 'no_account')
  // A change of the role can deadlock with statements that change the member's conversations.
  return withRetries(() =>
    db.begin(async (sql): Promise<SignedIn | Refused> => {
      await lockMembers(sql, workspaceId)
      const found = await resolveMember(sql, workspaceId, { person, role, mayJoin: home !== undefined })
      if (!found.ok) return found
      const member = await applyRole(sql, workspaceId, { id: found.memberId, role, unassign })
      if (!member) return refuse('no_account')
      const note = (action: 'member.joined' | 'member.role_changed' | 'session.created', summary: string) =>
        writeEntry(sql, workspaceId, { member, action, summary: `${summary}, with single sign-on` })
      if (found.isNew) await note('member.joined', `as ${member.role}`)
      else if (member.isChanged) await note('member.role_changed', `${member.email}, ${member.role}`)
      const token = await createSession(sql, workspaceId, member.id, origin, { isTrusted: true })
      await note('session.created', `from ${origin.address}`)
      return { ok: true, workspaceId, token }
    }),
  )
}

const refuse = (refusal: OidcRefusal): Refused => ({ ok: false, refusal })

/** The highest role of the values. */
const findRole = (roleOfValue: ReadonlyMap<string, MemberRole>, values: readonly string[]): MemberRole | undefined => {
  const stated = new Set(values.map((value) => roleOfValue.get(value)))
  return roles.find((role) => stated.has(role))
}

/** The workspace of the settings, or else the only one. */
async function getHome(sql: Sql, chosen: string | undefined): Promise<string | undefined> {
  const [first, second] = await sql<{ id: string }[]>`
    select id from workspaces where ${chosen ?? null}::uuid is null or id = ${chosen ?? null} order by id limit 2`
  return second ? undefined : first?.id
}

/** With several workspaces: the newest of which the person is a member. */
async function findWorkspace(sql: Sql, { issuer, subject, email }: OidcPerson): Promise<string | undefined> {
  const [linked] = await sql<{ workspace_id: string }[]>`
    select workspace_id from oidc_accounts
    where issuer = ${issuer} and subject = ${subject} and member_id is not null
    order by member_id desc
    limit 1`
  if (linked || email === undefined) return linked?.workspace_id
  const members = await sql<{ workspace_id: string; email: string }[]>`
    select workspace_id, email from members
    where email_key = ${fold(email)}
    order by id desc
    limit ${maxMembers}`
  return members.find((member) => isSameEmail(member.email, email))?.workspace_id
}

type Newcomer = { person: OidcPerson; role: MemberRole | undefined; mayJoin: boolean }
type Found = { ok: true; memberId: string; isNew: boolean }

/** The member of the account, or of its verified e-mail, or a new one. */
async function resolveMember(
  sql: Sql,
  workspaceId: string,
  { person, role, mayJoin }: Newcomer,
): Promise<Found | Refused> {
  const { issuer, subject, email } = person
  const [account] = await sql<{ member_id: string | null }[]>`
    select member_id from oidc_accounts
    where workspace_id = ${workspaceId} and issuer = ${issuer} and subject = ${subject}`
  if (account?.member_id) return { ok: true, memberId: account.member_id, isNew: false }
  if (email === undefined || !isEmail(email)) return refuse(account ? 'removed' : 'unverified')
  const [member] = await sql<{ id: string; email: string }[]>`
    select id, email from members where workspace_id = ${workspaceId} and email_key = ${fold(email)}`
  if (member) {
    if (!isSameEmail(member.email, email)) return refuse('no_account')
    const isLinked = await linkAccount(sql, workspaceId, { issuer, subject, memberId: member.id })
    return isLinked ? { ok: true, memberId: member.id, isNew: false } : refuse('other_account')
  }
  if (!mayJoin) return refuse(account ? 'removed' : 'no_account')
  const invitedRole = await takeInvitation(sql, workspaceId, email)
  if (account && !invitedRole) return refuse('removed')
  const joined = await createMember(sql, workspaceId, { person, email, role: role ?? invitedRole ?? 'agent' })
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

/** Uses up the pending invitation of the e-mail. Returns its role. */
async function takeInvitation(sql: Sql, workspaceId: string, email: string): Promise<MemberRole | undefined> {
  const [invitation] = await sql<{ id: string; email: string; role: MemberRole }[]>`
    select id, email, role from invitations
    where workspace_id = ${workspaceId} and email_key = ${fold(email)} and expires_at > now()`
  if (!invitation || !isSameEmail(invitation.email, email)) return undefined
  const taken = await sql`
    delete from invitations where workspace_id = ${workspaceId} and id = ${invitation.id} returning id`
  return taken.length > 0 ? invitation.role : undefined
}

type NewMember = { person: OidcPerson; email: string; role: MemberRole }

function createMember(sql: Sql, workspaceId: string, { person, email, role }: NewMember): Promise<Member> {
  const name = person.name?.trim() ?? ''
  const usableName = name !== '' && lengthOf(name) <= maxName ? name : null
  return insertMember(sql, workspaceId, { email, name: usableName, role, passwordHash: noPassword })
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
