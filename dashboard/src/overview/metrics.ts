/** Calculations for the overview: days and hours, and changes from the period before. */
import type { DataOf } from '../lib/api.ts'
import { formatLongDay, formatShortDay } from '../lib/chart.ts'

export type OverviewView = DataOf<'GET /overview'>
export type Channel = Exclude<keyof OverviewView['days'][number], 'day'>
export type Direction = keyof OverviewView['days'][number][Channel]
/** A day or an hour of a chart. */
export type Period = Record<Channel, Record<Direction, number>> & { key: string; short: string; long: string }

/** In the order in which bars are stacked, from the axis. */
export const channels = ['msgapp', 'social', 'web'] as const satisfies readonly Channel[]

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

/** The change from the period before, which has as many days. Undefined if there is nothing to compare with. */
export type Change = { share: number; before: number; days: number }

export function changeOf(now: number | null, before: number | null | undefined, days: number): Change | undefined {
  return now !== null && before ? { share: now / before - 1, before, days } : undefined
}
