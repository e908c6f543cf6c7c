/**
 * Migrations: `migrations/0001_….sql`, forward only, in order, a transaction each.
 *
 * Run by the program itself at every start. A session-wide advisory lock makes
 * several processes that start at once take turns: the first migrates, the
 * rest find nothing to do. A migration must run under the previous release's
 * code, so processes of two releases may overlap.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Db } from './db.ts'
import { StartError } from './start-error.ts'

export const migrationsDir = join(import.meta.dirname, '..', '..', 'migrations')

/** Any number will do, as long as nothing else of ours locks it. */
const migrationLock = 7_263_551

/** Bring the database up to date; answers the names of the migrations that ran. */
export async function migrate(db: Db): Promise<string[]> {
  await requireVersion(db)
  const connection = await db.reserve()
  try {
    // An index on a large table, or another process building one, takes what it takes.
    await connection`set statement_timeout = 0`
    await connection`select pg_advisory_lock(${migrationLock})`
    await connection`
      create table if not exists migrations (
        name text primary key,
        applied_at timestamptz not null default now()
      )`
    const applied = new Set((await connection<{ name: string }[]>`select name from migrations`).map(({ name }) => name))
    const pending = listMigrations().filter((name) => !applied.has(name))
    for (const name of pending) {
      await connection.unsafe(
        `begin; ${readFileSync(join(migrationsDir, name), 'utf8')}; insert into migrations (name) values ('${name}'); commit`,
      )
    }
    return pending
  } catch (error) {
    // If the connection is what failed, this fails too, and what it failed of is what counts.
    await connection`rollback`.catch(() => {})
    throw error
  } finally {
    await connection`select pg_advisory_unlock(${migrationLock})`.catch(() => {})
    await connection`reset statement_timeout`.catch(() => {})
    connection.release()
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
