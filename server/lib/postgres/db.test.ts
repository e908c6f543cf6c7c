/** A lost database connection, as after a restart of the server, fails the statements on it and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase, until } from '../../../tests/support.ts'
import { within } from '../time.ts'
import type { Sql } from './db.ts'

for (const [when, work] of [
  [
    'between two statements',
    async (sql: Sql, end: () => Promise<unknown>, gone: Promise<unknown>) => {
      await end()
      await gone
      await sql`select 1`
    },
  ],
  [
    'between two statements, and it is not noticed until the end',
    async (_: Sql, end: () => Promise<unknown>, gone: Promise<unknown>) => {
      await end()
      await gone
    },
  ],
  [
    'between two statements, and the caller fails',
    async (_: Sql, end: () => Promise<unknown>, gone: Promise<unknown>) => {
      await end()
      await gone
      throw new Error('for a reason of its own')
    },
  ],
  [
    'in a statement',
    async (sql: Sql, end: () => Promise<unknown>) => {
      await Promise.all([sql`select pg_sleep(10)`, end()])
    },
  ],
] as const) {
  test(`a transaction whose connection is lost ${when} fails, and the process continues`, async (t) => {
    const database = await createDatabase(t)
    const [db, other] = [database.connect(1), database.connect(1)]
    const began = db.begin(async (sql) => {
      const [mine] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
      const pid = mine?.pid ?? 0
      const isGone = async () => (await other`select 1 from pg_stat_activity where pid = ${pid}`).length === 0
      const end = async () => {
        await other`select pg_terminate_backend(${pid})`
        await until('the connection to end', isGone)
      }
      await work(sql, end, failure)
    })
    const failure = began.catch((error: Error & { code?: string }) => error)
    const error = await failure
    assert.match(String((error as { code?: string }).code), /^(CONNECTION_CLOSED|57P01)$/)
    // The driver may report the loss to the next statement as well.
    await until('the pool to recover', async () => (await db`select 1`.catch(() => [])).length === 1)
  })
}

test('a transaction that stands still loses its locks after ten seconds, and the process continues', async (t) => {
  const database = await createDatabase(t)
  const [db, other] = [database.connect(1), database.connect(1)]
  const lock = (sql: Sql) => sql`select pg_advisory_xact_lock(20261116)`
  const isLocked = Promise.withResolvers<void>()
  const isOver = Promise.withResolvers<void>()
  const shown = await db`show idle_in_transaction_session_timeout`
  assert.deepEqual([...shown], [{ idle_in_transaction_session_timeout: '10s' }])
  // The pool has one connection. The rest of the test needs no ten seconds.
  await db`set idle_in_transaction_session_timeout = '500ms'`
  const frozen = db
    .begin(async (sql) => {
      await lock(sql)
      isLocked.resolve()
      await isOver.promise
      await sql`select 1`
    })
    .catch((error: Error & { code?: string }) => error.code)
  await isLocked.promise
  await lock(other)
  isOver.resolve()
  assert.match(String(await frozen), /^(CONNECTION_CLOSED|25P03)$/)
  await until('the pool to recover', async () => (await db`select 1`.catch(() => [])).length === 1)
})

test('a pool that ends while it connects leaves no connection behind', async (t) => {
  const database = await createDatabase(t)
  const [db, other] = [database.connect(20), database.connect(1)]
  await other`select 1`
  const answers = Array.from({ length: 20 }, () => db`select 1`.catch(() => undefined))
  await db.end({ timeout: 0 })
  await Promise.all(answers)
  await until('the connections to be gone', async () => {
    const rows = await other`
      select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
        and backend_type = 'client backend'`
    return rows.length === 0
  })
})

test('a pool whose connections all close under load works again at once', async (t) => {
  const database = await createDatabase(t)
  const [db, admin] = [database.connect(8), database.connect(1)]
  let isOver = false
  t.after(() => {
    isOver = true
  })
  // A caller that repeats a failed statement writes to a connection that closes in the same turn of the event loop.
  const callers = Array.from({ length: 40 }, async () => {
    while (!isOver) {
      await db`select 1`.catch(() => db`select 1`).catch(() => {})
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
  for (let round = 0; round < 3; round++) {
    const ended = await admin`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
    assert.ok(ended.length > 0)
    const answers = Array.from({ length: 8 }, () =>
      until('an answer', async () => (await db`select pg_sleep(0.1)`.catch(() => [])).length === 1),
    )
    await Promise.all(answers)
  }
  isOver = true
  // No statement waits for ever.
  assert.equal((await within(5_000, Promise.all(callers)))?.length, callers.length)
})
