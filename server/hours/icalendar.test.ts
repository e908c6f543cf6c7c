import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxFileLength, readHolidayFile } from './icalendar.ts'

const nowMs = Date.parse('2026-11-19T12:00:00Z')
const calendar = (...lines: string[]): string =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', ...lines, 'END:VCALENDAR', ''].join('\r\n')
const event = (...lines: string[]): string[] => ['BEGIN:VEVENT', ...lines, 'END:VEVENT']
const read = (text: string, timeZone = 'Europe/Berlin') => readHolidayFile(text, { timeZone, nowMs })
const daysOf = (...lines: string[]): string[] => read(calendar(...event(...lines))).holidays.map(({ date }) => date)

test('events are holidays, sorted, with the names of the same day together', () => {
  const text = calendar(
    'X-WR-CALNAME:Holidays',
    ...event('DTSTART;VALUE=DATE:20261226', 'DTEND;VALUE=DATE:20261227', 'SUMMARY:Boxing Day'),
    ...event('DTSTART;VALUE=DATE:20261225', 'SUMMARY:Christ', ' mas\\, first day\\nof two'),
    ...event('DTSTART;VALUE=DATE:20261225', 'SUMMARY;LANGUAGE="de:AT":Weihnachten'),
    ...event('DTSTART;VALUE=DATE:20261231', 'STATUS:CANCELLED', 'SUMMARY:No'),
    ...event('DTSTART;VALUE=DATE:20251225', 'SUMMARY:Last year'),
  )
  assert.deepEqual(read(text), {
    holidays: [
      { date: '2026-12-25', name: 'Christmas, first day of two, Weihnachten', times: [] },
      { date: '2026-12-26', name: 'Boxing Day', times: [] },
    ],
    skipped_count: 0,
  })
  assert.deepEqual(read(`\ufeff${text.replaceAll('\r\n', '\n')}`), read(text))
})

test('an event of several days is a holiday on each; its end is exclusive', () => {
  const days = ['2026-12-24', '2026-12-25', '2026-12-26']
  assert.deepEqual(daysOf('DTSTART;VALUE=DATE:20261224', 'DTEND;VALUE=DATE:20261227'), days)
  assert.deepEqual(daysOf('DTSTART;VALUE=DATE:20261224', 'DURATION:P3D'), days)
  assert.deepEqual(daysOf('DTSTART;TZID=Europe/Berlin:20261224T000000', 'DTEND:20261227T000000'), days)
  assert.deepEqual(daysOf('DTSTART:20261224T140000', 'DTEND:20261226T100000'), days)
  // Midnight in Berlin.
  assert.deepEqual(daysOf('DTSTART:20261223T230000Z', 'DTEND:20261224T225959Z'), ['2026-12-24'])
  assert.deepEqual(daysOf('BEGIN:VALARM', 'DTSTART:20261201', 'END:VALARM', 'DTSTART:20261224'), ['2026-12-24'])
})

test('an event that does not fill a day has its times, in the time zone of the schedule', () => {
  const timesOf = (...lines: string[]) => read(calendar(...event(...lines))).holidays.map(({ times }) => times.join())
  assert.deepEqual(timesOf('DTSTART:20261224T140000', 'DTEND:20261224T160000'), ['14:00–16:00'])
  assert.deepEqual(timesOf('DTSTART:20261224T130000Z', 'DURATION:PT1H30M'), ['14:00–15:30'])
  assert.deepEqual(timesOf('DTSTART:20261224T140000'), ['14:00'])
  assert.deepEqual(timesOf('DTSTART:20261224T140000', 'DTEND:20261226T100000'), ['14:00–24:00', '', '00:00–10:00'])
  assert.deepEqual(timesOf('DTSTART:20261224T220000', 'DTEND:20261225T000000'), ['22:00–24:00'])
  for (const lines of [
    ['DTSTART;VALUE=DATE:20261224'],
    ['DTSTART;VALUE=DATE:20261224', 'DTEND;VALUE=DATE:20261224'],
    ['DTSTART:20261224T000000', 'DTEND:20261225T000000'],
    ['DTSTART:20261223T230000Z', 'DTEND:20261224T230000Z'],
    ['DTSTART:20261223T230000Z', 'DTEND:20261224T225959Z'],
  ])
    assert.deepEqual(timesOf(...lines), [''], lines.join(' '))
  // A day that is whole for one event is whole.
  const meeting = event('DTSTART:20261224T090000', 'DTEND:20261224T093000', 'SUMMARY:Meeting')
  const lunch = event('DTSTART:20261224T120000', 'DTEND:20261224T130000', 'SUMMARY:Lunch')
  const eve = event('DTSTART;VALUE=DATE:20261224', 'SUMMARY:Christmas Eve')
  assert.deepEqual(read(calendar(...lunch, ...meeting)).holidays, [
    { date: '2026-12-24', name: 'Lunch, Meeting', times: ['09:00–09:30', '12:00–13:00'] },
  ])
  assert.deepEqual(read(calendar(...meeting, ...eve)).holidays, [
    { date: '2026-12-24', name: 'Christmas Eve', times: [] },
  ])
})

test('yearly events repeat for five years', () => {
  const yearly = (date: string, rule: string, ...more: string[]) =>
    daysOf(`DTSTART;VALUE=DATE:${date}`, `RRULE:FREQ=YEARLY${rule}`, ...more)
  const christmas = ['2026-12-25', '2027-12-25', '2028-12-25', '2029-12-25', '2030-12-25']
  assert.deepEqual(yearly('19991225', ''), christmas)
  assert.deepEqual(yearly('19991225', ';BYMONTH=12;BYMONTHDAY=25;WKST=SU'), christmas)
  assert.deepEqual(yearly('20251225', ';COUNT=3'), ['2026-12-25', '2027-12-25'])
  assert.deepEqual(yearly('20251225', ';UNTIL=20271225'), ['2026-12-25', '2027-12-25'])
  assert.deepEqual(yearly('20251225', ';INTERVAL=2'), ['2027-12-25', '2029-12-25'])
  assert.deepEqual(yearly('20240229', ''), ['2028-02-29'])
  assert.deepEqual(yearly('20201126', ';BYMONTH=11;BYDAY=4TH').slice(0, 3), ['2026-11-26', '2027-11-25', '2028-11-23'])
  assert.deepEqual(yearly('20200525', ';BYMONTH=5;BYDAY=-1MO').slice(0, 2), ['2026-05-25', '2027-05-31'])
  assert.deepEqual(yearly('20251225', ';COUNT=4', 'EXDATE;VALUE=DATE:20261225,20271225'), ['2028-12-25'])
})

test('events that repeat otherwise or last too long are skipped and counted', () => {
  const text = calendar(
    ...event('DTSTART;VALUE=DATE:20261225', 'RRULE:FREQ=WEEKLY'),
    ...event('DTSTART;VALUE=DATE:20261225', 'RRULE:FREQ=YEARLY;BYEASTER=0'),
    ...event('DTSTART;VALUE=DATE:20261225', 'RRULE:FREQ=YEARLY;BYDAY=MO'),
    ...event('DTSTART;VALUE=DATE:20260101', 'DTEND;VALUE=DATE:20260301'),
    ...event('DTSTART;VALUE=DATE:20261226'),
  )
  assert.deepEqual(read(text), { holidays: [{ date: '2026-12-26', name: '', times: [] }], skipped_count: 4 })
})

test('a broken file is refused with the line and the reason', () => {
  const refusals: [text: string, message: string][] = [
    ['', 'text: the file is empty'],
    ['name,date\n', 'text: line 1: has no colon after the name of its property'],
    ['<html>: no', 'text: this is not an iCalendar file, because it does not begin with BEGIN:VCALENDAR'],
    [calendar('BEGIN:VEVENT', 'SUMMARY:x', 'END:VEVENT'), 'text: the event in line 3 has no DTSTART'],
    [calendar(...event('DTSTART:20260231')), 'text: line 4: DTSTART is not a date such as 20261225'],
    [calendar(...event('DTSTART:tomorrow')), 'text: line 4: DTSTART is not a date such as 20261225'],
    [
      calendar(...event('DTSTART:20260101', 'RRULE:FREQ=YEARLY;UNTIL=never')),
      'text: line 5: UNTIL is not a date such as 20261225',
    ],
    [calendar('END:VEVENT'), 'text: line 3: END:VEVENT has no beginning'],
    ['BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260101', 'text: the file is incomplete, because VEVENT has no end'],
    ['x'.repeat(maxFileLength + 1), 'text: the file has over 1,000,000 characters'],
    [
      calendar(...Array.from({ length: 2_001 }, () => event('DTSTART:20260101', 'RRULE:FREQ=YEARLY')).flat()),
      'text: the file has events on more than 10000 days',
    ],
  ]
  for (const [text, message] of refusals) assert.throws(() => read(text), { code: 'bad_request', message })
})

test('any text is read or refused, and the work is linear', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'BEGIN:',
      'END:',
      'VEVENT',
      'VCALENDAR',
      'DTSTART',
      ';VALUE=DATE',
      ':',
      '20261225',
      '\n',
      '\r\n ',
      '"',
    ),
    fc.constantFrom('RRULE:FREQ=YEARLY', ';COUNT=', 'SUMMARY:', '\\', 'T000000Z', 'DTEND:', 'EXDATE:', ','),
    fc.string({ maxLength: 5 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = `BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261225\n${pieces.join('')}`
      try {
        for (const { date } of read(text).holidays) assert.match(date, /^\d{4}-\d\d-\d\d$/)
      } catch (error) {
        assert.match(String(error), /text: [^\n]{1,300}$/)
      }
    }),
  )
  for (const line of ['x', '"', ' ', ' x', '\\n', ';', 'A:\n ', 'BEGIN:X\n', 'EXDATE:20260101\n', '20260101,']) {
    const text = `BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261225\nSUMMARY:${line.repeat(900_000 / line.length)}`
    const start = performance.now()
    assert.throws(() => read(text), { code: 'bad_request' })
    // A tenth of it is usual; quadratic work takes minutes.
    assert.ok(performance.now() - start < 5_000, JSON.stringify(line))
  }
})
