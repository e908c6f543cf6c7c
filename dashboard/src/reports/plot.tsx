/** A plot over the intervals of a report that can also be read as a table, whose figures open the rows behind them. */
import { Button } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { formatLongDay, formatShortDay } from '../lib/chart.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { DayChart, Line, type Scale } from '../ui/day-chart.tsx'
import { reportWords } from '../words/reports.ts'
import { Figure } from './figure.tsx'
import type { Opened } from './opened.ts'
import { addDays, type Interval } from './request.ts'

const { plots: text } = reportWords

export type Series = {
  label: string
  values: readonly (number | null)[]
  /** Absent: only in the table. The second bar or line differs by its outline, not only by its color. */
  mark?: 'bar' | 'second-bar' | 'line' | 'second-line'
  /** In another unit than the plot. */
  format?: (value: number) => string
  /** What the figure of an interval opens, if there is something behind it. */
  opens?: (start: string, index: number) => Opened | undefined
}

type PlotProps = {
  /** Its parameter in the URL, which says that it is a table. */
  name: string
  title: string
  starts: readonly string[]
  interval: Interval
  series: readonly Series[]
  ticks: (max: number) => number[]
  format: (value: number) => string
  height?: number
  /** Below the plot. */
  note?: string
}

export function Plot(props: PlotProps) {
  const { name, title, note } = props
  const [view, setView] = useSearchParam(name)
  const isTable = view === 'table'
  return (
    <Card
      title={title}
      actions={
        <Button
          label={isTable ? text.asChart : text.asTable}
          aria-label={`${isTable ? text.asChart : text.asTable}: ${title}`}
          size="small"
          variant="quiet"
          icon={isTable ? 'overview' : 'templates'}
          onClick={() => setView(isTable ? '' : 'table')}
        />
      }
    >
      {isTable ? <PlotTable {...props} /> : <Drawing {...props} />}
      {note && <p className="soft small">{note}</p>}
    </Card>
  )
}

function Drawing({ title, starts, interval, series, ticks, format, height = 240 }: PlotProps) {
  const drawn = series.filter(({ mark }) => mark)
  const bars = drawn.filter(({ mark }) => mark?.endsWith('bar'))
  const max = Math.max(1, ...drawn.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const valueAt = ({ values, format: own = format }: Series, index: number) => {
    const value = values[index] ?? null
    return value === null ? text.noValue : own(value)
  }
  const nameAt = (index: number) => describeInterval(starts[index] ?? '', interval)
  return (
    <>
      <DayChart
        key={starts.length}
        label={text.chart(title)}
        days={starts.map((start) => formatInterval(start, interval))}
        up={ticks(max)}
        format={format}
        height={height}
        describe={(index) =>
          `${nameAt(index)}: ${drawn.map((each) => text.point(each.label, valueAt(each, index))).join(', ')}`
        }
        tip={(index) => (
          <table>
            <thead>
              <tr>
                <th>{nameAt(index)}</th>
              </tr>
            </thead>
            <tbody>
              {series.map((each) => (
                <tr key={each.label}>
                  <td>
                    <span className="chart-swatch" data-mark={each.mark ?? 'none'} />
                    {each.label}
                  </td>
                  <td>{valueAt(each, index)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      >
        {(scale, activeIndex) => (
          <>
            <g className="chart-bars" style={{ transformOrigin: `0 ${scale.y(0)}px` }}>
              {bars.map((each, at) => (
                <Bars key={each.label} series={each} at={at} count={bars.length} scale={scale} />
              ))}
            </g>
            {drawn
              .filter(({ mark }) => mark?.endsWith('line'))
              .map(({ label, values, mark = '' }) => (
                <Line key={label} values={values} scale={scale} activeIndex={activeIndex} mark={mark} />
              ))}
          </>
        )}
      </DayChart>
      <ul className="chart-legend soft small">
        {drawn.map(({ label, mark }) => (
          <li key={label}>
            <span className="chart-swatch" data-mark={mark} />
            {label}
          </li>
        ))}
      </ul>
    </>
  )
}

type BarsProps = { series: Series; at: number; count: number; scale: Scale }

/** The bars of a series, beside those of the others. */
function Bars({ series: { values, mark }, at, count, scale: { x, y, band } }: BarsProps) {
  const width = Math.max(1, Math.min(36, band * 0.72) / count)
  return values.map((value, index) => {
    if (!value) return null
    const top = y(value)
    const height = Math.max(1, y(0) - top)
    return (
      <rect
        // biome-ignore lint/suspicious/noArrayIndexKey: the intervals keep their order.
        key={index}
        data-mark={mark}
        x={x(index) + (at - count / 2) * width}
        y={top}
        width={Math.max(1, width - 1)}
        height={height}
        rx={Math.min(2, width / 2)}
      />
    )
  })
}

/** The latest interval first. */
function PlotTable({ title, starts, interval, series, format }: PlotProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className="chart-scroll reports-plot-table" tabIndex={0} aria-label={text.table(title)}>
      <table className="chart-table small" aria-label={text.table(title)}>
        <thead>
          <tr>
            <th scope="col">{reportWords.controls.intervals[interval]}</th>
            {series.map(({ label }) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {starts
            .map((start, index) => ({ start, index }))
            .toReversed()
            .map(({ start, index }) => (
              <tr key={start}>
                <th scope="row">{describeInterval(start, interval)}</th>
                {series.map(({ label, values, format: own = format, opens }) => {
                  const value = values[index] ?? null
                  return (
                    <td key={label}>
                      {value === null ? (
                        <span className="soft">–</span>
                      ) : (
                        <Figure
                          value={own(value)}
                          label={`${label}, ${describeInterval(start, interval)}`}
                          opens={opens?.(start, index)}
                        />
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
        </tbody>
      </table>
    </section>
  )
}

const month = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone: 'UTC' })

const formatInterval = (start: string, interval: Interval): string =>
  interval === 'month' ? month.format(new Date(start)) : formatShortDay(start)

export function describeInterval(start: string, interval: Interval): string {
  if (interval === 'month') return month.format(new Date(start))
  return interval === 'week' ? text.week(formatShortDay(start)) : formatLongDay(start)
}

/** The last day of the interval that begins at `start`. */
export function endOfInterval(start: string, starts: readonly string[], toDay: string): string {
  const next = starts[starts.indexOf(start) + 1]
  return next === undefined ? toDay : addDays(next, -1)
}
