/**
 * Sessions: how a member is signed in to the dashboard.
 *
 * The cookie holds a random token; only its hash is stored. No process caches a session: an ended one is refused on its next
 * request in every process, and a changed role holds from the next request on. A call that changes something must come from
 * our own pages, which the browser states in `Origin`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Sealer, sha256, verifyPassword } from '../../lib/crypto.ts'
import { ApiError, forbidden, notFound } from '../../lib/errors.ts'
import type { Step } from '../../lib/http/apply-steps.ts'
import { isUuid, newId, timeOfId } from '../../lib/id.ts'
import { requireRow, type Sql } from '../../lib/postgres/db.ts'
import { fold } from '../../lib/text.ts'
import type { Session } from '../callers.ts'
import { type Member, type MemberRole, type Sees, seesColumn, writers } from '../members.ts'
import { type Device, newSessionToken, readSessionToken, setSessionCookie } from './cookies.ts'
import { forgetDevices, isKnownDevice, rememberDevice } from './devices.ts'
import { sweepResets } from './password-resets.ts'
import { createRateWindow } from './rate-window.ts'
import { hasSecondFactor, requireSignInCode } from './second-factor.ts'
import { checkGuess, knownDevice, signInCode, sweepFailures, unknownClient } from './throttle.ts'

/** The client that signs in, and the address of the service. */
export type Origin = { address: string; userAgent: string | undefined; publicUrl: string }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The roles that may call a route of the dashboard. `public`: no session is needed. */
    members?: 'public' | readonly MemberRole[]
    /** The answer can show any conversation: members who see only some of them are refused. */
    needsAll?: true
    /** A session that waits for the setup of a second factor may call it. */
    isForSetup?: true
  }
}

const sessionDays = 30
const maxUserAgent = 300

/** Admits a member: same origin for changes, a session, the role. */
export const admitMember = (sql: Sql, publicUrl: string): Step => ({
  fields: ['caller'],
  onRequest: async (request, reply) => {
    reply.header('cache-control', 'no-store')
    if (!/^(GET|HEAD)$/.test(request.method)) requireSameOrigin(request, publicUrl)
    const { members, isForSetup, needsAll } = request.routeOptions.config
    if (members === 'public') return
    const session = await getRequestSession(sql, request)
    if (!session) throw new ApiError('unauthorized', 'sign in first')
    requireRate(session.member)
    if (session.secondFactorDue && !isForSetup) {
      throw new ApiError('forbidden', 'set up two-step sign-in first', {}, { second_factor: 'setup_required' })
    }
    if (needsAll && session.sees !== 'all') throw forbidden('only members who see all conversations may do this')
    request.caller = session
    // The request does not wait for this. A failure costs one minute of accuracy.
    if (!session.isFresh) {
      updateLastSeen(sql, session).catch((error) =>
        request.log.warn({ err: error }, 'the last use of a session could not be stored'),
      )
    }
    if (!members || members.includes(session.member.role)) return
    throw forbidden(members === writers ? 'a viewer can only read' : `only ${members.join(' and ')} may do this`)
  },
})

/** 200 a second, more than a program that creates thousands of keys one after the other makes. A page makes about 20 when it loads. */
const maxCalls = 12_000
const countCall = createRateWindow(maxCalls, 60_000)

function requireRate({ id }: Member): void {
  const seconds = countCall(id)
  if (seconds === 0) return
  const message = `more than ${maxCalls} calls in a minute; try again in ${seconds} s`
  throw new ApiError('rate_limited', message, { 'retry-after': String(seconds) })
}

type SignInAttempt = {
  email: string
  password: string
  workspaceId: string | undefined
  code: string | undefined
  /** The caller can ask the person which workspace to enter. */
  mayChoose: boolean
}
type Candidate = { workspace_id: string; workspace_name: string; id: string; password_hash: string }

/**
 * Checks e-mail, password and the code of the second factor; returns the token for the cookie. The same e-mail may be a member of several
 * workspaces. Of those with this password the person chooses one: then the error has `details.workspaces`. A caller that cannot ask
 * enters the newest, and on a known device that of its own member.
 */
export async function signIn(
  sql: Sql,
  sealer: Sealer,
  { email, password, workspaceId, code, mayChoose }: SignInAttempt,
  origin: Origin,
  device: Device | undefined,
): Promise<string> {
  const emailKey = toEmailKey(email)
  const candidates = device ? await listCandidates(sql, emailKey, workspaceId) : []
  const former = candidates.find(({ id }) => id === device?.memberId)
  const own = device && former && (await isKnownDevice(sql, former.workspace_id, device)) ? former : undefined
  const isOther = ({ id }: Candidate) => id !== own?.id
  /** A guess counts as a failure also if it is right for one member and wrong for another: the guesser may have invited the first. */
  const guessOthers = () =>
    checkGuess(
      sql,
      unknownClient(origin.address, emailKey),
      async () => {
        const others = (await listCandidates(sql, emailKey, workspaceId)).filter(isOther)
        // The same work for an unknown e-mail.
        if (others.length === 0) await verifyPassword(password, undefined)
        return comparePasswords(others, password, mayChoose ? others.length : 1)
      },
      ({ hasWrong }) => hasWrong,
    )
  let found: Candidate[] | undefined
  if (device && own) {
    const isRight = await checkGuess(
      sql,
      knownDevice(device.memberId, device.id),
      async () => (await verifyPassword(password, own.password_hash)) || undefined,
    )
    const others = isRight && mayChoose && candidates.some(isOther) ? await guessOthers().catch(toNone) : undefined
    if (isRight) found = [own, ...(others?.right ?? [])]
  }
  const isOnlyOne = own && candidates.length === 1
  if (!found && !isOnlyOne) found = (await guessOthers())?.right
  const [member, another] = found ?? []
  if (!found || !member) throw new ApiError('unauthorized', 'wrong email or password')
  if (another) {
    const workspaces = found.map(({ workspace_id: id, workspace_name: name }) => ({ id, name }))
    throw new ApiError('unauthorized', 'choose a workspace', {}, { workspaces })
  }
  const factorOwner = { workspaceId: member.workspace_id, memberId: member.id }
  if (await hasSecondFactor(sql, factorOwner)) {
    const guesser = signInCode(member.id, member.id === own?.id ? device?.id : undefined)
    await requireSignInCode(sql, sealer, factorOwner, { code, guesser })
  }
  return createSession(sql, member.workspace_id, member.id, origin)
}

export const toEmailKey = (email: string): string => fold(email.trim())

async function listCandidates(sql: Sql, emailKey: string, workspaceId: string | undefined): Promise<Candidate[]> {
  return sql<Candidate[]>`
    select m.workspace_id, w.name as workspace_name, m.id, m.password_hash
    from members m
    join workspaces w on w.id = m.workspace_id
    where m.email_key = ${emailKey} and (${workspaceId ?? null}::uuid is null or m.workspace_id = ${workspaceId ?? null})
    order by m.id desc
    limit 10`
}

type Comparison = { right: Candidate[]; hasWrong: boolean }

/** The candidates with this password, in their order, at most `limit`. Undefined: none. `hasWrong`: it was compared with others too. */
async function comparePasswords(
  candidates: readonly Candidate[],
  password: string,
  limit: number,
): Promise<Comparison | undefined> {
  const right: Candidate[] = []
  let hasWrong = false
  for (const candidate of candidates) {
    if (right.length === limit) break
    if (await verifyPassword(password, candidate.password_hash)) right.push(candidate)
    else hasWrong = true
  }
  return right.length > 0 ? { right, hasWrong } : undefined
}

/** A known device enters its own workspace, even if the guesses at the others are used up. */
function toNone(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'rate_limited') return undefined
  throw error
}

/** Returns the token for the cookie. `isTrusted`: another system is responsible for a second factor. */
export async function createSession(
  sql: Sql,
  workspaceId: string,
  memberId: string,
  { address, userAgent, publicUrl }: Origin,
  { isTrusted = false } = {},
): Promise<string> {
  const token = newSessionToken(publicUrl)
  const id = newId()
  await sql`
    insert into sessions (workspace_id, id, token_hash, member_id, created_at, expires_at, address, user_agent, last_seen_at,
      second_factor_due)
    select ${workspaceId}, ${id}, ${sha256(token)}, ${memberId}, ${timeOfId(id)},
      now() + make_interval(days => ${sessionDays}), ${address}, ${userAgent?.slice(0, maxUserAgent) ?? null},
      ${timeOfId(id)}, not ${isTrusted} and w.requires_second_factor and not exists (
        select from member_second_factors f
        where f.workspace_id = ${workspaceId} and f.member_id = ${memberId} and f.confirmed_at is not null
      )
    from workspaces w where w.id = ${workspaceId}`
  return token
}

export const originOf = ({ clientAddress, headers }: FastifyRequest, publicUrl: string): Origin => ({
  address: clientAddress,
  userAgent: headers['user-agent'],
  publicUrl,
})

/** Sets the cookies of a session that this request has created. */
export async function enterSession(
  sql: Sql,
  sealer: Sealer,
  {
    request,
    reply,
    token,
    publicUrl,
  }: { request: FastifyRequest; reply: FastifyReply; token: string; publicUrl: string },
): Promise<Session> {
  const session = requireRow(await getSession(sql, token), 'the new session')
  setSessionCookie(reply, token, sessionDays)
  await rememberDevice(sql, sealer, { request, reply, session, publicUrl })
  return session
}

async function getSession(sql: Sql, token: string): Promise<Session | undefined> {
  type Row = Member & {
    workspace_id: string
    workspace_name: string
    default_country: string
    session_id: string
    is_fresh: boolean
    has_password: boolean
    second_factor_due: boolean
    sees: Sees
  }
  const [row] = await sql<Row[]>`
    select s.id as session_id, s.workspace_id, s.second_factor_due, w.name as workspace_name, w.default_country,
      coalesce(s.last_seen_at >= date_trunc('minute', now()), false) as is_fresh,
      m.password_hash like '$argon2id$%' as has_password, m.id, m.email, m.name, m.role, m.created_at,
      ${seesColumn(sql)} as sees
    from sessions s
    join members m on m.workspace_id = s.workspace_id and m.id = s.member_id
    join workspaces w on w.id = s.workspace_id
    where s.token_hash = ${sha256(token)} and s.expires_at > now()`
  if (!row) return undefined
  const {
    session_id,
    workspace_id,
    workspace_name,
    default_country,
    is_fresh,
    has_password,
    second_factor_due,
    sees,
    ...member
  } = row
  return {
    id: session_id,
    workspaceId: workspace_id,
    workspaceName: workspace_name,
    defaultCountry: default_country,
    member,
    sees,
    hasPassword: has_password,
    isFresh: is_fresh,
    secondFactorDue: second_factor_due,
  }
}

/** Writes at most once a minute. A row that another request writes now is skipped. `created_at` may be ahead of `now()`. */
async function updateLastSeen(sql: Sql, { id, workspaceId }: Session): Promise<void> {
  await sql`
    with stale_session as (
      select workspace_id, id from sessions
      where workspace_id = ${workspaceId} and id = ${id}
        and (last_seen_at is null or last_seen_at < date_trunc('minute', now()))
      for no key update skip locked
    )
    update sessions s set last_seen_at = greatest(s.created_at, now())
    from stale_session t where s.workspace_id = t.workspace_id and s.id = t.id`
}

/** A session as its own member sees it. */
export type ListedSession = {
  id: string
  created_at: string
  /** To the minute. */
  last_seen_at: string
  address: string | null
  user_agent: string | null
  is_current: boolean
}

/** A script can create thousands of sessions. The newest are listed; `endOtherSessions` ends all. */
const maxListed = 100

/** The sessions of a member: the current one first, then newest first. */
export async function listSessions(sql: Sql, { id, workspaceId, member }: Session): Promise<ListedSession[]> {
  return sql<ListedSession[]>`
    select id, created_at, coalesce(last_seen_at, created_at) as last_seen_at, address, user_agent,
      id = ${id} as is_current
    from sessions
    where workspace_id = ${workspaceId} and member_id = ${member.id} and expires_at > now()
    order by is_current desc, id desc
    limit ${maxListed}`
}

/** Ends one of the member's own sessions. */
export async function endSessionById(sql: Sql, { workspaceId, member }: Session, id: string): Promise<void> {
  const ended = isUuid(id)
    ? await sql`
        delete from sessions
        where workspace_id = ${workspaceId} and id = ${id} and member_id = ${member.id} and expires_at > now()
        returning id`
    : []
  if (ended.length === 0) throw notFound('session')
}

/** Ends all sessions of the member but this one, and forgets all devices. Returns how many sessions. */
export async function endOtherSessions(sql: Sql, { id, workspaceId, member }: Session): Promise<number> {
  await forgetDevices(sql, workspaceId, member.id)
  const ended = await sql`
    delete from sessions
    where workspace_id = ${workspaceId} and member_id = ${member.id} and id <> ${id} and expires_at > now()`
  return ended.count
}

/** Ends all sessions of the member, this one too, and forgets all devices. Returns how many sessions. */
export async function endAllSessions(sql: Sql, { workspaceId, member }: Session): Promise<number> {
  await forgetDevices(sql, workspaceId, member.id)
  const ended = await sql`
    delete from sessions where workspace_id = ${workspaceId} and member_id = ${member.id} and expires_at > now()`
  return ended.count
}

/** Whether the session still exists, and its member still sees the same conversations. */
export async function isUnchanged(sql: Sql, { id, workspaceId, sees }: Session): Promise<boolean> {
  const [session] = await sql<{ sees: Sees }[]>`
    select ${seesColumn(sql)} as sees
    from sessions s
    join members m on m.workspace_id = s.workspace_id and m.id = s.member_id
    join workspaces w on w.id = s.workspace_id
    where s.workspace_id = ${workspaceId} and s.id = ${id} and s.expires_at > now()`
  return session?.sees === sees
}

export async function endSession(sql: Sql, { id, workspaceId }: Session): Promise<void> {
  await sql`delete from sessions where workspace_id = ${workspaceId} and id = ${id}`
}

/** Deletes expired sessions, invitations, password resets and failure counts. */
export async function sweepSessions(sql: Sql): Promise<void> {
  await sql`delete from sessions where expires_at < now()`
  await sql`delete from invitations where expires_at < now()`
  await sweepResets(sql)
  await sweepFailures(sql)
}

/** The session of the request's cookie. */
export const getRequestSession = (sql: Sql, request: FastifyRequest): Promise<Session | undefined> =>
  getSession(sql, readSessionToken(request))

function requireSameOrigin(request: FastifyRequest, publicUrl: string): void {
  const origin = URL.parse(request.headers.origin ?? '')
  const isOwn = origin && (origin.origin === new URL(publicUrl).origin || origin.host === request.headers.host)
  if (!isOwn) throw forbidden('the request must come from a page of this service')
}
