/**
 * Where bytes are kept: a folder, or a bucket that speaks S3.
 *
 * An object is there whole or not at all: a put that fails, at whatever point,
 * leaves what was there before. A second put under a key replaces the first.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { giveToOwnerOf } from './embedded-postgres-root.ts'
import { hasCode } from './start-error.ts'
import { createS3Store, type S3Place } from './store-s3.ts'
import { owning, type Spooling, spool } from './store-spool.ts'

export type Store = {
  /**
   * Keep a stream to its end. Throws a `TooLargeError` past `maxBytes`, a `BrokenSourceError` when the stream fails,
   * and anything else when the store itself cannot or `signal` is aborted. The stream is always used up or destroyed.
   */
  put(key: string, source: Readable, options: Spooling & { mime_type: string }): Promise<{ size_bytes: number }>
  /**
   * The bytes, or those of a range that lies within them, both ends included; `size_bytes` is of the whole object.
   * Whoever gets them reads them to the end or destroys them.
   */
  get(key: string, range?: ByteRange): Promise<{ bytes: Readable; size_bytes: number } | undefined>
  /** Forget it; one that is not there is forgotten already. */
  delete(key: string): Promise<void>
}

export type ByteRange = { start: number; end: number }

/** The store the settings ask for: the bucket they name, or a folder of the data directory. */
export function createStore({ dataDir, mediaS3 }: { dataDir: string; mediaS3: S3Place | undefined }): Store {
  return mediaS3 ? createS3Store(mediaS3) : createFolderStore(join(dataDir, 'media'))
}

/**
 * A folder with two levels of folders below it. They are named by the end of
 * the key, because the start of an id is a time and would put everything of a
 * day together. Any number of processes may share it.
 */
export function createFolderStore(dir: string): Store {
  const drafts = join(dir, 'incoming')
  let swept: Promise<void> | undefined

  const pathOf = (key: string): string => {
    if (!/^[\w-]{4,200}$/.test(key)) throw new Error(`'${key}' is no key`)
    return join(dir, key.slice(-2), key.slice(-4, -2), key)
  }

  return {
    put: (key, source, options) =>
      owning(source, async () => {
        const path = pathOf(key)
        const draft = join(drafts, randomUUID())
        await makeFolder(drafts)
        swept ??= sweepDrafts(drafts)
        await swept
        try {
          const file = await open(draft, 'wx', 0o600)
          let size = 0
          try {
            size = await spool(file, source, options)
            await file.sync()
          } finally {
            await file.close()
          }
          await giveToOwnerOf(dir, draft)
          await makeFolder(dirname(path))
          await rename(draft, path)
          await syncFolder(dirname(path))
          return { size_bytes: size }
        } catch (error) {
          await rm(draft, { force: true })
          throw error
        }
      }),

    async get(key, range) {
      try {
        const file = await open(pathOf(key), 'r')
        const { size } = await file.stat()
        return { bytes: file.createReadStream(range ?? {}), size_bytes: size }
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return undefined
        throw error
      }
    },

    async delete(key) {
      await rm(pathOf(key), { force: true })
    },
  }
}

/** Like `mkdir -p`, and each folder belongs to the owner of the one it is in, and is on the disk. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return
    if (!hasCode(error, 'ENOENT')) throw error
    await makeFolder(dirname(path))
    return makeFolder(path)
  }
  await giveToOwnerOf(dirname(path), path)
  await syncFolder(dirname(path))
}

/** A new name survives a power cut once its folder is on the disk. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Nobody writes for this long: such a draft is of a process that crashed. */
const draftMs = 60 * 60_000

async function sweepDrafts(drafts: string): Promise<void> {
  for (const name of await readdir(drafts)) {
    const draft = join(drafts, name)
    const found = await stat(draft).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return undefined
      throw error
    })
    if (found && Date.now() - found.mtimeMs > draftMs) await rm(draft, { force: true })
  }
}
