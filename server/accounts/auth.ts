/**
 * Admission of API requests: the key, its rate limit and its scope, in this order.
 *
 * Concurrent requests share one statement that finds their keys, counts them in their rate windows and updates the last use. There
 * is no cache: a key revoked in any process is refused by every process on its next request, and the count is exact over any
 * number of processes. A request without a key is processed like one with a wrong key and gets the same response.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createBatch } from '../lib/batch.ts'
import { sha256 } from '../lib/crypto.ts'
import { ApiError, forbidden } from '../lib/errors.ts'
import type { Step } from '../lib/http/apply-steps.ts'
import { type Sql, takeRows } from '../lib/postgres/db.ts'
import type { KeyCaller } from './callers.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that a key needs; null: any valid key. Only routes of the public API have it. */
    scope?: string | null
  }
}

export const requestsPerMinute = 120

/** Admits the key of a request. `sql` should be a pool of its own, so that no slow statement delays it. */
export function admitKey(sql: Sql): Step {
  // Small batches: the process responds to the callers of one while the database works on the next. With larger batches the
  // two alternate, and a core is idle for an eighth of the time at 64 connections.
  const admit = createBatch({ run: (hashes: readonly string[]) => admitKeys(sql, hashes), max: 32 })
  return {
    fields: ['caller'],
    // With `done` instead of `async`: each promise takes part of the time of every request.
    onRequest: (request, reply, done) => {
      const settle = (admission: Admission | undefined) => {
        if (!admission) return done(unauthorized())
        request.caller = admission.caller
        done(limitRate(reply, admission))
      }
      admit(sha256(bearerOf(request))).then(settle, done)
    },
  }
}

/** Refuses a key without the scope of the route. */
export const requireScope: Step = {
  ofRoute: ({ config: { scope } = {} }) =>
    scope
      ? {
          onRequest: ({ caller }, _reply, done) => {
            const { scopes } = caller as KeyCaller
            done(scopes.includes(scope) ? undefined : forbidden(`the key lacks the scope ${scope}`))
          },
        }
      : undefined,
}

const unauthorized = () => new ApiError('unauthorized', 'a valid API key is required', { 'www-authenticate': 'Bearer' })

type Admission = {
  caller: KeyCaller
  /** The number of this request in its rate window, from 1. */
  number: number
  resetAt: number
  resetSeconds: number
}

/** A row of `admitKeys`. `position` is that of the key in the list of hashes, from 1. */
type RateWindow = [
  position: number,
  workspaceId: string,
  workspaceName: string,
  defaultCountry: string,
  keyId: string,
  scopes: string,
  requestCount: number,
  resetAt: number,
  resetSeconds: number,
]

/** Finds the keys, counts the requests and updates the last use. Requests of one key get consecutive numbers. */
export async function admitKeys(sql: Sql, hashes: readonly string[]): Promise<(Admission | undefined)[]> {
  const counts = new Map<string, number>()
  for (const hash of hashes) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  const distinct = [...counts.keys()]
  // One text each instead of arrays, and rows as lists of values instead of objects: half the time of the driver.
  const windows = await sql`
    -- The hashes of the batch, each with its number of requests.
    with requested_keys as (
      select hash, n, position
      from unnest(string_to_array(${distinct.join(' ')}, ' '), string_to_array(${[...counts.values()].join(' ')}, ' ')::int[])
        with ordinality as r (hash, n, position)
    ),
    -- Those that are valid.
    valid_keys as (
      select k.workspace_id, w.name as workspace_name, w.default_country, k.id, k.scopes, k.last_used_at, r.n,
        r.position
      from requested_keys r
      join api_keys k on k.key_hash = r.hash
      join workspaces w on w.id = k.workspace_id
      where k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    ),
    -- Counts the requests, in the order of ids, so that two processes cannot deadlock.
    counted_windows as (
      insert into api_key_windows as w (workspace_id, key_id, started_at, request_count)
      select workspace_id, id, now(), n from valid_keys order by id
      on conflict (workspace_id, key_id) do update set
        started_at = case when w.started_at > now() - interval '60 seconds' then w.started_at else now() end,
        request_count = excluded.request_count +
          case when w.started_at > now() - interval '60 seconds' then w.request_count else 0 end
      returning key_id, request_count, started_at + interval '60 seconds' as reset_at
    ),
    -- Keys whose last use is outdated: one write per key and minute. A row that another request writes now is skipped.
    stale_keys as (
      select k.workspace_id, k.id
      from api_keys k
      join valid_keys v on v.workspace_id = k.workspace_id and v.id = k.id
      where v.last_used_at is null or v.last_used_at < date_trunc('minute', now())
      for no key update of k skip locked
    ),
    -- Sets the minute of use, or the time of creation if that is later in the same minute.
    used_keys as (
      update api_keys k set last_used_at = greatest(k.created_at, date_trunc('minute', now()))
      from stale_keys s where k.workspace_id = s.workspace_id and k.id = s.id
    )
    -- Scopes as one text: parsing an array costs the driver as much as the rest of the row.
    select v.position::int, v.workspace_id, v.workspace_name, v.default_country, v.id as key_id,
      array_to_string(v.scopes, ' ') as scopes, c.request_count, ceil(extract(epoch from c.reset_at))::int as reset_at,
      ceil(extract(epoch from c.reset_at - now()))::int as reset_seconds
    from valid_keys v join counted_windows c on c.key_id = v.id`.values()

  const byHash = new Map<string, RateWindow>()
  for (const window of takeRows(windows) as unknown[] as RateWindow[]) byHash.set(distinct[window[0] - 1] ?? '', window)
  return hashes.map((hash) => {
    const window = byHash.get(hash)
    const left = counts.get(hash) ?? 0
    counts.set(hash, left - 1)
    return window && toAdmission(window, left)
  })
}

/** `left`: the requests of the key in the batch that have no number yet. */
function toAdmission(window: RateWindow, left: number): Admission {
  const [, workspaceId, workspaceName, defaultCountry, keyId, scopes, requestCount, resetAt, resetSeconds] = window
  return {
    caller: { workspaceId, workspaceName, defaultCountry, keyId, scopes: scopes === '' ? [] : scopes.split(' ') },
    number: requestCount - left + 1,
    resetAt,
    resetSeconds,
  }
}

/** The token of `Authorization: Bearer …`, or the empty text, which is never a key. */
function bearerOf(request: FastifyRequest): string {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
}

/** Sets the headers of the rate limit. Returns the error of a request that exceeds it. */
function limitRate(reply: FastifyReply, { number, resetAt, resetSeconds }: Admission): ApiError | undefined {
  reply.header('x-ratelimit-limit', requestsPerMinute)
  reply.header('x-ratelimit-remaining', Math.max(0, requestsPerMinute - number))
  reply.header('x-ratelimit-reset', resetAt)
  if (number <= requestsPerMinute) return undefined
  const retryAfter = String(Math.max(1, resetSeconds))
  const message = `over ${requestsPerMinute} requests per minute; try again in ${retryAfter} s`
  return new ApiError('rate_limited', message, { 'retry-after': retryAfter })
}
