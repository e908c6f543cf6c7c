import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nowMs, syncClock } from './clock.ts'
import type { Sql } from './db.ts'

/** A database whose clock differs by `offsetMs` from this process’s, and that responds after `delayMs`. */
const databaseWith = (offsetMs: number, delayMs = 0): Sql =>
  (async () => {
    await new Promise((resolve) => setTimeout(resolve, delayMs / 2))
    const ms = Date.now() + offsetMs
    await new Promise((resolve) => setTimeout(resolve, delayMs / 2))
    return [{ ms }]
  }) as unknown as Sql

const assertOffset = (offsetMs: number, toleranceMs: number) => {
  const error = nowMs() - Date.now() - offsetMs
  assert.ok(Math.abs(error) <= toleranceMs, `off by ${error} ms`)
}

test('the clock follows the database, and is the process’s own before the first measurement', async () => {
  assertOffset(0, 1)
  for (const offset of [40 * 86_400_000, -3_600_000, 1_500, 0]) {
    await syncClock(databaseWith(offset))
    assertOffset(offset, 50)
  }
})

test('a slow response does not make the clock worse', async () => {
  await syncClock(databaseWith(60_000))
  const before = nowMs() - Date.now()
  // The middle of this round trip is 200 ms beside the moment at which the clock was read.
  const late = (async () => {
    const ms = Date.now() + 60_000
    await new Promise((resolve) => setTimeout(resolve, 400))
    return [{ ms }]
  }) as unknown as Sql
  await syncClock(late)
  assert.ok(Math.abs(nowMs() - Date.now() - before) <= 50)
})
