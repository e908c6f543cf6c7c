/**
 * The key that seals stored secrets: configured, or generated once and stored beside the embedded database.
 *
 * The database has a text sealed with the key. A process with another key refuses to start, before it seals anything with
 * that key or treats stored secrets as unreadable.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parleyCommand } from '../../common/environment.ts'
import { sealContext as connectionContext } from '../channels/connection-rows.ts'
import { type SealContext, SealError, type Sealer } from '../lib/crypto.ts'
import { giveToOwnerOf } from '../lib/embedded/as-root.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { hasCode, StartError } from '../lib/process/start-error.ts'
import { sealContext as endpointContext } from '../webhooks/endpoints.ts'
import type { Config } from './config.ts'

export async function resolveEncryptionKey({
  encryptionKey,
  databaseUrl,
  dataDir,
}: Pick<Config, 'encryptionKey' | 'databaseUrl' | 'dataDir'>): Promise<string> {
  if (encryptionKey) return encryptionKey
  if (databaseUrl) throw new StartError('ENCRYPTION_KEY: required with DATABASE_URL, the same as the service has')
  const file = join(dataDir, 'encryption.key')
  const key = readKey(file) ?? (await createKey(file, dataDir))
  if (!/^[0-9a-f]{64}$/i.test(key)) throw new StartError(`${file} must hold 64 hex characters`)
  return key
}

/** The configured or generated key. Undefined: there is none yet. Creates nothing. */
export function readEncryptionKey({
  encryptionKey,
  dataDir,
}: Pick<Config, 'encryptionKey' | 'dataDir'>): string | undefined {
  return encryptionKey ?? readKey(join(dataDir, 'encryption.key'))
}

/** Throws when the key is not the one of this database. The first process that starts stores the check. */
export async function requireSameKey(sql: Sql, sealer: Sealer): Promise<void> {
  const kept = await readCheck(sql)
  if (!(await isSameKey(sql, sealer))) throw anotherKey()
  if (kept !== undefined) return
  await sql`insert into encryption_checks (sealed) values (${sealer.seal(checked, checkContext)}) on conflict do nothing`
  const first = await readCheck(sql)
  if (first === undefined || !opens(sealer, first)) throw anotherKey()
}

/** Whether the key opens the secrets of this database, if it has any. Changes nothing. */
export async function isSameKey(sql: Sql, sealer: Sealer): Promise<boolean> {
  const kept = await readCheck(sql)
  const samples = kept === undefined ? await listSealed(sql) : [kept]
  return samples.length === 0 || samples.some((sample) => opens(sealer, sample))
}

/**
 * Makes this the key of the database. The previous key is lost, and secrets sealed with it must be entered again. Returns false, and
 * changes nothing, if it is the key already.
 */
export async function acceptKey(sql: Sql, sealer: Sealer): Promise<boolean> {
  if (await isSameKey(sql, sealer)) {
    await requireSameKey(sql, sealer)
    return false
  }
  await sql`
    insert into encryption_checks (sealed) values (${sealer.seal(checked, checkContext)})
    on conflict (is_only) do update set sealed = excluded.sealed`
  return true
}

/** Any text will do: only whether it opens matters. */
const checked = 'Parley'
const checkContext: SealContext = ['encryption_checks']

const anotherKey = () =>
  new StartError(
    'ENCRYPTION_KEY: does not open the secrets in this database, which were sealed with another one; start with that ' +
      `one (with the embedded database it is in encryption.key of DATA_DIR). If it is lost, \`${parleyCommand} encryption-key ` +
      'accept` makes this one the key: channels are then connected and webhooks made anew',
  )

type Sample = { sealed: string; context: SealContext }

async function readCheck(sql: Sql): Promise<Sample | undefined> {
  const [check] = await sql<{ sealed: string }[]>`select sealed from encryption_checks`
  return check && { sealed: check.sealed, context: checkContext }
}

/** The newest secrets that were sealed before the check existed. Older ones may have another key. */
async function listSealed(sql: Sql): Promise<Sample[]> {
  const connections = await sql<{ workspace_id: string; channel: string; secrets: string }[]>`
    select workspace_id, channel_name as channel, secrets from channel_connections where secrets <> '' order by id desc limit 20`
  const endpoints = await sql<{ workspace_id: string; id: string; secret: string }[]>`
    select workspace_id, id, secret from webhook_endpoints order by id desc limit 20`
  return [
    ...connections.map((row) => ({ sealed: row.secrets, context: connectionContext(row) })),
    ...endpoints.map((row) => ({ sealed: row.secret, context: endpointContext(row) })),
  ]
}

function opens(sealer: Sealer, { sealed, context }: Sample): boolean {
  try {
    sealer.open(sealed, context)
    return true
  } catch (error) {
    if (error instanceof SealError) return false
    throw error
  }
}

/** Writes a draft and links it to `file`: no process reads a partial key, and of two concurrent processes one wins. */
async function createKey(file: string, dataDir: string): Promise<string> {
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
