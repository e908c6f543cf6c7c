/** A small file system in memory that a test fills. Mounting it needs root and Linux. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Owner } from '../tests/owner.ts'

export type SmallDisk = {
  folder: string
  freeBytes(): number
  /** Leaves this many bytes free. */
  fill(leftBytes?: number): void
  /** Frees what `fill` took. */
  free(): void
}

/** Why this machine cannot mount a file system; undefined if it can. */
export const missingForDisk = (): string | undefined =>
  process.platform === 'linux' && process.getuid?.() === 0 ? undefined : 'mounting a small disk needs root on Linux'

export function createSmallDisk(owner: Owner, megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'parley-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'parley-test', folder])
  owner.after(() => {
    // Lazy: a process that has just been killed may still hold a file.
    execFileSync('umount', ['--lazy', folder])
    rmdirSync(folder)
  })
  const filler = join(folder, 'filler')
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  }
  return {
    folder,
    freeBytes,
    fill(leftBytes = 0) {
      // In small files: the service takes space at the same time, and one file of the exact size could fail.
      for (let i = 0; freeBytes() > leftBytes && i < 1_000; i++) {
        const bytes = Math.max(4096, freeBytes() - leftBytes)
        try {
          execFileSync('fallocate', ['-l', String(bytes), `${filler}-${i}`], { stdio: 'ignore' })
        } catch {
          // Space was taken since it was counted.
        }
      }
    },
    free() {
      for (let i = 0; i < 1_000; i++) rmSync(`${filler}-${i}`, { force: true })
    },
  }
}
