/**
 * Buckets of the histograms of reports: bucket 0 is zero seconds, bucket n has the whole seconds from 1.035^(n-1) up to 1.035^n. The value
 * of a bucket is the geometric mean of its lowest and highest second, so it differs from each of its values by at most 1.8 %.
 */
import type { Fragment, Sql } from '../../lib/postgres/db.ts'

const growth = 1.035

/** The bucket of an expression in seconds. */
export const bucketOf = (sql: Sql, seconds: Fragment): Fragment =>
  sql`case when ${seconds} <= 0 then 0 else 1 + floor(ln(${seconds}::float8) / ln(${growth}::float8))::int end`

/** Rounded to a tenth of a second, which together with the width of the bucket is an error of at most 2 %. */
export function secondsOf(bucket: number): number {
  if (bucket === 0) return 0
  const lowest = Math.ceil(growth ** (bucket - 1))
  const highest = Math.max(lowest, Math.ceil(growth ** bucket) - 1)
  return Math.round(Math.sqrt(lowest * highest) * 10) / 10
}

/** How many values are in each bucket. */
export type Histogram = {
  add(buckets: readonly number[], counts: readonly number[]): void
  count(bucket: number): number
  total(): number
  /** The smallest value that this share of all values does not exceed, with the error of its bucket. Undefined without values. */
  secondsAt(share: number): number | undefined
}

export function createHistogram(): Histogram {
  const counts: number[] = []
  return {
    add(buckets, added) {
      for (const [i, bucket] of buckets.entries()) counts[bucket] = (counts[bucket] ?? 0) + (added[i] ?? 0)
    },
    count: (bucket) => counts[bucket] ?? 0,
    total: () => counts.reduce((sum, count) => sum + count, 0),
    secondsAt(share) {
      const least = share * this.total()
      let sum = 0
      for (const [bucket, count] of counts.entries()) {
        sum += count ?? 0
        if (sum > 0 && sum >= least) return secondsOf(bucket)
      }
      return undefined
    },
  }
}
