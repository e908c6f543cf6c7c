/**
 * Known devices: browsers in which a member signed in before, recognized by the device cookie.
 *
 * A known device opens nothing. It only has limits on guesses of its own (`throttle.ts`). The cookie is bound to the password and the second
 * factor of the member, so a change of either ends it, and so does signing out everywhere. Otherwise an attacker who knew an earlier
 * password could have collected cookies, each with its own guesses. The browser in which the member makes the change stays known.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sealer } from '../../lib/crypto.ts'
import { newId } from '../../lib/id.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import { fold } from '../../lib/text.ts'
import { type Device, readDevice, setDeviceCookie } from './cookies.ts'

type Browser = {
  request: FastifyRequest
  reply: FastifyReply
  session: { workspaceId: string; member: { id: string; email: string } }
  publicUrl: string
}

/** The browser of the request is a known device of the member from now on. */
export async function rememberDevice(
  sql: Sql,
  sealer: Sealer,
  { request, reply, session: { workspaceId, member }, publicUrl }: Browser,
): Promise<void> {
  const cookie = { sealer, emailKey: fold(member.email), publicUrl }
  const before = readDevice(request, cookie)
  const id = before?.memberId === member.id ? before.id : newId()
  const binding = await getBinding(sql, workspaceId, member.id)
  if (binding) setDeviceCookie(reply, { id, memberId: member.id, binding }, cookie)
}

/** Whether the cookie is from after the last change of the password and the second factor, and from after the last sign-out everywhere. */
export const isKnownDevice = async (sql: Sql, workspaceId: string, { memberId, binding }: Device): Promise<boolean> =>
  binding === (await getBinding(sql, workspaceId, memberId))

/** The member is known in no browser any more. */
export async function forgetDevices(sql: Sql, workspaceId: string, memberId: string): Promise<void> {
  await sql`
    update members set device_generation = device_generation + 1
    where workspace_id = ${workspaceId} and id = ${memberId}`
}

async function getBinding(sql: Sql, workspaceId: string, memberId: string): Promise<string | undefined> {
  const [row] = await sql<{ binding: string }[]>`
    select encode(sha256(convert_to(concat_ws(' ', m.password_hash, f.secret, m.device_generation), 'UTF8')), 'hex') as binding
    from members m
    left join member_second_factors f on f.workspace_id = m.workspace_id and f.member_id = m.id and f.confirmed_at is not null
    where m.workspace_id = ${workspaceId} and m.id = ${memberId}`
  return row?.binding
}
