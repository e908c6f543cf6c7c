/** How much waits in a queue, at a bounded cost. */
import type { Fragment, Sql } from './db.ts'

export type Waiting = { count: number; oldest_seconds: number | null }

/** An exact count of a longer queue costs the database more than it is worth. */
const maxCounted = 100_000

/** Counts the rows of `times`, a select of one column with the time since which each waits, or null. The count stops at 100,000. */
export async function countWaiting(sql: Sql, times: Fragment): Promise<Waiting> {
  const [row] = await sql<Waiting[]>`
    select count(since)::int as count, extract(epoch from now() - min(since))::float8 as oldest_seconds
    from (${times} limit ${maxCounted}) as waiting (since)`
  return { count: 0, oldest_seconds: null, ...row }
}
