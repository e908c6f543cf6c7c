/**
 * The key that seals stored secrets: given, or made once and kept beside the embedded database.
 *
 * A text sealed with it is in the database, so that whoever comes with another
 * key is told so before anything is sealed twice over or given up as unreadable.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { SealError, type Sealer } from './lib/crypto.ts'
import type { Sql } from './lib/db.ts'
import { giveToOwnerOf } from './lib/embedded-postgres-root.ts'
import { hasCode, StartError } from './lib/start-error.ts'

export async function resolveEncryptionKey({
  encryptionKey,
  databaseUrl,
  dataDir,
}: Pick<Config, 'encryptionKey' | 'databaseUrl' | 'dataDir'>): Promise<string> {
  if (encryptionKey) return encryptionKey
  if (databaseUrl) throw new StartError('ENCRYPTION_KEY: required with DATABASE_URL, the same as the service has')
  const file = join(dataDir, 'encryption.key')
  const key = readKey(file) ?? (await makeKey(file, dataDir))
  if (!/^[0-9a-f]{64}$/i.test(key)) throw new StartError(`${file} must hold 64 hex characters`)
  return key
}

/** Stop whoever's key is not the one of this database; the first to come decides which that is. */
export async function requireSameKey(sql: Sql, sealer: Sealer): Promise<void> {
  const kept = await readCheck(sql)
  const samples = kept === undefined ? await listSealed(sql) : [kept]
  if (samples.length > 0 && !samples.some((sealed) => opens(sealer, sealed))) throw anotherKey()
  if (kept !== undefined) return
  await sql`insert into encryption_checks (sealed) values (${sealer.seal(checked)}) on conflict do nothing`
  const first = await readCheck(sql)
  if (first === undefined || !opens(sealer, first)) throw anotherKey()
}

/** From now on this is the key: the one before is gone, and what was sealed with it is entered again. */
export async function acceptKey(sql: Sql, sealer: Sealer): Promise<void> {
  await sql`
    insert into encryption_checks (sealed) values (${sealer.seal(checked)})
    on conflict (is_only) do update set sealed = excluded.sealed`
}

/** What is sealed does not matter; that it opens does. */
const checked = 'Parley'

const anotherKey = () =>
  new StartError(
    'ENCRYPTION_KEY: does not open the secrets in this database, which were sealed with another one; start with that ' +
      'one (with the embedded database it is in encryption.key of DATA_DIR). If it is lost, `npx parley encryption-key ' +
      'accept` makes this one the key: channels are then connected and webhooks made anew',
  )

async function readCheck(sql: Sql): Promise<string | undefined> {
  const [check] = await sql<{ sealed: string }[]>`select sealed from encryption_checks`
  return check?.sealed
}

/** Some of what was sealed before there was a check: the newest, in case the key was another once. */
async function listSealed(sql: Sql): Promise<string[]> {
  const rows = await sql<{ sealed: string }[]>`
    (select secrets as sealed from channel_connections order by id desc limit 20)
    union all
    (select secret from webhook_endpoints order by id desc limit 20)`
  return rows.map(({ sealed }) => sealed)
}

function opens(sealer: Sealer, sealed: string): boolean {
  try {
    sealer.open(sealed)
    return true
  } catch (error) {
    if (error instanceof SealError) return false
    throw error
  }
}

/** Written aside and linked into place, so that nobody ever reads half a key and of two makers one wins. */
async function makeKey(file: string, dataDir: string): Promise<string> {
  const draft = `${file}.${process.pid}`
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(draft, randomBytes(32).toString('hex'), { mode: 0o600, flush: true })
  chmodSync(draft, 0o600)
  await giveToOwnerOf(dataDir, draft)
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(draft)
  }
  return readKey(file) ?? ''
}

function readKey(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}
