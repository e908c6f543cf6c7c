/**
 * The pools of database connections of a process, and why each is apart.
 *
 * A statement never waits behind another pool's statements. `hot` statements have a fixed text and are prepared once per
 * connection; all others are planned with their values at each call (`lib/db.ts` gives the measurements).
 */
import type { Database } from './lib/database.ts'
import type { Db } from './lib/db.ts'

export type Pools = {
  /** Everything else: filtered lists, searches, settings, sweeps. Its statements may be slow. */
  general: Db
  /**
   * Reads of the API that take a fixed number of steps in an index: a resource by its id, a page of a list. Prepared, because
   * planning took as long as reading: a page of conversations took 2.6 ms of the database, 1.4 ms of it for the rows.
   */
  reads: Db
  /** API key, rate and scope of every request: nothing may be ahead of them. */
  admission: Db
  /** Sends and inbound messages. */
  messages: Db
  /** Outcomes of sends. Loses its last commits in a power cut; the reports of the channel settle those messages again. */
  settle: Db
  /** Hand-over of broadcasts: transactions of many rows that lock the pace of a number. */
  broadcasts: Db
  /**
   * The webhook queue and the digest of messages: one statement each to claim, settle, release and digest, so four
   * connections never wait. Reads by index only, because these tables may be empty when a statement is planned and hold
   * 100,000 rows a second later. Loses its last commits in a power cut; that work is done again.
   */
  queue: Db
}

const sizes: Record<keyof Pools, number> = {
  general: 7,
  reads: 3,
  admission: 2,
  messages: 6,
  settle: 3,
  broadcasts: 3,
  queue: 4,
}

export function createPools(connect: Database['connect']): Pools {
  return {
    general: connect(sizes.general),
    reads: connect(sizes.reads, { hot: true, byIndex: true }),
    admission: connect(sizes.admission, { hot: true }),
    messages: connect(sizes.messages, { hot: true }),
    settle: connect(sizes.settle, { hot: true, relaxed: true }),
    broadcasts: connect(sizes.broadcasts, { hot: true }),
    queue: connect(sizes.queue, { hot: true, byIndex: true, relaxed: true }),
  }
}

export async function endPools(pools: Pools): Promise<void> {
  await Promise.all(Object.values(pools).map((pool) => pool.end({ timeout: 1 })))
}
