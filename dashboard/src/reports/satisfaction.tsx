/** The report of ratings: how many were asked for, how many came, what they are on average, and by whom. */
import { SegmentedControl } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { type DataOf, type ItemOf, useCall, usePages } from '../lib/api.ts'
import { formatNumber, formatShare } from '../lib/time.ts'
import { Rated } from '../ui/rated.tsx'
import type { Column } from '../ui/table.tsx'
import { reportWords } from '../words/reports.ts'
import { ContactLink, None, RowsDrawer } from './drawer.tsx'
import { Change, Figure } from './figure.tsx'
import { describeSpan } from './header.tsx'
import type { Opened } from './opened.ts'
import { describeInterval, endOfInterval, Plot, type Series } from './plot.tsx'
import type { Dimension, ReportRequest } from './request.ts'
import { setSearch } from './request.ts'
import { RowName } from './row-name.tsx'
import { type RowColumn, RowTable } from './row-table.tsx'
import { NothingInPeriod, SetUp } from './states.tsx'
import { Tile, TileFigure, Tiles } from './tiles.tsx'
import type { FormatTime } from './zone.ts'

const { satisfaction: text, list, rows: rowWords } = reportWords

type Satisfaction = DataOf<'GET /reports/satisfaction'>
type Figures = Satisfaction['rows'][number]['previous']
type Row = Satisfaction['rows'][number] & { isAll?: boolean }
type Rating = ItemOf<'GET /reports/satisfaction/ratings'>

const counts = ['ratings', 'asked', 'answered'] as const
const stars = [5, 4, 3, 2, 1] as const

const decimals = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 2 })
const formatRating = (rating: number): string => decimals.format(rating)
const rateOf = ({ asked, answered }: Figures): number | null => (asked > 0 ? answered / asked : null)
const formatRate = (rate: number): string => formatShare(rate, 1)

type Props = { report: Satisfaction; request: ReportRequest }

export function SatisfactionReport({ report, request }: Props) {
  const settings = useCall('GET /satisfaction', {})
  const { totals, intervals, interval } = report
  const isOff = settings.data?.is_on === false
  const isEmpty = totals.asked + totals.ratings === 0
  if (isEmpty) {
    return isOff ? (
      <SetUp text={text.off} href="/settings/satisfaction" />
    ) : (
      <NothingInPeriod title={text.empty} text={text.emptyText} />
    )
  }
  const series: Series[] = [
    {
      label: text.figures.mean_rating,
      values: intervals.map(({ mean_rating }) => mean_rating),
      format: formatRating,
      mark: 'line',
      opens: (start, index) => (intervals[index]?.ratings ? { show: 'ratings', start } : undefined),
    },
    ...counts.map(
      (name): Series => ({
        label: text.figures[name],
        values: intervals.map((each) => each[name]),
        format: formatNumber,
        opens: (start, index) => (intervals[index]?.[name] ? { show: name, start } : undefined),
      }),
    ),
  ]
  return (
    <>
      <KeyFigures report={report} />
      <div className="reports-pair">
        <Distribution totals={totals} />
        <Plot
          name="course"
          title={text.course}
          starts={intervals.map(({ start }) => start)}
          interval={interval}
          series={series}
          ticks={() => [0, 1, 2, 3, 4, 5]}
          format={formatNumber}
          height={200}
        />
      </div>
      <Rows report={report} isRestricted={request.isRestricted} />
    </>
  )
}

function KeyFigures({ report: { totals, previous } }: { report: Satisfaction }) {
  const rate = rateOf(totals)
  return (
    <Tiles>
      <Tile label={text.figures.mean_rating} hint={text.hints.mean_rating}>
        <TileFigure
          value={totals.mean_rating === null ? '–' : formatRating(totals.mean_rating)}
          label={text.figures.mean_rating}
          opens={totals.ratings > 0 ? { show: 'ratings' } : undefined}
        >
          <Change kind="rating" now={totals.mean_rating} before={previous.mean_rating} />
        </TileFigure>
      </Tile>
      {counts.map((name) => (
        <Tile key={name} label={text.figures[name]} hint={text.hints[name]}>
          <TileFigure
            value={formatNumber(totals[name])}
            label={text.figures[name]}
            opens={totals[name] > 0 ? { show: name } : undefined}
          >
            <Change kind="count" now={totals[name]} before={previous[name]} />
          </TileFigure>
        </Tile>
      ))}
      <Tile label={text.figures.rate} hint={text.hints.rate}>
        <TileFigure
          value={rate === null ? '–' : formatRate(rate)}
          label={text.figures.rate}
          opens={totals.answered > 0 ? { show: 'answered' } : undefined}
        >
          <Change kind="share" now={rate} before={rateOf(previous)} />
        </TileFigure>
      </Tile>
    </Tiles>
  )
}

/** How many ratings of each value. */
const Distribution = ({ totals: { by_rating, ratings } }: { totals: Figures }) => (
  <Card title={text.distribution}>
    {ratings === 0 ? (
      <p className="soft">{text.noRatings}</p>
    ) : (
      <ul className="reports-stars">
        {stars.map((rating) => {
          const count = by_rating[rating - 1] ?? 0
          return (
            <li key={rating}>
              <Rated rating={rating} />
              <div className="reports-bar" aria-hidden="true">
                <span style={{ width: `${(count / ratings) * 100}%` }} />
              </div>
              <span className="soft small numeric">{formatShare(count, ratings)}</span>
              <Figure
                value={formatNumber(count)}
                label={text.ratingsOf(rating)}
                opens={count > 0 ? { show: 'ratings', rating: String(rating) } : undefined}
              />
            </li>
          )
        })}
      </ul>
    )}
  </Card>
)

function Rows({ report, isRestricted }: { report: Satisfaction; isRestricted: boolean }) {
  const { by, totals, previous } = report
  const nameOf = (row: Row) => row.name ?? (row.id ? rowWords.gone[by] : rowWords.without[by])
  const rowOf = (row: Row) => (row.isAll ? {} : { row: row.id ?? 'none' })
  const columns: RowColumn<Row>[] = [
    {
      key: 'mean_rating',
      label: text.figures.mean_rating,
      valueOf: ({ mean_rating }) => mean_rating,
      cell: (row) => (
        <span className="reports-cell">
          <Figure
            value={row.mean_rating === null ? '–' : formatRating(row.mean_rating)}
            label={`${text.figures.mean_rating}, ${nameOf(row)}`}
            opens={row.ratings > 0 ? { show: 'ratings', ...rowOf(row) } : undefined}
          />
          <Change kind="rating" now={row.mean_rating} before={row.previous.mean_rating} isShort />
        </span>
      ),
    },
    ...counts.map(
      (name): RowColumn<Row> => ({
        key: name,
        label: text.figures[name],
        valueOf: (row) => row[name],
        cell: (row) => (
          <span className="reports-cell">
            <Figure
              value={formatNumber(row[name])}
              label={`${text.figures[name]}, ${nameOf(row)}`}
              opens={row[name] > 0 ? { show: name, ...rowOf(row) } : undefined}
            />
            <Change kind="count" now={row[name]} before={row.previous[name]} isShort />
          </span>
        ),
      }),
    ),
    {
      key: 'rate',
      label: text.figures.rate,
      valueOf: rateOf,
      cell: (row) => {
        const rate = rateOf(row)
        return (
          <span className="reports-cell">
            <Figure
              value={rate === null ? '–' : formatRate(rate)}
              label={`${text.figures.rate}, ${nameOf(row)}`}
              opens={row.answered > 0 ? { show: 'answered', ...rowOf(row) } : undefined}
            />
            <Change kind="share" now={rate} before={rateOf(row.previous)} isShort />
          </span>
        )
      },
    },
  ]
  const dimensions = (['member', 'team', 'connection', 'label'] as const).filter(
    (each) => !(isRestricted && each === 'label'),
  )
  return (
    <RowTable<Row>
      title={rowWords.by[by]}
      actions={
        <SegmentedControl<Dimension>
          label={rowWords.byLabel}
          value={by}
          options={dimensions.map((value) => ({ value, label: rowWords.columns[value] }))}
          onChange={(next) => setSearch({ by: next === 'member' ? '' : next })}
        />
      }
      name={rowWords.columns[by]}
      rows={report.rows}
      keyOf={({ id }) => id ?? 'none'}
      textOf={nameOf}
      nameCell={(row) => (
        <RowName dimension={by} row={row} name={nameOf(row)} path="/reports/satisfaction" isAll={row.isAll ?? false} />
      )}
      columns={columns}
      usual="ratings"
      all={{ ...totals, id: null, name: rowWords.all, color: null, previous, isAll: true }}
    />
  )
}

type DrawerProps = Props & { opened: Opened; onUpdate: () => unknown }

export function RatingDrawer({ report, request, opened, onUpdate }: DrawerProps) {
  const figure = counts.find((each) => each === opened.show) ?? 'ratings'
  const { row, start, rating } = opened
  const starts = report.intervals.map((each) => each.start)
  const [from, to] = start ? [start, endOfInterval(start, starts, report.to_day)] : [report.from_day, report.to_day]
  const value = stars.find((each) => String(each) === rating)
  const query = {
    ...request.filterQuery,
    ...{ from_day: from, to_day: to, by: report.by, figure, limit: 50 },
    ...(row ? { row } : {}),
    ...(value ? { rating: `${value}` as const } : {}),
  }
  const pages = usePages('GET /reports/satisfaction/ratings', { query }, { isStill: true })
  const found = row
    ? report.rows.find(({ id }) => (id ?? 'none') === row)
    : start
      ? report.intervals.find((each) => each.start === start)
      : report.totals
  const expected = (value ? found?.by_rating[value - 1] : found?.[figure]) ?? 0
  const rowName = report.rows.find(({ id }) => (id ?? 'none') === row)?.name
  const name = figure === 'asked' ? text.questions : text.ratings
  return (
    <RowsDrawer<Rating>
      title={list.title(
        value ? text.ratingsOf(value) : text.figures[figure],
        row ? (rowName ?? (row === 'none' ? rowWords.without : rowWords.gone)[report.by]) : undefined,
      )}
      scope={start ? describeInterval(start, report.interval) : describeSpan(from, to)}
      summary={name(expected)}
      timeZone={report.time_zone}
      pages={pages}
      columnsWith={columnsWith}
      keyOf={({ id }) => id}
      counted={{ loaded: pages.items.length, expected, name }}
      isRestricted={request.isRestricted}
      onUpdate={onUpdate}
    />
  )
}

const columnsWith = (formatTime: FormatTime): Column<Rating>[] => [
  { label: list.contact, cell: (item) => <ContactLink item={item} /> },
  {
    label: text.rating,
    cell: ({ rating, comment }) =>
      rating === null ? (
        <None text={text.noAnswer} />
      ) : (
        <span className="reports-two">
          <Rated rating={rating} />
          {comment && <small className="reports-comment">{comment}</small>}
        </span>
      ),
  },
  { label: list.team, cell: ({ team }) => team ?? <None /> },
  { label: list.member, cell: ({ member }) => member ?? <None /> },
  { label: text.askedAt, cell: ({ asked_at }) => <time dateTime={asked_at}>{formatTime(asked_at)}</time> },
  {
    label: text.ratedAt,
    cell: ({ rated_at }) => (rated_at ? <time dateTime={rated_at}>{formatTime(rated_at)}</time> : <None />),
  },
]
