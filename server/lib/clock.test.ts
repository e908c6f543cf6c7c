import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { nowMs, syncClock } from './clock.ts'
import type { Sql } from './postgres/db.ts'

/** Stops the clock of the process. The database's differs by `offsetMs`; it is read `beforeMs` after the request, `afterMs` before the response. */
function stopClock(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  return (offsetMs: number, { beforeMs = 0, afterMs = 0 } = {}) =>
    (async () => {
      t.mock.timers.tick(beforeMs)
      const ms = Date.now() + offsetMs
      t.mock.timers.tick(afterMs)
      return [{ ms }]
    }) as unknown as Sql
}

const assertOffset = (offsetMs: number) => {
  const error = nowMs() - Date.now() - offsetMs
  assert.ok(Math.abs(error) <= 1, `off by ${error} ms`)
}

test('the clock follows the database, and is the process’s own before the first measurement', async (t) => {
  const databaseWith = stopClock(t)
  assertOffset(0)
  for (const offset of [40 * 86_400_000, -3_600_000, 1_500, 0]) {
    await syncClock(databaseWith(offset))
    assertOffset(offset)
  }
})

test('a slow response does not make the clock worse', async (t) => {
  const databaseWith = stopClock(t)
  await syncClock(databaseWith(60_000))
  // The middle of these round trips is 200 ms beside the moment at which the clock was read.
  for (const delay of [{ afterMs: 400 }, { beforeMs: 400 }]) {
    await syncClock(databaseWith(60_000, delay))
    assertOffset(60_000)
  }
})
