/** When the time of a target runs out, or that it has run out: in words and in color. It changes each minute. */
import { useMinute } from '../../lib/hooks.ts'
import { formatTime, formatWait } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import type { Conversation } from './data.ts'

const { flow } = words.inbox
const minuteMs = 60_000
/** Less time than this is amber. */
const soonMs = 15 * minuteMs

type Props = {
  at: string
  kind: Conversation['due_kind']
  /** In a row of the list, which has little space. */
  isShort?: boolean
}

export function DueClock({ at, kind, isShort = false }: Props) {
  // The minute is up to one minute old.
  const leftMs = Date.parse(at) - Math.max(useMinute() * minuteMs, Date.now())
  const what = flow.due[kind ?? 'first_reply']
  const tone = leftMs <= 0 ? 'red' : leftMs <= soonMs ? 'amber' : undefined
  const time = formatWait(Math.abs(leftMs))
  const text = leftMs <= 0 ? flow.overdueBy(time) : flow.dueIn(what, time)
  return (
    <span className="inbox-wait" data-tone={tone} title={`${text}: ${flow.dueAt(what, formatTime(at))}`}>
      {isShort ? (
        <>
          <span aria-hidden="true">{leftMs <= 0 ? flow.overdue : flow.dueShort} </span>
          <span aria-hidden="true">{time}</span>
          <span className="offscreen">{text}</span>
        </>
      ) : (
        <>
          <span />
          <span>{text}</span>
        </>
      )}
    </span>
  )
}
