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
