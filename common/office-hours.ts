/**
 * Office hours: when a schedule is open, and how much time of a span is in its office hours.
 *
 * A schedule is open at an instant if the clock on the wall in its time zone shows a time inside a period of that weekday, and the
 * local date is no holiday. So a local time that does not exist counts nothing, and one that exists twice counts twice. Without a
 * schedule it is always open.
 *
 * Pure: the same answers on the server and in the editor. A schedule must not change after its first use.
 */
import { dayMs, stretchesOf } from './time-zone.ts'

/** `day`: 0 is Monday. `from` and `to` are local times `HH:MM`; `to` may be `24:00`. Periods may touch and overlap. */
export type Period = { day: number; from: string; to: string }
/** `date` is local: `YYYY-MM-DD`. The whole day is closed. */
export type Holiday = { date: string; name: string }

export type Schedule = {
  /** IANA name. */
  time_zone: string
  periods: readonly Period[]
  holidays: readonly Holiday[]
}

/** Milliseconds since local midnight. */
type Opening = { from: number; to: number }
/** `holidays`: days since 1970-01-01. */
type Compiled = { zone: string; week: readonly (readonly Opening[])[]; holidays: ReadonlySet<number> }

/** No opening, closing or due time is searched further ahead. */
const maxSpanMs = 10 * 366 * dayMs

const compiledSchedules = new WeakMap<Schedule, Compiled>()

export function isOpen(schedule: Schedule | undefined, atMs: number): boolean {
  return !schedule || !openingsOf(compile(schedule), atMs, atMs + 1).next().done
}

/** The first instant from `atMs` on at which it is open; undefined if it does not open in ten years. */
export function nextOpening(schedule: Schedule | undefined, atMs: number): number | undefined {
  if (!schedule) return atMs
  for (const { from } of openingsOf(compile(schedule), atMs, atMs + maxSpanMs)) return from
  return undefined
}

/** The first instant from `atMs` on at which it is closed; undefined if it does not close in ten years. */
export function nextClosing(schedule: Schedule | undefined, atMs: number): number | undefined {
  if (!schedule) return undefined
  let end = atMs
  for (const { from, to } of openingsOf(compile(schedule), atMs, atMs + maxSpanMs)) {
    if (from > end) return end
    end = to
  }
  return end < atMs + maxSpanMs ? end : undefined
}

/** How much of the span from `fromMs` to `toMs` is in office hours; 0 if it ends before it starts. */
export function officeMs(schedule: Schedule | undefined, fromMs: number, toMs: number): number {
  if (toMs <= fromMs) return 0
  if (!schedule) return toMs - fromMs
  let sum = 0
  for (const { from, to } of openingsOf(compile(schedule), fromMs, toMs)) sum += to - from
  return sum
}

/** The first instant at which `ms` of office hours have passed since `fromMs`; undefined if that takes more than ten years. */
export function addOfficeMs(schedule: Schedule | undefined, fromMs: number, ms: number): number | undefined {
  if (!schedule || ms <= 0) return fromMs + Math.max(0, ms)
  let left = ms
  for (const { from, to } of openingsOf(compile(schedule), fromMs, fromMs + maxSpanMs)) {
    if (to - from >= left) return from + left
    left -= to - from
  }
  return undefined
}

/** The open parts of a span, in order. Parts may touch: at midnight, and where the clock changes. */
function* openingsOf({ zone, week, holidays }: Compiled, fromMs: number, toMs: number): Generator<Opening> {
  if (week.every((day) => day.length === 0)) return
  for (const stretch of stretchesOf(zone, fromMs, toMs)) {
    const [start, end] = [stretch.fromMs + stretch.offsetMs, stretch.toMs + stretch.offsetMs]
    for (let day = Math.floor(start / dayMs); day * dayMs < end; day++) {
      if (holidays.has(day)) continue
      for (const { from, to } of week[weekdayOf(day)] ?? []) {
        const opens = Math.max(start, day * dayMs + from)
        const closes = Math.min(end, day * dayMs + to)
        if (opens < closes) yield { from: opens - stretch.offsetMs, to: closes - stretch.offsetMs }
      }
    }
  }
}

/** 1970-01-01 was a Thursday. */
const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7

function compile(schedule: Schedule): Compiled {
  const known = compiledSchedules.get(schedule)
  if (known) return known
  const { time_zone: zone, periods, holidays } = schedule
  const compiled = {
    zone,
    week: Array.from({ length: 7 }, (_, day) =>
      mergePeriods(periods.filter((period) => period.day === day)).map(({ from, to }) => ({
        from: minutesOf(from) * 60_000,
        to: minutesOf(to) * 60_000,
      })),
    ),
    holidays: new Set(holidays.map(({ date }) => Math.floor(Date.parse(date) / dayMs))),
  }
  compiledSchedules.set(schedule, compiled)
  return compiled
}

/** Sorted by day and time; periods that touch or overlap become one. */
export function mergePeriods(periods: readonly Period[]): Period[] {
  const merged: Period[] = []
  for (const { day, from, to } of periods.toSorted((a, b) => a.day - b.day || (a.from < b.from ? -1 : 1))) {
    const last = merged.at(-1)
    if (last?.day === day && from <= last.to) last.to = to > last.to ? to : last.to
    else merged.push({ day, from, to })
  }
  return merged
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number)
  return hours * 60 + minutes
}
