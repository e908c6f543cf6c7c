/**
 * The second factor of sign-in: a code of an authenticator app, or a recovery code.
 *
 * The secret is sealed, because the service computes codes with it. A code is used once: its period is stored in the statement that
 * accepts it, so of two processes one accepts it. A recovery code has 80 random bits; its hash is stored and removed with its use.
 * Guesses are limited per member, and separately per known device and over all known devices (`throttle.ts`).
 *
 * A workspace can require a second factor. A session of a member without one is then `second_factor_due`: it may set one up and do
 * nothing else. Sessions from before the requirement stay; they end within 30 days.
 */

import { nowIso, nowMs } from '../../lib/clock.ts'
import { type SealContext, type Sealer, sha256 } from '../../lib/crypto.ts'
import { ApiError, badRequest, notFound } from '../../lib/errors.ts'
import { isUuid } from '../../lib/id.ts'
import { type Db, requireRow, type Sql } from '../../lib/postgres/db.ts'
import { checkGuess, type Guesser, signedInCode } from './throttle.ts'
import { findTotpStep, newTotpSecret, randomBits, totpUrlOf } from './totp.ts'

/** The member who has the second factor. */
export type FactorOwner = { workspaceId: string; memberId: string }

export type SecondFactor = { confirmed_at: string | null; recovery_codes_left: number; is_required: boolean }

export async function getSecondFactor(sql: Sql, { workspaceId, memberId }: FactorOwner): Promise<SecondFactor> {
  const [row] = await sql<SecondFactor[]>`
    select f.confirmed_at, coalesce(cardinality(f.recovery_code_hashes), 0) as recovery_codes_left,
      w.requires_second_factor as is_required
    from workspaces w
    left join member_second_factors f on f.workspace_id = w.id and f.member_id = ${memberId} and f.confirmed_at is not null
    where w.id = ${workspaceId}`
  return requireRow(row, 'the workspace of the session')
}

export async function hasSecondFactor(sql: Sql, { workspaceId, memberId }: FactorOwner): Promise<boolean> {
  const [row] = await sql`
    select 1 from member_second_factors
    where workspace_id = ${workspaceId} and member_id = ${memberId} and confirmed_at is not null`
  return row !== undefined
}

export type FactorSetup = { secret: string; url: string }

/** Starts or restarts the setup. Sign-in needs no code until a code of the new secret is confirmed. */
export async function startSetup(
  sql: Sql,
  sealer: Sealer,
  owner: FactorOwner,
  { issuer, account }: { issuer: string; account: string },
): Promise<FactorSetup> {
  const { workspaceId, memberId } = owner
  const secret = newTotpSecret()
  const sealed = sealer.seal(secret, contextOf(owner))
  const started = await sql`
    insert into member_second_factors as f (workspace_id, member_id, secret, created_at)
    values (${workspaceId}, ${memberId}, ${sealed}, ${nowIso()})
    on conflict (workspace_id, member_id) do update set secret = excluded.secret, created_at = excluded.created_at
    where f.confirmed_at is null
    returning 1`
  if (started.length === 0) throw badRequest('two-step sign-in is on already: turn it off first')
  return { secret, url: totpUrlOf({ issuer, account, secret }) }
}

/** Turns the second factor on, and returns the recovery codes. All sessions of the member may continue. */
export async function confirmSetup(db: Db, sealer: Sealer, owner: FactorOwner, code: string): Promise<string[]> {
  const { workspaceId, memberId } = owner
  const codes = newRecoveryCodes()
  const isConfirmed = await checkGuess(db, signedInCode(memberId), async () => {
    const [factor] = await db<{ secret: string }[]>`
      select secret from member_second_factors
      where workspace_id = ${workspaceId} and member_id = ${memberId} and confirmed_at is null`
    if (!factor) throw badRequest('the setup has not begun, or two-step sign-in is on already')
    const step = findTotpStep(sealer.open(factor.secret, contextOf(owner)), normalize(code), nowMs())
    if (step === undefined) return undefined
    return db.begin(async (sql) => {
      const [confirmed] = await sql`
        update member_second_factors
        set confirmed_at = now(), last_step = ${step}, recovery_code_hashes = ${codes.map(hashOf)}
        where workspace_id = ${workspaceId} and member_id = ${memberId} and confirmed_at is null
          and secret = ${factor.secret}
        returning 1`
      if (!confirmed) return undefined
      await sql`
        update sessions set second_factor_due = false
        where workspace_id = ${workspaceId} and member_id = ${memberId} and second_factor_due`
      return true
    })
  })
  if (!isConfirmed) throw wrongCode()
  return codes
}

/** Accepts a code of the app or a recovery code, once. Returns undefined for a wrong or used one. */
async function acceptCode(sql: Sql, sealer: Sealer, owner: FactorOwner, input: string): Promise<true | undefined> {
  const { workspaceId, memberId } = owner
  const code = normalize(input)
  if (isRecoveryCode(code)) {
    const used = await sql`
      update member_second_factors set recovery_code_hashes = array_remove(recovery_code_hashes, ${hashOf(code)})
      where workspace_id = ${workspaceId} and member_id = ${memberId} and confirmed_at is not null
        and ${hashOf(code)} = any(recovery_code_hashes)
      returning 1`
    return used.length > 0 || undefined
  }
  const [factor] = await sql<{ secret: string }[]>`
    select secret from member_second_factors
    where workspace_id = ${workspaceId} and member_id = ${memberId} and confirmed_at is not null`
  const step = factor && findTotpStep(sealer.open(factor.secret, contextOf(owner)), code, nowMs())
  if (step === undefined) return undefined
  const used = await sql`
    update member_second_factors set last_step = ${step}
    where workspace_id = ${workspaceId} and member_id = ${memberId} and confirmed_at is not null and last_step < ${step}
    returning 1`
  return used.length > 0 || undefined
}

/** Checks the code of a sign-in. The error has `details.second_factor`, so that the page asks for a code. */
export async function requireSignInCode(
  sql: Sql,
  sealer: Sealer,
  owner: FactorOwner,
  { code, guesser }: { code: string | undefined; guesser: Guesser },
): Promise<void> {
  const refuse = (message: string) => new ApiError('unauthorized', message, {}, { second_factor: 'required' })
  if (!code) throw refuse('enter the code of your authenticator app')
  const isRight = await checkGuess(sql, guesser, () => acceptCode(sql, sealer, owner, code))
  if (!isRight) throw refuse('wrong code, or it was used already; enter the next one')
}

/** Turns the second factor off. If the workspace requires one, the member's sessions wait for a new setup. */
export async function turnOff(db: Db, sealer: Sealer, owner: FactorOwner, code: string): Promise<void> {
  await requireOwnCode(db, sealer, owner, code)
  await db.begin((sql) => deleteFactor(sql, owner))
}

/** Replaces the recovery codes. */
export async function renewRecoveryCodes(
  sql: Sql,
  sealer: Sealer,
  owner: FactorOwner,
  code: string,
): Promise<string[]> {
  await requireOwnCode(sql, sealer, owner, code)
  const codes = newRecoveryCodes()
  await sql`
    update member_second_factors set recovery_code_hashes = ${codes.map(hashOf)}
    where workspace_id = ${owner.workspaceId} and member_id = ${owner.memberId} and confirmed_at is not null`
  return codes
}

/** An owner resets the second factor of a member who lost the app and the recovery codes. Returns the member's e-mail. */
export async function resetSecondFactor(db: Db, workspaceId: string, memberId: string): Promise<string> {
  if (!isUuid(memberId)) throw notFound('member')
  return db.begin(async (sql) => {
    const [member] = await sql<{ email: string }[]>`
      select email from members where workspace_id = ${workspaceId} and id = ${memberId}`
    if (!member) throw notFound('member')
    if (!(await deleteFactor(sql, { workspaceId, memberId }))) throw badRequest('the member has no second factor')
    return member.email
  })
}

/** The operator resets the second factor of all members with this e-mail. Returns how many. */
export async function resetFactorsOf(db: Db, emailKey: string): Promise<number> {
  const members = await db<{ workspace_id: string; id: string }[]>`
    select workspace_id, id from members where email_key = ${emailKey}`
  if (members.length === 0) throw notFound('member')
  return db.begin(async (sql) => {
    let count = 0
    for (const { workspace_id, id } of members) {
      if (await deleteFactor(sql, { workspaceId: workspace_id, memberId: id })) count++
    }
    return count
  })
}

async function deleteFactor(sql: Sql, { workspaceId, memberId }: FactorOwner): Promise<boolean> {
  const deleted = await sql`
    delete from member_second_factors
    where workspace_id = ${workspaceId} and member_id = ${memberId} and confirmed_at is not null
    returning 1`
  await sql`
    update sessions s set second_factor_due = true
    from workspaces w
    where s.workspace_id = ${workspaceId} and s.member_id = ${memberId} and w.id = ${workspaceId}
      and w.requires_second_factor`
  return deleted.length > 0
}

async function requireOwnCode(sql: Sql, sealer: Sealer, owner: FactorOwner, code: string): Promise<void> {
  const isRight = await checkGuess(sql, signedInCode(owner.memberId), () => acceptCode(sql, sealer, owner, code))
  if (!isRight) throw wrongCode()
}

const wrongCode = () => badRequest('code: wrong, or used already; enter the next one')

const contextOf = ({ workspaceId, memberId }: FactorOwner): SealContext => [
  'member_second_factors',
  workspaceId,
  memberId,
]

const recoveryCodeCount = 10
/** No letters that look like a digit. */
const recoveryAlphabet = '0123456789abcdefghjkmnpqrstvwxyz'

const newRecoveryCodes = (): string[] =>
  Array.from({ length: recoveryCodeCount }, () => {
    const characters = [...randomBits(16)].map((value) => recoveryAlphabet[value]).join('')
    return characters.replace(/(.{4})(?=.)/g, '$1-')
  })

/** Members type codes with spaces, hyphens and capitals. */
const normalize = (code: string): string => code.replace(/[\s-]/g, '').toLowerCase()

/** Whether the text is a recovery code and no code of the app. */
export const isRecoveryCode = (code: string): boolean => /^[0-9a-z]{16}$/.test(normalize(code))

const hashOf = (code: string): string => sha256(normalize(code))
