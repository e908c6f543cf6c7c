import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRateWindow } from './rate-window.ts'

test('a key is refused above its limit until the window ends, and other keys are not', (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const count = createRateWindow(2, 60_000)
  assert.deepEqual([count('a'), count('a'), count('a'), count('b')], [0, 0, 60, 0])
  now = 59_500
  assert.equal(count('a'), 1)
  now = 60_000
  assert.deepEqual([count('a'), count('a'), count('a')], [0, 0, 60])
})
