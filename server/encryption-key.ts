/** The key that seals stored secrets: given, or made once and kept beside the embedded database. */
import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'
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
