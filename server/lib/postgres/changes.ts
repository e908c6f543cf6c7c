/**
 * Lists of changed rows for synchronisation: oldest change first, and a caller never misses a row.
 *
 * The hazard: a transaction that commits late makes rows visible whose `updated_at` is older than rows that the caller has
 * already received. A caller that continues after the last row it received would miss them. So a list ends at the *settled
 * time*: no transaction can still write a row with an older `updated_at`.
 *
 * The rule for writers: `updated_at` is `clock_timestamp()` of the statement, or `now()`, or for a time that the process
 * generated `changedAt`. A time of the process alone is wrong: its statement may have waited for a connection.
 *
 * The settled time is the start of the oldest transaction of the service, less `lagMs`. It is read before the rows: a transaction
 * that ends between the two statements is then in the rows. It is a whole millisecond, because callers see milliseconds.
 * Sessions of other programs, such as a backup, do not hold it back.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { badRequest } from '../errors.ts'
import { isUuid } from '../id.ts'
import { type Page, type PageQuery, readPosition, top } from '../page.ts'
import { inDocument, Type } from '../schema.ts'
import { parseTime } from '../time.ts'
import { type Fragment, requireRow, type Sql } from './db.ts'

/** How far `updated_at` of a new row may be before its statement. Ids, and with them `created_at`, are generated before it. */
const lagMs = 200
/** How long a list waits for rows that were committed before the call and are not settled yet. */
const maxWaitMs = 1_000

/** The filter of a list. `things` names the rows in the API document. */
export const updatedAfterFilter = (things: string) => ({
  updated_after: Type.Optional(
    Type.String({
      maxLength: 100,
      ...inDocument({ format: 'date-time' }),
      description: `Only ${things} changed after this date-time, oldest change first, for synchronisation. Read all pages, then continue with the \`updated_at\` of the last row: no change is skipped.`,
      examples: ['2026-01-05T09:30:00.000Z'],
    }),
  ),
})

export type ChangePosition = { limit: number; after: { us: number; id: string } }

/** Reads `updated_after`, `limit` and `cursor` of a query. Undefined without `updated_after`; 400 if it is not a date-time. */
export function readChangePosition(
  query: PageQuery & { updated_after?: string | undefined },
): ChangePosition | undefined {
  if (query.updated_after === undefined) return undefined
  // An unescaped + in a query arrives as a space.
  const ms = parseTime(query.updated_after.replace(/ (?=\d\d:\d\d$)/, '+'))
  if (ms === undefined) throw badRequest('updated_after: must be a date-time, such as 2026-01-05T09:30:00Z')
  const { limit } = readPosition(query)
  const after = typeof query.cursor === 'string' ? decodeChangeCursor(query.cursor) : undefined
  // Callers see milliseconds, so all rows of the same millisecond are not after it.
  return { limit, after: after ?? { us: ms * 1_000 + 999, id: top } }
}

/** Condition: the change of a row is after the position. Sort by the same two columns. */
export const isChangedAfter = (sql: Sql, updatedAt: Fragment, id: Fragment, { after }: ChangePosition): Fragment =>
  sql`(${updatedAt}, ${id}) > (${timeOfUs(after.us)}::text::timestamptz, ${after.id}::uuid)`

/** The column `changed_us` of a list: `updated_at` in microseconds since 1970. */
export const changedUs = (sql: Sql, updatedAt: Fragment): Fragment =>
  sql`(extract(epoch from ${updatedAt}) * 1000000)::float8 as changed_us`

/** The `updated_at` of a new row: the time of its id, unless its statement runs more than `lagMs` later. */
export const changedAt = (sql: Sql, time: Fragment): Fragment =>
  sql`greatest(${time}, clock_timestamp() - make_interval(secs => ${lagMs / 1_000}))`

/**
 * One page of changes. `read` returns up to `limit + 1` rows after the position, in order. Rows that a caller wrote before are in
 * the list: it waits until they are settled, except behind a transaction that takes longer than `maxWaitMs`.
 */
export async function listChanges<Row extends { id: string; changed_us: number }>(
  sql: Sql,
  { limit }: ChangePosition,
  read: () => Promise<Row[]>,
): Promise<Page<Row>> {
  const deadline = performance.now() + maxWaitMs
  let requiredUs: number | undefined
  for (;;) {
    const { now_us, settled_us } = await getSettledTime(sql)
    requiredUs ??= now_us
    const rows = await read()
    const settled = rows.filter(({ changed_us }) => changed_us < settled_us)
    const next = rows[settled.length]
    const isComplete = !next || settled.length >= limit || settled_us > requiredUs
    if (isComplete || performance.now() > deadline) return toChangePage(settled, limit, rows.length > limit)
    await sleep(Math.min(Math.max((next.changed_us - settled_us) / 1_000, 5), 50))
  }
}

async function getSettledTime(sql: Sql): Promise<{ now_us: number; settled_us: number }> {
  const [time] = await sql<{ now_us: number; oldest_us: number }[]>`
    select (extract(epoch from now()) * 1000000)::float8 as now_us,
      (extract(epoch from least(now(), min(a.xact_start))) * 1000000)::float8 as oldest_us
    from pg_stat_activity a
    where a.datname = current_database() and a.application_name = current_setting('application_name')`
  const { now_us, oldest_us } = requireRow(time, 'the settled time')
  return { now_us, settled_us: (Math.floor(oldest_us / 1_000) - lagMs) * 1_000 }
}

function toChangePage<Row extends { id: string; changed_us: number }>(
  rows: readonly Row[],
  limit: number,
  hasMore: boolean,
): Page<Row> {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const isFull = data.length === limit && hasMore
  return { data, meta: { next_cursor: isFull && last ? encodeChangeCursor(last.changed_us, last.id) : null } }
}

/** The time and the id of the last row of a page, in 32 URL-safe characters. */
function encodeChangeCursor(us: number, id: string): string {
  const bytes = Buffer.alloc(24)
  bytes.writeBigInt64BE(BigInt(us))
  bytes.write(id.replaceAll('-', ''), 8, 'hex')
  return bytes.toString('base64url')
}

function decodeChangeCursor(cursor: string): ChangePosition['after'] | undefined {
  if (!/^[\w-]{32}$/.test(cursor)) return undefined
  const bytes = Buffer.from(cursor, 'base64url')
  const us = Number(bytes.readBigInt64BE())
  const id = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return isUuid(id) && parseTime(timeOfUs(us)) !== undefined ? { us, id } : undefined
}

/** ISO 8601 with microseconds; empty for a time that no row has. */
function timeOfUs(us: number): string {
  const ms = Math.floor(us / 1_000)
  if (Math.abs(ms) > 8.64e15) return ''
  return new Date(ms).toISOString().replace('Z', `${String(us - ms * 1_000).padStart(3, '0')}Z`)
}
