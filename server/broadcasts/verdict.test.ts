/** What each answer of the channel means for a recipient, the circuit breaker and the broadcast. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { times } from '../../common/times.ts'
import type { SendAnswer } from '../channels/channel.ts'
import { judgeSent } from './verdict.ts'

const rejected = (code: number | null, again = false): SendAnswer => ({
  ok: false,
  outcome: 'rejected',
  again,
  code,
  message: 'no',
})
const sent: SendAnswer = { ok: true, external_id: 'wamid.1', person: null }
const unknown: SendAnswer = { ok: false, outcome: 'unknown', message: 'HTTP 502' }
const unsent: SendAnswer = { ok: false, outcome: 'unsent', message: 'connection refused' }

const judge = (answer: SendAnswer, attempt = 1, isProbe = false) => {
  const { retryMs, channel, fault } = judgeSent(answer, { attempt, isProbe }, times.broadcasts)
  return [retryMs, channel, fault]
}

test('only what the channel certainly did not take is sent again', () => {
  assert.deepEqual(judge(sent), [null, 'answered', null])
  assert.deepEqual(judge(unknown), [null, 'failed', null])
  assert.deepEqual(judge(unknown, 1, true), [null, 'failed', null])
  assert.deepEqual(judge(rejected(131026)), [null, 'answered', null])
  for (const attempt of [1, 50]) assert.deepEqual(judge(unsent, attempt), [1_000, 'failed', null])
})

test('what the channel throttles is sent again five times at most, later each time; as a probe without end', () => {
  const delays = [1, 2, 3, 4, 5].map((attempt) => judge(rejected(130429, true), attempt)[0])
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, null])
  assert.deepEqual(judge(rejected(null, true)), [1_000, 'throttled', null])
  assert.deepEqual(judge(rejected(4, true), 9, true), [8_000, 'throttled', null])
  // The limit of a pair is that person's alone.
  assert.deepEqual(judge(rejected(131056, true), 2), [12_000, 'answered', null])
})

test('credential and template faults are distinguished from recipient faults', () => {
  for (const code of [0, 10, 190, 200, 299, 368, 131031, 133010]) {
    assert.deepEqual(judge(rejected(code)), [1_000, 'answered', 'credentials'], String(code))
  }
  const denied: SendAnswer = {
    ok: false,
    outcome: 'rejected',
    again: false,
    code: null,
    message: 'HTTP 401',
    isDenied: true,
  }
  assert.deepEqual(judge(denied), [1_000, 'answered', 'credentials'])
  assert.deepEqual(judge(rejected(190), 5), [null, 'answered', 'credentials'])
  for (const code of [132001, 132015, 132016]) {
    assert.deepEqual(judge(rejected(code)), [1_000, 'answered', 'template'])
    assert.deepEqual(judge(rejected(code), 2), [null, 'answered', 'template'])
  }
})
