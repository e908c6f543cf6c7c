/** Messages per day and channel: received above the line, sent below it, or one of them alone; or as a table. */

import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { SegmentedControl } from '../../../ui/form.tsx'
import { useSearchParam } from '../lib/hooks.ts'
import { formatCompact, formatNumber } from '../lib/time.ts'
import { words } from '../words/words.ts'
import { Plot, type Scale } from './chart.tsx'
import { channels, countTicks, type Day, type Direction, longDay, totalOf } from './scale.ts'
import { TrafficTable } from './traffic-table.tsx'

const { traffic } = words.overview

const shows = ['both', 'received', 'sent'] as const
type Show = (typeof shows)[number]

export function Traffic({ days }: { days: readonly Day[] }) {
  const [wanted, setWanted] = useSearchParam('show')
  const [view, setView] = useSearchParam('as')
  const show = shows.find((each) => each === wanted) ?? 'both'
  const isTable = view === 'table'
  return (
    <Card
      title={traffic.title}
      actions={
        <>
          {!isTable && (
            <SegmentedControl
              label={traffic.show}
              value={show}
              options={shows.map((value) => ({ value, label: traffic[value] }))}
              onChange={(next) => setWanted(next === 'both' ? '' : next)}
            />
          )}
          <Button
            size="small"
            variant="quiet"
            icon={isTable ? 'overview' : 'templates'}
            onClick={() => setView(isTable ? '' : 'table')}
          >
            {isTable ? traffic.asChart : traffic.asTable}
          </Button>
        </>
      }
    >
      {isTable ? (
        <TrafficTable days={days} />
      ) : (
        <>
          <Bars days={days} show={show} />
          <Legend />
        </>
      )}
    </Card>
  )
}

function Bars({ days, show }: { days: readonly Day[]; show: Show }) {
  const most = (direction: Direction) => Math.max(1, ...days.map((day) => totalOf(day, direction)))
  const above: Direction = show === 'sent' ? 'outbound' : 'inbound'
  const isBoth = show === 'both'
  // The same step on both sides, so that lengths can be compared.
  const step = countTicks(isBoth ? Math.max(most('inbound'), most('outbound')) : most(above))[1] ?? 1
  const ticksTo = (max: number) => Array.from({ length: Math.ceil(max / step) + 1 }, (_, place) => place * step)
  const say = (place: number) => {
    const day = days[place]
    if (!day) return ''
    return isBoth
      ? traffic.said(longDay(day.day), totalOf(day, 'inbound'), totalOf(day, 'outbound'))
      : traffic.saidOne(longDay(day.day), totalOf(day, above), traffic[show])
  }
  return (
    <Plot
      key={show}
      label={traffic.chart}
      days={days.map(({ day }) => day)}
      up={ticksTo(most(above))}
      down={isBoth ? ticksTo(most('outbound')) : []}
      {...(isBoth ? { sides: { up: traffic.received, down: traffic.sent } } : {})}
      format={formatCompact}
      height={isBoth ? 300 : 260}
      say={say}
      tip={(place) => <Tip day={days[place]} show={show} />}
    >
      {(scale) => (
        <g className="overview-bars" style={{ transformOrigin: `0 ${scale.y(0)}px` }}>
          {days.map((day, place) => (
            <Stack key={day.day} day={day} direction={above} sign={1} x={scale.x(place)} scale={scale} />
          ))}
          {isBoth &&
            days.map((day, place) => (
              <Stack key={day.day} day={day} direction="outbound" sign={-1} x={scale.x(place)} scale={scale} />
            ))}
        </g>
      )}
    </Plot>
  )
}

type StackProps = { day: Day; direction: Direction; sign: 1 | -1; x: number; scale: Scale }

/** The channels of a day, one on the other, with a hair between them. */
function Stack({ day, direction, sign, x, scale: { y, band } }: StackProps) {
  const width = Math.max(1, Math.min(28, band * 0.68))
  let from = 0
  return channels.map((channel) => {
    const value = day[channel][direction]
    if (value === 0) return null
    const near = y(sign * from)
    from += value
    const far = y(sign * from)
    const length = Math.max(1, Math.abs(far - near) - 1)
    return (
      <rect
        key={channel}
        data-channel={channel}
        x={x - width / 2}
        y={sign > 0 ? far : near + 1}
        width={width}
        height={length}
        rx={Math.min(2.5, length / 2, width / 2)}
      />
    )
  })
}

function Tip({ day, show }: { day: Day | undefined; show: Show }) {
  if (!day) return null
  const columns = [
    ...(show === 'sent' ? [] : [{ direction: 'inbound' as const, label: traffic.received }]),
    ...(show === 'received' ? [] : [{ direction: 'outbound' as const, label: traffic.sent }]),
  ]
  return (
    <table>
      <thead>
        <tr>
          <th>{longDay(day.day)}</th>
          {columns.map(({ label }) => (
            <th key={label}>{label}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {channels.map((channel) => (
          <tr key={channel}>
            <td>
              <span className="overview-swatch" data-channel={channel} />
              {words.channels[channel]}
            </td>
            {columns.map(({ direction }) => (
              <td key={direction}>{formatNumber(day[channel][direction])}</td>
            ))}
          </tr>
        ))}
        <tr>
          <td>{traffic.total}</td>
          {columns.map(({ direction }) => (
            <td key={direction}>{formatNumber(totalOf(day, direction))}</td>
          ))}
        </tr>
      </tbody>
    </table>
  )
}

const Legend = () => (
  <ul className="overview-legend">
    {channels.map((channel) => (
      <li key={channel}>
        <span className="overview-swatch" data-channel={channel} />
        {words.channels[channel]}
      </li>
    ))}
  </ul>
)
