/**
 * Reading the request log, newest request first.
 *
 * Blocks of several processes overlap by up to a second. So a page reads blocks by their end, newest first, and merges their
 * requests: a request is final when it is newer than the end of the last block read.
 *
 * No filter has an index. The database selects the blocks that may contain a match, and this process checks their requests. A
 * page ends after `budgetMs` even if it is not full; its cursor continues the search.
 */
import type { Fragment, Sql } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import { idAt, isUuid, msOfId } from '../lib/id.ts'
import type { Page } from '../lib/page.ts'
import { type FailureEntry, maxBlockMs, parseBlock, type RequestEntry } from './request-log.ts'

export type RequestFilter = {
  key_id?: string | undefined
  /** `succeeded`, `failed` or an exact status. */
  status?: string | undefined
  /** A part of the path. */
  path?: string | undefined
  request_id?: string | undefined
}

export type LoggedRequest = {
  id: string
  at: string
  /** Null if the key no longer exists. */
  key: { id: string; name: string; prefix: string } | null
  method: string
  path: string
  /** Null if the client closed the connection before the response. */
  status: number | null
  duration_ms: number
  request_id: string
  error: { code: string; message: string } | null
}

/** A request and its position in the order of the list. */
type Found = { entry: RequestEntry; failure: FailureEntry | undefined; blockId: string; index: number }
type RequestPosition = { ms: number; blockId: string; index: number }

const firstRead = 100
const maxRead = 2_000
const budgetMs = 500

/** A page may have fewer requests than `limit`, or none, and still have a next one. */
export async function listRequests(
  sql: Sql,
  workspaceId: string,
  filter: RequestFilter,
  { limit, cursor }: { limit: number; cursor: unknown },
): Promise<Page<LoggedRequest>> {
  const deadline = performance.now() + budgetMs
  const after = decodePosition(cursor)
  const isMatch = matcherOf(filter)
  const found: Found[] = []
  let before = after ? idAt(after.ms + maxBlockMs + 1) : undefined
  for (let size = firstRead; ; size = Math.min(2 * size, maxRead)) {
    const blocks = await readBlocks(sql, workspaceId, filter, before, size)
    for (const { id, entries } of blocks) {
      const requests = entries ? parseBlock(entries) : []
      requests.forEach((request, index) => {
        const position = { ...request, blockId: id, index }
        if (isMatch(request.entry) && (!after || compare(positionOf(position), after) < 0)) found.push(position)
      })
    }
    found.sort((one, other) => compare(positionOf(other), positionOf(one)))
    const last = blocks.length === size ? blocks.at(-1) : undefined
    // Blocks that are not read yet have no request after this time.
    const readToMs = last ? msOfId(last.id) : -1
    const final = found.findIndex(({ entry: [ms] }) => ms <= readToMs)
    const count = final === -1 ? found.length : final
    if (count > limit || !last || performance.now() > deadline) {
      const shown = found.slice(0, Math.min(count, limit))
      const end = shown.at(-1)
      const isFull = count > limit && end !== undefined
      const searchedTo = last && { ms: readToMs + 1, blockId: '', index: 0 }
      const next = isFull ? positionOf(end) : searchedTo
      return {
        data: await toRequests(sql, workspaceId, shown),
        meta: { next_cursor: next ? encodePosition(next) : null },
      }
    }
    before = last.id
  }
}

/** A request with the body of a failed write. */
export async function requireRequest(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<LoggedRequest & { body: string | null }> {
  const [, blockId = '', index = ''] = /^([0-9a-f-]{36})-(\d{1,3})$/.exec(id) ?? []
  const [block] = isUuid(blockId)
    ? await sql<{ entries: string }[]>`
        select entries from request_blocks where workspace_id = ${workspaceId} and id = ${blockId}`
    : []
  const found = block && parseBlock(block.entries)[Number(index)]
  const [request] = found ? await toRequests(sql, workspaceId, [{ ...found, blockId, index: Number(index) }]) : []
  if (!request) throw notFound('request')
  return { ...request, body: found?.failure?.[2] ?? null }
}

/** Blocks below `before`, newest first. `entries` is null if the block has no match. */
async function readBlocks(
  sql: Sql,
  workspaceId: string,
  filter: RequestFilter,
  before: string | undefined,
  limit: number,
): Promise<{ id: string; entries: string | null }[]> {
  return sql`
    select id, case when ${mayMatch(sql, filter)} then entries end as entries
    from request_blocks
    where workspace_id = ${workspaceId}${before ? sql` and id < ${before}` : sql``}
    order by id desc
    limit ${limit}`
}

/** Whether a block may contain a match: texts occur in `entries` as JSON has them. */
function mayMatch(sql: Sql, { key_id, status, path, request_id }: RequestFilter): Fragment {
  const contains = (text: string | undefined) =>
    text ? sql`and strpos(entries, ${JSON.stringify(text).slice(1, -1)}) > 0` : sql``
  const isFailure = status === 'failed' || Number(status) >= 400
  return sql`true ${isFailure ? sql`and failed_count > 0` : sql``} ${contains(key_id)} ${contains(path)} ${contains(request_id)}`
}

function matcherOf({ key_id, status, path, request_id }: RequestFilter): (entry: RequestEntry) => boolean {
  const hasStatus = (code: number | null) => {
    if (status === undefined) return true
    if (status === 'succeeded') return code !== null && code < 400
    if (status === 'failed') return code === null || code >= 400
    return code === Number(status)
  }
  return ([, keyId, , entryPath, entryStatus, , requestId]) =>
    (key_id === undefined || keyId === key_id) &&
    (path === undefined || entryPath.includes(path)) &&
    (request_id === undefined || requestId === request_id) &&
    hasStatus(entryStatus)
}

async function toRequests(sql: Sql, workspaceId: string, found: readonly Found[]): Promise<LoggedRequest[]> {
  const keyIds = [...new Set(found.map(({ entry: [, keyId] }) => keyId))]
  const keys = await sql<{ id: string; name: string; prefix: string }[]>`
    select id, name, prefix from api_keys where workspace_id = ${workspaceId} and id = any(${keyIds}::uuid[])`
  const byId = new Map(keys.map((key) => [key.id, key]))
  return found.map(({ entry, failure, blockId, index }) => {
    const [ms, keyId, method, path, status, duration_ms, request_id] = entry
    const [code, message] = failure ?? []
    return {
      id: `${blockId}-${index}`,
      at: new Date(ms).toISOString(),
      key: byId.get(keyId) ?? null,
      method,
      path,
      status,
      duration_ms,
      request_id,
      error: code ? { code, message: message ?? '' } : null,
    }
  })
}

const positionOf = ({ entry: [ms], blockId, index }: Found): RequestPosition => ({ ms, blockId, index })

/** By time, then in the order of recording. */
function compare(one: RequestPosition, other: RequestPosition): number {
  if (one.ms !== other.ms) return one.ms - other.ms
  if (one.blockId !== other.blockId) return one.blockId < other.blockId ? -1 : 1
  return one.index - other.index
}

const encodePosition = ({ ms, blockId, index }: RequestPosition): string =>
  Buffer.from(`${ms} ${blockId} ${index}`).toString('base64url')

/** Undefined for a cursor of another list: the first page. */
function decodePosition(cursor: unknown): RequestPosition | undefined {
  if (typeof cursor !== 'string') return undefined
  const [, ms, blockId = '', index] =
    /^(\d{1,14}) ([0-9a-f-]{36})? (\d{1,3})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  return ms === undefined ? undefined : { ms: Number(ms), blockId, index: Number(index) }
}
