/**
 * Keyset pagination.
 *
 * Every list is sorted by id, newest first; ids are time-ordered, so this is the order of creation. A cursor is the last id of
 * the page, in 22 URL-safe characters. The next page starts right below it, whatever was added since, and costs the same at any
 * depth.
 */
import { isUuid } from './id.ts'

export type PageQuery = { limit?: unknown; cursor?: unknown }
export type Position = { limit: number; before: string }
export type Page<Row> = { data: Row[]; meta: { next_cursor: string | null } }

export const defaultLimit = 50
export const maxLimit = 100

/** Above every id: where the first page starts. */
export const top = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** Below every id. */
export const bottom = '00000000-0000-0000-0000-000000000000'

/** Reads `limit` and `cursor` of a query. Invalid values fall back to 50 and to the first page. */
export function readPosition(query: PageQuery): Position {
  const limit = typeof query.limit === 'string' && /^\d{1,9}$/.test(query.limit) ? Number(query.limit) : defaultLimit
  return {
    limit: limit >= 1 && limit <= maxLimit ? limit : defaultLimit,
    before: (typeof query.cursor === 'string' && decodeCursor(query.cursor)) || top,
  }
}

/** Builds a page from the rows of a statement with `limit + 1`. `foundCount`: how many it found, if it returns fewer. */
export function toPage<Row extends { id: string }>(
  rows: readonly Row[],
  limit: number,
  foundCount = rows.length,
): Page<Row> {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  return { data, meta: { next_cursor: foundCount > data.length && last ? encodeCursor(last.id) : null } }
}

/** Cuts a page to a total size, but keeps at least one row. The cursor continues with the rest. */
export function cutPage<Row extends { id: string }>(
  page: Page<Row>,
  sizeOf: (row: Row) => number,
  mostInTotal: number,
): Page<Row> {
  let total = 0
  const end = page.data.findIndex((row, i) => {
    total += sizeOf(row)
    return i > 0 && total > mostInTotal
  })
  const data = end === -1 ? page.data : page.data.slice(0, end)
  const last = data.at(-1)
  return end === -1 || !last ? page : { data, meta: { next_cursor: encodeCursor(last.id) } }
}

export function encodeCursor(id: string): string {
  return Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')
}

export function decodeCursor(cursor: string): string | undefined {
  if (!/^[\w-]{22}$/.test(cursor)) return undefined
  const hex = Buffer.from(cursor, 'base64url').toString('hex')
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return isUuid(id) && encodeCursor(id) === cursor ? id : undefined
}
