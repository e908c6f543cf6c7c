/** Slow reads: who runs next. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../../tests/support.ts'
import { ApiError } from '../errors.ts'
import type { Db, Sql } from './db.ts'
import driver from './driver.ts'
import { createSlowReads } from './slow-reads.ts'

/** Reads that end, or exceed the statement timeout, when the test says so. */
function createReads(max: number) {
  const sql = Object.assign(() => ({ execute: async () => [] }), { options: { max } })
  const db = Object.assign(sql, { begin: (run: (transaction: unknown) => unknown) => run(sql) })
  const slow = createSlowReads(db as unknown as Db)
  const running: { name: string; end(): void; cut(): void }[] = []
  const start = (name: string) =>
    slow(name.slice(0, 1), () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      running.push({ name, end: () => resolve(), cut: () => reject(timeout) })
      return promise
    })
  const listRunning = () => running.map(({ name }) => name)
  const settle = async (name: string, how: 'end' | 'cut') => {
    const [found] = running.splice(
      running.findIndex((one) => one.name === name),
      1,
    )
    found?.[how]()
    await new Promise(setImmediate)
  }
  return { start, listRunning, end: (name: string) => settle(name, 'end'), cut: (name: string) => settle(name, 'cut') }
}

const timeout = Object.assign(Object.create(driver.PostgresError.prototype), { code: '57014' })

test('a workspace runs at most two reads at a time, and the others take turns', async () => {
  const { start, listRunning, end } = createReads(3)
  const all = [start('a1'), start('a2'), start('a3'), start('b1'), start('c1')]
  assert.deepEqual(listRunning(), ['a1', 'a2', 'b1'])
  await end('a1')
  assert.deepEqual(listRunning(), ['a2', 'b1', 'c1'], 'c used less time than a')
  await end('a2')
  assert.deepEqual(listRunning(), ['b1', 'c1', 'a3'])
  for (const name of listRunning()) await end(name)
  await Promise.all(all)
})

test('one long read runs at a time, and short ones pass it', async () => {
  const { start, listRunning, end, cut } = createReads(2)
  const all = [start('a1'), start('b1'), start('c1'), start('d1')]
  await cut('a1')
  assert.deepEqual(listRunning(), ['b1', 'c1'], 'a used the most time')
  await cut('b1')
  assert.deepEqual(listRunning(), ['c1', 'd1'])
  await end('c1')
  assert.equal(listRunning().length, 2, 'one of the long reads runs')
  await end('d1')
  assert.equal(listRunning().length, 1, 'the other one waits')
  const short = start('e1')
  assert.equal(listRunning().length, 2, 'a short read does not wait')
  await end('e1')
  await short
  const [long = ''] = listRunning()
  await end(long)
  assert.deepEqual(listRunning(), [long === 'a1' ? 'b1' : 'a1'])
  await end(long === 'a1' ? 'b1' : 'a1')
  await Promise.all(all)
})

test('after a long read the others of its workspace are long, until one is short', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { start, listRunning, end, cut } = createReads(2)
  const all = [start('a1')]
  await cut('a1')
  all.push(start('a2'))
  assert.deepEqual(listRunning(), ['a1'], 'one connection stays free')
  now = 5_000
  await end('a1')
  all.push(start('a3'))
  assert.deepEqual(listRunning(), ['a2'])
  now = 5_100
  await end('a2')
  all.push(start('a4'))
  assert.deepEqual(listRunning(), ['a3', 'a4'])
  await end('a3')
  await end('a4')
  await Promise.all(all)
})

test('a statement that takes too long is the mistake of the caller', async (t) => {
  const slow = createSlowReads((await createDatabase(t)).connect(2, { statementTimeoutMs: 1_000 }))
  const limits: unknown[] = []
  const read = async (sql: Sql) => {
    limits.push((await sql`select current_setting('statement_timeout') as limit`)[0]?.limit)
    await sql`select pg_sleep(30)`
  }
  await assert.rejects(
    slow('a', read),
    (error) => error instanceof ApiError && error.code === 'bad_request' && /^filter: takes longer/.test(error.message),
  )
  assert.deepEqual(limits, ['200ms', '1s'], 'it is tried for a moment, and then runs as long as it may')
  assert.equal((await slow('a', (sql) => sql`select 1`)).length, 1)
})

test('a pool of slow reads cannot write', async (t) => {
  const read = createSlowReads((await createDatabase(t)).connect(1, { readOnly: true }))
  await assert.rejects(
    read('a', (sql) => sql`delete from migrations`),
    (error) => error instanceof driver.PostgresError && error.code === '25006',
  )
})

test('a read that cannot start is refused: at once when many wait, else after 20 seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { start, end } = createReads(1)
  const isLimited = (error: unknown) => error instanceof ApiError && error.code === 'rate_limited'
  const runs = start('a1')
  const waiting = Array.from({ length: 20 }, () => start('a2'))
  await assert.rejects(start('a3'), isLimited)
  t.mock.timers.tick(20_000)
  for (const one of waiting) await assert.rejects(one, isLimited)
  await end('a1')
  await runs
})
