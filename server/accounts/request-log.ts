/**
 * The request log: the last seven days of API requests, for members who develop against the API.
 *
 * Requests are collected in memory and written once a second, after their responses. A request never waits for the log: while
 * the database is slow or the table is locked, requests collect up to a limit, and further ones are dropped and counted.
 *
 * A row holds a block: requests of one workspace and process, at most a second and 250 of them, as one JSON text. A row per
 * request took 7 % of the CPU time of `GET /me`, and a block takes less than 3 %. `requests.ts` reads the blocks.
 *
 * The log keeps the body of a write that failed, without its secrets. A request with a wrong key belongs to no workspace and is
 * not kept.
 */

import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { nowMs } from '../lib/clock.ts'
import { type Db, isUnkeepable } from '../lib/db.ts'
import { pastId } from '../lib/id.ts'
import type { Metrics } from '../lib/metrics.ts'
import { keepDays } from '../lib/partitions.ts'
import type { Step } from '../lib/steps.ts'
import type { KeyCaller } from './callers.ts'
import { redactBody, redactText } from './redact.ts'

/** A request in the log. `status` is null if the client closed the connection before the response. */
export type RequestEntry = [
  endedAtMs: number,
  keyId: string,
  method: string,
  path: string,
  status: number | null,
  durationMs: number,
  requestId: string,
]

/** The error that was sent, and the body of a write. */
export type FailureEntry = [errorCode: string | null, errorMessage: string | null, body: string | null]

/** The text of a block: the entries one after the other in one array, and the failures by the index of their entry. */
type BlockText = [values: RequestEntry[number][], failures: Record<number, FailureEntry>]

/** Fields of an entry. */
const fieldCount = 7

/** Reads the text of a block. */
export function parseBlock(text: string): { entry: RequestEntry; failure: FailureEntry | undefined }[] {
  const [values, failures]: BlockText = JSON.parse(text)
  return Array.from({ length: values.length / fieldCount }, (_, i) => ({
    entry: values.slice(i * fieldCount, (i + 1) * fieldCount) as RequestEntry,
    failure: failures[i],
  }))
}

/** A block that takes entries. */
type OpenBlock = {
  workspaceId: string
  /** By the monotonic clock. */
  closesAtMs: number
  /** The database's clock less the monotonic one. Reading the clock once per block is cheaper than once per request. */
  clockOffsetMs: number
  /** The fields of all entries. One flat array costs less than an array of arrays. */
  values: RequestEntry[number][]
  failures: Record<number, FailureEntry>
  count: number
  lastMs: number
  /** About the number of characters of the entries. */
  length: number
  failedCount: number
  rateLimitedCount: number
}

/** A block that waits to be written. Its id is fixed, so a repeated attempt cannot write it twice. */
type ClosedBlock = { workspaceId: string; id: string; failedCount: number; text: string; count: number; length: number }

export type RequestLog = {
  /** Records a request whose client closed the connection before the end of the response. */
  recordClosed(request: FastifyRequest, reply: FastifyReply): void
  /** Records all requests that have a key. */
  step: Step
  /** Writes what is left, and records nothing more. */
  stop(): Promise<void>
}

/** A reader relies on it: a request is in a block that ends at most this much later. */
export const maxBlockMs = 1_000
const maxBlockCount = 250
const maxBlockLength = 64 * 1024
/** In characters, for all blocks that are not written yet. */
const maxPendingLength = 8 * 1024 * 1024
/** Of the requests over the rate limit, a block keeps this many: a client that ignores the limit must not fill the disk. */
const maxRateLimited = 10
/** About the length of an entry without its path and failure. */
const entryLength = 110
const maxPathLength = 500
const maxMessageLength = 1_000
const flushMs = 1_000
/** A flush that waits longer for a lock is repeated later. */
const lockTimeoutMs = 2_000
const blocksPerStatement = 500

export function createRequestLog(db: Db, log: FastifyBaseLogger, metrics: Metrics): RequestLog {
  const countDropped = metrics.counter(
    'parley_request_log_dropped_total',
    'API requests that the request log did not keep, by reason.',
    'reason',
    ['overflow', 'rate_limited', 'failed'],
  )
  /** The blocks that take entries, by workspace. */
  const open = new Map<string, OpenBlock>()
  let closed: ClosedBlock[] = []
  let pendingLength = 0
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> | undefined
  let isStopped = false

  function blockFor(workspaceId: string, monotonicMs: number): OpenBlock {
    const block = open.get(workspaceId)
    if (block && monotonicMs < block.closesAtMs && !isFull(block)) return block
    if (block) close(block)
    const next: OpenBlock = {
      workspaceId,
      closesAtMs: monotonicMs + maxBlockMs,
      clockOffsetMs: nowMs() - monotonicMs,
      values: [],
      failures: {},
      count: 0,
      lastMs: 0,
      length: 0,
      failedCount: 0,
      rateLimitedCount: 0,
    }
    open.set(workspaceId, next)
    return next
  }

  function close({ workspaceId, values, failures, count, lastMs, length, failedCount }: OpenBlock): void {
    open.delete(workspaceId)
    if (count === 0) return
    // JSON escapes NUL and lone surrogates, which PostgreSQL cannot store.
    const text = JSON.stringify([values, failures] satisfies BlockText)
    closed.push({ workspaceId, id: pastId(lastMs), failedCount, text, count, length })
  }

  function record(request: FastifyRequest, status: number | null, durationMs: number): void {
    const caller = request.caller as KeyCaller | undefined
    // A wrong key.
    if (!caller || request.isInLog || isStopped) return
    request.isInLog = true
    if (pendingLength >= maxPendingLength) {
      countDropped('overflow')
      return
    }
    const monotonicMs = performance.now()
    const block = blockFor(caller.workspaceId, monotonicMs)
    if (status === 429 && ++block.rateLimitedCount > maxRateLimited) {
      countDropped('rate_limited')
      return
    }
    const url = request.originalUrl
    const path = (url.includes('?') ? redactText(url) : url).slice(0, maxPathLength)
    const endedAtMs = Math.floor(monotonicMs + block.clockOffsetMs)
    let length = path.length + entryLength
    if (status === null || status >= 400) {
      const failure = describeFailure(request)
      for (const text of failure) length += text?.length ?? 0
      block.failures[block.count] = failure
      block.failedCount++
    }
    block.values.push(endedAtMs, caller.keyId, request.method, path, status, Math.round(durationMs), request.id)
    block.lastMs = endedAtMs
    block.count++
    block.length += length
    pendingLength += length
    if (!flushing) timer ??= setTimeout(flush, flushMs)
  }

  function flush(): void {
    timer = undefined
    for (const block of open.values()) close(block)
    const blocks = closed
    closed = []
    flushing = writeAll(blocks).finally(() => {
      flushing = undefined
      if (pendingLength > 0 && !isStopped) timer ??= setTimeout(flush, flushMs)
    })
  }

  /** Writes the blocks. After a failure those that are left wait for the next flush. */
  async function writeAll(blocks: ClosedBlock[]): Promise<void> {
    for (let i = 0; i < blocks.length; i += blocksPerStatement) {
      const part = blocks.slice(i, i + blocksPerStatement)
      try {
        await writeBlocks(db, part)
      } catch (error) {
        log.warn({ err: error }, 'the request log could not be written')
        if (!isUnkeepable(error)) {
          closed = [...blocks.slice(i), ...closed]
          return
        }
        for (const { count } of part) for (let i = 0; i < count; i++) countDropped('failed')
      }
      for (const { length } of part) pendingLength -= length
    }
  }

  return {
    recordClosed: (request, { raw, elapsedTime }) =>
      record(request, raw.headersSent ? raw.statusCode : null, elapsedTime),
    step: {
      fields: ['isInLog'],
      onResponse: (request, reply, done) => {
        record(request, reply.statusCode, reply.elapsedTime)
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

const isFull = ({ count, length }: OpenBlock): boolean => count >= maxBlockCount || length >= maxBlockLength

/** The rest of an entry: error and body. A GET has no body worth keeping. */
function describeFailure({ failure, method, rawBody }: FastifyRequest): FailureEntry {
  const message = failure && redactText(failure.message).slice(0, maxMessageLength)
  const body = method !== 'GET' && rawBody?.length ? redactBody(rawBody) : null
  return [failure?.code ?? null, message ?? null, body]
}

/** The commit does not wait for the disk: a power cut may lose the last requests of the log. */
async function writeBlocks(db: Db, blocks: readonly ClosedBlock[]): Promise<void> {
  await db.begin(async (sql) => {
    await sql.unsafe(`set local lock_timeout = ${lockTimeoutMs}; set local synchronous_commit = off`)
    await sql`
      insert into request_blocks (workspace_id, id, failed_count, entries)
      select "workspaceId", id, "failedCount", text
      from json_to_recordset(${JSON.stringify(blocks)}::text::json)
        as i ("workspaceId" uuid, id uuid, "failedCount" int, text text)
      on conflict (workspace_id, id) do nothing`
  })
}

/** Keeps today and the six days before it, so no request is kept for longer than seven days. */
export async function keepRequestDays(db: Db, log: FastifyBaseLogger): Promise<void> {
  await keepDays(db, log, [{ name: 'request_blocks', daysKept: 6 }])
}
