/**
 * Migrations: `migrations/0001_….sql`, forward only, in order, a transaction each.
 *
 * A file that starts with `-- Runs without a transaction.` is for work that would hold locks for too long: its statements run
 * one by one and may commit in between. Each statement ends with a semicolon and an empty line. After a failure or a crash the
 * whole file runs again, so each statement must be repeatable. Two kinds of statements have support:
 * - `create index concurrently if not exists`: an invalid index of an interrupted build is dropped first.
 * - `-- Each row is a statement.` before a query: the rows of its result run as statements, one by one.
 *
 * The service runs them at every start. A session-wide advisory lock serializes processes that start at the same time: the
 * first one migrates, and the others find nothing to do. A migration must work with the previous release's code, because
 * processes of two releases may overlap.
 *
 * Only released migrations are final. A database of an unreleased version is refused before anything runs.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { newId } from '../id.ts'
import { StartError } from '../process/start-error.ts'
import { within } from '../time.ts'
import { type Db, isCollision, isLockTimeout, type ReservedSql, type Sql } from './db.ts'

const migrationsDir = join(import.meta.dirname, '../../..', 'migrations')

export const firstMigration = '0001_accounts.sql'

/** Every advisory lock of the service has its own number. */
const migrationLock = 7_263_551

/**
 * A statement that waits for a table lock makes every later statement on that table wait behind it. So a migration gives up
 * after `lockTimeoutMs`, lets the other statements run, and tries again until `maxLockWaitMs` have passed. The timeout is below
 * PostgreSQL's `deadlock_timeout` (1 s): a deadlock ends with the migration, never with a request.
 */
const lockTimeoutMs = 300
const retryMs = 1_000
const maxLockWaitMs = 10 * 60_000
const pollMs = 200
/** A migration that takes longer is logged. */
const slowMs = 1_000

type MigrateOptions = {
  log?: Pick<FastifyBaseLogger, 'warn' | 'info'>
  maxWaitMs?: number
  /** The last migration to run: the newest by default, another one in tests. */
  last?: string | undefined
}

/** Brings the database up to date. Returns the names of the migrations that ran. */
export async function migrate(
  db: Db,
  { log, maxWaitMs = maxLockWaitMs, last }: MigrateOptions = {},
): Promise<string[]> {
  await requireVersion(db)
  await requireSessions(db)
  const connection = await db.reserve()
  const ran: string[] = []
  let blocked: { name: string; since: number } | undefined
  try {
    // Building an index on a large table may take longer than any other statement.
    await connection`set statement_timeout = 0`
    for (;;) {
      await claimLock(connection, log)
      const name = await runPending(connection, last, ran, log)
      if (name === undefined) return ran
      if (blocked?.name !== name) blocked = { name, since: performance.now() }
      if (performance.now() - blocked.since >= maxWaitMs) {
        throw new StartError(
          `the migration ${name} could not lock a table because another session holds it; end that session (a dump, for instance) and start again`,
        )
      }
      log?.warn({ migration: name }, 'the migration waits: another session holds a lock on a table it changes')
      // A concurrent index build waits for every open transaction, also for one of an earlier release that waits for this lock.
      await releaseLock(connection)
      await sleep(retryMs)
    }
  } finally {
    await releaseLock(connection).catch(() => {})
    await connection`reset statement_timeout`.catch(() => {})
    await connection`reset lock_timeout`.catch(() => {})
    connection.release()
  }
}

/** Polls: a session that waits inside a statement has a snapshot, and a concurrent index build would wait for it in turn. */
async function claimLock(connection: ReservedSql, log: MigrateOptions['log']): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const [row] = await connection<{ is_held: boolean }[]>`select pg_try_advisory_lock(${migrationLock}) as is_held`
    if (row?.is_held) return
    if (isFirst) log?.info('another process migrates the database; this one waits')
    await sleep(pollMs)
  }
}

async function releaseLock(connection: ReservedSql): Promise<void> {
  await connection`select pg_advisory_unlock(${migrationLock})`
}

/** Runs the migrations that are missing and adds their names to `ran`. Returns the name of one that did not get a lock in time. */
async function runPending(
  connection: ReservedSql,
  last: string | undefined,
  ran: string[],
  log: MigrateOptions['log'],
): Promise<string | undefined> {
  await setLockTimeout(connection, lockTimeoutMs)
  await connection`
    create table if not exists migrations (
      name text primary key,
      applied_at timestamptz not null default now()
    )`
  const { pending, unknown } = compareNames(
    await connection<{ name: string }[]>`select name from migrations order by name`,
  )
  if (isUnreleased({ pending, unknown })) {
    throw new StartError(
      `the database has the migration ${unknown[0]} of an unreleased version, from which this version cannot continue; start the version that created the database, or use another database (DATABASE_URL or DATA_DIR)`,
    )
  }
  for (const name of pending) {
    if (last !== undefined && name > last) break
    const began = performance.now()
    if (!(await runMigration(connection, name))) return name
    ran.push(name)
    const tookMs = Math.round(performance.now() - began)
    if (tookMs > slowMs) log?.info({ migration: name, duration_ms: tookMs }, 'a migration ran')
  }
  return undefined
}

/** Runs one migration. Returns false if it did not get a lock in time. */
async function runMigration(connection: ReservedSql, name: string): Promise<boolean> {
  const text = readFileSync(join(migrationsDir, name), 'utf8')
  const record = `insert into migrations (name) values ('${name}')`
  try {
    if (text.startsWith('-- Runs without a transaction.')) {
      for (const statement of text.split(/;\n(?=\n|$)/).filter((part) => part.trim() !== '')) {
        await runStatement(connection, statement)
      }
      await connection.unsafe(record)
    } else {
      await connection.unsafe(`begin; ${text}; ${record}; commit`)
    }
    return true
  } catch (error) {
    // Fails as well if the connection is lost. The first error is the one to report.
    await connection`rollback`.catch(() => {})
    if (isLockTimeout(error) || isCollision(error)) return false
    throw error
  }
}

/** Runs one statement outside of a transaction. */
async function runStatement(connection: ReservedSql, statement: string): Promise<void> {
  const sql = statement.replaceAll(/^\s*--.*$/gm, '')
  if (/^-- Each row is a statement\.$/m.test(statement)) {
    for (const row of await connection.unsafe(sql)) {
      for (const one of Object.values(row)) await runStatement(connection, String(one))
    }
  } else if (/^\s*(create|drop) (unique )?index concurrently /.test(sql)) {
    const [, index] = /^\s*create (?:unique )?index concurrently if not exists (\w+)/.exec(sql) ?? []
    // Its lock conflicts with neither reads nor writes, so waiting for it delays no request.
    await setLockTimeout(connection, maxLockWaitMs)
    if (index) await dropInvalidIndex(connection, index)
    await connection.unsafe(sql)
    await setLockTimeout(connection, lockTimeoutMs)
  } else {
    await connection.unsafe(sql)
  }
}

/** An interrupted build leaves an index that every write maintains and no query uses. */
async function dropInvalidIndex(connection: ReservedSql, index: string): Promise<void> {
  const invalid = await connection`
    select 1 from pg_index where indexrelid = to_regclass(${index}) and not indisvalid`
  if (invalid.length > 0) await connection.unsafe(`drop index concurrently if exists ${index}`)
}

async function setLockTimeout(connection: ReservedSql, timeoutMs: number): Promise<void> {
  await connection`select set_config('lock_timeout', ${String(timeoutMs)}, false)`
}

/** Whether every migration this program knows has run. */
export async function isMigrated(sql: Sql): Promise<boolean> {
  const applied = await sql<{ name: string }[]>`select name from migrations where name = any(${listMigrations()})`
  return applied.length === listMigrations().length
}

/** `unknown` are applied migrations that this program does not have. */
type Comparison = { applied: number; pending: string[]; unknown: string[] }

/** Compares the database with this program. Changes nothing. */
export async function compareMigrations(db: Db): Promise<Comparison> {
  const [table] = await db<{ exists: boolean }[]>`select to_regclass('migrations') is not null as exists`
  return compareNames(table?.exists ? await db<{ name: string }[]>`select name from migrations order by name` : [])
}

function compareNames(rows: readonly { name: string }[]): Comparison {
  const applied = rows.map(({ name }) => name)
  const known = listMigrations()
  return {
    applied: applied.length,
    pending: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  }
}

/**
 * Whether an unreleased version migrated the database, with migrations that were replaced before the release. The database of a newer
 * release has unknown migrations too, but lacks none of this release.
 */
export function isUnreleased({ pending, unknown }: Pick<Comparison, 'pending' | 'unknown'>): boolean {
  return pending.length > 0 && unknown.length > 0
}

function listMigrations(): string[] {
  return readdirSync(migrationsDir)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
}

export async function requireVersion(db: Db): Promise<void> {
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
export async function requireSessions(db: Db): Promise<void> {
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
