/** Counts by weekday and hour as a grid, which is a table of numbers too. Arrow keys move between its cells. */
import './hours.css'
import { type KeyboardEvent, useRef, useState } from 'react'
import { SegmentedControl } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { useMedia, useSearchParam } from '../lib/hooks.ts'
import { formatCompact, formatNumber } from '../lib/time.ts'
import { reportWords } from '../words/reports.ts'
import type { EpisodeReport } from './episodes.ts'
import { openRows } from './opened.ts'
import { NothingInPeriod } from './states.tsx'

const { hours: text } = reportWords

/** The name of each figure in the rows of episodes, and of the report. */
export const hourFields = { opened: 'opened', first_reply: 'first_replies', closed: 'closed' } as const
type HourFigure = keyof typeof hourFields
const figures = Object.keys(hourFields) as HourFigure[]

/** The share of the accent in the busiest cell. Text on it keeps a contrast of 4.5:1. */
const strongest = 46
const listOf = (count: number) => Array.from({ length: count }, (_, index) => index)
const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' })
const timeOf = (hour: number): string => clock.format(new Date(Date.UTC(2026, 0, 1, hour % 24)))

/** A cell, or the sum of a weekday, of an hour, or of all. */
type Slot = { weekday?: number; hour?: number }

const slotName = ({ weekday, hour }: Slot): string => {
  const day = weekday === undefined ? text.everyDay : (text.weekdays[weekday] ?? '')
  return hour === undefined ? day : text.slot(day, timeOf(hour), timeOf(hour + 1))
}
export const nameOfSlot = ({ weekday, hour }: { weekday?: string; hour?: string }): string =>
  slotName({ ...(weekday ? { weekday: Number(weekday) } : {}), ...(hour ? { hour: Number(hour) } : {}) })

export function BusyHours({ report }: { report: EpisodeReport }) {
  const [figureInUrl, setFigure] = useSearchParam('figure')
  const figure = figures.find((each) => each === figureInUrl) ?? 'opened'
  const field = hourFields[figure]
  const most = report.hours.toSorted((one, other) => other[field] - one[field])[0]
  return report.hours.length === 0 ? (
    <NothingInPeriod />
  ) : (
    <Card
      title={text.title}
      actions={
        <SegmentedControl
          label={text.figure}
          value={figure}
          options={figures.map((value) => ({ value, label: text.figures[value] }))}
          onChange={(next) => setFigure(next === 'opened' ? '' : next)}
        />
      }
    >
      <p>
        {most && most[field] > 0 && <strong>{text.busiest(slotName(most), formatNumber(most[field]))} </strong>}
        <span className="soft">{text.note}</span>
      </p>
      <Grid hours={report.hours} figure={figure} />
    </Card>
  )
}

type GridProps = { hours: EpisodeReport['hours']; figure: HourFigure }

function Grid({ hours, figure }: GridProps) {
  const table = useRef<HTMLTableElement>(null)
  const [current, setCurrent] = useState({ row: 0, column: 0 })
  // On a phone and a tablet the days are the columns, because seven of them fit.
  const isTurned = useMedia('(max-width: 59rem)')
  const field = hourFields[figure]
  const max = Math.max(1, ...hours.map((each) => each[field]))
  const countOf = ({ weekday, hour }: Slot): number =>
    hours
      .filter((each) => (weekday ?? each.weekday) === each.weekday && (hour ?? each.hour) === each.hour)
      .reduce((sum, each) => sum + each[field], 0)
  const days: Slot[] = [...listOf(7).map((weekday) => ({ weekday })), {}]
  const times: Slot[] = [...listOf(24).map((hour) => ({ hour })), {}]
  const [rows, columns] = isTurned ? [times, days] : [days, times]
  const move = (event: KeyboardEvent) => {
    const { row, column } = current
    const next = {
      ArrowUp: { row: row - 1, column },
      ArrowDown: { row: row + 1, column },
      ArrowLeft: { row, column: column - 1 },
      ArrowRight: { row, column: column + 1 },
      Home: { row, column: 0 },
      End: { row, column: columns.length - 1 },
      PageUp: { row: 0, column },
      PageDown: { row: rows.length - 1, column },
    }[event.key]
    if (!next) return
    event.preventDefault()
    table.current?.querySelector<HTMLElement>(`[data-cell="${next.row} ${next.column}"]`)?.focus()
  }
  return (
    <div className="chart-scroll">
      <table
        ref={table}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: arrow keys move between the cells.
        role="grid"
        className="reports-hours numeric"
        aria-label={text.grid(text.figures[figure])}
        onKeyDown={move}
      >
        <thead>
          <tr>
            <th scope="col">{isTurned ? text.hour : text.day}</th>
            {columns.map((slot) => (
              <th key={slotName(slot)} scope="col">
                <Head slot={slot} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, rowIndex) => (
            <tr key={slotName(row)}>
              <th scope="row">
                <Head slot={row} />
              </th>
              {columns.map((column, columnIndex) => {
                const slot = { ...row, ...column }
                const count = countOf(slot)
                const isSum = slot.weekday === undefined || slot.hour === undefined
                return (
                  <td key={slotName(column)} data-sum={isSum ? '' : undefined}>
                    <button
                      type="button"
                      data-cell={`${rowIndex} ${columnIndex}`}
                      tabIndex={current.row === rowIndex && current.column === columnIndex ? 0 : -1}
                      aria-label={text.cell(formatNumber(count), slotName(slot))}
                      aria-disabled={count === 0 || undefined}
                      style={
                        isSum || count === 0
                          ? undefined
                          : {
                              background: `color-mix(in srgb, var(--accent) ${Math.round(4 + (count / max) * (strongest - 4))}%, var(--surface))`,
                            }
                      }
                      onFocus={() => setCurrent({ row: rowIndex, column: columnIndex })}
                      onClick={() =>
                        count > 0 &&
                        openRows({
                          show: figure,
                          ...(slot.weekday === undefined ? {} : { weekday: String(slot.weekday) }),
                          ...(slot.hour === undefined ? {} : { hour: String(slot.hour) }),
                        })
                      }
                    >
                      {formatCompact(count)}
                    </button>
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Short for the eye. Screen readers get the whole name. */
function Head({ slot: { weekday, hour } }: { slot: Slot }) {
  if (weekday === undefined && hour === undefined) return text.total
  if (hour !== undefined) {
    return (
      <>
        <span aria-hidden="true">{String(hour).padStart(2, '0')}</span>
        <span className="offscreen">{timeOf(hour)}</span>
      </>
    )
  }
  return (
    <>
      <span aria-hidden="true">{text.short[weekday ?? 0]}</span>
      <span className="offscreen">{text.weekdays[weekday ?? 0]}</span>
    </>
  )
}
