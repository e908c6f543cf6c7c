/**
 * Keeps the embedded database running: when it ends by itself, it is started again at the same address, for as long as it takes.
 *
 * PostgreSQL ends when the disk has no space for its write-ahead log, and cannot start before there is some. It is started again as
 * soon as the disk has space, and otherwise after a delay that doubles from 0.2 to 10 s. A database that ends within a
 * minute of its start counts as a failed start. A restart never creates a database: without the data folder, for example after its disk
 * was unmounted, the service would continue with an empty one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createDisk } from '../process/disk.ts'
import { inWords, StartError } from '../process/start-error.ts'
import {
  type DatabaseAddress,
  type EmbeddedPostgres,
  inspectEmbeddedPostgres,
  startEmbeddedPostgres,
} from './postgres.ts'

type KeepOptions = { dataDir: string; log: Logger }

const firstDelayMs = 200
const maxDelayMs = 10_000
const stableMs = 60_000
const pollMs = 500

/** Resolves when the database has started. The first start is not repeated: its error is for the operator. */
export async function keepEmbeddedPostgres({
  dataDir,
  log,
}: KeepOptions): Promise<{ address: DatabaseAddress; stop(): Promise<void> }> {
  const disk = createDisk([dataDir])
  const stopping = new AbortController()
  const { signal } = stopping
  let running: EmbeddedPostgres | undefined = await startEmbeddedPostgres({ dataDir })
  const { address } = running
  let restarting: Promise<void> | undefined
  let failures = 0

  function watch(database: EmbeddedPostgres): void {
    const startedAt = performance.now()
    void database.exited.then((reason) => {
      running = undefined
      if (signal.aborted) return
      log.error({ reason }, 'the embedded database ended; it is started again')
      if (performance.now() - startedAt >= stableMs) failures = 0
      restarting = restart(database)
    })
  }

  async function restart(ended: EmbeddedPostgres): Promise<void> {
    await ended.stop()
    while (!signal.aborted) {
      await pause(Math.min(maxDelayMs, firstDelayMs * 2 ** failures++))
      if (signal.aborted) return
      try {
        if ((await inspectEmbeddedPostgres(dataDir)).state === 'absent')
          throw new StartError(`the data folder is gone: ${dataDir} has no database`)
        running = await startEmbeddedPostgres({ dataDir })
        log.info('the embedded database runs again')
        return watch(running)
      } catch (error) {
        // The log of a recovery without space speaks of corrupted data, which is not the case.
        const reason = (await disk.isFull().catch(() => false)) ? 'the disk is full' : inWords(error)
        log.error({ reason }, 'the embedded database could not start; the next attempt follows')
      }
    }
  }

  /** Ends early when a full disk has space. */
  async function pause(ms: number): Promise<void> {
    const until = performance.now() + ms
    const wasFull = await disk.isFull().catch(() => false)
    while (!signal.aborted && performance.now() < until) {
      await sleep(Math.min(pollMs, until - performance.now()), undefined, { signal }).catch(() => {})
      if (wasFull && !(await disk.isFull().catch(() => false))) return
    }
  }

  watch(running)
  return {
    address,
    async stop() {
      stopping.abort()
      await restarting
      await running?.stop()
    },
  }
}
