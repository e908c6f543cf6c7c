/**
 * The cursor of the inbox: eight bytes with the microseconds by which the list is sorted, then the id. A malformed cursor
 * means the first page.
 */
import { bottom, top } from '../lib/page.ts'

export type InboxPosition = { at: string; id: string }

/** Where a list starts that is sorted from the newest, or from the oldest. */
export const newestPosition: InboxPosition = { at: 'infinity', id: top }
export const oldestPosition: InboxPosition = { at: '-infinity', id: bottom }

const lastMicrosecond = 253_402_300_799_999_999n

export function encodePosition(atMicroseconds: string | bigint, id: string): string {
  const time = Buffer.alloc(8)
  time.writeBigInt64BE(BigInt(atMicroseconds))
  return Buffer.concat([time, Buffer.from(id.replaceAll('-', ''), 'hex')]).toString('base64url')
}

/** The cursor of the start of a list from the newest. */
export const newestCursor = encodePosition(lastMicrosecond, top)

export function decodePosition(cursor: string): InboxPosition | undefined {
  if (!/^[\w-]{32}$/.test(cursor)) return undefined
  const bytes = Buffer.from(cursor, 'base64url')
  const time = bytes.readBigInt64BE()
  if (time < 0n || time > lastMicrosecond) return undefined
  const milliseconds = new Date(Number(time / 1000n)).toISOString().slice(0, -1)
  const id = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { at: `${milliseconds}${String(time % 1000n).padStart(3, '0')}Z`, id }
}
