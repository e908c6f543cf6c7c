/**
 * An object store in a folder. Any number of processes may share it.
 *
 * Objects are in two levels of subfolders, named by the end of the key: the start of an id is a time, so it would put all
 * objects of a day into one subfolder. A put writes a draft, syncs it to disk and renames it.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { giveToOwnerOf } from './embedded/as-root.ts'
import { hasCode } from './process/start-error.ts'
import type { Store } from './store.ts'
import { consumeSource, spool } from './store-spool.ts'
import { syncFolder } from './sync-folder.ts'

export function createFolderStore(dir: string): Store {
  const drafts = join(dir, 'incoming')
  let swept: Promise<void> | undefined

  const pathOf = (key: string): string => {
    if (!/^[\w-]{4,200}$/.test(key)) throw new Error(`'${key}' is not a valid key`)
    return join(dir, key.slice(-2), key.slice(-4, -2), key)
  }

  return {
    put: (key, source, options) =>
      consumeSource(source, async () => {
        const path = pathOf(key)
        const draft = join(drafts, randomUUID())
        await makeFolder(drafts)
        swept ??= sweepDrafts(drafts)
        await swept.catch((error: unknown) => {
          // The next put tries again.
          swept = undefined
          throw error
        })
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

/** Like `mkdir -p`. Each new folder gets the owner of its parent and is synced to disk. */
async function makeFolder(path: string, hasParent = false): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return
    // With a parent: it takes no folders, as in /proc. A concurrent put may have created the parent just now.
    if (!hasCode(error, 'ENOENT') || hasParent) throw error
    if (!existsSync(dirname(path))) await makeFolder(dirname(path))
    return makeFolder(path, true)
  }
  await giveToOwnerOf(dirname(path), path)
  await syncFolder(dirname(path))
}

/** No put takes this long, so an older draft belongs to a process that crashed. */
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
