/** Times, numbers and sizes in the format of the browser's language. */
import { words } from '../words/words.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const dayOnly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short' })
const timeOnly = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const exactTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const dayAndExactTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const longDay = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
const number = new Intl.NumberFormat()
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })

export const formatTime = (at: string | number): string => dayAndTime.format(new Date(at))
export const formatDate = (at: string | number): string => dayOnly.format(new Date(at))
export const formatClock = (at: string | number): string => timeOnly.format(new Date(at))
export const formatNumber = (value: number): string => number.format(value)
export const formatCompact = (value: number): string => compact.format(value)
export const formatShare = (part: number, whole: number): string => percent.format(whole > 0 ? part / whole : 0)

/** An amount with its currency. A code that is not three letters is appended as text. */
export function formatMoney(amount: number, currency: string | undefined): string {
  if (!currency || !/^[A-Za-z]{3}$/.test(currency)) return [number.format(amount), currency].filter(Boolean).join(' ')
  return new Intl.NumberFormat(undefined, { style: 'currency', currency }).format(amount)
}

/** For lists: the time if today or within twelve hours, the weekday within six days, else the date. */
export function formatBrief(at: string, now = Date.now()): string {
  const date = new Date(at)
  if (isSameDay(date, new Date(now)) || Math.abs(now - date.getTime()) < 12 * hour) return timeOnly.format(date)
  return now - date.getTime() < 6 * day ? weekday.format(date) : shortDay.format(date)
}

/** For logs: with seconds, and with the date unless it is today. */
export function formatExact(at: string, now = Date.now()): string {
  const date = new Date(at)
  return (isSameDay(date, new Date(now)) ? exactTime : dayAndExactTime).format(date)
}

/** For the separator between two days of a thread. */
export function formatDay(at: string, now = Date.now()): string {
  const date = new Date(at)
  if (isSameDay(date, new Date(now))) return words.time.today
  if (isSameDay(date, new Date(now - day))) return words.time.yesterday
  return now - date.getTime() < 300 * day ? longDay.format(date) : dayOnly.format(date)
}

export function formatAgo(at: string, now = Date.now()): string {
  const ms = now - new Date(at).getTime()
  if (Math.abs(ms) < minute) return words.time.now
  if (ms < 0) return words.time.in(formatSpan(-ms))
  return ms < 7 * day ? words.time.ago(formatSpan(ms)) : formatDate(at)
}

/** The two largest units: "3 h 20 min". */
export function formatSpan(ms: number): string {
  const { days, hours, minutes, seconds } = words.time
  if (ms >= day) return join(days(Math.floor(ms / day)), hours, Math.floor((ms % day) / hour), ms < 3 * day)
  if (ms >= hour) return join(hours(Math.floor(ms / hour)), minutes, Math.floor((ms % hour) / minute), ms < 6 * hour)
  return ms >= minute ? minutes(Math.floor(ms / minute)) : seconds(Math.max(0, Math.round(ms / 1000)))
}

/** The largest unit, at least a minute: "2 d". */
export function formatWait(ms: number): string {
  const { days, hours, minutes } = words.time
  if (ms >= day) return days(Math.floor(ms / day))
  return ms >= hour ? hours(Math.floor(ms / hour)) : minutes(Math.max(1, Math.floor(ms / minute)))
}

/** A duration of whole minutes, exactly: 90 minutes are 1 h 30 min. */
export function formatMinutes(total: number): string {
  const { days, hours, minutes } = words.time
  const [d, h, m] = [Math.floor(total / 1_440), Math.floor((total % 1_440) / 60), total % 60]
  return [d > 0 && days(d), h > 0 && hours(h), m > 0 && minutes(m)].filter(Boolean).join(' ')
}

const join = (first: string, unit: (count: number) => string, count: number, isClose: boolean): string =>
  isClose && count > 0 ? `${first} ${unit(count)}` : first

export const isSameDay = (one: Date, other: Date): boolean => one.toDateString() === other.toDateString()

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 1024 ** 2) return `${Math.round(bytes / 1024)} KB`
  return bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)} MB` : `${(bytes / 1024 ** 3).toFixed(1)} GB`
}

export function toDatetimeLocal(ms: number): string {
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000
  return new Date(ms - offsetMs).toISOString().slice(0, 16)
}
