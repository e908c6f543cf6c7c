/** Calculations for the overview: days and hours, axis ticks, and changes from the period before. */
import type { DataOf } from '../lib/api.ts'

export type OverviewView = DataOf<'GET /overview'>
export type Channel = Exclude<keyof OverviewView['days'][number], 'day'>
export type Direction = keyof OverviewView['days'][number][Channel]
/** A day or an hour of a chart. */
export type Period = Record<Channel, Record<Direction, number>> & { key: string; short: string; long: string }

/** In the order in which bars are stacked, from the axis. */
export const channels = ['msgapp', 'social', 'web'] as const satisfies readonly Channel[]

const short = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const long = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })

/** Days are in the workspace's time zone, so they are dates without a zone here. */
export const formatShortDay = (day: string): string => short.format(new Date(day))
export const formatLongDay = (day: string): string => long.format(new Date(day))

/** The hours of today, or the days from the first one with messages. */
export function periodsOf({ days, hours, first_day, time_zone }: OverviewView): Period[] {
  const hourOnly = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', timeZone: time_zone })
  if (hours.length > 0) {
    return hours.map(({ at, ...traffic }) => {
      const label = hourOnly.format(new Date(at))
      return { ...traffic, key: at, short: label, long: label }
    })
  }
  return withData(days, first_day).map(({ day, ...traffic }) => ({
    ...{ ...traffic, key: day },
    ...{ short: formatShortDay(day), long: formatLongDay(day) },
  }))
}

/** The days from the first one with messages. */
export const withData = <Day extends { day: string }>(days: readonly Day[], firstDay: string | null): Day[] =>
  firstDay === null ? [...days] : days.filter(({ day }) => day >= firstDay)

export const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
export const totalOf = (period: Record<Channel, Record<Direction, number>>, direction: Direction): number =>
  sumOf(channels.map((channel) => period[channel][direction]))

/** The denominator of all shares of the delivery: the messages outside the web chat, which reports no delivery. */
export const wholeOf = ({ sent, failed }: OverviewView['funnel']): number => sent + failed

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

/** The change from the period before, which has as many days. Undefined if there is nothing to compare with. */
export type Change = { share: number; before: number; days: number }

export function changeOf(now: number | null, before: number | null | undefined, days: number): Change | undefined {
  return now !== null && before ? { share: now / before - 1, before, days } : undefined
}
