/** The reports by member, team, label and connection: a row each, with its figures and their change. */
import { SegmentedControl } from '../../../ui/controls.tsx'
import { useCall } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { formatNumber } from '../lib/time.ts'
import { reportWords } from '../words/reports.ts'
import { formatSeconds } from './duration.ts'
import { counts, type EpisodeReport, isEmpty, measures, nameOfTime, secondsOf, spreads } from './episodes.ts'
import { Change, Figure } from './figure.tsx'
import { type KeyedReport as Key, rowsOf } from './request.ts'
import { RowName } from './row-name.tsx'
import { type RowColumn, RowTable } from './row-table.tsx'
import { NothingInPeriod, SetUp } from './states.tsx'

const { rows: text } = reportWords

type Row = EpisodeReport['rows'][number]
/** `isAll`: the totals. */
type Shown = Row & { isAll?: boolean }

export function KeyedReport({ name, report }: { name: Key; report: EpisodeReport }) {
  const [measureInUrl, setMeasure] = useSearchParam('time')
  const measure = measures.find((each) => each === measureInUrl) ?? 'median'
  const missing = useMissing(name)
  if (isEmpty(report) && report.totals.waiting_now === 0) return missing ?? <NothingInPeriod />
  const { totals, previous } = report
  const all: Shown = { ...totals, id: null, name: text.all, color: null, previous, isAll: true }
  const rowOf = (row: Shown) => (row.isAll ? {} : { row: row.id ?? 'none' })
  const labelOf = (figure: string, row: Shown) => `${figure}, ${nameOf(name, row)}`
  const columns: RowColumn<Shown>[] = [
    {
      key: 'waiting_now',
      label: reportWords.figures.waiting_now,
      valueOf: (row) => row.waiting_now,
      cell: (row) => (
        <Figure
          value={formatNumber(row.waiting_now)}
          label={labelOf(reportWords.figures.waiting_now, row)}
          opens={row.waiting_now > 0 ? { show: 'waiting_now', ...rowOf(row) } : undefined}
        />
      ),
    },
    ...counts.map(
      (figure): RowColumn<Shown> => ({
        key: figure,
        label: reportWords.figures[figure],
        valueOf: (row) => row[figure],
        cell: (row) => (
          <span className="reports-cell">
            <Figure
              value={formatNumber(row[figure])}
              label={labelOf(reportWords.figures[figure], row)}
              opens={row[figure] > 0 ? { show: figure, ...rowOf(row) } : undefined}
            />
            <Change kind="count" now={row[figure]} before={row.previous[figure]} isShort />
          </span>
        ),
      }),
    ),
    ...spreads.map(
      (spread): RowColumn<Shown> => ({
        key: spread,
        label: reportWords.figures[spread],
        valueOf: (row) => secondsOf(row, spread, measure),
        cell: (row) => {
          const seconds = secondsOf(row, spread, measure)
          return (
            <span className="reports-cell">
              <Figure
                value={seconds === null ? '–' : formatSeconds(seconds)}
                label={labelOf(nameOfTime(spread, measure), row)}
                opens={seconds === null ? undefined : { show: spread, ...rowOf(row) }}
              />
              <Change kind="time" now={seconds} before={secondsOf(row.previous, spread, measure)} isShort />
            </span>
          )
        },
      }),
    ),
  ]
  return (
    <>
      {missing}
      <RowTable<Shown>
        title={reportWords.names[name]}
        actions={
          <SegmentedControl
            label={reportWords.timesLabel}
            value={measure}
            options={measures.map((value) => ({ value, label: reportWords.times[value] }))}
            onChange={(next) => setMeasure(next === 'median' ? '' : next)}
          />
        }
        name={text.columns[name]}
        rows={report.rows}
        keyOf={({ id }) => id ?? 'none'}
        textOf={(row) => nameOf(name, row)}
        nameCell={(row) => (
          <RowName
            dimension={rowsOf[name]}
            row={row}
            name={nameOf(name, row)}
            path="/reports"
            isAll={row.isAll ?? false}
          />
        )}
        columns={columns}
        usual={name === 'members' || name === 'teams' ? 'waiting_now' : 'opened'}
        all={all}
      />
    </>
  )
}

const nameOf = (report: Key, row: Shown): string => row.name ?? (row.id ? text.gone[report] : text.without[report])

/** A report by team needs teams, one by label needs labels. */
function useMissing(name: Key) {
  const teams = useCall('GET /teams', {}, { enabled: name === 'teams' })
  const labels = useCall('GET /labels', {}, { enabled: name === 'labels' })
  if (name === 'teams' && teams.data?.length === 0)
    return <SetUp text={reportWords.empty.teams} href="/settings/teams" />
  if (name === 'labels' && labels.data?.length === 0)
    return <SetUp text={reportWords.empty.labels} href="/settings/labels" />
  return undefined
}
