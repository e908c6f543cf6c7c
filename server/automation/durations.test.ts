import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationRanges, findDurationFault, toMs } from './durations.ts'

test('a duration is a whole number and one unit', () => {
  assert.deepEqual(['10s', '5m', '2h', '3d'].map(toMs), [10_000, 300_000, 7_200_000, 259_200_000])
  for (const wrong of ['', '5', 'm', '05m', '0s', '-1m', '1.5h', '1h30m', '5 m', '5M', '5m\n', '12345678s', '1w']) {
    assert.ok(Number.isNaN(toMs(wrong)), wrong)
    assert.match(findDurationFault(wrong, durationRanges.wait) ?? '', /^must be a whole number and a unit/)
  }
})

test('both ends of a range are part of it', () => {
  for (const { min, max } of Object.values(durationRanges)) {
    assert.equal(findDurationFault(min, { min, max }), undefined)
    assert.equal(findDurationFault(max, { min, max }), undefined)
  }
  assert.equal(findDurationFault('7776000s', durationRanges.wait), undefined)
  assert.equal(findDurationFault('7776001s', durationRanges.wait), 'must be 10s to 90d')
})
