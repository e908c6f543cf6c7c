/**
 * Idempotent requests: `Idempotency-Key` on every POST of the API and of the dashboard.
 *
 * The first request with a key claims it after validation. Its response is stored for 24 hours, and the same key with the same
 * path, query and body replays it. A duplicate that arrives while the first request is in flight, in any process, waits for its
 * response.
 *
 * The 502 of a message is stored too, because the provider may have accepted the message. A refusal before any effect is not
 * stored, and neither is a 500: the claim is released and a repeat runs again. A repeat gets the `subject` of the request it repeats, so a
 * send or a broadcast finds what that request created and does not run twice.
 *
 * A response with a secret belongs to its caller: the caller is part of the request, so for another one the key is in use.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Times } from '../../common/times.ts'
import { type SealContext, type Sealer, sha256 } from '../lib/crypto.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import type { Step } from '../lib/http/apply-steps.ts'
import { newId } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'

type Claim = {
  id: string
  workspaceId: string
  path: string
  key: string
  bodyHash: string
  /** The API key or the member that the response belongs to. Undefined: all callers of the workspace get it. */
  ownerId: string | undefined
  subject: Subject
  heartbeat?: NodeJS.Timeout
}

/**
 * The id for what the request creates. A repeat of a request that crashed or failed gets the id of that request, with
 * `isRepeat`, so it can find what exists already.
 */
export type Subject = {
  id: string
  isRepeat: boolean
  /** Stores another id, in the transaction that creates the thing. */
  renew?: (sql: Sql, id: string) => Promise<void>
}
type StoredResponse = { status: number; body: string }

declare module 'fastify' {
  interface FastifyRequest {
    idempotency: Claim | undefined
  }
  interface FastifyContextConfig {
    /**
     * `false`: the route ignores `Idempotency-Key`. For responses with a secret of which only a hash is stored, and for bodies
     * or responses that are streams.
     */
    storeAnswer?: false
    /** The response contains a secret: it is replayed only to the API key or the member that made the request. */
    hasSecret?: true
  }
}

/** The time before the first poll of a waiting duplicate, doubled each time. */
const firstPollMs = 40

/** The longest `Idempotency-Key`. */
export const maxKeyLength = 255

/** Longer paths do not exist, so they get a 404 without a claim. */
const maxPathLength = 200

export type IdempotencyOptions = { sql: Sql; sealer: Sealer; times: Times['idempotency'] }

/** Responses are stored sealed. A request without a caller, such as a member who signs in, has no stored responses. */
export function keepAnswers({ sql, sealer, times }: IdempotencyOptions): Step {
  return {
    fields: ['idempotency'],
    ofRoute: ({ method, config }) =>
      method === 'POST' && config?.storeAnswer !== false ? { preHandler: claim, onSend: settle } : undefined,
  }

  async function claim(request: FastifyRequest, reply: FastifyReply) {
    const wanted = readClaim(request)
    if (!wanted) return
    // The response timed out, or the client closed the connection.
    const isOver = () => reply.sent || reply.raw.destroyed
    const stored = await claimKey(sql, sealer, wanted, isOver, times)
    if (!stored && isOver()) {
      await releaseKey(sql, wanted)
      throw new ApiError('internal', 'the client did not wait for the response')
    }
    if (!stored) {
      wanted.heartbeat = setInterval(() => void renew(wanted, request.log), times.heartbeatMs)
      request.idempotency = wanted
      return
    }
    if (stored.status >= 400) request.failure = JSON.parse(stored.body).error
    reply.code(stored.status).header('idempotent-replayed', 'true').type('application/json; charset=utf-8')
    return reply.send(stored.body)
  }

  async function renew({ id, workspaceId, path, key }: Claim, log: FastifyBaseLogger) {
    await sql`
      update idempotency_keys set locked_until = now() + make_interval(secs => ${times.leaseMs / 1000})
      where workspace_id = ${workspaceId} and path = ${path} and key = ${key} and claim_id = ${id} and status is null`.catch(
      (error) => log.warn({ err: error }, 'the claim of an Idempotency-Key could not be renewed'),
    )
  }

  async function settle(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
    const { idempotency } = request
    if (!idempotency) return payload
    request.idempotency = undefined
    clearInterval(idempotency.heartbeat)
    try {
      await settleKey(sql, idempotency, {
        status: reply.statusCode,
        body: sealer.seal(String(payload), sealContext(idempotency)),
        hasEffect: reply.statusCode < 300 || request.failure?.hasEffect === true,
      })
    } catch (error) {
      // The caller still gets the response: its effect exists, and the lease of the claim expires.
      request.log.warn({ err: error }, 'the response to an Idempotency-Key could not be stored')
    }
    return payload
  }
}

/** Binds a stored response to its key. */
const sealContext = ({ workspaceId, path, key }: Claim): SealContext => ['idempotency_keys', workspaceId, path, key]

/** The key of the request to `path` that created `subjectId`. Null after a day, or if the request had none. */
export const idempotencyKeyOf = (sql: Sql, workspaceId: string, path: Fragment, subjectId: Fragment): Fragment => sql`(
  select k.key from idempotency_keys k
  where k.workspace_id = ${workspaceId} and k.path = ${path} and k.subject_id = ${subjectId}
  limit 1
)`

/** Deletes responses older than a day. */
export async function sweepAnswers(sql: Sql): Promise<void> {
  await sql`delete from idempotency_keys where created_at < now() - interval '24 hours'`
}

function readClaim(request: FastifyRequest): Claim | undefined {
  const { caller } = request
  const key = request.headers['idempotency-key']
  if (!caller || key === undefined) return undefined
  if (typeof key !== 'string' || key.length < 1 || key.length > maxKeyLength) {
    throw badRequest(`Idempotency-Key: must have 1 to ${maxKeyLength} characters`)
  }
  const [path = '', ...query] = request.url.split('?')
  if (path.length > maxPathLength) return undefined
  const { workspaceId } = caller
  const callerId = 'member' in caller ? caller.member.id : caller.keyId
  const ownerId = request.routeOptions.config.hasSecret && callerId
  const bodyHash = hashRequest(query.join('?'), ownerId, request)
  const subject = { id: newId(), isRepeat: false }
  return { id: newId(), workspaceId, path, key, bodyHash, ownerId, subject }
}

/** Over the owner of the response, the query, and the bytes of the body, whatever its content type. */
function hashRequest(query: string, ownerId: string | undefined, { rawBody, body }: FastifyRequest): string {
  const bytes = rawBody ?? (Buffer.isBuffer(body) ? body : Buffer.alloc(0))
  const head = `${ownerId ? `${ownerId}\0` : ''}${query ? `?${query}\0` : ''}`
  return sha256(head ? Buffer.concat([Buffer.from(head), bytes]) : bytes)
}

/** Claims the key (`undefined`) or returns its stored response. Waits for a duplicate in flight, until `isOver`. */
async function claimKey(
  sql: Sql,
  sealer: Sealer,
  claim: Claim,
  isOver: () => boolean,
  times: Times['idempotency'],
): Promise<StoredResponse | undefined> {
  let isFree = true
  for (let pollMs = Math.min(firstPollMs, times.pollMs); !isOver(); ) {
    if (isFree && (await insertClaim(sql, claim, times))) return undefined
    const first = await getFirst(sql, claim)
    isFree = !first || first.is_free
    if (!first || first.is_free) continue
    if (first.body_hash !== claim.bodyHash) {
      const others = claim.ownerId ? 'with another body or query, or by another caller' : 'with another body or query'
      throw badRequest(`Idempotency-Key: already used ${others}`)
    }
    if (first.status) return { status: first.status, body: sealer.open(first.body ?? '', sealContext(claim)) }
    await sleep(pollMs)
    pollMs = Math.min(2 * pollMs, times.pollMs)
  }
  return undefined
}

/** Takes the key if it is free, together with the subject of the request that this one repeats. */
export async function insertClaim(sql: Sql, claim: Claim, { leaseMs }: Times['idempotency']): Promise<boolean> {
  const { id, workspaceId, path, key, bodyHash, subject } = claim
  const [claimed] = await sql<{ subject_id: string }[]>`
    insert into idempotency_keys as k (workspace_id, path, key, body_hash, claim_id, subject_id, created_at, locked_until)
    values (${workspaceId}, ${path}, ${key}, ${bodyHash}, ${id}, ${subject.id}, now(),
      now() + make_interval(secs => ${leaseMs / 1000}))
    on conflict (workspace_id, path, key) do update set
      -- The same bytes within a day repeat the request that crashed or failed. Anything else is a new request.
      subject_id = case when k.created_at >= now() - interval '24 hours' and k.body_hash = excluded.body_hash
        then k.subject_id else excluded.subject_id end,
      body_hash = excluded.body_hash, claim_id = excluded.claim_id, status = null, body = null,
      created_at = excluded.created_at, locked_until = excluded.locked_until
    where ${isFreeKey(sql)}
    returning subject_id`
  if (claimed) {
    const renew = (sql: Sql, subjectId: string) => renewSubject(sql, claim, subjectId)
    claim.subject = { id: claimed.subject_id, isRepeat: claimed.subject_id !== subject.id, renew }
  }
  return claimed !== undefined
}

async function renewSubject(sql: Sql, { id, workspaceId, path, key }: Claim, subjectId: string): Promise<void> {
  await sql`
    update idempotency_keys set subject_id = ${subjectId}
    where workspace_id = ${workspaceId} and path = ${path} and key = ${key} and claim_id = ${id}`
}

type FirstRequest = { body_hash: string; status: number | null; body: string | null; is_free: boolean }

export async function getFirst(sql: Sql, { workspaceId, path, key }: Claim): Promise<FirstRequest | undefined> {
  const [first] = await sql<FirstRequest[]>`
    select body_hash, status, body, ${isFreeKey(sql)} as is_free from idempotency_keys k
    where workspace_id = ${workspaceId} and path = ${path} and key = ${key}`
  return first
}

/** Condition on key `k`: its response has expired, or it has none and no request holds the lease. */
const isFreeKey = (sql: Sql): Fragment =>
  sql`(k.created_at < now() - interval '24 hours' or (k.status is null and k.locked_until <= now()))`

export async function settleKey(
  sql: Sql,
  claim: Claim,
  { status, body, hasEffect }: StoredResponse & { hasEffect: boolean },
): Promise<void> {
  const { id, workspaceId, path, key, subject } = claim
  if (hasEffect) {
    await sql`
      update idempotency_keys set status = ${status}, body = ${body}
      where workspace_id = ${workspaceId} and path = ${path} and key = ${key} and claim_id = ${id}`
  } else if ((status < 500 || status === 502) && !subject.isRepeat) {
    // The request had no effect. A later request with this key is a new one, with its own id and time.
    await sql`
      delete from idempotency_keys
      where workspace_id = ${workspaceId} and path = ${path} and key = ${key} and claim_id = ${id}`
  } else {
    await releaseKey(sql, claim)
  }
}

/** Frees the key and keeps its subject for a repeat. */
async function releaseKey(sql: Sql, { id, workspaceId, path, key }: Claim): Promise<void> {
  await sql`
    update idempotency_keys set locked_until = now()
    where workspace_id = ${workspaceId} and path = ${path} and key = ${key} and claim_id = ${id} and status is null`
}
