/** A member's own profile: name and password. */
import { verifyPassword } from '../../lib/crypto.ts'
import { badRequest } from '../../lib/errors.ts'
import type { Db, Sql } from '../../lib/postgres/db.ts'
import type { Session } from '../callers.ts'
import { readPersonName, setPassword } from '../members.ts'
import { requirePassword } from './passwords.ts'
import { endOtherSessions } from './sessions.ts'
import { checkGuess, hashInTurn, signedInMember } from './throttle.ts'

export type ProfileChanges = {
  name?: string | undefined
  current_password?: string | undefined
  new_password?: string | undefined
}

/** Changes the name or the password. A new password needs the current one, and ends the member's other sessions. */
export async function updateProfile(
  db: Db,
  session: Session,
  { name, current_password: current, new_password: wanted }: ProfileChanges,
): Promise<void> {
  const { workspaceId, member } = session
  const { id } = member
  const newName = name === undefined ? undefined : readPersonName(name)
  const passwordHash = wanted === undefined ? undefined : await hashNewPassword(db, session, { current, wanted })
  await db.begin(async (sql) => {
    if (passwordHash !== undefined) {
      await setPassword(sql, workspaceId, { id, passwordHash })
      await endOtherSessions(sql, session)
    }
    if (newName !== undefined) {
      await sql`update members set name = ${newName} where workspace_id = ${workspaceId} and id = ${id}`
    }
  })
}

/** Checks the current password and returns the hash of the new one. */
async function hashNewPassword(
  sql: Sql,
  { workspaceId, workspaceName, member: { id, email, name } }: Session,
  { current, wanted }: { current: string | undefined; wanted: string },
): Promise<string> {
  requirePassword(wanted, { email, name, workspaceName }, 'new_password')
  await requireCurrentPassword(sql, workspaceId, { id, current })
  return hashInTurn(id, wanted)
}

/** A member with a session proves the password again. Guesses are limited as at sign-in. */
export async function requireCurrentPassword(
  sql: Sql,
  workspaceId: string,
  { id, current }: { id: string; current: string | undefined },
): Promise<void> {
  if (current === undefined) throw badRequest('current_password: required')
  const isRight = await checkGuess(sql, signedInMember(id), async () => {
    const [member] = await sql<{ password_hash: string }[]>`
      select password_hash from members where workspace_id = ${workspaceId} and id = ${id}`
    return (await verifyPassword(current, member?.password_hash)) || undefined
  })
  if (!isRight) throw badRequest('current_password: wrong')
}
