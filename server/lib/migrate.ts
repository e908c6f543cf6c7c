/**
 * Migrations: `migrations/0001_….sql`, forward only, in order, a transaction each.
 *
 * A file that starts with `-- Runs without a transaction.` is for work that would hold locks for too long: its statements run
 * one by one and may commit in between. Each statement ends with a semicolon and an empty line. After a failure the whole
 * file runs again, so each statement must be repeatable.
 *
 * The service runs them at every start. A session-wide advisory lock serializes processes that start at the same time: the
 * first one migrates, and the others find nothing to do. A migration must work with the previous release's code, because
 * processes of two releases may overlap.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { type Db, isLockTimeout, type ReservedSql } from './db.ts'
import { newId } from './id.ts'
import { StartError } from './start-error.ts'
import { within } from './time.ts'

const migrationsDir = join(import.meta.dirname, '..', '..', 'migrations')

/** Every advisory lock of the service has its own number. */
const migrationLock = 7_263_551

/**
 * A statement that waits for a table lock makes every later statement on that table wait behind it. So a migration gives up
 * after `lockTimeoutMs`, lets the other statements run, and tries again until `maxLockWaitMs` have passed.
 */
const lockTimeoutMs = 2_000
const lockRetryMs = 1_000
const maxLockWaitMs = 10 * 60_000

type MigrateOptions = { log?: Pick<FastifyBaseLogger, 'warn'>; maxWaitMs?: number }

/** Brings the database up to date. Returns the names of the migrations that ran. */
export async function migrate(db: Db, { log, maxWaitMs = maxLockWaitMs }: MigrateOptions = {}): Promise<string[]> {
  await requireVersion(db)
  await requireSessions(db)
  const connection = await db.reserve()
  try {
    // Building an index on a large table may take longer than any other statement.
    await connection`set statement_timeout = 0`
    await connection`select pg_advisory_lock(${migrationLock})`
    await connection`select set_config('lock_timeout', ${String(lockTimeoutMs)}, false)`
    await connection`
      create table if not exists migrations (
        name text primary key,
        applied_at timestamptz not null default now()
      )`
    const applied = new Set((await connection<{ name: string }[]>`select name from migrations`).map(({ name }) => name))
    const pending = listMigrations().filter((name) => !applied.has(name))
    const deadline = performance.now() + maxWaitMs
    for (const name of pending) {
      while (!(await runMigration(connection, name))) {
        if (performance.now() > deadline) {
          throw new StartError(
            `the migration ${name} could not lock a table because another session holds it; end that session (a dump, for instance) and start again`,
          )
        }
        log?.warn({ migration: name }, 'the migration waits: another session holds a lock on a table it changes')
        await sleep(lockRetryMs)
      }
    }
    return pending
  } finally {
    await connection`select pg_advisory_unlock(${migrationLock})`.catch(() => {})
    await connection`reset statement_timeout`.catch(() => {})
    await connection`reset lock_timeout`.catch(() => {})
    connection.release()
  }
}

/** Runs one migration. Returns false if it did not get a lock in time. */
async function runMigration(connection: ReservedSql, name: string): Promise<boolean> {
  const text = readFileSync(join(migrationsDir, name), 'utf8')
  const record = `insert into migrations (name) values ('${name}')`
  try {
    if (text.startsWith('-- Runs without a transaction.')) {
      for (const statement of text.split(/;\n(?=\n|$)/).filter((part) => part.trim() !== '')) {
        await connection.unsafe(statement)
      }
      await connection.unsafe(record)
    } else {
      await connection.unsafe(`begin; ${text}; ${record}; commit`)
    }
    return true
  } catch (error) {
    // Fails as well if the connection is lost. The first error is the one to report.
    await connection`rollback`.catch(() => {})
    if (isLockTimeout(error)) return false
    throw error
  }
}

/** Whether every migration this program knows has run. */
export async function isMigrated(db: Db): Promise<boolean> {
  const applied = await db<{ name: string }[]>`select name from migrations where name = any(${listMigrations()})`
  return applied.length === listMigrations().length
}

function listMigrations(): string[] {
  return readdirSync(migrationsDir)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
}

async function requireVersion(db: Db): Promise<void> {
  const [server] = await db<{ version: number; name: string; encoding: string }[]>`
    select current_setting('server_version_num')::int as version, current_setting('server_version') as name,
      current_setting('server_encoding') as encoding`
  if (!server || server.version < 150_000)
    throw new StartError(`PostgreSQL 15 or newer is needed; this is ${server?.name}`)
  if (server.encoding !== 'UTF8')
    throw new StartError(`the database must have the encoding UTF8; it has ${server.encoding}`)
}

/**
 * Behind a pooler in transaction mode, consecutive statements of one client run in different sessions. Session locks and
 * notifications, which this program needs, fail silently there. A notification that comes back proves a session of our own.
 */
async function requireSessions(db: Db): Promise<void> {
  const channel = 'parley_session_check'
  const token = newId()
  let onReceived = () => {}
  const received = new Promise<true>((resolve) => {
    onReceived = () => resolve(true)
  })
  const { unlisten } = await db.listen(channel, (payload) => {
    if (payload === token) onReceived()
  })
  await db`select pg_notify(${channel}, ${token})`
  const isSession = await within(sessionCheckMs, received)
  await unlisten()
  if (!isSession) {
    throw new StartError(
      'DATABASE_URL leads to a connection pooler in transaction mode; Parley needs a direct connection or a pooler in session mode (pool_mode = session)',
    )
  }
}

const sessionCheckMs = 5_000
