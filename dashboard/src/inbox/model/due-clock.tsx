/** When the time of a target runs out, or that it has run out: in words and in color. It changes each minute, and when the time is over. */
import { useEffect, useReducer } from 'react'
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
  useLastMinute(at)
  // The minute is up to one minute old.
  const leftMs = Date.parse(at) - Math.max(useMinute() * minuteMs, Date.now())
  const what = flow.due[kind ?? 'first_reply']
  const tone = leftMs <= 0 ? 'red' : leftMs <= soonMs ? 'amber' : undefined
  const isClose = Math.abs(leftMs) < minuteMs
  const time = isClose ? flow.lessThanMinute : formatWait(Math.abs(leftMs))
  const text = leftMs <= 0 ? flow.overdueBy(time) : flow.dueIn(what, time)
  return (
    <span className="inbox-wait" data-tone={tone} title={`${text}: ${flow.dueAt(what, formatTime(at))}`}>
      {isShort ? (
        <>
          <span aria-hidden="true">{leftMs <= 0 ? flow.overdue : flow.dueShort} </span>
          <span aria-hidden="true">{isClose ? flow.lessThanMinuteShort : time}</span>
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

/** Renders when the last minute begins and when it ends. */
function useLastMinute(at: string): void {
  const minute = useMinute()
  const [step, render] = useReducer((count: number) => count + 1, 0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each minute and each step has a next time.
  useEffect(() => {
    const leftMs = Date.parse(at) - Date.now()
    const nextMs = leftMs > minuteMs ? leftMs - minuteMs : leftMs
    if (nextMs <= 0 || nextMs > 2 * minuteMs) return
    const timer = setTimeout(render, nextMs)
    return () => clearTimeout(timer)
  }, [at, minute, step])
}
