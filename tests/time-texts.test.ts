/** How pages write times. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBrief } from '../dashboard/src/lib/time.ts'

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
