/**
 * The first run: how the first workspace of an installation is created.
 *
 * The service prints a link with a token at its start. The token is derived from the encryption key, so every process of an
 * installation knows it and none stores it. It creates the first workspace and its owner, and opens nothing once there is a
 * workspace.
 *
 * The sign-in page offers the demo workspace's password to a person at the machine the service runs on, and only while it is
 * still the password. Everything a request shows must agree: a loopback connection, a loopback name in `Host` (a name that
 * another site cannot point here) and in `PUBLIC_URL`, no trace of a proxy. A proxy on the same machine that leaves no trace
 * and rewrites `Host` cannot be recognised; setting `PUBLIC_URL`, which links need behind a proxy, is enough to hide the
 * password.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { isLoopbackHost } from '../../../common/address.ts'
import { isSameToken, verifyPassword } from '../../lib/crypto.ts'
import { forbidden } from '../../lib/errors.ts'
import { type Db, requireRow, type Sql } from '../../lib/postgres/db.ts'
import { fold } from '../../lib/text.ts'
import { readPersonName } from '../members.ts'
import { createWorkspace, readCountry, readName } from '../workspaces.ts'
import { createSession, type Origin } from './sessions.ts'
import { checkGuess, unknownClient } from './throttle.ts'

export type Setup = {
  token: string
  /** The demo workspace of this process, if it has one. */
  getDemo: () => Demo | undefined
}

type Demo = { workspace_id: string; owner: { email: string; password: string } }

const setupLock = 7_263_565

/** Guesses at the token are counted under this instead of an e-mail. */
const guessKey = ' setup'

export async function needsSetup(sql: Sql): Promise<boolean> {
  const [found] = await sql`select 1 from workspaces limit 1`
  return !found
}

export type FirstWorkspace = {
  token: string
  workspace_name: string
  default_country: string
  /** Of the browser. */
  time_zone?: string | undefined
  name: string
  email: string
  password: string
}

/** Creates the first workspace, signs its owner in, and returns the token for the cookie. Concurrent calls create one. */
export async function setUp(db: Db, { token }: Setup, input: FirstWorkspace, origin: Origin): Promise<string> {
  // The token has 131 random bits. Limiting guesses spares work; the right token is never refused for others' wrong ones.
  const isRight =
    isSameToken(input.token, token) ||
    (await checkGuess(db, unknownClient(origin.address, guessKey), async () => undefined))
  if (!isRight) throw forbidden('token: wrong; use the link that the service printed at its start')
  const owner = { email: input.email, password: input.password, name: readPersonName(input.name) }
  const name = readName(input.workspace_name, 'workspace_name')
  const default_country = readCountry(input.default_country, 'default_country')
  return db.begin(async (sql) => {
    await sql`select pg_advisory_xact_lock(${setupLock})`
    if (!(await needsSetup(sql))) throw forbidden('there is a workspace already: sign in, or ask for an invitation')
    const { workspace_id } = await createWorkspace(sql, { name, default_country, time_zone: input.time_zone, owner })
    const [member] = await sql<{ id: string }[]>`select id from members where workspace_id = ${workspace_id}`
    return createSession(sql, workspace_id, requireRow(member, 'the new owner').id, origin)
  })
}

/** What a request shows of its client. `ip` is the other end of the connection. */
export type Visit = { ip: string; httpVersion: string; headers: IncomingHttpHeaders; publicUrl: string }

export const visitOf = ({ ip, raw, headers }: FastifyRequest, publicUrl: string): Visit => ({
  ip,
  httpVersion: raw.httpVersion,
  headers,
  publicUrl,
})

/** The demo workspace's sign-in, for the page to offer. The password is null for a client that must not get it. */
export async function getDemoHint(
  sql: Sql,
  { getDemo }: Setup,
  visit: Visit,
): Promise<{ email: string; password: string | null } | null> {
  const demo = getDemo()
  if (!demo) return null
  const { email, password } = demo.owner
  const [owner] = await sql<{ password_hash: string }[]>`
    select m.password_hash from members m
    join workspaces w on w.id = m.workspace_id
    where m.workspace_id = ${demo.workspace_id} and m.email_key = ${fold(email)} and w.is_demo`
  if (!owner) return null
  const isShown = isFromHere(visit) && (await isPassword(password, owner.password_hash))
  return { email, password: isShown ? password : null }
}

/** Headers that a proxy adds: about the client, or its own name. */
const proxyHeaders =
  /^(via|x-via|forwarded|cdn-loop|x-(forwarded|original|envoy|amzn|azure|arr)-.*|(cf|fly|fastly)-.*|(.*-)?(client|real|connecting)-ip|x-(url-)?scheme)$/

/** Whether the client runs on the machine the service runs on, as far as a request can show it. */
export function isFromHere({ ip, httpVersion, headers, publicUrl }: Visit): boolean {
  // Browsers and scripts speak HTTP/1.1. nginx speaks 1.0 to the service behind it unless configured otherwise.
  const isProxied = httpVersion === '1.0' || Object.keys(headers).some((name) => proxyHeaders.test(name))
  return (
    !isProxied &&
    /^(::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/i.test(ip) &&
    isLoopbackHost((headers.host ?? '').replace(/:\d+$/, '')) &&
    isLoopbackHost(new URL(publicUrl).hostname)
  )
}

/** Checking takes some 25 ms of a core, so the last result is cached: both texts seldom change. */
let checked = { password: '', hash: '', isRight: false }

async function isPassword(password: string, hash: string): Promise<boolean> {
  if (checked.password !== password || checked.hash !== hash) {
    checked = { password, hash, isRight: await verifyPassword(password, hash) }
  }
  return checked.isRight
}
