/** Buckets of histograms: the error of their value. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secondsOf } from './buckets.ts'

test('the value of a bucket differs from each of its seconds by at most 2 %', () => {
  const bucketOf = (seconds: number) => (seconds <= 0 ? 0 : 1 + Math.floor(Math.log(seconds) / Math.log(1.035)))
  assert.equal(secondsOf(bucketOf(0)), 0)
  const check = (seconds: number) => {
    const value = secondsOf(bucketOf(seconds))
    assert.ok(Math.abs(value - seconds) <= 0.02 * seconds, `${seconds} s: ${value}`)
  }
  for (let seconds = 1; seconds < 200_000; seconds++) check(seconds)
  for (let seconds = 200_000; seconds < 2_000_000_000; seconds = Math.ceil(seconds * 1.001)) check(seconds)
})
