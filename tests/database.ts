/**
 * Databases for tests. All test processes share one PostgreSQL; each database is cloned from a migrated template. The database of
 * a failed test is kept for inspection.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach } from 'node:test'
import pino from 'pino'
import { keepRequestDays } from '../server/accounts/request-log.ts'
import { type DatabaseAddress, startEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import type { Connect } from '../server/lib/postgres/database.ts'
import { connect, type Db } from '../server/lib/postgres/db.ts'
import { migrate } from '../server/lib/postgres/migrate.ts'
import { keepEventDays } from '../server/webhooks/partitions.ts'
import type { Owner } from './owner.ts'
import { spend } from './spent.ts'
import { until } from './until.ts'

const template = 'parley_template'

/** Durability is not what these tests are about; speed is. */
export const testSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '1000',
  // It locks a table of a test at a random time.
  autovacuum: 'off',
}

/** The server the test run started for all its files, or one for this file alone when it is run by itself. */
let server: Promise<DatabaseAddress> | undefined

function resolveServer(): Promise<DatabaseAddress> {
  const shared = process.env.PARLEY_TEST_DATABASE
  server ??= shared ? Promise.resolve(JSON.parse(shared)) : startOwnServer()
  return server
}

async function startOwnServer(): Promise<DatabaseAddress> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'))
  const postgres = await startEmbeddedPostgres({ dataDir, settings: testSettings })
  stopOwnServer = async () => {
    await postgres.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  await createTemplate(postgres.address)
  return postgres.address
}

let stopOwnServer = async () => {}
const fileEnds: (() => unknown)[] = []

/** The file as an owner. */
export const file = { after: (run: () => unknown) => void fileEnds.push(run), diagnostic: console.error, passed: true }

// Hooks of the file are registered here: called inside a test, `after` registers for that test.
afterEach((t) => {
  if ('passed' in t && !t.passed) file.passed = false
})
after(async () => {
  for (const run of fileEnds) await run()
  await stopOwnServer()
})

export async function createTemplate(address: DatabaseAddress): Promise<void> {
  const admin = connect({ database: address, max: 1 })
  await admin`create database ${admin(template)}`
  await admin.end()
  const db = connect({ database: { ...address, database: template }, max: 1 })
  await migrate(db)
  await keepEventDays(db, pino({ level: 'silent' }))
  await keepRequestDays(db, pino({ level: 'silent' }))
  await db.end()
}

export type TestDatabase = {
  address: DatabaseAddress
  /** For `DATABASE_URL`. */
  url: string
  connect: Connect
}

/** Creates a database that lives as long as its owner; `empty` has no tables yet. */
export const createDatabase = (owner: Owner, options: { empty?: boolean } = {}): Promise<TestDatabase> =>
  spend('starting', () => cloneDatabase(owner, options))

async function cloneDatabase(owner: Owner, { empty = false }: { empty?: boolean }): Promise<TestDatabase> {
  const address = await resolveServer()
  const admin = connect({ database: address, max: 1 })
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copying files takes half as long as the default, which writes every block to the log.
  await admin`create database ${admin(name)} template ${admin(empty ? 'template0' : template)} strategy file_copy`
  const opened: Db[] = []
  owner.after(async () => {
    await Promise.all(opened.map((db) => db.end({ timeout: 1 })))
    if (owner.passed) await admin`drop database ${admin(name)} with (force)`
    else owner.diagnostic(`left behind: database ${name} at ${address.host}`)
    await admin.end()
  })
  const own = { ...address, database: name }
  return {
    address: own,
    url: `postgres://${address.username}@localhost:${address.port}/${name}?host=${address.host}`,
    connect: (max, options) => {
      const db = connect({ database: own, max, ...options })
      opened.push(db)
      return db
    },
  }
}

/** Runs a statement in a transaction that stays open and keeps its locks. Returns a function that ends it. */
export async function holdTransaction(db: Db, statement: string): Promise<() => Promise<void>> {
  const connection = await db.reserve()
  await connection`begin`
  // PostgreSQL ends an idle transaction of the service after ten seconds, and its locks with it.
  await connection`set local idle_in_transaction_session_timeout = 0`
  await connection.unsafe(statement)
  return async () => {
    await connection`rollback`
    connection.release()
  }
}

/** Waits until so many statements wait for a lock. `query`: a pattern that their text matches. */
export const untilWaiting = (db: Db, count = 1, query = '') =>
  until(`${count} statements to wait for a lock`, async () => {
    const waiting = await db`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query ~ ${query}`
    return waiting.length >= count
  })
