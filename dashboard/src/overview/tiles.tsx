/** The key metrics of the period, with the change from the period before. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { unassigned } from '../inbox/model/filters.ts'
import type { Connection } from '../lib/connections.ts'
import { formatCompact, formatNumber, formatShare, formatSpan } from '../lib/time.ts'
import { words } from '../words/words.ts'
import { type Change, changeOf, type OverviewView, type Period, sumOf, totalOf, wholeOf } from './metrics.ts'

const { tiles, change: labels } = words.overview

type TilesProps = { overview: OverviewView; periods: readonly Period[]; connection: Connection | undefined }

/** With a connection, its figures. */
export function Tiles({ overview, periods, connection }: TilesProps) {
  const { days, funnel, responses, previous, open_conversations, unassigned_conversations } = overview
  const whole = wholeOf(funnel)
  const received = periods.map((period) => totalOf(period, 'inbound'))
  const sent = periods.map((period) => totalOf(period, 'outbound'))
  const sentByWeb = periods.map(({ web }) => web.outbound)
  const compare = (now: number | null, before: number | null | undefined) => changeOf(now, before, days.length)
  const averageMs = responses.average_seconds === null ? null : responses.average_seconds * 1_000
  const answers = tiles.answers(formatNumber(responses.count), responses.count)
  const ofConnection = connection ? `&connection=${connection.id}` : ''
  const answerChange = compare(responses.average_seconds, previous?.responses.average_seconds)
  return (
    <ul className="overview-tiles" aria-label={words.overview.headline}>
      <Tile label={tiles.received} value={formatNumber(sumOf(received))} spark={received}>
        <Trend change={compare(sumOf(received), previous?.inbound)} format={formatNumber} />
      </Tile>
      <Tile label={tiles.sent} value={formatNumber(sumOf(sent))} spark={sent}>
        <Trend change={compare(sumOf(sent), previous?.outbound)} format={formatNumber} />
        {!connection && sumOf(sentByWeb) > 0 && <span>{tiles.inWebChat(formatNumber(sumOf(sentByWeb)))}</span>}
      </Tile>
      {connection?.channel !== 'web' && (
        <Tile label={tiles.delivered} value={whole > 0 ? formatShare(funnel.delivered, whole) : '–'}>
          {whole === 0
            ? tiles.nothingSent
            : (connection ? tiles.ofSent : tiles.ofMessages)(formatCompact(whole), whole)}
        </Tile>
      )}
      <Tile label={tiles.answer} value={averageMs === null ? '–' : formatSpan(averageMs)}>
        {averageMs === null ? (
          tiles.noAnswers
        ) : answerChange ? (
          <Trend change={answerChange} format={formatSeconds} lessIsBetter />
        ) : (
          answers
        )}
      </Tile>
      <Tile label={tiles.open} value={formatNumber(open_conversations)} href={`/inbox?status=open${ofConnection}`}>
        {tiles.toOpen}
      </Tile>
      <Tile
        label={tiles.unassigned}
        value={formatNumber(unassigned_conversations)}
        href={`/inbox?assigned=${unassigned}${ofConnection}`}
      >
        {unassigned_conversations > 0 ? tiles.toUnassigned : tiles.noneWaiting}
      </Tile>
    </ul>
  )
}

type TileProps = { label: string; value: string; href?: string; spark?: readonly number[]; children?: ReactNode }

function Tile({ label, value, href, spark, children }: TileProps) {
  const name = <span className="overview-tile-label soft small">{label}</span>
  return (
    <li className="card stack overview-tile" data-link={href ? '' : undefined}>
      {href ? <Link href={href}>{name}</Link> : name}
      <strong className="numeric">{value}</strong>
      <span className="overview-tile-foot soft">{children}</span>
      {spark && <Spark values={spark} />}
    </li>
  )
}

type TrendProps = { change: Change | undefined; format: (value: number) => string; lessIsBetter?: boolean }

const formatSeconds = (seconds: number): string => formatSpan(seconds * 1_000)

/** Message counts have no color. A shorter response time is green, a longer one amber. */
function Trend({ change, format, lessIsBetter = false }: TrendProps) {
  if (!change) return null
  const { share, before, days } = change
  const isSame = Math.abs(share) < 0.005
  const tone = !lessIsBetter || isSame ? undefined : share < 0 ? 'green' : 'amber'
  const size = formatShare(Math.round(Math.abs(share) * 100), 100)
  return (
    <span data-tone={tone} title={labels.about(format(before), days)}>
      {isSame ? labels.same(days) : share > 0 ? labels.up(size, days) : labels.down(size, days)}
    </span>
  )
}

/** The sparkline behind the number. */
function Spark({ values }: { values: readonly number[] }) {
  const max = Math.max(1, ...values)
  const points = values.map(
    (value, index) => `${(index / Math.max(1, values.length - 1)) * 100},${28 - (value / max) * 26}`,
  )
  return (
    <svg
      className="overview-spark"
      viewBox="0 0 100 28"
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <polygon points={`0,28 ${points.join(' ')} 100,28`} />
      <polyline points={points.join(' ')} />
    </svg>
  )
}
