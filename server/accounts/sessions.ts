/**
 * Sessions: how a member is signed in to the dashboard.
 *
 * The cookie holds a random token; only its hash is kept. Sign-in is throttled
 * by address and e-mail, counted in the database so that several processes
 * share one count. Whoever changes something must come from our own pages:
 * the browser says so in `Origin`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { randomToken, sha256, verifyPassword } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError, forbidden } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { App } from '../lib/server.ts'
import { fold } from '../lib/text.ts'
import { createTurns } from '../lib/turn.ts'
import type { Member, MemberRole } from './members.ts'

export type Session = {
  id: string
  workspaceId: string
  workspaceName: string
  defaultCountry: string
  member: Member
}

declare module 'fastify' {
  interface FastifyRequest {
    session: Session
  }
  interface FastifyContextConfig {
    /** Who may call; absent: every signed-in member. `public`: nobody needs to be signed in. */
    members?: 'public' | readonly MemberRole[]
  }
}

const cookieName = 'parley_session'
const sessionDays = 30
const maxFailures = 10

/** Guard every route of `app`: same origin for what changes something, a session, the role. */
export function authenticateMembers(app: App, sql: Sql, publicUrl: string): void {
  app.decorateRequest('session')
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    if (request.method !== 'GET') requireSameOrigin(request, publicUrl)
    const { members } = request.routeOptions.config
    if (members === 'public') return
    const session = await getSession(sql, tokenOf(request))
    if (!session) throw new ApiError('unauthorized', 'sign in first')
    request.session = session
    if (members && !members.includes(session.member.role)) {
      throw forbidden(`only ${members.join(' and ')} may do this`)
    }
  })
}

type Attempt = { email: string; password: string; workspaceId: string | undefined; address: string }

/** Check e-mail and password; answers the token for the cookie. The same e-mail may be a member of several workspaces: the password decides, newest first. */
export async function signIn(sql: Sql, attempt: Attempt): Promise<string> {
  const emailKey = fold(attempt.email.trim())
  if (waiting >= maxWaiting) throw tooMany('too many people sign in at once', 1)
  waiting++
  try {
    // In turn, so that somebody who signs in many times at once is not taken for many failures.
    return await inTurn(`${attempt.address} ${emailKey}`, () => checkPassword(sql, emailKey, attempt))
  } finally {
    waiting--
  }
}

const inTurn = createTurns()

/** Checking a password takes 50 ms of a core on purpose: whoever comes after this many is asked to come again. */
const maxWaiting = 100
let waiting = 0

async function checkPassword(sql: Sql, emailKey: string, { password, workspaceId, address }: Attempt): Promise<string> {
  await countFailure(sql, address, emailKey)
  const candidates = await sql<{ workspace_id: string; id: string; password_hash: string }[]>`
    select workspace_id, id, password_hash from members
    where email_key = ${emailKey} and (${workspaceId ?? null}::uuid is null or workspace_id = ${workspaceId ?? null})
    order by id desc
    limit 10`
  for (const { workspace_id, id, password_hash } of candidates) {
    if (await verifyPassword(password, password_hash)) {
      await uncountFailure(sql, address, emailKey)
      return createSession(sql, workspace_id, id)
    }
  }
  if (candidates.length === 0) await verifyPassword(password, undefined)
  throw new ApiError('unauthorized', 'wrong e-mail or password')
}

/** Answers the token for the cookie. */
export async function createSession(sql: Sql, workspaceId: string, memberId: string): Promise<string> {
  const token = randomToken()
  const id = newId()
  await sql`
    insert into sessions (workspace_id, id, token_hash, member_id, created_at, expires_at)
    values (${workspaceId}, ${id}, ${sha256(token)}, ${memberId}, ${timeOfId(id)},
      now() + make_interval(days => ${sessionDays}))`
  return token
}

export async function getSession(sql: Sql, token: string): Promise<Session | undefined> {
  type Row = Member & { workspace_id: string; workspace_name: string; default_country: string; session_id: string }
  const [row] = await sql<Row[]>`
    select s.id as session_id, s.workspace_id, w.name as workspace_name, w.default_country,
      m.id, m.email, m.name, m.role, m.created_at
    from sessions s
    join members m on m.workspace_id = s.workspace_id and m.id = s.member_id
    join workspaces w on w.id = s.workspace_id
    where s.token_hash = ${sha256(token)} and s.expires_at > now()`
  if (!row) return undefined
  const { session_id, workspace_id, workspace_name, default_country, ...member } = row
  return {
    id: session_id,
    workspaceId: workspace_id,
    workspaceName: workspace_name,
    defaultCountry: default_country,
    member,
  }
}

export async function endSession(sql: Sql, { id, workspaceId }: Session): Promise<void> {
  await sql`delete from sessions where workspace_id = ${workspaceId} and id = ${id}`
}

export function setSessionCookie(reply: FastifyReply, token: string, publicUrl: string): void {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  const maxAge = token ? sessionDays * 86_400 : 0
  reply.header('set-cookie', `${cookieName}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`)
}

/** Forget what has run out. */
export async function sweepSessions(sql: Sql): Promise<void> {
  await sql`delete from sessions where expires_at < now()`
  await sql`delete from invitations where expires_at < now()`
  await sql`delete from sign_in_failures where started_at < now() - interval '60 seconds'`
}

/** The cookie's token, or the empty text, which is nobody's. */
function tokenOf(request: FastifyRequest): string {
  for (const cookie of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = cookie.split('=', 2)
    if (name?.trim() === cookieName) return value?.trim() ?? ''
  }
  return ''
}

function requireSameOrigin(request: FastifyRequest, publicUrl: string): void {
  const origin = URL.parse(request.headers.origin ?? '')
  const own = origin && (origin.origin === new URL(publicUrl).origin || origin.host === request.headers.host)
  if (!own) throw forbidden('must come from the same origin')
}

/** Count a failure before there is one: however many processes are asked at once, no more than ten get through. */
async function countFailure(sql: Sql, address: string, emailKey: string): Promise<void> {
  const [window] = await sql<{ failure_count: number; seconds: number }[]>`
    insert into sign_in_failures as f (address, email_key, started_at, failure_count)
    values (${address}, ${emailKey}, now(), 1)
    on conflict (address, email_key) do update set
      started_at = case when f.started_at > now() - interval '60 seconds' then f.started_at else now() end,
      failure_count = 1 + case when f.started_at > now() - interval '60 seconds' then f.failure_count else 0 end
    returning failure_count, ceil(extract(epoch from started_at + interval '60 seconds' - now()))::int as seconds`
  if (window && window.failure_count > maxFailures) throw tooMany('too many failed sign-ins', window.seconds)
}

/** It was none. */
async function uncountFailure(sql: Sql, address: string, emailKey: string): Promise<void> {
  await sql`
    update sign_in_failures set failure_count = greatest(0, failure_count - 1)
    where address = ${address} and email_key = ${emailKey}`
}

function tooMany(what: string, seconds: number): ApiError {
  const retryAfter = String(Math.max(1, seconds))
  return new ApiError('rate_limited', `${what}; try again in ${retryAfter} s`, { 'retry-after': retryAfter })
}
