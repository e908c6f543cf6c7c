/**
 * Backups of a data folder with the embedded database, while the service runs.
 *
 * The database is copied as PostgreSQL prescribes for a base backup: between `pg_backup_start` and `pg_backup_stop`, with the log that
 * was written meanwhile. Its first start replays that log. Everything else in the data folder is copied afterwards: media, the
 * encryption key, `demo.json`. So each file that the database knows is in the backup, unless it was deleted meanwhile.
 *
 * A backup is complete or absent: it is written under another name and renamed, and `backup.json` is its last file.
 */
import { constants, type Dirent } from 'node:fs'
import { copyFile, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { resolveFolder } from '../folder.ts'
import type { Db } from '../postgres/db.ts'
import { hasCode, StartError } from '../process/start-error.ts'
import { syncFolder } from '../sync-folder.ts'
import { giveToOwnerOf } from './as-root.ts'

export type BackupSummary = { folder: string; created_at: string; files: number; bytes: number }

type Manifest = { created_at: string; postgres_version: string; files: number; bytes: number }
type Tally = { files: number; bytes: number }

const manifestName = 'backup.json'
/** In the data folder, for the page that shows the status. */
const recordName = 'last-backup.json'
/** Of the service that runs on the data folder. */
const runtimeFiles = new Set([
  recordName,
  'postgres',
  'postgres.lock',
  'postgres.log',
  'postgres.log.1',
  'postgres.moved',
])

export async function createBackup(db: Db, dataDir: string, to: string): Promise<BackupSummary> {
  const folder = resolve(to)
  const existing = await listFolder(folder).catch((error: unknown) => refuseTarget(folder, error))
  if (existing.length > 0) throw new StartError(`${folder} is not empty; name a new folder`)
  if (`${folder}/`.startsWith(`${resolve(dataDir)}/`))
    throw new StartError(`${folder} is inside the data folder; name a folder outside`)
  const draft = `${folder}.part-${process.pid}`
  const tally = { files: 0, bytes: 0 }
  try {
    try {
      resolveFolder(join(draft, 'postgres'), 0o700)
    } catch (error) {
      refuseTarget(folder, error)
    }
    const postgres_version = await copyCluster(db, join(dataDir, 'postgres/data'), join(draft, 'postgres/data'), tally)
    await copyTree(dataDir, draft, tally, (path) => !runtimeFiles.has(path))
    const [now] = await db<{ at: string }[]>`select now() as at`
    const manifest: Manifest = { created_at: now?.at ?? '', postgres_version, ...tally }
    await writeDurably(join(draft, manifestName), `${JSON.stringify(manifest, null, 2)}\n`)
    await rm(folder, { recursive: true, force: true })
    await rename(draft, folder)
    await syncFolder(dirname(folder))
    const summary = { folder, created_at: manifest.created_at, ...tally }
    await recordBackup(dataDir, summary)
    return summary
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

function refuseTarget(folder: string, error: unknown): never {
  if (!isRefused(error)) throw error
  const user = userInfo().username
  const parent = dirname(folder)
  throw new StartError(
    `${user} may not write to ${parent}; create a folder that belongs to ${user}, and name a new one inside it`,
  )
}

/** EROFS: the sandbox of a unit. */
const isRefused = (error: unknown): boolean => ['EACCES', 'EPERM', 'EROFS'].some((code) => hasCode(error, code))

/** The last backup of this data folder. It may have been moved since. */
export async function getLastBackup(dataDir: string): Promise<BackupSummary | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, recordName), 'utf8'))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

async function recordBackup(dataDir: string, summary: BackupSummary): Promise<void> {
  const draft = join(dataDir, `${recordName}.${process.pid}`)
  try {
    await writeDurably(draft, `${JSON.stringify(summary)}\n`)
    await giveToOwnerOf(dataDir, draft)
    await rename(draft, join(dataDir, recordName))
  } catch (error) {
    await rm(draft, { force: true })
    // A full disk is a reason to make a backup.
    console.error(`Note: the backup is complete, but the status page will not show it: ${(error as Error).message}`)
  }
}

/** Copies a backup to a data folder that has no database yet. */
export async function restoreBackup(from: string, dataDir: string): Promise<BackupSummary> {
  const source = resolve(from)
  const manifest = await readManifest(source)
  const before = await listFolder(dataDir)
  if (before.length > 0)
    throw new StartError(`${resolve(dataDir)} is not empty; set DATA_DIR to a new folder, or move this one away`)
  const isNew = resolveFolder(resolve(dataDir), 0o700)
  if (isNew) await giveToOwnerOf(dirname(resolve(dataDir)), dataDir)
  const tally = { files: 0, bytes: 0 }
  // The database is last: a data folder with one is complete.
  await copyTree(source, dataDir, tally, (path) => path !== 'postgres' && path !== manifestName)
  const draft = join(dataDir, `postgres.part-${process.pid}`)
  await mkdir(draft, { mode: 0o700 })
  await giveToOwnerOf(dataDir, draft)
  await copyTree(join(source, 'postgres'), draft, tally)
  if (tally.files !== manifest.files)
    throw new StartError(`${source} has ${tally.files} files, and its ${manifestName} says ${manifest.files}`)
  await rename(draft, join(dataDir, 'postgres'))
  await syncFolder(dataDir)
  return { folder: resolve(dataDir), created_at: manifest.created_at, ...tally }
}

async function readManifest(folder: string): Promise<Manifest> {
  try {
    return JSON.parse(await readFile(join(folder, manifestName), 'utf8'))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) throw new StartError(`${folder} is not a backup: it has no ${manifestName}`)
    if (isRefused(error)) {
      const user = userInfo().username
      throw new StartError(`${user} may not read ${folder}; give it to this user: chown -R ${user}: ${folder}`)
    }
    throw error
  }
}

/** Folders whose content belongs to the running server. The log is copied at the end. */
const emptied = new Set([
  'pg_wal',
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
])
const skipped = /^(postmaster\.(pid|opts)|backup_label(\.old)?|pgsql_tmp.*|pg_internal\.init.*)$/

/** Copies the data folder `data` of a running server. Returns the version of the server. */
export async function copyCluster(
  db: Db,
  data: string,
  to: string,
  tally: Tally = { files: 0, bytes: 0 },
): Promise<string> {
  const session = await db.reserve()
  try {
    await session`set statement_timeout = 0`
    // The slot keeps the log that the copy needs. It is temporary: it ends when the caller ends the pool.
    await session`select pg_create_physical_replication_slot(${`parley_backup_${process.pid}`}, true, true)`
    const [start] = await session<{ segment: string; version: string }[]>`
      select pg_walfile_name(pg_backup_start('parley', fast => true)) as segment, current_setting('server_version') as version`
    await copyTree(data, to, tally, (path) => !emptied.has(dirname(path)) && !skipped.test(basename(path)))
    const [stop] = await session<{ label: string; segment: string }[]>`
      select labelfile as label, pg_walfile_name(lsn) as segment from pg_backup_stop(wait_for_archive => false)`
    if (!start || !stop) throw new Error('PostgreSQL did not start the backup')
    await writeDurably(join(to, 'backup_label'), stop.label)
    await giveToOwnerOf(to, join(to, 'backup_label'))
    tally.files++
    const isNeeded = (name: string) => /^[0-9A-F]{24}$/.test(name) && name >= start.segment && name <= stop.segment
    await copyTree(join(data, 'pg_wal'), join(to, 'pg_wal'), tally, isNeeded)
    return start.version
  } finally {
    session.release()
  }
}

/** Copies files and folders. `isWanted` gets the path within `from`. A file that is deleted meanwhile is skipped. */
async function copyTree(
  from: string,
  to: string,
  tally: Tally,
  isWanted: (path: string) => boolean = () => true,
  path = '',
): Promise<void> {
  const folder = join(to, path)
  resolveFolder(folder, 0o700)
  await giveToOwnerOf(dirname(folder), folder)
  for (const entry of await listFolder(join(from, path))) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`
    if (!isWanted(inner)) continue
    if (entry.isDirectory()) await copyTree(from, to, tally, isWanted, inner)
    else if (entry.isFile()) await copyOne(join(from, inner), join(to, inner), tally)
  }
  await syncFolder(folder)
}

async function copyOne(from: string, to: string, tally: Tally): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  await giveToOwnerOf(dirname(to), to)
  const file = await open(to, 'r+')
  await file.sync()
  await file.close()
  tally.files++
  tally.bytes += (await stat(to)).size
}

async function listFolder(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600, flush: true })
}
