/** Space on the disks of folders. */
import { statfs } from 'node:fs/promises'
import type { Logger } from 'pino'
import { within } from '../time.ts'
import { hasCode } from './start-error.ts'

export type Space = { folder: string; freeBytes: number; totalBytes: number }

export type Disk = {
  /** The folder whose disk has the least space. Undefined: none of the folders exists, or the file system does not answer. */
  read(): Promise<Space | undefined>
  /** All folders that exist, the one with the least space first. Undefined: the file system does not answer. */
  readAll(): Promise<Space[] | undefined>
  isFull(): Promise<boolean>
}

const mebibyte = 1024 * 1024

/** A segment of PostgreSQL's write-ahead log. Without space for its next segment, PostgreSQL stops. */
export const minFreeBytes = 16 * mebibyte

/** A network file system may hang. */
const timeoutMs = 1_000

const isFull = ({ freeBytes }: Space): boolean => freeBytes < minFreeBytes

export function createDisk(folders: readonly string[]): Disk {
  const readAll: Disk['readAll'] = async () => {
    const spaces = await within(timeoutMs, Promise.all(folders.map(readSpace)))
    return spaces?.flatMap((space) => space ?? []).sort((a, b) => a.freeBytes - b.freeBytes)
  }
  const read: Disk['read'] = async () => (await readAll())?.[0]
  return {
    read,
    readAll,
    async isFull() {
      const space = await read()
      return space !== undefined && isFull(space)
    },
  }
}

/** Undefined: there is no such folder. */
export async function readSpace(folder: string): Promise<Space | undefined> {
  try {
    const { bavail, blocks, bsize, files, ffree } = await statfs(folder)
    // A disk without inodes takes no new file. File systems without a limit report none.
    const isOutOfFiles = files > 0 && ffree === 0
    return { folder, freeBytes: isOutOfFiles ? 0 : bavail * bsize, totalBytes: blocks * bsize }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

const watchMs = 2_000

/** Logs when the disk becomes full and when it has space again. */
export function watchDisk(disk: Disk, log: Logger): { stop(): void } {
  let wasFull = false
  const check = async () => {
    const space = await disk.read().catch(() => undefined)
    if (!space || isFull(space) === wasFull) return
    wasFull = !wasFull
    const { folder, freeBytes, totalBytes } = space
    const fields = { folder, free_mb: toMb(freeBytes), total_mb: toMb(totalBytes) }
    if (wasFull) log.error(fields, 'the disk is full; free some space, and the service continues by itself')
    else log.info(fields, 'the disk has space again')
  }
  const timer = setInterval(() => void check(), watchMs).unref()
  return { stop: () => clearInterval(timer) }
}

const toMb = (bytes: number): number => Math.round(bytes / mebibyte)
