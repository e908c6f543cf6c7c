/** The table of a report as CSV: its rows, its hours, or its intervals if it has neither. */
import { clockKinds } from '../../automation/definition.ts'
import { byteOrderMark, type Cell, writeRow } from '../../lib/csv.ts'
import type { Figures } from './figures.ts'
import type { Report } from './report.ts'
import type { AvailabilityReport, SatisfactionReport, TargetsReport } from './resource.ts'

const figureColumns = [
  ...['opened', 'reopened', 'closed', 'replies'],
  ...['first_reply_count', 'first_reply_median_seconds', 'first_reply_p90_seconds', 'first_reply_mean_seconds'],
  ...['closing_count', 'closing_median_seconds', 'closing_p90_seconds', 'closing_mean_seconds'],
]

const writeTable = (lines: readonly Cell[][]): string => byteOrderMark + lines.map(writeRow).join('')

export function writeReport({ name, rows, hours, intervals }: Report): string {
  return writeTable(tableOf())

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

export const writeSatisfaction = ({ rows }: SatisfactionReport): string =>
  writeTable([
    [
      ...['name', 'id', 'asked', 'answered', 'ratings', 'mean_rating'],
      ...['rating_1', 'rating_2', 'rating_3', 'rating_4', 'rating_5'],
    ],
    ...rows.map(({ name, id, asked, answered, ratings, mean_rating, by_rating }): Cell[] => [
      ...[name, id, asked, answered, ratings, mean_rating],
      ...by_rating,
    ]),
  ])

export const writeTargets = ({ rows }: TargetsReport): string =>
  writeTable([
    ['name', 'id', ...clockKinds.flatMap((kind) => [`${kind}_met`, `${kind}_missed`])],
    ...rows.map((row): Cell[] => [
      ...[row.name, row.id],
      ...clockKinds.flatMap((kind) => [row[kind].met, row[kind].missed]),
    ]),
  ])

export const writeAvailability = ({ rows }: AvailabilityReport): string =>
  writeTable([
    ['name', 'id', 'available_seconds', 'away_seconds', 'offline_seconds'],
    ...rows.map(({ name, id, available_seconds, away_seconds, offline_seconds }): Cell[] => [
      ...[name, id, available_seconds, away_seconds, offline_seconds],
    ]),
  ])
