/**
 * Who calls: the key of a request, its rate and its scope, in this order.
 *
 * Concurrent requests share one statement that finds their keys, counts them
 * in their rate windows and notes the minute of use. There is no cache: a key
 * revoked in any process is refused by every process on its next request, and
 * the count is exact however many processes there are. A request without a key
 * takes the same way as one with a wrong key and gets the same bytes.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createBatch } from '../lib/batch.ts'
import { sha256 } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError, forbidden } from '../lib/errors.ts'
import { type App, listOf } from '../lib/server.ts'

export type Caller = {
  workspaceId: string
  workspaceName: string
  defaultCountry: string
  keyId: string
  scopes: string[]
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
}

const requestsPerMinute = 120

/** Guard every route of `app`, unknown paths included. `sql` is best a small pool of its own, so that no slow statement is ahead of a key. */
export function authenticateKeys(app: App, sql: Sql): void {
  // Small batches: while we answer the callers of one, the database works on the next. Larger ones take turns with it,
  // and leave a core idle for an eighth of the time at 64 connections.
  const admit = createBatch({ run: (hashes: readonly string[]) => admitKeys(sql, hashes), max: 32 })
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request, reply) => {
    const admitted = await admit(sha256(bearerOf(request)))
    if (!admitted) throw new ApiError('unauthorized', 'a valid API key is required', { 'www-authenticate': 'Bearer' })
    request.caller = admitted.caller
    limitRate(reply, admitted)
  })
  app.addHook('onRoute', (route) => {
    const scope = route.config?.scope
    if (scope) route.onRequest = [requireScope(scope), ...listOf(route.onRequest)]
  })
}

type Admitted = {
  caller: Caller
  /** Which request of its window this is, from 1. */
  number: number
  resetAt: number
  resetSeconds: number
}

type Window = {
  /** Which of the keys asked for, from 1. */
  place: number
  workspace_id: string
  workspace_name: string
  default_country: string
  key_id: string
  scopes: string
  request_count: number
  reset_at: number
  reset_seconds: number
}

/** Look up, count and mark as used. Requests of one key are counted together and numbered back in their order. */
async function admitKeys(sql: Sql, hashes: readonly string[]): Promise<(Admitted | undefined)[]> {
  const counts = new Map<string, number>()
  for (const hash of hashes) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  const asked = [...counts.keys()]
  const windows = await sql<Window[]>`
    with asked as (
      select hash, n, place
      from unnest(${asked}::text[], ${[...counts.values()]}::int[]) with ordinality as asked (hash, n, place)
    ),
    found as (
      select k.workspace_id, w.name as workspace_name, w.default_country, k.id, k.scopes, k.last_used_at, asked.n,
        asked.place
      from asked
      join api_keys k on k.key_hash = asked.hash
      join workspaces w on w.id = k.workspace_id
      where k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    ),
    -- In order of id, so that two processes counting the same keys never lock each other out.
    counted as (
      insert into api_key_windows as w (workspace_id, key_id, started_at, request_count)
      select workspace_id, id, now(), n from found order by id
      on conflict (workspace_id, key_id) do update set
        started_at = case when w.started_at > now() - interval '60 seconds' then w.started_at else now() end,
        request_count = excluded.request_count +
          case when w.started_at > now() - interval '60 seconds' then w.request_count else 0 end
      returning key_id, request_count, started_at + interval '60 seconds' as reset_at
    ),
    -- Keys whose last use is to be written: one write a key and minute. A row another request writes now is skipped.
    stale as (
      select k.workspace_id, k.id
      from api_keys k
      join found on found.workspace_id = k.workspace_id and found.id = k.id
      where found.last_used_at is null or found.last_used_at < date_trunc('minute', now())
      for no key update of k skip locked
    ),
    -- The minute of use, or the moment of creation if that is later in the same minute.
    used as (
      update api_keys k set last_used_at = greatest(k.created_at, date_trunc('minute', now()))
      from stale where k.workspace_id = stale.workspace_id and k.id = stale.id
    )
    -- Scopes as one text: taking an array apart would cost the driver as much as the rest of the row.
    select found.place::int, found.workspace_id, found.workspace_name, found.default_country, found.id as key_id,
      array_to_string(found.scopes, ' ') as scopes, counted.request_count, ceil(extract(epoch from counted.reset_at))::int as reset_at,
      ceil(extract(epoch from counted.reset_at - now()))::int as reset_seconds
    from found join counted on counted.key_id = found.id`

  const byHash = new Map(windows.map((window) => [asked[window.place - 1], window]))
  return hashes.map((hash) => {
    const window = byHash.get(hash)
    const left = counts.get(hash) ?? 0
    counts.set(hash, left - 1)
    return window && toAdmitted(window, window.request_count - left + 1)
  })
}

function toAdmitted(window: Window, number: number): Admitted {
  return {
    caller: {
      workspaceId: window.workspace_id,
      workspaceName: window.workspace_name,
      defaultCountry: window.default_country,
      keyId: window.key_id,
      scopes: window.scopes === '' ? [] : window.scopes.split(' '),
    },
    number,
    resetAt: window.reset_at,
    resetSeconds: window.reset_seconds,
  }
}

/** The token of `Authorization: Bearer …`, or the empty text, which is nobody's key. */
function bearerOf(request: FastifyRequest): string {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
}

function limitRate(reply: FastifyReply, { number, resetAt, resetSeconds }: Admitted): void {
  reply.header('x-ratelimit-limit', requestsPerMinute)
  reply.header('x-ratelimit-remaining', Math.max(0, requestsPerMinute - number))
  reply.header('x-ratelimit-reset', resetAt)
  if (number <= requestsPerMinute) return
  const retryAfter = String(Math.max(1, resetSeconds))
  throw new ApiError('rate_limited', `over ${requestsPerMinute} requests per minute; try again in ${retryAfter} s`, {
    'retry-after': retryAfter,
  })
}

function requireScope(scope: string) {
  return ({ caller }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
    done(caller.scopes.includes(scope) ? undefined : forbidden(`the key lacks the scope ${scope}`))
  }
}
