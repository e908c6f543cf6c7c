/**
 * The log of the embedded database: `<dataDir>/postgres.log`, with the part before it in `postgres.log.1`.
 *
 * PostgreSQL itself appends to the file, so that its last lines are there also after the service was killed. A file that is too large is
 * copied and emptied, because PostgreSQL would go on writing to a renamed one. Lines that it writes between the two are lost.
 */
import { copyFile, type FileHandle, open, readFile, stat, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { giveToOwnerOf } from './as-root.ts'

export type PostgresLog = {
  path: string
  file: FileHandle
  size(): Promise<number>
  /** The last lines after this position. */
  since(position: number): Promise<string>
  /** Keeps the file small until the returned function is called. */
  keepSmall(): () => void
}

/** `maxBytes`: of the file, and of the part before it. */
export type LogLimits = { maxBytes: number; checkMs: number }

const defaultLimits: LogLimits = { maxBytes: 10 * 1024 * 1024, checkMs: 10_000 }

export async function openPostgresLog(home: string, limits: LogLimits = defaultLimits): Promise<PostgresLog> {
  const path = join(home, 'postgres.log')
  const file = await open(path, 'a', 0o600)
  await giveToOwnerOf(home, path)
  await rotate(path, limits.maxBytes)
  return {
    path,
    file,
    size: async () => (await file.stat()).size,
    since: async (position) => {
      const text = (await readFile(path)).subarray(position).toString()
      return text.trim().split('\n').slice(-20).join('\n')
    },
    keepSmall() {
      // A file that the operator moved away has no size to limit.
      const timer = setInterval(() => void rotate(path, limits.maxBytes).catch(() => {}), limits.checkMs).unref()
      return () => clearInterval(timer)
    },
  }
}

async function rotate(path: string, maxBytes: number): Promise<void> {
  if ((await stat(path)).size <= maxBytes) return
  const before = `${path}.1`
  // On a full disk the file is emptied without a copy.
  await copyFile(path, before).then(
    () => giveToOwnerOf(dirname(path), before),
    () => {},
  )
  await truncate(path)
}
