/**
 * Password reset by e-mail.
 *
 * A request gets the same answer for every address and before anything is looked up, so neither text nor time shows which members
 * exist. The link goes to the stored address, never to the typed one, and is valid for the members with exactly that address:
 * addresses that differ only in a fold (ß and ss) belong to different people. It works once within an hour and until the password
 * changes, and a new one replaces it. It ends all sessions and does not sign in, so a second factor is still asked for.
 *
 * Members without a password get no link, and neither do members who have not proved the address: an owner of another workspace
 * could have invited it and used the link, and the new password would open that workspace too.
 */
import type { FastifyBaseLogger } from 'fastify'
import { randomToken, sha256 } from '../../lib/crypto.ts'
import { notFound } from '../../lib/errors.ts'
import type { Mailer } from '../../lib/mail.ts'
import type { Db, Sql } from '../../lib/postgres/db.ts'
import { writeEntry } from '../audit.ts'
import { passwordResetMail } from '../mails.ts'
import { setPassword } from '../members.ts'
import { requirePassword } from './passwords.ts'
import { hashInTurn } from './throttle.ts'

const validMinutes = 60
/** Distinct addresses and workspaces with one folded e-mail. */
const maxMembers = 20

type ResetRequest = { emailKey: string; mailer: Mailer; publicUrl: string; log: Pick<FastifyBaseLogger, 'warn'> }

/** Creates the links of an e-mail and sends them. */
export async function sendResets(sql: Sql, { emailKey, mailer, publicUrl, log }: ResetRequest): Promise<void> {
  const members = await sql<{ workspace_id: string; id: string; email: string }[]>`
    select workspace_id, id, email from members
    where email_key = ${emailKey} and email_proved_at is not null and password_hash like '$argon2id$%'
    order by id desc
    limit ${maxMembers}`
  for (const [email, owned] of Map.groupBy(members, (member) => member.email)) {
    const token = randomToken()
    await sql`
      insert into password_resets (workspace_id, member_id, token_hash, created_at, expires_at)
      select workspace_id, member_id, ${sha256(token)}, now(), now() + make_interval(mins => ${validMinutes})
      from unnest(${owned.map((member) => member.workspace_id)}::uuid[], ${owned.map(({ id }) => id)}::uuid[])
        as m (workspace_id, member_id)
      on conflict (workspace_id, member_id) do update set
        token_hash = excluded.token_hash, created_at = excluded.created_at, expires_at = excluded.expires_at`
    const sent = await mailer.send(passwordResetMail({ to: email, link: `${publicUrl}/password-resets/${token}` }))
    if (!sent.ok) log.warn({ reason: sent.reason }, 'the e-mail for a password reset could not be sent')
  }
}

type ResetMember = {
  workspace_id: string
  member_id: string
  email: string
  name: string | null
  workspace_name: string
}

/** The e-mail that a link is for. */
export async function requireReset(sql: Sql, token: string): Promise<{ email: string }> {
  const [member] = await listResetMembers(sql, token)
  if (!member) throw notFound('password reset')
  return { email: member.email }
}

/** Sets the password and ends all sessions of the members that the link is for. */
export async function completeReset(db: Db, token: string, password: string): Promise<void> {
  const members = await listResetMembers(db, token)
  const [first] = members
  if (!first) throw notFound('password reset')
  for (const { email, name, workspace_name: workspaceName } of members) {
    requirePassword(password, { email, name, workspaceName })
  }
  const passwordHash = await hashInTurn(first.workspace_id, password)
  await db.begin(async (sql) => {
    const used = await sql<{ workspace_id: string; member_id: string }[]>`
      delete from password_resets where token_hash = ${sha256(token)} and expires_at > now()
      returning workspace_id, member_id`
    if (used.length === 0) throw notFound('password reset')
    for (const { workspace_id: workspaceId, member_id: id } of used) {
      await setPassword(sql, workspaceId, { id, passwordHash })
      await sql`delete from sessions where workspace_id = ${workspaceId} and member_id = ${id}`
      const action = 'member.password_reset'
      await writeEntry(sql, workspaceId, { member: { id, email: first.email }, action, summary: 'by e-mail' })
    }
  })
}

export async function sweepResets(sql: Sql): Promise<void> {
  await sql`delete from password_resets where expires_at < now()`
}

async function listResetMembers(sql: Sql, token: string): Promise<ResetMember[]> {
  return sql<ResetMember[]>`
    select r.workspace_id, r.member_id, m.email, m.name, w.name as workspace_name
    from password_resets r
    join members m on m.workspace_id = r.workspace_id and m.id = r.member_id
    join workspaces w on w.id = r.workspace_id
    where r.token_hash = ${sha256(token)} and r.expires_at > now()`
}
