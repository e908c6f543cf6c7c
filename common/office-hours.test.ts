import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addOfficeMs,
  isOpen,
  mergePeriods,
  nextClosing,
  nextOpening,
  officeMs,
  type Period,
  type Schedule,
} from './office-hours.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const at = (time: string): number => Date.parse(time)
const everyDay = (from: string, to: string): Period[] =>
  Array.from({ length: 7 }, (_, weekday) => ({ day: weekday, from, to }))
const workdays = (from: string, to: string): Period[] => everyDay(from, to).filter((period) => period.day < 5)
const inZone = (time_zone: string, periods: readonly Period[], ...dates: string[]): Schedule => ({
  time_zone,
  periods,
  holidays: dates.map((date) => ({ date, name: 'Holiday' })),
})

/** Days around which the clocks of a zone change, as UTC dates. The last two change nothing; Apia skipped a whole day. */
const changes = [
  ['Europe/Berlin', '2026-03-29', '2026-10-25'],
  ['America/New_York', '2026-03-08', '2026-11-01'],
  ['Australia/Sydney', '2026-04-04', '2026-10-03'],
  ['Australia/Lord_Howe', '2026-04-04', '2026-10-03'],
  ['Pacific/Apia', '2011-12-30', '2012-03-31'],
  ['Asia/Kolkata', '2026-03-29', '2026-10-25'],
  ['UTC', '2026-03-29', '2026-12-31'],
] as const

/** Pseudo-random numbers below `limit`, the same in every run. */
function createRandom(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

const clock = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`

/** Periods with bounds on the hour, near the changes, or anywhere; some until 24:00, some that touch or overlap. */
function createPeriods(random: (limit: number) => number): Period[] {
  const bound = () => [random(25) * 60, 90 + random(8) * 15, random(1_441)][random(3)] ?? 0
  return Array.from({ length: 3 + random(18) }, () => {
    const [one, other] = [bound(), bound()]
    const from = Math.min(one, other, 1_439)
    return { day: random(7), from: clock(from), to: clock(Math.max(one, other, from + 1)) }
  })
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const walkers = new Map<string, Intl.DateTimeFormat>()

/** The second calculation: asks `Intl` what the clock on the wall shows, and compares texts. */
function isOpenOnTheWall({ time_zone, periods, holidays }: Schedule, atMs: number): boolean {
  let format = walkers.get(time_zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: time_zone, weekday: 'short', year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
    })
    walkers.set(time_zone, format)
  }
  const [, weekday = '', date = '', month, year, time = ''] =
    /^(\w+), (\d+)\/(\d+)\/(\d+), ([\d:]+)$/.exec(format.format(atMs)) ?? []
  return (
    !holidays.some((holiday) => holiday.date === `${year}-${month}-${date}`) &&
    periods.some(({ day: of, from, to }) => weekdays[of] === weekday && from <= time && time < to)
  )
}

test('200 generated cases over both clock changes agree with a walk from minute to minute', () => {
  const random = createRandom(20_261_119)
  let opened = 0
  for (let i = 0; i < 200; i++) {
    const [zone, ...dates] = changes[i % changes.length] ?? changes[0]
    const change = at(`${dates[Math.floor(i / changes.length) % 2]}T00:00Z`)
    const holidays = Array.from({ length: random(3) }, () =>
      new Date(change + (random(5) - 2) * day).toISOString().slice(0, 10),
    )
    const schedule = inZone(zone, createPeriods(random), ...holidays)
    const from = change - (random(36) + 1) * hour - random(60) * minute
    const to = change + (random(48) + 1) * hour + random(60) * minute
    const about = JSON.stringify({ i, schedule, from: new Date(from), to: new Date(to) })

    let open = 0
    let first: number | undefined
    for (let now = from; now < to; now += minute) {
      const isNow = isOpenOnTheWall(schedule, now)
      assert.equal(isOpen(schedule, now), isNow, `${about} at ${new Date(now).toISOString()}`)
      if (!isNow) continue
      first ??= now
      open += minute
    }
    assert.equal(officeMs(schedule, from, to), open, about)
    if (first !== undefined) {
      opened++
      assert.equal(nextOpening(schedule, from), first, about)
      const due = addOfficeMs(schedule, from, open)
      assert.ok(due !== undefined && due <= to && !isOpenBetween(schedule, due, to), about)
    }
  }
  assert.ok(opened > 150, `only ${opened} cases have an opening`)
})

function isOpenBetween(schedule: Schedule, from: number, to: number): boolean {
  for (let now = from; now < to; now += minute) if (isOpenOnTheWall(schedule, now)) return true
  return false
}

const zones = changes.map(([zone]) => zone)
const scheduleOf = fc
  .record({ seed: fc.nat(), zone: fc.constantFrom(...zones), holidays: fc.array(fc.nat(400), { maxLength: 20 }) })
  .map(({ seed, zone, holidays }) =>
    inZone(
      zone,
      createPeriods(createRandom(seed)),
      ...holidays.map((days) => new Date(at('2026-01-01T00:00Z') + days * day).toISOString().slice(0, 10)),
    ),
  )
const instant = fc.integer({ min: at('2026-01-01T00:00Z'), max: at('2027-02-01T00:00Z') })

test('office hours of a span are those of its parts', () => {
  fc.assert(
    fc.property(scheduleOf, fc.tuple(instant, instant, instant), (schedule, instants) => {
      const [a, b, c] = instants.toSorted((one, other) => one - other) as [number, number, number]
      assert.equal(officeMs(schedule, a, c), officeMs(schedule, a, b) + officeMs(schedule, b, c))
      assert.equal(officeMs(schedule, c, a), 0)
    }),
  )
})

test('the time at which office hours have passed is the first one of which that is true', () => {
  fc.assert(
    fc.property(scheduleOf, instant, fc.integer({ min: 1, max: 40 * day }), (schedule, from, ms) => {
      const due = addOfficeMs(schedule, from, ms)
      assert.ok(due !== undefined)
      assert.equal(officeMs(schedule, from, due), ms)
      assert.equal(officeMs(schedule, from, due - 1), ms - 1)
    }),
  )
})

test('between an instant and the next opening it is closed, and it is open until the next closing', () => {
  fc.assert(
    fc.property(scheduleOf, instant, (schedule, now) => {
      const opens = nextOpening(schedule, now)
      assert.ok(opens !== undefined && isOpen(schedule, opens))
      assert.equal(officeMs(schedule, now, opens), 0)
      const closes = nextClosing(schedule, opens)
      assert.ok(closes !== undefined && !isOpen(schedule, closes))
      assert.equal(officeMs(schedule, opens, closes), closes - opens)
    }),
  )
})

test('a local time that does not exist counts nothing, one that exists twice counts twice', () => {
  const night = inZone('Europe/Berlin', everyDay('02:00', '03:00'))
  assert.equal(officeMs(night, at('2026-03-28T12:00Z'), at('2026-03-29T12:00Z')), 0)
  assert.equal(officeMs(night, at('2026-10-24T12:00Z'), at('2026-10-25T12:00Z')), 2 * hour)
  // Lord Howe changes by half an hour.
  const island = inZone('Australia/Lord_Howe', everyDay('00:00', '24:00'))
  assert.equal(nextClosing(island, at('2026-01-01T00:00Z')), undefined)
  const sunday = inZone('Australia/Lord_Howe', [{ day: 6, from: '00:00', to: '24:00' }])
  assert.equal(officeMs(sunday, at('2026-04-02T00:00Z'), at('2026-04-06T12:00Z')), 24.5 * hour)
  assert.equal(officeMs(sunday, at('2026-10-01T00:00Z'), at('2026-10-05T12:00Z')), 23.5 * hour)
})

test('a day that a zone skipped is not open', () => {
  const friday = inZone('Pacific/Apia', [{ day: 4, from: '00:00', to: '24:00' }])
  assert.equal(officeMs(friday, at('2011-12-29T12:00Z'), at('2012-01-02T00:00Z')), 0)
})

test('a holiday closes the whole local day', () => {
  const schedule = inZone('Asia/Kolkata', workdays('09:30', '18:00'), '2026-01-26')
  assert.equal(nextOpening(schedule, at('2026-01-25T18:30Z')), at('2026-01-27T04:00Z'))
  assert.equal(isOpen(schedule, at('2026-01-26T05:00Z')), false)
  assert.equal(officeMs(schedule, at('2026-01-23T18:00Z'), at('2026-01-27T05:00Z')), hour)
})

test('an instant is open from the start of a period until its end', () => {
  const schedule = inZone('UTC', workdays('09:00', '17:00'))
  assert.equal(isOpen(schedule, at('2026-11-19T08:59:59.999Z')), false)
  assert.equal(isOpen(schedule, at('2026-11-19T09:00Z')), true)
  assert.equal(isOpen(schedule, at('2026-11-19T16:59:59.999Z')), true)
  assert.equal(isOpen(schedule, at('2026-11-19T17:00Z')), false)
  assert.equal(nextOpening(schedule, at('2026-11-19T10:00Z')), at('2026-11-19T10:00Z'))
  assert.equal(nextOpening(schedule, at('2026-11-20T17:00Z')), at('2026-11-23T09:00Z'))
  assert.equal(nextClosing(schedule, at('2026-11-19T10:00Z')), at('2026-11-19T17:00Z'))
})

test('a schedule that never opens has no opening and no due time; without a schedule it is always open', () => {
  const never = inZone('UTC', [])
  assert.deepEqual(
    [isOpen(never, 0), nextOpening(never, 0), nextClosing(never, 0), officeMs(never, 0, day), addOfficeMs(never, 0, 1)],
    [false, undefined, 0, 0, undefined],
  )
  assert.deepEqual(
    [isOpen(undefined, 0), nextOpening(undefined, 7), nextClosing(undefined, 0), officeMs(undefined, 1, 5)],
    [true, 7, undefined, 4],
  )
  assert.equal(addOfficeMs(undefined, 5, 3), 8)
})

test('periods that touch or overlap become one', () => {
  assert.deepEqual(
    mergePeriods([
      { day: 1, from: '13:00', to: '17:00' },
      { day: 0, from: '20:00', to: '24:00' },
      { day: 1, from: '00:00', to: '06:00' },
      { day: 1, from: '09:00', to: '13:00' },
      { day: 1, from: '10:00', to: '11:00' },
    ]),
    [
      { day: 0, from: '20:00', to: '24:00' },
      { day: 1, from: '00:00', to: '06:00' },
      { day: 1, from: '09:00', to: '17:00' },
    ],
  )
})
