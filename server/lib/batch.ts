/**
 * Batching: coalesces the database work of concurrent callers into one set-based statement.
 *
 * A call joins the batch that is being collected. A batch starts as soon as one of `lanes` is free, so a single caller does
 * not wait, and batches grow with the load: 85,000 inserts/s instead of 7,000.
 *
 * Callers are independent. `run` returns one result per item, in order: a value or an `Error`. If the database refuses the
 * statement as a whole, nothing was written, and the items run one by one, so that only the faulty item fails. A statement
 * that deadlocked is retried. If the connection is lost the outcome is unknown, so nothing is retried and every item fails.
 */
import { withRetries } from './db.ts'
import { outageOf } from './outage.ts'

export type Batch<Item, Result> = (item: Item) => Promise<Result>

type BatchOptions<Item, Result> = {
  run: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>
  /** Items per statement. */
  max?: number
  /** Statements in flight at once. */
  lanes?: number
  /** A batch is collected for this long. For results that no caller waits for, where fewer statements are better. */
  waitMs?: number
}

type PendingItem<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

export function createBatch<Item, Result>(options: BatchOptions<Item, Result>): Batch<Item, Result> {
  const { run, max = 500, lanes = 2, waitMs = 0 } = options
  const queue: PendingItem<Item, Result>[] = []
  let busyLanes = 0
  let isScheduled = false

  /** `setImmediate` runs after all sockets that are readable now have been read, so their requests share one batch. */
  function schedule() {
    if (isScheduled || busyLanes >= lanes || queue.length === 0) return
    isScheduled = true
    const begin = () => {
      isScheduled = false
      void startBatch()
      schedule()
    }
    if (waitMs > 0 && queue.length < max) setTimeout(begin, waitMs)
    else setImmediate(begin)
  }

  async function startBatch() {
    const batch = queue.splice(0, max)
    busyLanes++
    await runBatch(batch)
    busyLanes--
    schedule()
  }

  async function runBatch(batch: PendingItem<Item, Result>[]): Promise<void> {
    try {
      const results = await withRetries(() => run(batch.map(({ item }) => item)))
      if (results.length !== batch.length) throw new Error(`a batch of ${batch.length} got ${results.length} results`)
      batch.forEach(({ resolve, reject }, i) => {
        const result = results[i]
        if (result instanceof Error) reject(result)
        else resolve(result as Result)
      })
    } catch (error) {
      if (batch.length > 1 && isRefusal(error)) for (const pending of batch) await runBatch([pending])
      else for (const { reject } of batch) reject(error)
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject })
      schedule()
    })
}

/**
 * The database refused the statement, so its outcome is known, unlike after a lost connection. During an outage it would refuse each
 * item as well.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'PostgresError' && outageOf(error) === undefined
}
