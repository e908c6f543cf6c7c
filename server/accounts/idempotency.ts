/**
 * Safe retries: `Idempotency-Key` on every POST, of a program or of a page whose line broke.
 *
 * The first request of a key claims it when it passed its checks, and its
 * answer is kept for 24 hours: the same key with the same bytes replays it. A
 * twin that comes while the first is under way, in this process or another,
 * waits for that answer. A refusal before any effect is not kept: the caller
 * mends the request and uses the key again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Sealer, sha256 } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'
import { type App, listOf } from '../lib/server.ts'

type Claim = {
  id: string
  path: string
  key: string
  bodyHash: string
  /**
   * The id for what the request makes. When a process dies between making and answering, whoever takes the key over
   * gets the same one, with `isRepeat`: so it can tell what is made already.
   */
  subject: { id: string; isRepeat: boolean }
  heartbeat?: NodeJS.Timeout
}
type Answer = { status: number; body: string }

declare module 'fastify' {
  interface FastifyRequest {
    idempotency: Claim | undefined
  }
}

/** Nothing had happened when one of these was answered. */
const refusals = new Set([400, 401, 402, 403, 404, 429])

/** Renewed while the first request is under way, so that only a crashed one is taken over, and soon. */
const leaseSeconds = 15
const heartbeatMs = 5_000
const pollMs = 40

/** No path of ours is longer: it names nothing, and is refused further on. */
const maxPathLength = 200

type Keeping = { sql: Sql; sealer: Sealer; workspaceOf: (request: FastifyRequest) => string | undefined }

/** Answers are kept sealed: some carry a secret that is shown once. Of whoever has no workspace yet, none is. */
export function keepAnswers(app: App, { sql, sealer, workspaceOf }: Keeping): void {
  app.decorateRequest('idempotency', undefined)
  app.addHook('onRoute', (route) => {
    if (route.method !== 'POST') return
    route.preHandler = [...listOf(route.preHandler), claim]
    route.onSend = [...listOf(route.onSend), settle]
  })

  async function claim(request: FastifyRequest, reply: FastifyReply) {
    const workspaceId = workspaceOf(request)
    const given = workspaceId && readClaim(request)
    if (!given) return
    const answer = await claimKey(sql, sealer, workspaceId, given)
    if (!answer) {
      given.heartbeat = setInterval(() => void renew(workspaceId, given), heartbeatMs)
      request.idempotency = given
      return
    }
    reply.code(answer.status).header('idempotent-replayed', 'true').type('application/json; charset=utf-8')
    return reply.send(answer.body)
  }

  async function renew(workspaceId: string, { id, path, key }: Claim) {
    await sql`
      update idempotency_keys set locked_until = now() + make_interval(secs => ${leaseSeconds})
      where workspace_id = ${workspaceId} and path = ${path} and key = ${key} and claim_id = ${id} and status is null`.catch(
      (error) => app.log.warn({ err: error }, 'a claim could not be renewed'),
    )
  }

  async function settle(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
    const workspaceId = workspaceOf(request)
    if (!workspaceId || !request.idempotency) return payload
    clearInterval(request.idempotency.heartbeat)
    const answer = { status: reply.statusCode, body: sealer.seal(String(payload)) }
    await settleKey(sql, workspaceId, request.idempotency, answer)
    return payload
  }
}

/** Forget answers older than a day. */
export async function sweepAnswers(sql: Sql): Promise<void> {
  await sql`delete from idempotency_keys where created_at < now() - interval '24 hours'`
}

function readClaim(request: FastifyRequest): Claim | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key.length < 1 || key.length > 255) {
    throw badRequest('Idempotency-Key: must have 1 to 255 characters')
  }
  const [path = ''] = request.url.split('?')
  if (path.length > maxPathLength) return undefined
  return { id: newId(), path, key, bodyHash: sha256(request.rawBody ?? ''), subject: { id: newId(), isRepeat: false } }
}

/** Take the key (`undefined`: go ahead) or get the answer it already has, waiting for one under way. */
async function claimKey(sql: Sql, sealer: Sealer, workspaceId: string, claim: Claim): Promise<Answer | undefined> {
  const { id, path, key, bodyHash, subject } = claim
  for (;;) {
    const [claimed] = await sql<{ subject_id: string }[]>`
      insert into idempotency_keys as k (workspace_id, path, key, body_hash, claim_id, subject_id, created_at, locked_until)
      values (${workspaceId}, ${path}, ${key}, ${bodyHash}, ${id}, ${subject.id}, now(),
        now() + make_interval(secs => ${leaseSeconds}))
      on conflict (workspace_id, path, key) do update set
        -- A request that died with the same bytes goes on as the same; one of yesterday is over.
        subject_id = case when k.created_at >= now() - interval '24 hours' and k.body_hash = excluded.body_hash
          then k.subject_id else excluded.subject_id end,
        body_hash = excluded.body_hash, claim_id = excluded.claim_id, status = null, body = null,
        created_at = excluded.created_at, locked_until = excluded.locked_until
      where k.created_at < now() - interval '24 hours' or (k.status is null and k.locked_until < now())
      returning subject_id`
    if (claimed) {
      claim.subject = { id: claimed.subject_id, isRepeat: claimed.subject_id !== subject.id }
      return undefined
    }
    const [first] = await sql<{ body_hash: string; status: number | null; body: string | null }[]>`
      select body_hash, status, body from idempotency_keys
      where workspace_id = ${workspaceId} and path = ${path} and key = ${key}`
    if (first && first.body_hash !== bodyHash) throw badRequest('Idempotency-Key: already used with another body')
    if (first?.status) return { status: first.status, body: sealer.open(first.body ?? '') }
    if (first) await sleep(pollMs)
  }
}

async function settleKey(
  sql: Sql,
  workspaceId: string,
  { id, path, key }: Claim,
  { status, body }: Answer,
): Promise<void> {
  if (refusals.has(status)) {
    await sql`
      delete from idempotency_keys
      where workspace_id = ${workspaceId} and path = ${path} and key = ${key} and claim_id = ${id}`
  } else {
    await sql`
      update idempotency_keys set status = ${status}, body = ${body}
      where workspace_id = ${workspaceId} and path = ${path} and key = ${key} and claim_id = ${id}`
  }
}
