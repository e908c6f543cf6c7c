/**
 * Batching: coalesces the database work of concurrent callers into one set-based statement.
 *
 * A call joins the batch that is being collected. A batch starts as soon as one of `lanes` is free, so a single caller does
 * not wait, and batches grow with the load: 85,000 inserts/s instead of 7,000.
 *
 * If more items wait than a batch takes, each flow (a workspace) gets an equal share of it. So the items of a workspace wait for at
 * most the batches in flight, however many items another one has. The items of one flow keep their order.
 *
 * Callers are independent. `run` returns one result per item, in order: a value or an `Error`; or it returns nothing. If the database refuses the
 * statement as a whole, nothing was written, and each flow runs by itself; the items of a flow that is refused run one by one, so
 * that only the faulty item fails. A statement that deadlocked is retried. If the connection is lost the outcome is unknown, so
 * nothing is retried and every item fails.
 */
import { withRetries } from './postgres/db.ts'
import { outageOf } from './process/outage.ts'

export type Batch<Item, Result> = (item: Item) => Promise<Result>

type BatchOptions<Item, Result> = {
  run: (items: readonly Item[]) => Promise<readonly (Result | Error)[]> | Promise<void>
  /** The flow of an item, mostly its workspace. Without it all items are one flow. */
  flowOf?: (item: Item) => string
  /** Items per statement. */
  max?: number
  /** Statements in flight at once. */
  lanes?: number
  /** A batch is collected for this long. For results that no caller waits for, where fewer statements are better. */
  waitMs?: number
}

type PendingItem<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

export function createBatch<Item, Result = undefined>(options: BatchOptions<Item, Result>): Batch<Item, Result> {
  const { run, flowOf = () => '', max = 500, lanes = 2, waitMs = 0 } = options
  /** The waiting items by flow; the flow to be served next comes first. */
  const flows = new Map<string, PendingItem<Item, Result>[]>()
  let waiting = 0
  let busyLanes = 0
  let isScheduled = false

  /** `setImmediate` runs after all sockets that are readable now have been read, so their requests share one batch. */
  function schedule() {
    if (isScheduled || busyLanes >= lanes || waiting === 0) return
    isScheduled = true
    const begin = () => {
      isScheduled = false
      void startBatch()
      schedule()
    }
    if (waitMs > 0 && waiting < max) setTimeout(begin, waitMs)
    else setImmediate(begin)
  }

  function takeBatch(): PendingItem<Item, Result>[] {
    const batch: PendingItem<Item, Result>[] = []
    while (waiting > 0 && batch.length < max) {
      const share = Math.max(1, Math.floor((max - batch.length) / flows.size))
      for (const [flow, items] of [...flows].slice(0, max - batch.length)) {
        const taken = items.splice(0, share)
        batch.push(...taken)
        waiting -= taken.length
        flows.delete(flow)
        if (items.length > 0) flows.set(flow, items)
      }
    }
    return batch
  }

  async function startBatch() {
    const batch = takeBatch()
    busyLanes++
    await runBatch(batch)
    busyLanes--
    schedule()
  }

  async function runBatch(batch: PendingItem<Item, Result>[]): Promise<void> {
    try {
      const results = await withRetries(async () => run(batch.map(({ item }) => item)))
      if (results && results.length !== batch.length)
        throw new Error(`a batch of ${batch.length} got ${results.length} results`)
      batch.forEach(({ resolve, reject }, i) => {
        const result = results?.[i]
        if (result instanceof Error) reject(result)
        else resolve(result as Result)
      })
    } catch (error) {
      if (batch.length > 1 && isRefusal(error)) for (const part of divide(batch)) await runBatch(part)
      else for (const { reject } of batch) reject(error)
    }
  }

  /** The items of each flow, or single items if they are of one flow. */
  function divide(batch: PendingItem<Item, Result>[]): PendingItem<Item, Result>[][] {
    const byFlow = Map.groupBy(batch, ({ item }) => flowOf(item))
    return byFlow.size > 1 ? [...byFlow.values()] : batch.map((pending) => [pending])
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const flow = flowOf(item)
      const items = flows.get(flow)
      if (items) items.push({ item, resolve, reject })
      else flows.set(flow, [{ item, resolve, reject }])
      waiting++
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
