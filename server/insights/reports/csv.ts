/** The table of a report as CSV: its rows, its hours, or its intervals if it has neither. */
import { byteOrderMark, type Cell, writeRow } from '../../lib/csv.ts'
import type { Figures } from './figures.ts'
import type { Report } from './report.ts'

const figureColumns = [
  ...['opened', 'reopened', 'closed', 'replies'],
  ...['first_reply_count', 'first_reply_median_seconds', 'first_reply_p90_seconds', 'first_reply_mean_seconds'],
  ...['closing_count', 'closing_median_seconds', 'closing_p90_seconds', 'closing_mean_seconds'],
]

export function writeReport({ name, rows, hours, intervals }: Report): string {
  return byteOrderMark + tableOf().map(writeRow).join('')

  function tableOf(): Cell[][] {
    if (name === 'busy_hours') {
      const columns = ['weekday', 'hour', 'opened', 'first_replies', 'closed'] as const
      return [[...columns], ...hours.map((hour) => columns.map((column) => hour[column]))]
    }
    if (name === 'overview') {
      return [['start', ...figureColumns], ...intervals.map((each) => [each.start, ...cellsOf(each)])]
    }
    return [
      ['name', 'id', ...figureColumns, 'waiting_now'],
      ...rows.map((row) => [row.name, row.id, ...cellsOf(row), row.waiting_now]),
    ]
  }
}

const cellsOf = ({ opened, reopened, closed, replies, first_reply, closing }: Figures): Cell[] => [
  ...[opened, reopened, closed, replies],
  ...[first_reply, closing].flatMap(({ count, median_seconds, p90_seconds, mean_seconds }) => [
    ...[count, median_seconds, p90_seconds, mean_seconds],
  ]),
]
