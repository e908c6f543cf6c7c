/** A schedule in words: whether it is open now, its week on one line, and typed times. Pure. */
import { isOpen, nextClosing, nextOpening, type Period, type Schedule } from '../../../common/office-hours.ts'
import type { ItemOf } from '../lib/api.ts'
import { settingsWords } from '../words/settings.ts'

const { hours: text } = settingsWords

export type StoredSchedule = ItemOf<'GET /schedules'>
export type Draft = Pick<
  StoredSchedule,
  'name' | 'time_zone' | 'periods' | 'holidays' | 'is_default' | 'team_ids' | 'connection_ids'
>

const dayMs = 86_400_000

/** "Closed. Opens Monday 09:00", in the time zone of the schedule. */
export function describeNow(schedule: Schedule, nowMs: number): { isOpen: boolean; text: string } {
  const format = (atMs: number | undefined) => atMs && formatAt(atMs, nowMs, schedule.time_zone)
  return isOpen(schedule, nowMs)
    ? { isOpen: true, text: text.isOpen(format(nextClosing(schedule, nowMs)) || undefined) }
    : { isOpen: false, text: text.isClosed(format(nextOpening(schedule, nowMs)) || undefined) }
}

/** Today only the time, within six days the weekday, later the date. */
function formatAt(atMs: number, nowMs: number, timeZone: string): string {
  const dayOf = (ms: number) => new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'short' }).format(ms)
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(atMs)
  if (dayOf(atMs) === dayOf(nowMs)) return clock
  const day = atMs - nowMs < 6 * dayMs ? ({ weekday: 'long' } as const) : ({ day: 'numeric', month: 'long' } as const)
  return `${new Intl.DateTimeFormat('en', { timeZone, ...day }).format(atMs)} ${clock}`
}

/** "Mon to Fri 09:00–17:00; Sat 10:00–14:00": days with the same hours together. */
export function describeWeek(periods: readonly Period[]): string {
  const days = text.shortDays.map((_, day) =>
    periods
      .filter((period) => period.day === day)
      .map(({ from, to }) => `${from}–${to}`)
      .join(', '),
  )
  const parts: string[] = []
  for (let first = 0, last = 0; first < days.length; first = last) {
    last = first + 1
    while (last < days.length && days[last] === days[first]) last++
    if (!days[first]) continue
    const [from = '', to = ''] = [text.shortDays[first], text.shortDays[last - 1]]
    parts.push(`${last - first > 1 ? text.daySpan(from, to) : from} ${days[first]}`)
  }
  return parts.join('; ') || text.neverOpen
}

/** What a member types as a time: `9`, `930`, `9:30` and `9.30`. Other text stays as it is. */
export function completeTime(typed: string): string {
  const [, hours, minutes = '00'] = /^\s*(\d{1,2})[:.]?(\d{2})?\s*$/.exec(typed) ?? []
  return hours === undefined ? typed : `${hours.padStart(2, '0')}:${minutes}`
}

const isTime = (time: string): boolean => /^([01]\d|2[0-3]):[0-5]\d$|^24:00$/.test(time)

/** What is wrong with the periods of a day. */
export function findFault(periods: readonly Period[]): string | undefined {
  if (periods.some(({ from, to }) => !isTime(from) || !isTime(to))) return text.notATime
  return periods.some(({ from, to }) => to <= from) ? text.endsFirst : undefined
}
