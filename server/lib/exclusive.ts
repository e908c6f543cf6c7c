/**
 * One owner per file, for as long as the owner's process lives.
 *
 * A pid file outlives a kill -9 and then has to be judged: is that process
 * still ours? The kernel knows better, but Node has no flock. SQLite, which is
 * part of Node, does lock files, so a write transaction that is never
 * committed is our lock: the kernel drops it however the process ends, two
 * claims in the same instant have exactly one winner, and containers on one
 * machine that share a volume see it too. Nothing is kept in the file except
 * the owner's pid, in `user_version`, so that a refusal can name it.
 */
import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export type Claim = { ok: true; release(): void } | { ok: false; owner: number }

const SQLITE_BUSY = 5

/** How long a claim waits for an owner that is just letting go. */
const patienceMs = 500

/** A lock that nobody refers to would be closed by the garbage collector. */
const held = new Set<DatabaseSync>()

/** Take the lock of `path`, or say which process has it. Blocks up to half a second. */
export function claimFile(path: string): Claim {
  const file = new DatabaseSync(path, { timeout: patienceMs })
  // Whoever can read the file can hold a lock on it too.
  chmodSync(path, 0o600)
  // Writing our pid means committing, and in that instant another may slip in: it is ours once we hold it under our name.
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
