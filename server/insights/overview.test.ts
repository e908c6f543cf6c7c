import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toHours } from './overview.ts'

const inboundOf = (since: string, until: string, times: readonly string[]) => {
  const counters = times.map((at) => ({ at, channel: 'web' as const, inbound: 1, outbound: 0 }))
  return toHours(since, until, counters).map(({ web }) => web.inbound)
}

test('a day on which the clocks change has 23 or 25 hours', () => {
  // Berlin: at 2:00 it is 3:00 in March; the hour from 2:00 is there twice in October.
  const short = inboundOf('2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z', ['2026-03-29T21:45:00.000Z'])
  assert.deepEqual(short, [...Array(22).fill(0), 1])
  const long = inboundOf('2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z', [
    '2026-10-25T00:15:00.000Z',
    '2026-10-25T01:15:00.000Z',
    '2026-10-25T22:45:00.000Z',
  ])
  assert.deepEqual(long, [0, 0, 1, 1, ...Array(20).fill(0), 1])
})
