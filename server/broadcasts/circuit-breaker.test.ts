/** The circuit breaker as a state machine: when it opens, when it probes, when it closes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { times as real } from '../../common/times.ts'
import { type Breaker, type BreakerEvent, closed, maxFailures, transition } from './circuit-breaker.ts'

const policy = { failuresToOpen: maxFailures, ...real.broadcasts.breaker }

const failed = (isProbe = false): BreakerEvent => ({ type: 'failed', isProbe, reason: 'connection refused' })
const answered = (isProbe = false): BreakerEvent => ({ type: 'answered', isProbe })
const due: BreakerEvent = { type: 'due' }
const start = Date.UTC(2026, 0, 1)

const run = (breaker: Breaker, events: readonly BreakerEvent[], now = start): Breaker =>
  events.reduce((state, event) => transition(state, event, now, policy), breaker)
const times = (count: number, event: BreakerEvent): BreakerEvent[] => Array.from({ length: count }, () => event)

const opened = run(closed, times(25, failed()))

test('it opens at 25 failures in a row, and an answer starts the count again', () => {
  assert.deepEqual(run(closed, times(24, failed())), { state: 'closed', failureCount: 24 })
  const failures = times(24, failed())
  assert.deepEqual(run(closed, [...failures, answered(), ...failures]), { state: 'closed', failureCount: 24 })
  assert.deepEqual(opened, { state: 'open', probeCount: 0, until: start + 30_000, reason: 'connection refused' })
})

test('while it is closed a recipient that is due changes nothing', () => {
  assert.equal(run(closed, [due]), closed)
})

test('it probes after 30 s, then 1, 2, 5, 10, 10 minutes, for as long as probes fail', () => {
  let breaker = opened
  let now = start
  const delays: number[] = []
  for (let probe = 0; probe < 8; probe++) {
    if (breaker.state !== 'open') throw new Error(breaker.state)
    delays.push((breaker.until - now) / 1000)
    const early = transition(breaker, due, breaker.until - 1, policy)
    assert.equal(early, breaker, 'not a moment before')
    now = breaker.until
    breaker = transition(breaker, due, now, policy)
    assert.equal(breaker.state, 'half_open')
    assert.equal(transition(breaker, due, now, policy), breaker, 'one probe at a time')
    now += 15_000
    breaker = transition(breaker, failed(true), now, policy)
  }
  assert.deepEqual(delays, [30, 60, 120, 300, 600, 600, 600, 600])
})

test('a probe that is answered closes it, and the next outage begins with the shortest delay', () => {
  const probing = run(opened, [due], start + 30_000)
  assert.deepEqual(run(probing, [answered(true)]), closed)
  const again = run(probing, [answered(true), ...times(25, failed())], start + 40_000)
  assert.deepEqual(again, { ...opened, until: start + 70_000 })
})

test('a probe without an outcome for 30 s has failed, and its late answer still closes it', () => {
  const probing = run(opened, [due], start + 30_000)
  assert.equal(run(probing, [due], start + 59_999), probing)
  const reopened = run(probing, [due], start + 60_000)
  assert.deepEqual(reopened, { ...opened, probeCount: 1, until: start + 120_000 })
  assert.deepEqual(run(probing, [due], start + 86_400_000), reopened, 'no delay begins a day later')
  assert.equal(run(reopened, [failed(true)]), reopened, 'it is counted once')
  assert.deepEqual(run(reopened, [answered(true)]), closed)
})

test('sends that were in flight when it opened neither close it nor put the probe off', () => {
  const probing = run(opened, [due], start + 30_000)
  for (const breaker of [opened, probing]) {
    assert.equal(run(breaker, [answered(), failed(), answered(), ...times(30, failed())]), breaker)
  }
})

test('whatever happens, it is never shut for good: once the delay is over one probe is allowed', () => {
  const event = fc.constantFrom(due, failed(), failed(true), answered(), answered(true))
  const step = fc.record({ event, afterMs: fc.integer({ min: 0, max: 900_000 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let breaker = closed
      let now = start
      for (const { event, afterMs } of steps) {
        now += afterMs
        breaker = transition(breaker, event, now, policy)
        if (breaker.state !== 'closed') assert.ok(breaker.until <= now + 600_000)
      }
      for (let tries = 0; breaker.state !== 'closed' && tries < 3; tries++) {
        now = Math.max(now, breaker.until)
        breaker = transition(breaker, due, now, policy)
        if (breaker.state === 'half_open') breaker = transition(breaker, answered(true), now, policy)
      }
      assert.equal(breaker.state, 'closed')
    }),
    { seed: 1 },
  )
})
