/** Calculations for the overview: days (UTC), axis ticks and changes between two halves of a period. */
import type { DataOf } from '../lib/api.ts'

export type OverviewView = DataOf<'GET /overview'>
export type Day = OverviewView['days'][number]
export type Channel = Exclude<keyof Day, 'day'>
export type Direction = keyof Day[Channel]

/** In the order in which bars are stacked, from the axis. */
export const channels = ['msgapp', 'social', 'web'] as const satisfies readonly Channel[]

const short = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const long = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })

/** Days are in UTC, not in the browser's time zone. */
export const formatShortDay = (day: string): string => short.format(new Date(day))
export const formatLongDay = (day: string): string => long.format(new Date(day))

export const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
export const totalOf = (day: Day, direction: Direction): number =>
  sumOf(channels.map((channel) => day[channel][direction]))

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

/** The change from the first to the second half of a period. Undefined if the first half is empty. */
export type Change = { share: number; days: number }

export function changeOf(values: readonly number[]): Change | undefined {
  const days = Math.floor(values.length / 2)
  const before = sumOf(values.slice(-2 * days, -days))
  return before > 0 ? { share: sumOf(values.slice(-days)) / before - 1, days } : undefined
}

type AnswerDay = OverviewView['responses']['days'][number]

/** Like `changeOf`, for averages weighted by the count of each day. */
export function averageChangeOf(answers: readonly AnswerDay[]): Change | undefined {
  const days = Math.floor(answers.length / 2)
  const average = (part: readonly AnswerDay[]) =>
    sumOf(part.map(({ count, average_seconds }) => count * (average_seconds ?? 0))) /
    sumOf(part.map(({ count }) => count))
  const before = average(answers.slice(-2 * days, -days))
  const latest = average(answers.slice(-days))
  return before > 0 && Number.isFinite(latest) ? { share: latest / before - 1, days } : undefined
}
