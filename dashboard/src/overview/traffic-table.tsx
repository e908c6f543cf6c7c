/** The data of the message chart as a table, newest day first, with totals in the last row. */
import { formatNumber } from '../lib/time.ts'
import { words } from '../words/words.ts'
import { type Channel, channels, type Day, type Direction, formatLongDay, sumOf, totalOf } from './metrics.ts'

const { traffic } = words.overview

const directions = [
  { direction: 'inbound', label: traffic.received },
  { direction: 'outbound', label: traffic.sent },
] as const

type Column = { name: string; direction: Direction; channel: Channel | 'all' }

const columns: readonly Column[] = directions.flatMap(({ direction }) =>
  [...channels, 'all' as const].map((channel) => ({ name: `${direction} ${channel}`, direction, channel })),
)

const countOf = (day: Day, { direction, channel }: Column): number =>
  channel === 'all' ? totalOf(day, direction) : day[channel][direction]

export function TrafficTable({ days }: { days: readonly Day[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section className="overview-scroll" tabIndex={0} aria-label={traffic.table}>
      <table className="overview-table" aria-label={traffic.table}>
        <thead>
          <tr>
            <th scope="col" rowSpan={2}>
              {traffic.day}
            </th>
            {directions.map(({ direction, label }) => (
              <th key={direction} scope="colgroup" colSpan={channels.length + 1}>
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
            <Row key={day.day} label={formatLongDay(day.day)} days={[day]} />
          ))}
          <Row label={traffic.total} days={days} isSum />
        </tbody>
      </table>
    </section>
  )
}

function Row({ label, days, isSum = false }: { label: string; days: readonly Day[]; isSum?: boolean }) {
  return (
    <tr className={isSum ? 'overview-sum' : undefined}>
      <th scope="row">{label}</th>
      {columns.map((column) => (
        <td key={column.name} className={column.channel === 'all' ? 'overview-all' : undefined}>
          {formatNumber(sumOf(days.map((day) => countOf(day, column))))}
        </td>
      ))}
    </tr>
  )
}
