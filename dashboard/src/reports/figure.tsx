/** A figure that opens the rows behind it, and its change from the period before. */
import { formatNumber, formatShare } from '../lib/time.ts'
import { reportWords } from '../words/reports.ts'
import { formatSeconds } from './duration.ts'
import { type Opened, openRows } from './opened.ts'

const { change: text } = reportWords

type FigureProps = { value: string; label: string; opens: Opened | undefined }

/** `opens`: undefined if nothing is behind it. */
export const Figure = ({ value, label, opens }: FigureProps) =>
  opens ? (
    <button
      type="button"
      className="reports-figure numeric"
      aria-haspopup="dialog"
      aria-label={reportWords.open(value, label)}
      onClick={() => openRows(opens)}
    >
      {value}
    </button>
  ) : (
    <span className="reports-figure numeric soft">{value}</span>
  )

type Kind = 'count' | 'time' | 'rating' | 'share'

type ChangeProps = {
  /** Counts and times change by a share of what they were, ratings by an amount, and shares by percentage points. */
  kind: Kind
  now: number | null
  before: number | null
  /** In a table only the arrow and the size are visible. */
  isShort?: boolean
  format?: (value: number) => string
}

const formats: Record<Kind, (value: number) => string> = {
  count: formatNumber,
  time: formatSeconds,
  rating: (value) => value.toFixed(2),
  share: (value) => formatShare(value, 1),
}
/** What a change in each direction is called, and which one is good: counts are neither good nor bad. */
const directions = {
  count: { up: text.more, down: text.less, good: undefined },
  time: { up: text.longer, down: text.shorter, good: 'down' },
  rating: { up: text.higher, down: text.lower, good: 'up' },
  share: { up: text.higher, down: text.lower, good: 'up' },
} as const

export function Change({ kind, now, before, isShort = false, format = formats[kind] }: ChangeProps) {
  if (now === null || before === null) return null
  const isRelative = kind === 'count' || kind === 'time'
  if (isRelative && before === 0)
    return now === 0 || isShort ? null : <span className="reports-change soft">{text.new}</span>
  const change = isRelative ? now / before - 1 : now - before
  const isSame = Math.abs(change) < 0.005
  const direction = change > 0 ? 'up' : 'down'
  const size =
    kind === 'rating'
      ? format(Math.abs(change))
      : kind === 'share'
        ? text.points(Math.round(Math.abs(change) * 100))
        : formatShare(Math.round(Math.abs(change) * 100), 100)
  const { good, [direction]: describe } = directions[kind]
  const sentence = isSame ? text.same : describe(size)
  const tone = good === undefined || isSame ? undefined : direction === good ? 'green' : 'amber'
  return (
    <span className="reports-change" data-tone={tone} title={text.before(format(before))}>
      {isShort ? (
        <>
          <span aria-hidden="true">{isSame ? text.equal : text[direction](size)}</span>
          <span className="offscreen">{sentence}</span>
        </>
      ) : (
        sentence
      )}
    </span>
  )
}
