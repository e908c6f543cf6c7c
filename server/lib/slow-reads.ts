/**
 * Reads whose cost the caller decides: searches, filters, exports. They have connections of their own with a short statement timeout, so
 * no other statement waits for them.
 *
 * The workspace that used the least time lately runs next. A workspace runs at most two reads at a time, and one that used much time
 * leaves a connection free. So a workspace with slow filters delays neither the ordinary calls of the others nor their short searches.
 */
import { type Db, isTimeout, type Sql } from './db.ts'
import { ApiError, badRequest } from './errors.ts'

/** Runs the statements of `read` when the workspace may. 400 when one takes too long, 429 when too many reads wait. */
export type SlowReads = <Result>(workspaceId: string, read: (sql: Sql) => Promise<Result>) => Promise<Result>

export const slowReadMs = 5_000
const maxRunning = 2
const maxWaiting = 20
const maxWaitMs = 20_000
/** A workspace that used more time than this leaves a connection free. The used time halves every `halfLifeMs`. */
const muchMs = 1_000
const halfLifeMs = 10_000

type Job = { start(): void }
type Usage = { waiting: Job[]; running: number; usedMs: number; atMs: number }

export function createSlowReads(db: Db): SlowReads {
  const usages = new Map<string, Usage>()
  let free = db.options.max

  function usedMs(usage: Usage): number {
    const now = performance.now()
    usage.usedMs *= 2 ** ((usage.atMs - now) / halfLifeMs)
    usage.atMs = now
    return usage.usedMs
  }

  function startNext(): void {
    while (free > 0) {
      let next: Usage | undefined
      for (const [workspaceId, usage] of usages) {
        const used = usedMs(usage)
        if (usage.running === 0 && usage.waiting.length === 0 && used < 1) usages.delete(workspaceId)
        const leavesOne = used > muchMs && db.options.max > 1 ? 1 : 0
        const mayRun = usage.waiting.length > 0 && usage.running < maxRunning && free > leavesOne
        if (mayRun && (!next || used < next.usedMs)) next = usage
      }
      const job = next?.waiting.shift()
      if (!job) return
      job.start()
    }
  }

  async function run<Result>(usage: Usage, read: (sql: Sql) => Promise<Result>): Promise<Result> {
    free--
    usage.running++
    const startMs = performance.now()
    try {
      return await read(db)
    } catch (error) {
      if (!isTimeout(error)) throw error
      throw badRequest(`filter: takes longer than ${slowReadMs / 1_000} s; make the filter or the search narrower`)
    } finally {
      usage.usedMs = usedMs(usage) + performance.now() - startMs
      usage.running--
      free++
      startNext()
    }
  }

  return (workspaceId, read) =>
    new Promise((resolve, reject) => {
      const usage = usages.get(workspaceId) ?? { waiting: [], running: 0, usedMs: 0, atMs: performance.now() }
      usages.set(workspaceId, usage)
      if (usage.waiting.length >= maxWaiting) return reject(tooMany())
      const timer = setTimeout(() => {
        usage.waiting = usage.waiting.filter((one) => one !== job)
        reject(tooMany())
      }, maxWaitMs)
      const job: Job = {
        start() {
          clearTimeout(timer)
          run(usage, read).then(resolve, reject)
        },
      }
      usage.waiting.push(job)
      startNext()
    })
}

const tooMany = (): ApiError =>
  new ApiError('rate_limited', 'too many searches at the same time; try again in 5 s', { 'retry-after': '5' })
