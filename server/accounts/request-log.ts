/**
 * The request log: the last seven days of API requests, for members who develop against the API. `requests.ts` reads it.
 *
 * Requests are collected in memory and written once a second in one statement, after their responses. A request never waits for
 * the log: while the database is slow or the table is locked, requests collect up to a limit, and further ones are dropped and
 * counted.
 *
 * The log keeps the response of a failed request, and its body if it is a write, both without secrets. A request with a wrong key
 * belongs to no workspace and is not kept.
 */

import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Step } from '../lib/http/apply-steps.ts'
import { newId } from '../lib/id.ts'
import { type Db, isUnkeepable } from '../lib/postgres/db.ts'
import { keepDays } from '../lib/postgres/partitions.ts'
import type { Metrics } from '../lib/process/metrics.ts'
import { redactBody, redactError, redactHeaders, redactText } from './redact.ts'

/** The error that was sent, with its response, and the body of a write. */
type Failure = {
  error_code?: string
  error_message?: string
  body?: string
  /** One per line. Absent if nothing was sent. */
  response_headers?: string
  response_body?: string
}

/** A row of the log. Its id is fixed, so a repeated attempt cannot write it twice. A field that is absent is null. */
type RequestRow = Failure & {
  workspace_id: string
  id: string
  key_id: string
  method: string
  path: string
  /** Null if the client closed the connection before the response. */
  status: number | null
  duration_ms: number
  request_id: string
}

export type RequestLog = {
  /** Records a request with a key whose client closed the connection before the end of the response. */
  recordClosed(request: FastifyRequest, reply: FastifyReply): void
  /** Records all requests that have a key. */
  step: Step
  /** Writes what is left, and records nothing more. */
  stop(): Promise<void>
}

/** In characters, for all requests that are not written yet. */
const maxPendingLength = 8 * 1024 * 1024
/** About the length of a row without its path and failure. */
const rowLength = 250
/** Of the requests over the rate limit, a workspace keeps this many per flush: a client that ignores the limit must not fill the disk. */
const maxRateLimited = 10
const maxPathLength = 500
const maxMessageLength = 1_000
const flushMs = 1_000
/** A flush that waits longer for a lock is repeated later. */
const lockTimeoutMs = 2_000

export function createRequestLog(db: Db, log: FastifyBaseLogger, metrics: Metrics): RequestLog {
  const countDropped = metrics.counter(
    'parley_request_log_dropped_total',
    'API requests that the request log did not keep, by reason.',
    'reason',
    ['overflow', 'rate_limited', 'failed'],
  )
  let pending: RequestRow[] = []
  /** Of the pending rows and those of the running flush. */
  let pendingLength = 0
  /** Requests over the rate limit since the last flush, by workspace. */
  const rateLimited = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> | undefined
  let isStopped = false

  function record(request: FastifyRequest, reply: FastifyReply, status: number | null): void {
    const { id: request_id, method, originalUrl: url } = request
    const { caller } = request
    // A wrong key, or a member, whose closed connections arrive here too.
    if (!caller || !('keyId' in caller) || request.isInLog || isStopped) return
    request.isInLog = true
    const { workspaceId: workspace_id, keyId: key_id } = caller
    if (pendingLength >= maxPendingLength) {
      countDropped('overflow')
      return
    }
    if (status === 429) {
      const count = (rateLimited.get(workspace_id) ?? 0) + 1
      rateLimited.set(workspace_id, count)
      if (count > maxRateLimited) {
        countDropped('rate_limited')
        return
      }
    }
    const path = (url.includes('?') ? redactText(url) : url).slice(0, maxPathLength)
    const failure = status === null || status >= 400 ? describeFailure(request, reply, status) : {}
    const duration_ms = Math.round(reply.elapsedTime)
    pending.push({ workspace_id, id: newId(), key_id, method, path, status, duration_ms, request_id, ...failure })
    pendingLength += Object.values(failure).reduce((sum, text) => sum + text.length, rowLength + path.length)
    if (!flushing) timer ??= setTimeout(flush, flushMs)
  }

  function flush(): void {
    timer = undefined
    flushing = writePending().finally(() => {
      flushing = undefined
      if (pending.length > 0 && !isStopped) timer ??= setTimeout(flush, flushMs)
    })
  }

  /** After a failure the rows wait for the next flush. */
  async function writePending(): Promise<void> {
    const [rows, length] = [pending, pendingLength]
    pending = []
    rateLimited.clear()
    if (rows.length === 0) return
    try {
      await writeRows(db, rows)
    } catch (error) {
      log.warn({ err: error }, 'the request log could not be written')
      if (!isUnkeepable(error)) {
        pending = [...rows, ...pending]
        return
      }
      for (const _ of rows) countDropped('failed')
    }
    pendingLength -= length
  }

  return {
    recordClosed: (request, reply) => record(request, reply, reply.raw.headersSent ? reply.raw.statusCode : null),
    step: {
      fields: ['isInLog'],
      onResponse: (request, reply, done) => {
        record(request, reply, reply.statusCode)
        done()
      },
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await flushing
      flush()
      await flushing
    },
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    isInLog: boolean | undefined
  }
}

/** A GET has no body worth keeping. Every error response is the error as JSON, so it is not copied while it is sent. */
function describeFailure(request: FastifyRequest, reply: FastifyReply, status: number | null): Failure {
  const { failure, method, rawBody } = request
  return {
    ...(failure && {
      error_code: failure.code,
      error_message: toStorable(redactText(failure.message).slice(0, maxMessageLength)),
    }),
    ...(method !== 'GET' && rawBody?.length ? { body: toStorable(redactBody(rawBody)) } : {}),
    ...(status !== null && { response_headers: toStorable(redactHeaders(reply.getHeaders())) }),
    ...(status !== null && failure && { response_body: toStorable(redactError(failure)) }),
  }
}

/** Between the values of a column: `chr(31)`. */
const separator = '\x1f'

/** PostgreSQL stores neither NUL nor half of a character, which a cut may leave. */
const toStorable = (text: string): string =>
  text.replaceAll('\0', '\ufffd').replaceAll(separator, '\ufffd').toWellFormed()

/**
 * The commit does not wait for the disk: a power cut may lose the last requests of the log. One text for each column takes PostgreSQL
 * two thirds of the time of a JSON list, and this statement a tenth of the time of a `GET /me`.
 */
async function writeRows(db: Db, rows: readonly RequestRow[]): Promise<void> {
  await db.begin(async (sql) => {
    await sql.unsafe(`set local lock_timeout = ${lockTimeoutMs}; set local synchronous_commit = off`)
    const column = (name: keyof RequestRow) =>
      sql`string_to_array(${rows.map((row) => row[name] ?? '').join(separator)}, chr(31), '')`
    await sql`
      insert into api_requests (workspace_id, id, key_id, method, path, status, duration_ms, request_id, error_code,
        error_message, body, response_headers, response_body)
      select * from unnest(
        ${column('workspace_id')}::uuid[], ${column('id')}::uuid[], ${column('key_id')}::uuid[], ${column('method')},
        ${column('path')}, ${column('status')}::smallint[], ${column('duration_ms')}::int[], ${column('request_id')},
        ${column('error_code')}, ${column('error_message')}, ${column('body')}, ${column('response_headers')},
        ${column('response_body')}
      )
      on conflict (workspace_id, id) do nothing`
  })
}

/** Keeps today and the six days before it, so no request is kept for longer than seven days. */
export async function keepRequestDays(db: Db, log: FastifyBaseLogger): Promise<void> {
  await keepDays(db, log, [{ name: 'api_requests', daysKept: 6 }])
}
