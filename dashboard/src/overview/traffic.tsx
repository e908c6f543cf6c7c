/** Messages per day or hour and channel as a chart (received above the axis, sent below) or as a table. */
import { Button, SegmentedControl } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { countTicks } from '../lib/chart.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { formatCompact, formatNumber } from '../lib/time.ts'
import { DayChart, type Scale } from '../ui/day-chart.tsx'
import { words } from '../words/words.ts'
import { channels as allChannels, type Channel, type Direction, type Period, sumOf, totalOf } from './metrics.ts'

const { traffic } = words.overview

const directions = ['both', 'received', 'sent'] as const
type DirectionFilter = (typeof directions)[number]

type Channels = readonly Channel[]
type TrafficProps = { periods: readonly Period[]; isHourly: boolean; channels: Channels }

/** `channels`: those that have a series. */
export function Traffic({ periods, isHourly, channels }: TrafficProps) {
  const [directionInUrl, setDirection] = useSearchParam('show')
  const [view, setView] = useSearchParam('as')
  const show = directions.find((each) => each === directionInUrl) ?? 'both'
  const isTable = view === 'table'
  return (
    <Card
      title={isHourly ? traffic.hourTitle : traffic.title}
      actions={
        <>
          {!isTable && (
            <SegmentedControl
              label={traffic.show}
              value={show}
              options={directions.map((value) => ({ value, label: traffic[value] }))}
              onChange={(next) => setDirection(next === 'both' ? '' : next)}
            />
          )}
          <Button
            label={isTable ? traffic.asChart : traffic.asTable}
            size="small"
            variant="quiet"
            icon={isTable ? 'overview' : 'templates'}
            onClick={() => setView(isTable ? '' : 'table')}
          />
        </>
      }
    >
      {isTable ? (
        <TrafficTable days={periods} isHourly={isHourly} channels={channels} />
      ) : (
        <>
          <Bars days={periods} show={show} isHourly={isHourly} channels={channels} />
          <Legend channels={channels} />
        </>
      )}
    </Card>
  )
}

type BarsProps = { days: readonly Period[]; show: DirectionFilter; isHourly: boolean; channels: Channels }

function Bars({ days, show, isHourly, channels }: BarsProps) {
  const maxOf = (direction: Direction) => Math.max(1, ...days.map((day) => totalOf(day, direction)))
  const above: Direction = show === 'sent' ? 'outbound' : 'inbound'
  const isBoth = show === 'both'
  // Both sides use the same step, so that bars are comparable.
  const step = countTicks(isBoth ? Math.max(maxOf('inbound'), maxOf('outbound')) : maxOf(above))[1] ?? 1
  const ticksTo = (max: number) => Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => index * step)
  const describe = (index: number) => {
    const day = days[index]
    if (!day) return ''
    return isBoth
      ? traffic.dayText(day.long, totalOf(day, 'inbound'), totalOf(day, 'outbound'))
      : traffic.dayTextOf(day.long, totalOf(day, above), traffic[show])
  }
  return (
    <DayChart
      key={`${show} ${days.length}`}
      label={isHourly ? traffic.hourChart : traffic.chart}
      days={days.map(({ short }) => short)}
      up={ticksTo(maxOf(above))}
      down={isBoth ? ticksTo(maxOf('outbound')) : []}
      {...(isBoth ? { sides: { up: traffic.received, down: traffic.sent } } : {})}
      format={formatCompact}
      height={isBoth ? 300 : 260}
      describe={describe}
      tip={(index) => <Tip day={days[index]} show={show} channels={channels} />}
    >
      {(scale) => (
        <g className="chart-bars" style={{ transformOrigin: `0 ${scale.y(0)}px` }}>
          {days.map((day, index) => (
            <Stack key={day.key} day={day} direction={above} sign={1} x={scale.x(index)} scale={scale} />
          ))}
          {isBoth &&
            days.map((day, index) => (
              <Stack key={day.key} day={day} direction="outbound" sign={-1} x={scale.x(index)} scale={scale} />
            ))}
        </g>
      )}
    </DayChart>
  )
}

type StackProps = { day: Period; direction: Direction; sign: 1 | -1; x: number; scale: Scale }

/** The stacked bars of a day, one per channel, with a gap of one pixel. */
function Stack({ day, direction, sign, x, scale: { y, band } }: StackProps) {
  const width = Math.max(1, Math.min(28, band * 0.68))
  let from = 0
  return allChannels.map((channel) => {
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

type TipProps = { day: Period | undefined; show: DirectionFilter; channels: Channels }

function Tip({ day, show, channels }: TipProps) {
  if (!day) return null
  const shown = sides.filter(({ name }) => show === 'both' || show === name)
  return (
    <table>
      <thead>
        <tr>
          <th>{day.long}</th>
          {shown.map(({ label }) => (
            <th key={label}>{label}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {channels.map((channel) => (
          <tr key={channel}>
            <td>
              <span className="chart-swatch" data-channel={channel} />
              {words.channels[channel]}
            </td>
            {shown.map(({ direction }) => (
              <td key={direction}>{formatNumber(day[channel][direction])}</td>
            ))}
          </tr>
        ))}
        {channels.length > 1 && (
          <tr>
            <td>{traffic.total}</td>
            {shown.map(({ direction }) => (
              <td key={direction}>{formatNumber(totalOf(day, direction))}</td>
            ))}
          </tr>
        )}
      </tbody>
    </table>
  )
}

const Legend = ({ channels }: { channels: Channels }) => (
  <ul className="chart-legend soft small">
    {channels.map((channel) => (
      <li key={channel}>
        <span className="chart-swatch" data-channel={channel} />
        {words.channels[channel]}
      </li>
    ))}
  </ul>
)

const sides = [
  { name: 'received', direction: 'inbound', label: traffic.received },
  { name: 'sent', direction: 'outbound', label: traffic.sent },
] as const

type Column = { name: string; direction: Direction; channel: Channel | 'all' }

/** The sum of the channels has a column if there are several. */
const columnsOf = (channels: Channels): Column[] =>
  sides.flatMap(({ direction }) =>
    [...channels, ...(channels.length > 1 ? ['all' as const] : [])].map((channel) => ({
      ...{ name: `${direction} ${channel}`, direction, channel },
    })),
  )

const countOf = (day: Period, { direction, channel }: Column): number =>
  channel === 'all' ? totalOf(day, direction) : day[channel][direction]

/** The data of the message chart as a table, newest day first, with totals in the last row. */
function TrafficTable({ days, isHourly, channels }: Omit<BarsProps, 'show'>) {
  const columns = columnsOf(channels)
  const label = isHourly ? traffic.hourTable : traffic.table
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className="chart-scroll" tabIndex={0} aria-label={label}>
      <table className="chart-table small" aria-label={label}>
        <thead>
          <tr>
            <th scope="col" rowSpan={2}>
              {isHourly ? traffic.hour : traffic.day}
            </th>
            {sides.map(({ direction, label }) => (
              <th key={direction} scope="colgroup" colSpan={columns.length / sides.length}>
                {label}
              </th>
            ))}
          </tr>
          <tr>
            {columns.map(({ name, channel }) => (
              <th key={name} scope="col">
                {channel === 'all' ? traffic.all : words.channels[channel]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map((day) => (
            <Row key={day.key} label={day.long} days={[day]} columns={columns} />
          ))}
          <Row label={traffic.total} days={days} columns={columns} isSum />
        </tbody>
      </table>
    </section>
  )
}

type RowProps = { label: string; days: readonly Period[]; columns: readonly Column[]; isSum?: boolean }

function Row({ label, days, columns, isSum = false }: RowProps) {
  return (
    <tr className={isSum ? 'chart-sum' : undefined}>
      <th scope="row">{label}</th>
      {columns.map((column) => (
        <td key={column.name} className={column.channel === 'all' ? 'chart-all' : undefined}>
          {formatNumber(sumOf(days.map((day) => countOf(day, column))))}
        </td>
      ))}
    </tr>
  )
}
