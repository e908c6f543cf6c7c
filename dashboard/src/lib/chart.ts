/** Days and axis ticks of charts. */

const short = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const long = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })

/** Days are in the workspace's time zone, so they are dates without a zone here. */
export const formatShortDay = (day: string): string => short.format(new Date(day))
export const formatLongDay = (day: string): string => long.format(new Date(day))

/** About three round integer ticks from 0 to at least `max`. */
export function countTicks(max: number): number[] {
  const rough = Math.max(1, max / 3)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? rough
  return ticksBy(step, max)
}

const minute = 60
const hour = 60 * minute
const day = 24 * hour
const spans = [10, 30, minute, 2 * minute, 5 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 6 * hour, 12 * hour]

/** Like `countTicks`, for seconds: at usual time spans. */
export function spanTicks(max: number): number[] {
  const rough = max / 3
  return ticksBy(spans.find((each) => each >= rough) ?? Math.ceil(rough / day) * day, max)
}

function ticksBy(step: number, max: number): number[] {
  const count = Math.max(1, Math.ceil(max / step))
  return Array.from({ length: count + 1 }, (_, index) => index * step)
}
