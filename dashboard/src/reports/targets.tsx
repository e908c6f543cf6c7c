/** The report of targets: how many replies and closings were in time, and how many were not. */
import { SegmentedControl } from '../../../ui/controls.tsx'
import { type DataOf, type ItemOf, useCall, usePages } from '../lib/api.ts'
import { countTicks } from '../lib/chart.ts'
import { formatCompact, formatNumber, formatShare } from '../lib/time.ts'
import type { Column } from '../ui/table.tsx'
import { reportWords } from '../words/reports.ts'
import { ContactLink, RowsDrawer } from './drawer.tsx'
import { formatSeconds } from './duration.ts'
import { Change, Figure } from './figure.tsx'
import { describeSpan } from './header.tsx'
import type { Opened } from './opened.ts'
import { describeInterval, endOfInterval, Plot, type Series } from './plot.tsx'
import { type Dimension, type ReportRequest, setSearch } from './request.ts'
import { RowName } from './row-name.tsx'
import { type RowColumn, RowTable } from './row-table.tsx'
import { NothingInPeriod, SetUp } from './states.tsx'
import { Tile, TileFigure, Tiles } from './tiles.tsx'
import type { FormatTime } from './zone.ts'

const { targets: text, list, rows: rowWords } = reportWords

type Targets = DataOf<'GET /reports/targets'>
type Figures = Targets['rows'][number]['previous']
type Row = Targets['rows'][number] & { isAll?: boolean }
type Episode = ItemOf<'GET /reports/targets/outcomes'>

const dimensions: readonly Dimension[] = ['member', 'team', 'connection', 'label']
const kinds = ['first_reply', 'next_reply', 'closing'] as const
type Kind = (typeof kinds)[number]
const outcomes = ['met', 'missed'] as const
type Outcome = (typeof outcomes)[number]

/** Of one kind, or of all. */
const countOf = (figures: Figures, outcome: Outcome, kind?: Kind): number =>
  (kind ? [kind] : [...kinds]).reduce<number>((sum, each) => sum + figures[each][outcome], 0)

function shareOf(figures: Figures, kind?: Kind): number | null {
  const [met, missed] = [countOf(figures, 'met', kind), countOf(figures, 'missed', kind)]
  return met + missed > 0 ? met / (met + missed) : null
}

const formatRate = (share: number | null): string => (share === null ? '–' : formatShare(share, 1))

type Props = { report: Targets; request: ReportRequest }

export function TargetsReport({ report, request }: Props) {
  const targets = useCall('GET /targets', {})
  const { totals, previous, intervals, interval } = report
  if (countOf(totals, 'met') + countOf(totals, 'missed') === 0) {
    return targets.data?.length === 0 ? (
      <SetUp text={text.none} href="/settings/targets" />
    ) : (
      <NothingInPeriod title={text.empty} text={text.emptyText} />
    )
  }
  const seriesOf = (outcome: Outcome, kind?: Kind): Series => ({
    label: kind ? text.counts[kind][outcome] : text.outcomes[outcome],
    values: intervals.map((each) => countOf(each, outcome, kind)),
    ...(kind ? {} : { mark: outcome === 'met' ? ('bar' as const) : ('second-bar' as const) }),
    opens: (start, index) => {
      const figures = intervals[index]
      return figures && countOf(figures, outcome, kind) > 0
        ? { show: outcome, start, ...(kind ? { kind } : {}) }
        : undefined
    },
  })
  return (
    <>
      <Tiles columns={3}>
        {kinds.map((kind) => (
          <Tile key={kind} label={text.kinds[kind]} hint={text.hints[kind]}>
            <div className="reports-tile-times">
              <TileFigure
                name={text.share}
                value={formatRate(shareOf(totals, kind))}
                label={`${text.share}, ${text.kinds[kind]}`}
                opens={countOf(totals, 'met', kind) > 0 ? { show: 'met', kind } : undefined}
              >
                <Change kind="share" now={shareOf(totals, kind)} before={shareOf(previous, kind)} />
              </TileFigure>
              {outcomes.map((outcome) => (
                <TileFigure
                  key={outcome}
                  name={text.outcomes[outcome]}
                  value={formatNumber(totals[kind][outcome])}
                  label={text.counts[kind][outcome]}
                  opens={totals[kind][outcome] > 0 ? { show: outcome, kind } : undefined}
                >
                  <Change kind="count" now={totals[kind][outcome]} before={previous[kind][outcome]} />
                </TileFigure>
              ))}
            </div>
          </Tile>
        ))}
      </Tiles>
      <Plot
        name="course"
        title={text.course}
        starts={intervals.map(({ start }) => start)}
        interval={interval}
        series={[
          ...outcomes.map((outcome) => seriesOf(outcome)),
          ...kinds.flatMap((kind) => outcomes.map((outcome) => seriesOf(outcome, kind))),
        ]}
        ticks={countTicks}
        format={formatCompact}
      />
      <Rows report={report} isRestricted={request.isRestricted} />
    </>
  )
}

function Rows({ report, isRestricted }: { report: Targets; isRestricted: boolean }) {
  const { by, totals, previous } = report
  const nameOf = namesBy(by)
  const rowOf = ({ id, isAll }: Row) => (isAll ? {} : { row: id ?? 'none' })
  const count = (key: string, label: string, outcome: Outcome, kind?: Kind): RowColumn<Row> => ({
    ...{ key, label, valueOf: (row) => countOf(row, outcome, kind) },
    cell: (row) => (
      <span className="reports-cell">
        <Figure
          value={formatNumber(countOf(row, outcome, kind))}
          label={`${label}, ${nameOf(row)}`}
          opens={
            countOf(row, outcome, kind) > 0 ? { show: outcome, ...rowOf(row), ...(kind ? { kind } : {}) } : undefined
          }
        />
        <Change kind="count" now={countOf(row, outcome, kind)} before={countOf(row.previous, outcome, kind)} isShort />
      </span>
    ),
  })
  const columns: RowColumn<Row>[] = [
    {
      key: 'share',
      label: text.share,
      valueOf: (row) => shareOf(row),
      cell: (row) => (
        <span className="reports-cell">
          <Figure
            value={formatRate(shareOf(row))}
            label={`${text.share}, ${nameOf(row)}`}
            opens={countOf(row, 'met') > 0 ? { show: 'met', ...rowOf(row) } : undefined}
          />
          <Change kind="share" now={shareOf(row)} before={shareOf(row.previous)} isShort />
        </span>
      ),
    },
    count('met', text.outcomes.met, 'met'),
    count('missed', text.outcomes.missed, 'missed'),
    ...kinds.map((kind) => count(kind, text.counts[kind].missed, 'missed', kind)),
  ]
  const choices = isRestricted ? (['target', 'member'] as const) : (['target', ...dimensions] as const)
  return (
    <RowTable<Row>
      title={rowWords.by[by]}
      actions={
        <SegmentedControl<Targets['by']>
          label={rowWords.byLabel}
          value={by}
          options={choices.map((value) => ({ value, label: rowWords.columns[value] }))}
          onChange={(next) => setSearch({ by: next === 'target' ? '' : next })}
        />
      }
      name={rowWords.columns[by]}
      rows={report.rows}
      keyOf={({ id }) => id ?? 'none'}
      textOf={nameOf}
      nameCell={(row) => (
        <RowName dimension={by} row={row} name={nameOf(row)} path="/reports/targets" isAll={row.isAll ?? false} />
      )}
      columns={columns}
      usual="missed"
      all={{ ...totals, id: null, name: rowWords.all, color: null, is_deleted: false, previous, isAll: true }}
    />
  )
}

const namesBy =
  (by: Targets['by']) =>
  ({ id, name, is_deleted }: Row): string =>
    name === null ? (id ? rowWords.gone[by] : rowWords.without[by]) : is_deleted ? text.deleted(name) : name

type DrawerProps = Props & { opened: Opened; onUpdate: () => unknown }

export function OutcomeDrawer({ report, request, opened, onUpdate }: DrawerProps) {
  const figure = outcomes.find((each) => each === opened.show) ?? 'missed'
  const kind = kinds.find((each) => each === opened.kind)
  const { row, start } = opened
  const starts = report.intervals.map((each) => each.start)
  const [from, to] = start ? [start, endOfInterval(start, starts, report.to_day)] : [report.from_day, report.to_day]
  const query = {
    ...request.filterQuery,
    ...{ from_day: from, to_day: to, by: report.by, figure, limit: 50 },
    ...(row ? { row } : {}),
    ...(kind ? { kind } : {}),
  }
  const pages = usePages('GET /reports/targets/outcomes', { query }, { isStill: true })
  const rowFound = report.rows.find(({ id }) => (id ?? 'none') === row)
  const found = row ? rowFound : start ? report.intervals.find((each) => each.start === start) : report.totals
  const expected = found ? countOf(found, figure, kind) : 0
  const loaded = pages.items.reduce((sum, episode) => sum + episode.outcomes.length, 0)
  return (
    <RowsDrawer<Episode>
      title={list.title(
        kind ? text.counts[kind][figure] : text.outcomes[figure],
        row
          ? rowFound
            ? namesBy(report.by)(rowFound)
            : (row === 'none' ? rowWords.without : rowWords.gone)[report.by]
          : undefined,
      )}
      scope={start ? describeInterval(start, report.interval) : describeSpan(from, to)}
      summary={text.results(expected)}
      timeZone={report.time_zone}
      pages={pages}
      columnsWith={columnsWith}
      keyOf={({ id }) => id}
      counted={{ loaded, expected, name: text.results }}
      isRestricted={request.isRestricted}
      onUpdate={onUpdate}
    />
  )
}

/** By how much a reply or a closing was late. Null: it has not come yet. */
const lateness = (at: string, endedAt: string | null): string | null =>
  endedAt === null ? null : formatSeconds((Date.parse(endedAt) - Date.parse(at)) / 1_000)

const columnsWith = (formatTime: FormatTime): Column<Episode>[] => [
  { label: list.contact, cell: (item) => <ContactLink item={item} /> },
  {
    label: text.outcome,
    cell: ({ outcomes: found }) => (
      <ul>
        {found.map(({ target_id, target, kind, outcome, at, ended_at, member, team }) => (
          <li key={`${target_id} ${kind}`} className="reports-two">
            <span>
              {target ?? rowWords.gone.target} · {text.kinds[kind]}
            </span>
            <small className="soft">
              {outcome === 'met' ? text.metAt(formatTime(at)) : text.missedAt(formatTime(at), lateness(at, ended_at))} ·{' '}
              {member || team ? text.heldBy([member, team].filter(Boolean).join(', ')) : text.unassigned}
            </small>
          </li>
        ))}
      </ul>
    ),
  },
  { label: list.opened, cell: ({ opened_at }) => <time dateTime={opened_at}>{formatTime(opened_at)}</time> },
]
