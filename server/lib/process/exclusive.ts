/**
 * File locks: one owner per file, for as long as the owner's process lives.
 *
 * A pid file outlives a kill -9, and then it is unclear whether its process is still ours. The kernel's locks do not have this
 * problem, but Node has no flock. SQLite, which is part of Node, locks files, so the lock is a write transaction that is never
 * committed. The kernel releases it whenever the process ends, of two simultaneous claims exactly one succeeds, and containers
 * on one machine that share a volume see it too. The file stores only the owner's pid, in `user_version`, for the refusal.
 */
import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export type Claim = { ok: true; release(): void } | { ok: false; owner: number }

const SQLITE_BUSY = 5

/** How long a claim waits for an owner that is just releasing the lock. */
const claimTimeoutMs = 500

/** Keeps references: the garbage collector closes a database without one, and so its lock. */
const held = new Set<DatabaseSync>()

/** Claims the lock of `path`, or returns the pid of its owner. Blocks up to half a second. */
export function claimFile(path: string): Claim {
  const file = new DatabaseSync(path, { timeout: claimTimeoutMs })
  // Every user that can read the file could lock it.
  chmodSync(path, 0o600)
  // Writing the pid means committing, and another process can claim the lock at that moment. So the loop continues until
  // this process holds the lock and the file has its pid.
  while (begin(file)) {
    if (ownerOf(file) === process.pid) {
      held.add(file)
      return { ok: true, release: () => held.delete(file) && file.close() }
    }
    file.exec(`pragma user_version = ${process.pid}`)
    file.exec('commit')
  }
  const owner = ownerOf(file)
  file.close()
  return { ok: false, owner }
}

function begin(file: DatabaseSync): boolean {
  try {
    file.exec('begin immediate')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw error
  }
}

function ownerOf(file: DatabaseSync): number {
  return Number(file.prepare('pragma user_version').get()?.user_version)
}
