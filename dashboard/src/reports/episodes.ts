/** The figures of a report that counts episodes. */
import type { DataOf } from '../lib/api.ts'
import { reportWords } from '../words/reports.ts'

export type EpisodeReport = DataOf<'GET /reports/{name}'>
export type EpisodeFigures = EpisodeReport['rows'][number]['previous']

export const counts = ['opened', 'closed', 'reopened', 'replies'] as const
export const spreads = ['first_reply', 'closing'] as const
export const measures = ['median', 'p90', 'mean'] as const
export type Measure = (typeof measures)[number]

const fields = { median: 'median_seconds', p90: 'p90_seconds', mean: 'mean_seconds' } as const

export const secondsOf = (figures: EpisodeFigures, spread: (typeof spreads)[number], measure: Measure): number | null =>
  figures[spread][fields[measure]]

export const nameOfTime = (spread: (typeof spreads)[number], measure: Measure): string =>
  `${reportWords.figures[spread]}, ${reportWords.times[measure]}`

/** Nothing happened in the period. Customers can wait all the same. */
export const isEmpty = ({ totals }: EpisodeReport): boolean =>
  totals.opened + totals.closed + totals.first_reply.count === 0
