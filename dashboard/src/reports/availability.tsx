/** The report of availability: how long members were available, away and offline. */
import { Avatar, Badge } from '../../../ui/display.tsx'
import { type DataOf, type ItemOf, usePages } from '../lib/api.ts'
import { countTicks } from '../lib/chart.ts'
import { formatNumber } from '../lib/time.ts'
import type { Column } from '../ui/table.tsx'
import { reportWords } from '../words/reports.ts'
import { words } from '../words/words.ts'
import { None, RowsDrawer } from './drawer.tsx'
import { formatSeconds } from './duration.ts'
import { Change, Figure } from './figure.tsx'
import { describeSpan } from './header.tsx'
import type { Opened } from './opened.ts'
import { describeInterval, endOfInterval, Plot, type Series } from './plot.tsx'
import type { ReportRequest } from './request.ts'
import { type RowColumn, RowTable } from './row-table.tsx'
import { Tile, TileFigure, Tiles } from './tiles.tsx'
import type { FormatTime } from './zone.ts'

const { availability: text, list, rows: rowWords } = reportWords

type Availability = DataOf<'GET /reports/availability'>
type Row = Availability['rows'][number] & { isAll?: boolean }
type Span = ItemOf<'GET /reports/availability/spans'>

const states = ['available', 'away', 'offline'] as const
type State = (typeof states)[number]
const fieldOf = { available: 'available_seconds', away: 'away_seconds', offline: 'offline_seconds' } as const
const tones = { available: 'green', away: 'amber', offline: undefined } as const

const hour = 3_600
/** The states of members that have one now last longer while the page reads them. */
const toleranceSeconds = 120

/** In hours: days would have 24 of them, and no member works so long. */
const formatHours = (seconds: number): string =>
  seconds > 0 && seconds < hour ? formatSeconds(seconds) : text.hours(formatNumber(Math.round(seconds / 360) / 10))

type Props = { report: Availability; request: ReportRequest }

export function AvailabilityReport({ report }: Props) {
  const { totals, previous, intervals, interval } = report
  const marks = { available: 'bar', away: 'second-bar' } as const
  const series = states.map(
    (state): Series => ({
      label: words.shell.availability.states[state],
      values: intervals.map((each) => each[fieldOf[state]]),
      ...(state === 'offline' ? {} : { mark: marks[state] }),
      opens: (start, index) => (intervals[index]?.[fieldOf[state]] ? { show: state, start } : undefined),
    }),
  )
  return (
    <>
      <Tiles columns={3}>
        {states.map((state) => {
          const seconds = totals[fieldOf[state]]
          return (
            <Tile key={state} label={words.shell.availability.states[state]} hint={text.hints[state]}>
              <TileFigure
                value={formatHours(seconds)}
                label={words.shell.availability.states[state]}
                opens={seconds > 0 ? { show: state } : undefined}
              >
                <Change kind="count" now={seconds} before={previous[fieldOf[state]]} format={formatHours} />
              </TileFigure>
            </Tile>
          )
        })}
      </Tiles>
      <Plot
        name="course"
        title={text.course}
        starts={intervals.map(({ start }) => start)}
        interval={interval}
        series={series}
        ticks={(max) => countTicks(max / hour).map((hours) => hours * hour)}
        format={formatHours}
        height={200}
      />
      <Rows report={report} />
    </>
  )
}

const nameOf = ({ name }: { name: string | null }): string => name ?? rowWords.gone.availability

const Rows = ({ report }: { report: Availability }) => (
  <RowTable<Row>
    title={reportWords.names.availability}
    name={rowWords.columns.availability}
    rows={report.rows}
    keyOf={({ id }) => id}
    textOf={nameOf}
    nameCell={(row) =>
      row.isAll ? (
        <strong>{nameOf(row)}</strong>
      ) : (
        <span className="reports-row-name">
          <Avatar name={nameOf(row)} size="small" />
          <strong className="cut">{nameOf(row)}</strong>
          <Badge tone={tones[row.state]}>{words.shell.availability.states[row.state]}</Badge>
        </span>
      )
    }
    columns={states.map(
      (state): RowColumn<Row> => ({
        key: state,
        label: words.shell.availability.states[state],
        valueOf: (row) => row[fieldOf[state]],
        cell: (row) => (
          <span className="reports-cell">
            <Figure
              value={formatHours(row[fieldOf[state]])}
              label={`${words.shell.availability.states[state]}, ${nameOf(row)}`}
              opens={row[fieldOf[state]] > 0 ? { show: state, ...(row.isAll ? {} : { row: row.id }) } : undefined}
            />
            <Change
              kind="count"
              now={row[fieldOf[state]]}
              before={row.previous[fieldOf[state]]}
              format={formatHours}
              isShort
            />
          </span>
        ),
      }),
    )}
    usual="available"
    all={{ ...report.totals, id: 'all', name: rowWords.all, state: 'offline', previous: report.previous, isAll: true }}
  />
)

type DrawerProps = Props & { opened: Opened; onUpdate: () => unknown }

export function SpanDrawer({ report, request, opened, onUpdate }: DrawerProps) {
  const figure: State = states.find((each) => each === opened.show) ?? 'available'
  const { row, start } = opened
  const starts = report.intervals.map((each) => each.start)
  const [from, to] = start ? [start, endOfInterval(start, starts, report.to_day)] : [report.from_day, report.to_day]
  const query = {
    ...request.filterQuery,
    ...{ from_day: from, to_day: to, figure, limit: 50 },
    ...(row ? { row } : {}),
  }
  const pages = usePages('GET /reports/availability/spans', { query }, { isStill: true })
  const member = report.rows.find(({ id }) => id === row)
  const found = row ? member : start ? report.intervals.find((each) => each.start === start) : report.totals
  const expected = found?.[fieldOf[figure]] ?? 0
  const sum = pages.items.reduce((total, { seconds }) => total + seconds, 0)
  return (
    <RowsDrawer<Span>
      title={list.title(words.shell.availability.states[figure], row ? nameOf(member ?? { name: null }) : undefined)}
      scope={start ? describeInterval(start, report.interval) : describeSpan(from, to)}
      summary={text.total(formatHours(expected))}
      timeZone={report.time_zone}
      pages={pages}
      columnsWith={columnsWith}
      keyOf={({ id }) => id}
      counted={{
        loaded: Math.abs(sum - expected) <= toleranceSeconds * Math.max(1, report.rows.length) ? expected : sum,
        expected,
        name: formatHours,
        format: formatHours,
      }}
      isRestricted={request.isRestricted}
      onUpdate={onUpdate}
      isLinked={false}
    />
  )
}

const columnsWith = (formatTime: FormatTime): Column<Span>[] => [
  { label: list.member, cell: (span) => <strong>{nameOf({ name: span.member })}</strong> },
  {
    label: text.state,
    narrow: 'plain',
    cell: ({ state, is_chosen }) => (
      <span className="row">
        <Badge tone={tones[state]}>{words.shell.availability.states[state]}</Badge>
        {is_chosen && state === 'away' && <small className="soft">{text.chosen}</small>}
      </span>
    ),
  },
  { label: text.from, cell: ({ started_at }) => <time dateTime={started_at}>{formatTime(started_at)}</time> },
  {
    label: text.to,
    cell: ({ ended_at }) =>
      ended_at ? <time dateTime={ended_at}>{formatTime(ended_at)}</time> : <None text={text.now} />,
  },
  {
    label: text.length,
    className: 'end',
    cell: ({ seconds }) => <span className="numeric">{formatSeconds(seconds)}</span>,
  },
]
