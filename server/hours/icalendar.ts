/**
 * Reads holidays from an iCalendar file (RFC 5545): the days of its events, for schedules. Pure.
 *
 * An event is one or several days, or a part of a day, and may repeat every year on a date, or on a weekday of a month. Events that repeat otherwise, or last
 * longer than a month, are no holidays: they are counted as skipped. The work is linear in the size of the file. A file that is broken
 * is refused with the line and the reason.
 */
import { badRequest } from '../lib/errors.ts'
import type { Holiday } from './hours.ts'

/** `times`: the times of events that do not fill the day, such as `14:00–16:00`. Empty: it is a whole day. */
type FoundHoliday = Holiday & { times: string[] }

/** Characters of a file. */
export const maxFileLength = 1_000_000
/** Days of all events with their repetitions. */
const maxDays = 10_000
const maxDaysOfEvent = 31
const maxNameLength = 100
/** Years of repetitions, with the current one. */
const yearCount = 5

const dayMs = 86_400_000
const dayMinutes = 1_440

type Options = { timeZone: string; nowMs: number }
type Found = { holidays: FoundHoliday[]; skipped_count: number }

/** Those from the beginning of the year on, sorted by date. `timeZone`: where a time in UTC is a date. */
export function readHolidayFile(text: string, { timeZone, nowMs }: Options): Found {
  if (text.length > maxFileLength) throw badRequest('text: the file has over 1,000,000 characters')
  const year = new Date(nowMs).getUTCFullYear()
  const [first, last] = [dayOf(year, 1, 1), dayOf(year + yearCount, 1, 1) - 1]
  const names = new Map<number, Map<string, Set<string>>>()
  let dayCount = 0
  let skipped = 0
  for (const event of readEvents(text)) {
    const days = listDays(event, { last, timeZone })
    if (!days) skipped++
    for (const { day, time } of days ?? []) {
      if (day < first || day > last) continue
      if (++dayCount > maxDays) throw badRequest(`text: the file has events on more than ${maxDays} days`)
      const times = names.get(day) ?? new Map<string, Set<string>>()
      names.set(day, times.set(time, (times.get(time) ?? new Set()).add(event.name)))
    }
  }
  const holidays = [...names]
    .sort(([one], [other]) => one - other)
    .map(([day, times]) => {
      // A whole day counts more than what happens in it.
      const wholeDay = times.get(wholeDayTime)
      const set = wholeDay ?? new Set([...times.values()].flatMap((each) => [...each]))
      const name = cut([...set].filter(Boolean).join(', '))
      return { date: toDate(day), name, times: wholeDay ? [] : [...times.keys()].sort() }
    })
  return { holidays, skipped_count: skipped }
}

type Property = { line: number; params: string; value: string }
type Event = { line: number; name: string; fields: ReadonlyMap<string, Property>; excluded: readonly Property[] }

function* readEvents(text: string): Generator<Event> {
  const open: string[] = []
  let begin = 0
  let fields = new Map<string, Property>()
  let excluded: Property[] = []
  let isCalendar = false
  for (const { line, name, params, value } of readProperties(text)) {
    const component = value.trim().toUpperCase()
    if (!isCalendar) {
      if (name !== 'BEGIN' || component !== 'VCALENDAR') {
        throw badRequest('text: this is not an iCalendar file, because it does not begin with BEGIN:VCALENDAR')
      }
      isCalendar = true
    }
    if (name === 'BEGIN') {
      open.push(component)
      if (component === 'VEVENT') [begin, fields, excluded] = [line, new Map(), []]
    } else if (name === 'END') {
      if (open.pop() !== component) throw badRequest(`text: line ${line}: END:${cut(component)} has no beginning`)
      if (component === 'VEVENT') yield { line: begin, name: nameOf(fields), fields, excluded }
    } else if (open.at(-1) === 'VEVENT') {
      const property = { line, params, value: value.trim() }
      if (name === 'EXDATE') excluded.push(property)
      else if (!fields.has(name)) fields.set(name, property)
    }
  }
  if (!isCalendar) throw badRequest('text: the file is empty')
  if (open.length > 0) throw badRequest(`text: the file is incomplete, because ${cut(open.at(-1) ?? '')} has no end`)
}

/** A line that begins with a space continues the one before. `line`: its number in the file, from 1. */
function* readProperties(text: string): Generator<Property & { name: string }> {
  let content = ''
  let start = 1
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  for (const [i, line] of [...lines, ''].entries()) {
    if (line.startsWith(' ') || line.startsWith('\t')) {
      content += line.slice(1)
      continue
    }
    if (content.trim()) yield parseProperty(content, start)
    content = line
    start = i + 1
  }
}

/** `NAME;PARAM=value;PARAM="quoted: value":value`. */
function parseProperty(content: string, line: number): Property & { name: string } {
  let isQuoted = false
  let colon = -1
  for (let i = 0; i < content.length && colon < 0; i++) {
    if (content[i] === '"') isQuoted = !isQuoted
    else if (content[i] === ':' && !isQuoted) colon = i
  }
  if (colon < 0) throw badRequest(`text: line ${line}: has no colon after the name of its property`)
  const head = content.slice(0, colon).toUpperCase()
  const semicolon = head.indexOf(';')
  const name = semicolon < 0 ? head : head.slice(0, semicolon)
  return { line, name: name.trim(), params: head.slice(name.length), value: content.slice(colon + 1) }
}

function nameOf(fields: ReadonlyMap<string, Property>): string {
  const text = (fields.get('SUMMARY')?.value ?? '').replaceAll(/\\([nN,;\\])/g, (_, character: string) =>
    character.toLowerCase() === 'n' ? ' ' : character,
  )
  return cut(text.replaceAll(/\s+/g, ' ').trim())
}

function cut(text: string): string {
  const characters = [...text.slice(0, 2 * maxNameLength)]
  return characters.length > maxNameLength ? `${characters.slice(0, maxNameLength - 1).join('')}…` : characters.join('')
}

type Range = { last: number; timeZone: string }

/** `time`: when on this day, or `wholeDayTime`. */
type EventDay = { day: number; time: string }

/** The days of an event with its repetitions. Undefined: it is skipped. */
function listDays({ line, fields, excluded }: Event, { last, timeZone }: Range): EventDay[] | undefined {
  const start = fields.get('DTSTART')
  if (!start) throw badRequest(`text: the event in line ${line} has no DTSTART`)
  if (/^CANCELLED$/i.test(fields.get('STATUS')?.value ?? '')) return []
  const { day, minute } = readTime(start, 'DTSTART', timeZone)
  const { length, end } = endOf(fields, { day, minute: minute ?? 0, isTimed: minute !== undefined }, timeZone)
  if (length > maxDaysOfEvent) return undefined
  const rule = fields.get('RRULE')
  const starts = rule ? repeat(day, rule, { last, timeZone }) : [day]
  const exceptions = new Set(
    excluded.flatMap((one) => one.value.split(',').map((value) => readDay({ ...one, value }, 'EXDATE', timeZone))),
  )
  const times = Array.from({ length }, (_, i) =>
    timeOf(i === 0 ? (minute ?? 0) : 0, i === length - 1 ? end : dayMinutes),
  )
  return starts
    ?.filter((one) => !exceptions.has(one))
    .flatMap((one) => times.map((time, i) => ({ day: one + i, time })))
}

const wholeDayTime = ''

/** The last minute of a day is often missing. */
const timeOf = (from: number, to: number): string =>
  from === 0 && to >= dayMinutes - 1 ? wholeDayTime : from === to ? toClock(from) : `${toClock(from)}–${toClock(to)}`

const toClock = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`

type Start = { day: number; minute: number; isTimed: boolean }

/** How many days an event has, at least one, and the minute of the last one at which it ends. The end is exclusive. */
function endOf(fields: ReadonlyMap<string, Property>, start: Start, timeZone: string): { length: number; end: number } {
  const property = fields.get('DTEND')
  const end = property && readTime(property, 'DTEND', timeZone)
  const minutes = end
    ? (end.day - start.day) * dayMinutes + (end.minute ?? 0)
    : start.minute + (readDuration(fields.get('DURATION')?.value ?? '') ?? (start.isTimed ? 0 : dayMinutes))
  const length = Math.max(1, Math.ceil(minutes / dayMinutes))
  const isBefore = minutes <= start.minute
  return {
    length,
    end: isBefore ? (start.minute === 0 ? dayMinutes : start.minute) : minutes - (length - 1) * dayMinutes,
  }
}

/** Minutes. Undefined: it is none. */
function readDuration(text: string): number | undefined {
  const parts = /^P(?:(\d{1,4})W)?(?:(\d{1,4})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,4})M)?(?:\d{1,4}S)?)?$/i.exec(text)
  if (!parts) return undefined
  const [weeks = 0, days = 0, hours = 0, minutes = 0] = parts.slice(1).map((part) => Number(part ?? 0))
  return (weeks * 7 + days) * dayMinutes + hours * 60 + minutes
}

const readDay = (property: Property, name: string, timeZone: string): number => readTime(property, name, timeZone).day

/** A date, a local time, or a time in UTC: the day since 1970-01-01, and the minute of the day, which a date does not have. */
function readTime({ line, value }: Property, name: string, timeZone: string): { day: number; minute?: number } {
  const [, year, month, date, , hour, minute, second, utc] =
    /^(\d{4})(\d\d)(\d\d)(T(\d\d)(\d\d)(\d\d)(Z?))?$/.exec(value.trim().toUpperCase()) ?? []
  const day = dayOf(Number(year), Number(month), Number(date))
  if (year === undefined || toDate(day) !== `${year}-${month}-${date}`) {
    throw badRequest(`text: line ${line}: ${name} is not a date such as 20261225`)
  }
  if (hour === undefined) return { day }
  const minuteOfDay = Number(hour) * 60 + Number(minute)
  if (!utc) return { day, minute: minuteOfDay }
  const atMs = day * dayMs + (minuteOfDay * 60 + Number(second)) * 1_000
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-CA', { timeZone, ...options }).format(atMs)
  const [localHour = 0, localMinute = 0] = format({ timeStyle: 'short', hourCycle: 'h23' }).split(':').map(Number)
  return { day: Math.floor(Date.parse(format({ dateStyle: 'short' })) / dayMs), minute: localHour * 60 + localMinute }
}

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']

/** The yearly repetitions of a day until `last`. Undefined: the rule is another one. */
function repeat(start: number, rule: Property, { last, timeZone }: Range): number[] | undefined {
  const parts = new Map(
    rule.value
      .toUpperCase()
      .split(';')
      .filter(Boolean)
      .map((part) => part.split('=', 2) as [string, string | undefined]),
  )
  const known = ['FREQ', 'INTERVAL', 'COUNT', 'UNTIL', 'BYMONTH', 'BYMONTHDAY', 'BYDAY', 'WKST']
  if (parts.get('FREQ') !== 'YEARLY' || [...parts.keys()].some((name) => !known.includes(name))) return undefined
  const first = new Date(start * dayMs)
  const month = readNumber(parts.get('BYMONTH'), first.getUTCMonth() + 1, 12)
  const date = readNumber(parts.get('BYMONTHDAY'), first.getUTCDate(), 31)
  const interval = readNumber(parts.get('INTERVAL'), 1, 100)
  const count = readNumber(parts.get('COUNT'), Infinity, 1_000)
  if (!month || !date || !interval || !count) return undefined
  const byDay = parts.get('BYDAY')
  const [, position, weekday = ''] = /^([+-]?[1-5])(SU|MO|TU|WE|TH|FR|SA)$/.exec(byDay ?? '') ?? []
  if (byDay !== undefined && (position === undefined || !parts.has('BYMONTH') || parts.has('BYMONTHDAY')))
    return undefined
  const until = parts.get('UNTIL')
  const end = until === undefined ? last : Math.min(last, readDay({ ...rule, value: until }, 'UNTIL', timeZone))
  const days: number[] = []
  for (let year = first.getUTCFullYear(), i = 0; i < count && dayOf(year, 1, 1) <= end; year += interval) {
    const day = position
      ? weekdayOf(year, month, Number(position), weekdays.indexOf(weekday))
      : dateOf(year, month, date)
    if (day === undefined || day < start) continue
    i++
    if (day <= end) days.push(day)
  }
  return days
}

/** Undefined: it is no number from 1 to `max`. */
function readNumber(text: string | undefined, absent: number, max: number): number | undefined {
  if (text === undefined) return absent
  const number = /^\d{1,4}$/.test(text) ? Number(text) : 0
  return number >= 1 && number <= max ? number : undefined
}

/** Undefined for February 29 in most years. */
function dateOf(year: number, month: number, date: number): number | undefined {
  const day = dayOf(year, month, date)
  return new Date(day * dayMs).getUTCMonth() === month - 1 ? day : undefined
}

/** The first, second… weekday of a month; counted from its end if `position` is negative. */
function weekdayOf(year: number, month: number, position: number, weekday: number): number | undefined {
  const from = position > 0 ? dayOf(year, month, 1) : dayOf(year, month + 1, 1) - 7
  const offset = (weekday - new Date(from * dayMs).getUTCDay() + 7) % 7
  const day = from + offset + 7 * (position > 0 ? position - 1 : position + 1)
  return new Date(day * dayMs).getUTCMonth() === month - 1 ? day : undefined
}

const dayOf = (year: number, month: number, date: number): number => Date.UTC(year, month - 1, date) / dayMs
/** Empty for what is no day. */
const toDate = (day: number): string => (Number.isFinite(day) ? new Date(day * dayMs).toISOString().slice(0, 10) : '')
