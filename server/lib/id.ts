/**
 * Ids: UUID version 7, made by the service.
 *
 * The first 48 bits are the millisecond of creation by the database's clock
 * (`clock.ts`), so newest-first lists are plain scans of the primary key, and
 * `created_at` is read off the id: the two can never disagree about the order
 * of two rows. Ids made by one process in the same millisecond still rise, by a
 * 12-bit counter, and so do those made after the clock was set back a little.
 * A clock that was set back further was wrong before: ids follow it at once, or
 * all rows until then would carry the time of the mistake.
 */
import { randomFillSync } from 'node:crypto'
import { nowMs } from './clock.ts'
import type { Fragment, Sql } from './db.ts'

/** More than a corrected measurement of the clock ever is, less than a person notices. */
const maxBackMs = 1_000

const pool = Buffer.alloc(8 * 512)
let used = pool.length
let lastMs = 0
let counter = 0

export function newId(timeMs: number = nowMs()): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.subarray(used, used + 8)
  used += 8
  if (timeMs > lastMs || timeMs < lastMs - maxBackMs) {
    lastMs = timeMs
    counter = ((random[0] ?? 0) << 2) | ((random[1] ?? 0) >> 6)
  } else if (++counter > 0xfff) {
    lastMs++
    counter = 0
  }
  return compose(lastMs, counter, random)
}

/** An id as it would have been made then: for what is entered after the fact. Those of one millisecond have no order. */
export function pastId(timeMs: number): string {
  const random = randomFillSync(Buffer.alloc(10))
  return compose(Math.max(0, timeMs), random.readUInt16BE(8) & 0xfff, random)
}

function compose(timeMs: number, count: number, random: Buffer): string {
  const time = timeMs.toString(16).padStart(12, '0')
  const tail = random.toString('hex', 0, 8)
  const variant = (8 | ((random[0] ?? 0) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, '0')}-${variant}${tail.slice(1, 4)}-${tail.slice(4)}`
}

/** An expression for an id of this time, for rows that a statement creates by itself. The counter is the microsecond. */
export function idFromTime(sql: Sql, time: Fragment): Fragment {
  const microseconds = sql`(extract(epoch from ${time}) * 1000000)::bigint`
  const head = sql`((${microseconds} / 1000) << 16) | 28672 | ((${microseconds} % 1000) * 4096 / 1000)`
  return sql`(encode(int8send(${head}), 'hex') || substr(gen_random_uuid()::text, 20))::uuid`
}

/** When an id of ours was made, in milliseconds since 1970. */
export const msOfId = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/** When an id of ours was made, as an ISO date-time. */
export const timeOfId = (id: string): string => new Date(msOfId(id)).toISOString()

/** Below every id made at this time or later, and above those made before. */
export function idAt(timeMs: number): string {
  const time = Math.max(0, timeMs).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => uuid.test(text)
