/**
 * Reads whose cost the caller decides: searches, filters, exports. They have connections of their own, so no other statement waits for
 * them, and a statement timeout.
 *
 * Every read is first tried for a moment. If that was too short, the read is long: it waits and runs again, and one long read runs at a
 * time, because each takes a whole core. The other reads of its workspace then count as long as well, until one of them is short. The
 * workspace that used the least time lately runs next, at most two reads at a time. So a workspace with slow filters delays neither the
 * ordinary calls of the others nor their short searches.
 */
import { ApiError, badRequest } from '../errors.ts'
import { type Db, isTimeout, type Sql } from './db.ts'

/** Runs the statements of `read` when the workspace may. 400 when one takes too long, 429 when too many reads wait. */
export type SlowReads = <Result>(
  workspaceId: string,
  read: (sql: Sql) => Promise<Result>,
  /** The field of the request that makes the read slow, and what the caller can do. */
  advice?: { field: string; text: string },
) => Promise<Result>

export const slowReadMs = 5_000
/** How long the statements of a read may take at the first try. */
const tryMs = 200
const maxRunning = 2
const maxWaiting = 20
const maxWaitMs = 20_000
/** The used time of a workspace halves every so often. */
const halfLifeMs = 10_000

type Read = (sql: Sql) => Promise<unknown>
type Job = {
  read: Read
  advice: { field: string; text: string }
  /** It was tried, and takes longer than `tryMs`. */
  wasTried: boolean
  timer?: NodeJS.Timeout
  resolve(result: unknown): void
  reject(error: unknown): void
}
type Usage = { waiting: Job[]; running: number; usedMs: number; atMs: number; hasLongReads: boolean }

export function createSlowReads(db: Db): SlowReads {
  const usages = new Map<string, Usage>()
  let free = db.options.max
  let isLongRunning = false

  function usedMs(usage: Usage): number {
    const now = performance.now()
    usage.usedMs *= 2 ** ((usage.atMs - now) / halfLifeMs)
    usage.atMs = now
    return usage.usedMs
  }

  const isLong = (usage: Usage, job: Job) => job.wasTried || usage.hasLongReads

  function startNext(): void {
    while (free > 0) {
      let next: { usage: Usage; job: Job } | undefined
      for (const [workspaceId, usage] of usages) {
        const used = usedMs(usage)
        if (usage.running === 0 && usage.waiting.length === 0 && used < 1) usages.delete(workspaceId)
        if (usage.running >= maxRunning || (next && used >= next.usage.usedMs)) continue
        const job = usage.waiting.find((one) => !isLongRunning || !isLong(usage, one))
        if (job) next = { usage, job }
      }
      if (!next) return
      void run(next.usage, next.job)
    }
  }

  async function run(usage: Usage, job: Job): Promise<void> {
    const runsLong = isLong(usage, job)
    clearTimeout(job.timer)
    usage.waiting.splice(usage.waiting.indexOf(job), 1)
    usage.running++
    free--
    if (runsLong) isLongRunning = true
    const startMs = performance.now()
    try {
      job.resolve(await (runsLong ? job.read(db) : tryRead(db, job.read)))
    } catch (error) {
      if (!isTimeout(error)) job.reject(error)
      else if (runsLong) job.reject(tooSlow(job))
      else {
        usage.hasLongReads = true
        wait(usage, Object.assign(job, { wasTried: true }))
      }
    }
    const tookMs = performance.now() - startMs
    usage.usedMs = usedMs(usage) + tookMs
    if (runsLong) isLongRunning = false
    if (runsLong && tookMs < tryMs) usage.hasLongReads = false
    usage.running--
    free++
    startNext()
  }

  function wait(usage: Usage, job: Job): void {
    usage.waiting.push(job)
    job.timer = setTimeout(() => {
      usage.waiting.splice(usage.waiting.indexOf(job), 1)
      job.reject(tooMany())
    }, maxWaitMs)
  }

  return <Result>(workspaceId: string, read: (sql: Sql) => Promise<Result>, advice = narrower) =>
    new Promise<Result>((resolve, reject) => {
      const usage = usages.get(workspaceId) ?? newUsage()
      usages.set(workspaceId, usage)
      if (usage.waiting.length >= maxWaiting) return reject(tooMany())
      wait(usage, { read, advice, wasTried: false, resolve: resolve as (result: unknown) => void, reject })
      startNext()
    })
}

const newUsage = (): Usage => ({ waiting: [], running: 0, usedMs: 0, atMs: performance.now(), hasLongReads: false })

async function tryRead(db: Db, read: Read): Promise<unknown> {
  return db.begin(async (sql) => {
    const limited = sql`select set_config('statement_timeout', ${String(tryMs)}, true)`.execute()
    const [, result] = await Promise.all([limited, read(sql)])
    return result
  })
}

const narrower = { field: 'filter', text: 'make the filter or the search narrower' }

const tooSlow = ({ advice: { field, text } }: Job): ApiError =>
  badRequest(`${field}: takes longer than ${slowReadMs / 1_000} s; ${text}`)

const tooMany = (): ApiError =>
  new ApiError('rate_limited', 'too many searches at the same time; try again in 5 s', { 'retry-after': '5' })
