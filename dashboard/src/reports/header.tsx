/** The days of a report in words. */
import { reportWords } from '../words/reports.ts'

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

/** Days are those of the workspace, so they are dates without a zone here. */
export function describeSpan(from: string, to: string): string {
  return from === to ? day.format(new Date(from)) : day.formatRange(new Date(from), new Date(to))
}

type Shown = {
  from_day: string
  to_day: string
  time_zone: string
  previous: { from_day: string; to_day: string }
}

type ScopeProps = { report: Shown; isCompared: boolean }

export const Scope = ({ report: { from_day, to_day, time_zone, previous }, isCompared }: ScopeProps) => (
  <p className="soft small">
    {reportWords.scope(describeSpan(from_day, to_day), time_zone)}{' '}
    {isCompared && reportWords.compared(describeSpan(previous.from_day, previous.to_day))}
  </p>
)
