/**
 * The loop of imports: claims jobs and runs them, three at a time in a process and one per workspace. One slot is for small files, so
 * that they do not wait for the large files of other workspaces.
 *
 * A job that fails for a reason of ours is released and claimed again. After five claims without any progress it fails with a
 * sentence. While the store or the database is not available, claims do not count.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import { CsvError } from '../lib/csv-format.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Loop } from '../lib/process/loop.ts'
import { outageOf } from '../lib/process/outage.ts'
import type { Polls } from '../lib/process/polls.ts'
import type { Store } from '../lib/store.ts'
import { within } from '../lib/time.ts'
import type { Signals } from '../signals/signals.ts'
import { checkFile } from './check.ts'
import { describeFault, MissingFile, sourceOf } from './file.ts'
import { importFile } from './import.ts'
import { claimJobs, failJob, hasJobs, type ImportJob, isLarge, keepLease, LostLease, releaseJob } from './jobs.ts'
import { deleteRejects } from './rejects.ts'
import { deleteFileOf } from './sweep.ts'
import { type EraseUntouched, undoImport } from './undo.ts'

type ImportLoopOptions = {
  db: Db
  store: Store
  log: FastifyBaseLogger
  polls: Polls
  signals: Signals
  eraseUntouched: EraseUntouched
  times: Times['imports']
}

/** In one process. Each has the numbers of its file and two chunks in memory. */
const maxJobs = 3
const maxLargeJobs = 2
const maxAttempts = 5

/** `wake` claims at once instead of at the next poll. */
export function startImports(context: ImportLoopOptions): Loop & { wake(): void } {
  const { db, log, polls, times } = context
  const running = new Map<Promise<void>, ImportJob>()
  let claiming: Promise<void> | undefined
  let isStopped = false

  function claim(): Promise<void> {
    claiming ??= claimFree().finally(() => {
      claiming = undefined
    })
    return claiming
  }

  async function claimFree(): Promise<void> {
    const free = maxJobs - running.size
    if (free <= 0 || isStopped) return
    const large = maxLargeJobs - [...running.values()].filter(isLarge).length
    for (const job of await claimJobs(db, { free, large }, times)) start(job)
  }

  function claimInBackground(): void {
    if (isStopped) return
    claim().catch((error) =>
      log.error({ err: error, loop: 'imports' }, 'imports could not be claimed; the next poll tries again'),
    )
  }

  function start(job: ImportJob): void {
    const work = runJob(context, job, () => isStopped)
      .catch((error) =>
        log.error({ err: error, import: job.id }, 'the outcome of an import could not be stored; its lease expires'),
      )
      .then(() => {
        running.delete(work)
        claimInBackground()
      })
    running.set(work, job)
  }

  const polling = polls.add({ name: 'imports', everyMs: times.pollMs, isDue: hasJobs, run: claim })
  claimInBackground()
  return {
    wake: claimInBackground,
    async stop() {
      isStopped = true
      await polling.stop()
      await claiming?.catch(() => {})
      // A chunk ends within this time; otherwise its transaction is rolled back, and another process continues.
      await within(times.stopMs, Promise.all(running.keys()))
    },
  }
}

async function runJob(context: ImportLoopOptions, job: ImportJob, isStopped: () => boolean): Promise<void> {
  const { db, log, signals, times } = context
  try {
    if (job.attempts > maxAttempts) await failJob(db, job, `something went wrong on our side${describeState(job)}`)
    else if (!(await withLease(context, job, () => work(context, job, isStopped)))) {
      await releaseJob(db, job, { isAttempt: false })
    }
  } catch (error) {
    if (error instanceof CsvError) await failFile(db, job, describeFault(error))
    else if (!(error instanceof LostLease)) {
      const isOutage = outageOf(error) !== undefined
      const isMissing = error instanceof MissingFile
      log.error({ err: error, import: job.id }, 'an import failed; it continues')
      if (isMissing && job.attempts >= maxAttempts) {
        await failJob(db, job, `file: it is no longer stored; upload it again${describeState(job)}`)
      } else await releaseJob(db, job, { afterMs: times.retryMs, isAttempt: !isOutage })
    }
  }
  await deleteFileOf(context, job.workspaceId, job.id)
  signals.changed(job.workspaceId)
}

/** Extends the lease while the job runs: a chunk may wait for a lock, or for a slow database, longer than the lease. */
async function withLease<Result>({ db, times }: ImportLoopOptions, job: ImportJob, run: () => Promise<Result>) {
  let extending: Promise<void> | undefined
  const timer = setInterval(() => {
    extending ??= keepLease(db, job, times.leaseMs)
      // The next write of the job reports a lost lease or an outage.
      .catch(() => {})
      .then(() => {
        extending = undefined
      })
  }, times.leaseMs / 4)
  try {
    return await run()
  } finally {
    clearInterval(timer)
    await extending
  }
}

/** Returns false when the process stops before the end. */
async function work(context: ImportLoopOptions, job: ImportJob, isStopped: () => boolean): Promise<boolean> {
  const { db, store, signals, eraseUntouched, times } = context
  const { workspaceId, id, sizeBytes } = job
  const announce = createAnnouncer(() => signals.changed(workspaceId), times.reportMs)
  if (job.state === 'undoing') return undoImport({ db, times, eraseUntouched, isStopped, onChunk: announce }, job)
  const reading = { db, source: sourceOf(store, id, sizeBytes), times, isStopped }
  if (job.state === 'checking') return checkFile(reading, job)
  return importFile(reading, job, (hasEvents) => {
    if (hasEvents) signals.deliveriesQueued()
    // Members see the contacts while the import runs.
    announce()
  })
}

/** Calls at most this often: a signal makes all open pages of a workspace read. */
function createAnnouncer(announce: () => void, everyMs: number): () => void {
  let announcedAt = Number.NEGATIVE_INFINITY
  return () => {
    if (performance.now() - announcedAt < everyMs) return
    announcedAt = performance.now()
    announce()
  }
}

/** A fault of the file. The rejected rows of a check that did not end say nothing; those of the next check stay. */
async function failFile(db: Db, job: ImportJob, sentence: string): Promise<void> {
  await db.begin(async (sql) => {
    await failJob(sql, job, sentence)
    if (job.state === 'checking') await deleteRejects(sql, job.workspaceId, job.id)
  })
}

/** What a failed import has done. */
function describeState({ state }: ImportJob): string {
  if (state === 'checking') return '; check the file again'
  return state === 'importing' ? '; the rows before that are imported' : '; the rest of the import stays'
}
