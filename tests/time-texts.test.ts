/** How pages write times. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBrief } from '../dashboard/src/lib/time.ts'
import { formatSeconds } from '../dashboard/src/reports/duration.ts'

test('a list shows the time of a message that is younger than twelve hours, also after midnight', () => {
  const at = (text: string) => new Date(text)
  const brief = (text: string, now: string) => formatBrief(at(text).toISOString(), at(now).getTime())
  const options = { timeStyle: 'short' } as const
  assert.equal(brief('2026-11-18T23:50', '2026-11-19T00:21'), at('2026-11-18T23:50').toLocaleTimeString([], options))
  assert.equal(brief('2026-11-19T00:05', '2026-11-19T23:50'), at('2026-11-19T00:05').toLocaleTimeString([], options))
  const weekday = at('2026-11-18T09:00').toLocaleDateString([], { weekday: 'short' })
  assert.equal(brief('2026-11-18T09:00', '2026-11-19T00:21'), weekday)
  assert.equal(
    brief('2026-11-20T09:00', '2026-11-19T00:21'),
    at('2026-11-20').toLocaleDateString([], { weekday: 'short' }),
  )
})

test('durations of reports are rounded to two units, and not cut', () => {
  for (const [seconds, text] of [
    ...([
      [0, '0 s'],
      [44.6, '45 s'],
      [60, '1 min'],
      [108, '1 min 48 s'],
      [351, '5 min 51 s'],
    ] as const),
    ...([
      [3_599.6, '1 h'],
      [3_661, '1 h 1 min'],
      [12_029, '3 h 20 min'],
      [86_399, '1 d'],
      [187_300, '2 d 4 h'],
    ] as const),
  ])
    assert.equal(formatSeconds(seconds), text)
})
