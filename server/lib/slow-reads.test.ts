/** Slow reads: who runs next. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../tests/support.ts'
import type { Db } from './db.ts'
import { ApiError } from './errors.ts'
import { createSlowReads } from './slow-reads.ts'

/** Reads that end when the test says so. */
function createReads(max: number) {
  const slow = createSlowReads({ options: { max } } as unknown as Db)
  const running: { workspaceId: string; end(): void }[] = []
  const start = (workspaceId: string) =>
    slow(workspaceId, () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      running.push({ workspaceId, end: () => resolve() })
      return promise
    })
  const listRunning = () => running.map(({ workspaceId }) => workspaceId)
  const endFirst = async () => {
    running.shift()?.end()
    await new Promise(setImmediate)
  }
  return { start, listRunning, endFirst }
}

test('a workspace runs at most two reads at a time, and the others take turns', async () => {
  const { start, listRunning, endFirst } = createReads(3)
  const all = [start('a'), start('a'), start('a'), start('b'), start('c')]
  assert.deepEqual(listRunning(), ['a', 'a', 'b'])
  await endFirst()
  assert.deepEqual(listRunning(), ['a', 'b', 'c'], 'c used less time than a')
  await endFirst()
  assert.deepEqual(listRunning(), ['b', 'c', 'a'])
  for (const _ of all) await endFirst()
  await Promise.all(all)
})

test('a workspace that used much time leaves a connection to the others', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { start, listRunning, endFirst } = createReads(2)
  const first = start('a')
  now = 1_500
  await endFirst()
  await first
  const more = [start('a'), start('a')]
  assert.deepEqual(listRunning(), ['a'], 'one connection stays free')
  const other = start('b')
  assert.deepEqual(listRunning(), ['a', 'b'])
  await endFirst()
  assert.deepEqual(listRunning(), ['b'], 'b has the other connection')
  await endFirst()
  assert.deepEqual(listRunning(), ['a'])
  now = 60_000
  await endFirst()
  const later = [start('a'), start('a')]
  assert.deepEqual(listRunning(), ['a'], 'the read that just ended took a minute')
  await endFirst()
  await endFirst()
  await Promise.all([...more, other, ...later])
})

test('a statement that takes too long is the mistake of the caller', async (t) => {
  const slow = createSlowReads((await createDatabase(t)).connect(1, { statementTimeoutMs: 100 }))
  await assert.rejects(
    slow('a', (sql) => sql`select pg_sleep(30)`),
    (error) => error instanceof ApiError && error.code === 'bad_request' && /^filter: takes longer/.test(error.message),
  )
  assert.equal((await slow('a', (sql) => sql`select 1`)).length, 1)
})

test('a read that cannot start is refused: at once when many wait, else after 20 seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { start, endFirst } = createReads(1)
  const isLimited = (error: unknown) => error instanceof ApiError && error.code === 'rate_limited'
  const runs = start('a')
  const waiting = Array.from({ length: 20 }, () => start('a'))
  await assert.rejects(start('a'), isLimited)
  t.mock.timers.tick(20_000)
  for (const one of waiting) await assert.rejects(one, isLimited)
  await endFirst()
  await runs
})
