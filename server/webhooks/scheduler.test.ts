import assert from 'node:assert/strict'
import { test } from 'node:test'
import { times as real } from '../../common/times.ts'
import {
  type AttemptEnd,
  type ClaimPlan,
  createScheduler,
  planClaim,
  recordAttempt,
  recordClaim,
  recordClaimFailure,
  releaseSlot,
  requestClaim,
  type Scheduler,
} from './scheduler.ts'

const quick: AttemptEnd = { isDelivered: true, durationMs: 20 }
const failed: AttemptEnd = { isDelivered: false, durationMs: 20 }
const slowFailure: AttemptEnd = { isDelivered: false, durationMs: 5_000 }
const slowSuccess: AttemptEnd = { isDelivered: true, durationMs: 2_000 }

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`)
const times = (count: number, id: string) => Array<string>(count).fill(id)

function plan(scheduler: Scheduler, now = 0): ClaimPlan {
  const planned = planClaim(scheduler, now)
  assert.ok(planned, 'there is a free slot')
  return planned
}

/** A claim that returns one delivery to each of these endpoints. */
function claim(scheduler: Scheduler, ids: readonly string[], now = 0): void {
  recordClaim(scheduler, plan(scheduler, now), ids, now)
}

function end(scheduler: Scheduler, id: string, how: AttemptEnd, now = 0): void {
  recordAttempt(scheduler, id, how, now)
  releaseSlot(scheduler, now)
}

function capacityOf({ endpointIds, capacities, newCapacity }: ClaimPlan, id: string): number {
  const i = endpointIds.indexOf(id)
  return i < 0 ? newCapacity : (capacities[i] ?? 0)
}

const standingOf = (scheduler: Scheduler, id: string) => scheduler.endpoints.get(id)?.standing

/** Gives an endpoint this share by quick successes. */
function prove(scheduler: Scheduler, id: string, share: number): void {
  for (let i = 2; i < share; i++) {
    claim(scheduler, [id])
    end(scheduler, id, quick)
  }
  assert.equal(scheduler.endpoints.get(id)?.share, share)
}

/** Makes endpoints poor and keeps them in memory, by slow failures. */
function slowDown(scheduler: Scheduler, ids: readonly string[]): void {
  claim(scheduler, ids)
  for (const id of ids) end(scheduler, id, slowFailure)
}

test('an endpoint is new at first, proven after a quick success, and poor after a failure or a slow attempt', () => {
  const scheduler = createScheduler(512, real.webhooks)
  claim(scheduler, ['a', 'a', 'a', 'a'])
  assert.equal(standingOf(scheduler, 'a'), 'new')
  end(scheduler, 'a', quick)
  assert.equal(standingOf(scheduler, 'a'), 'proven')
  end(scheduler, 'a', failed)
  assert.equal(standingOf(scheduler, 'a'), 'poor')
  end(scheduler, 'a', quick)
  assert.equal(standingOf(scheduler, 'a'), 'proven')
  end(scheduler, 'a', slowSuccess)
  assert.equal(standingOf(scheduler, 'a'), 'poor')
})

test('a claim takes at most the free slots, and a slot is free once the outcome is stored', () => {
  const scheduler = createScheduler(4, real.webhooks)
  claim(scheduler, ['a', 'b', 'c', 'd'])
  assert.equal(planClaim(scheduler, 1), undefined)
  recordAttempt(scheduler, 'a', quick, 2)
  assert.equal(planClaim(scheduler, 3), undefined)
  releaseSlot(scheduler, 4)
  assert.equal(plan(scheduler, 5).limit, 1)
})

test('a quick success adds one to the share, up to half of all slots, and a slow attempt halves it, down to 1', () => {
  const scheduler = createScheduler(128, real.webhooks)
  prove(scheduler, 'a', 64)
  claim(scheduler, ['a'])
  end(scheduler, 'a', quick)
  const shares = Array.from({ length: 8 }, () => {
    claim(scheduler, ['a'])
    end(scheduler, 'a', slowSuccess)
    return scheduler.endpoints.get('a')?.share
  })
  assert.deepEqual(shares, [32, 16, 8, 4, 2, 1, 1, 1])
})

test('an endpoint may start no more than its share minus what it has in flight', () => {
  const scheduler = createScheduler(512, real.webhooks)
  prove(scheduler, 'a', 10)
  claim(scheduler, times(7, 'a'))
  assert.equal(capacityOf(plan(scheduler), 'a'), 3)
})

test('endpoints with long queues divide the free slots, and the others get 16 at most', () => {
  const scheduler = createScheduler(512, real.webhooks)
  for (const id of ['a', 'b']) prove(scheduler, id, 64)
  // Each got less than its capacity, so nothing more is due.
  recordClaim(scheduler, plan(scheduler), [], 0)
  assert.deepEqual(plan(scheduler).capacities, [16, 16])
  const planned = plan(scheduler)
  recordClaim(scheduler, planned, [...times(16, 'a'), ...times(16, 'b')], 0)
  assert.deepEqual(plan(scheduler).capacities, [48, 48])
})

/** A claim that returns all that these endpoints may start. */
function fill(scheduler: Scheduler, ids: readonly string[], now = 0): ClaimPlan {
  const planned = plan(scheduler, now)
  const claimed = ids.flatMap((id) => times(capacityOf(planned, id), id))
  recordClaim(scheduler, planned, claimed, now)
  return planned
}

test('a proven endpoint with a long queue gets idle slots beyond its fair share, and a quarter of all stays free', () => {
  const scheduler = createScheduler(512, real.webhooks)
  prove(scheduler, 'a', 200)
  // Its queue is not known to be long yet.
  assert.equal(capacityOf(fill(scheduler, ['a']), 'a'), 16)
  fill(scheduler, ['a'])
  assert.equal(scheduler.endpoints.get('a')?.inFlight, 200)
  assert.equal(plan(scheduler).limit, 312)

  const full = createScheduler(256, real.webhooks)
  for (const id of ['a', 'b']) prove(full, id, 128)
  for (let i = 0; i < 3; i++) fill(full, ['a', 'b'])
  const inFlight = [...full.endpoints].map(([id, { inFlight }]) => [id, inFlight])
  assert.deepEqual(inFlight.flat(), ['a', 96, 'b', 96])
})

test('another endpoint that has something due is served at once, and the lent slots are not lent again', () => {
  const scheduler = createScheduler(512, real.webhooks)
  for (const id of ['a', 'b']) prove(scheduler, id, 256)
  const planned = plan(scheduler)
  recordClaim(scheduler, planned, times(capacityOf(planned, 'a'), 'a'), 0)
  for (let i = 0; i < 3; i++) {
    const next = plan(scheduler)
    recordClaim(scheduler, next, times(capacityOf(next, 'a'), 'a'), 0)
  }
  assert.equal(scheduler.endpoints.get('a')?.inFlight, 256)
  // A signal starts a claim now, although many are in flight. It has capacity for the other and for new ones.
  requestClaim(scheduler, 10)
  assert.equal(scheduler.wakeAt, 10)
  const next = plan(scheduler, 10)
  assert.deepEqual([capacityOf(next, 'b'), capacityOf(next, 'unknown')], [16, 2])
  recordClaim(scheduler, next, times(16, 'b'), 11)
  for (let i = 0; i < 4; i++) fill(scheduler, ['b'], 12)
  const inFlight = (id: string) => scheduler.endpoints.get(id)?.inFlight ?? 0
  assert.equal(inFlight('b'), 128, 'up to three quarters of all slots')
  // The queue of the other is long now: as attempts end, both come to the same number.
  for (let now = 20; now < 60; now++) {
    for (const id of ['a', 'b']) {
      const ended = inFlight(id) / 4
      for (let i = 0; i < ended; i++) end(scheduler, id, quick, now)
    }
    fill(scheduler, ['a', 'b'], now)
  }
  assert.ok(Math.abs(inFlight('a') - inFlight('b')) <= 16, `${inFlight('a')} and ${inFlight('b')}`)
})

test('unproven endpoints share half of the slots, and poor ones three quarters of that half', () => {
  const scheduler = createScheduler(64, real.webhooks)
  const poor = names('poor', 40)
  for (let i = 0; i < poor.length; i += 10) slowDown(scheduler, poor.slice(i, i + 10))
  for (const [i, id] of poor.slice(0, 24).entries()) claim(scheduler, [id], i * 8)
  const planned = plan(scheduler, 1_000)
  assert.equal(planned.unprovenCapacity, 8)
  assert.equal(planned.newCapacity, 2)
  const haveNone = poor.every((id) => capacityOf(planned, id) === 0)
  assert.ok(haveNone, 'the eight slots are left for new endpoints')
  recordClaim(scheduler, planned, names('new', 8), 1_000)
  const next = plan(scheduler, 1_008)
  assert.deepEqual([next.unprovenCapacity, next.newCapacity, next.limit], [0, 0, 32])
})

test('any number of dead endpoints leaves half of the slots to a proven one', () => {
  const scheduler = createScheduler(32, real.webhooks)
  prove(scheduler, 'well', 40)
  for (let now = 0; now < 2_000; now += 8) {
    const planned = plan(scheduler, now)
    recordClaim(scheduler, planned, names(`dead${now}-`, planned.unprovenCapacity), now)
  }
  assert.equal(capacityOf(plan(scheduler, 2_000), 'well'), 16)
})

test('a claim starts at most 16 deliveries to unproven endpoints', () => {
  assert.equal(plan(createScheduler(512, real.webhooks)).unprovenCapacity, 16)
})

test('slow endpoints start one delivery every 8 ms, all together, and round robin', () => {
  const scheduler = createScheduler(512, real.webhooks)
  slowDown(scheduler, ['a', 'b', 'c'])
  const started: string[] = []
  for (let now = 100; now < 100 + 4 * 8; now += 4) {
    const planned = plan(scheduler, now)
    const ids = planned.endpointIds.filter((id) => capacityOf(planned, id) > 0)
    if (now % 8 === 4) assert.ok(ids.length === 1 && scheduler.wakeAt === now + 8, 'the others are woken for')
    else assert.deepEqual(ids, [])
    started.push(...ids)
    recordClaim(scheduler, planned, ids, now)
    for (const id of ids) end(scheduler, id, slowFailure, now)
  }
  assert.deepEqual(started, ['a', 'b', 'c', 'a'])
})

test('poor endpoints that fail quickly are served round robin', () => {
  const scheduler = createScheduler(512, real.webhooks)
  const ids = names('poor', 40)
  for (let i = 0; i < ids.length; i += 10) claim(scheduler, [...ids.slice(i, i + 10), ...ids.slice(i, i + 10)])
  for (const id of ids) end(scheduler, id, failed)
  const served: string[] = []
  for (let i = 0; i < 3; i++) {
    const planned = plan(scheduler)
    served.push(...planned.endpointIds.filter((id) => capacityOf(planned, id) > 0))
    recordClaim(scheduler, planned, [], 0)
  }
  assert.equal(new Set(served).size, 40)
})

test('an endpoint whose secret cannot be opened is paused for a second', () => {
  const scheduler = createScheduler(512, real.webhooks)
  prove(scheduler, 'a', 4)
  claim(scheduler, ['a'], 100)
  end(scheduler, 'a', 'unsigned', 100)
  assert.equal(capacityOf(plan(scheduler, 1_099), 'a'), 0)
  assert.ok(capacityOf(plan(scheduler, 1_100), 'a') > 0)
})

test('an attempt that crashed frees its capacity and changes nothing else', () => {
  const scheduler = createScheduler(512, real.webhooks)
  prove(scheduler, 'a', 4)
  claim(scheduler, ['a'])
  end(scheduler, 'a', 'crashed')
  assert.deepEqual([standingOf(scheduler, 'a'), capacityOf(plan(scheduler), 'a')], ['proven', 4])
})

test('an idle endpoint that fails quickly is forgotten; one with a reduced share is remembered', () => {
  const scheduler = createScheduler(512, real.webhooks)
  claim(scheduler, ['a', 'b'])
  end(scheduler, 'a', failed)
  end(scheduler, 'b', slowFailure)
  assert.deepEqual([...scheduler.endpoints.keys()], ['b'])
})

test('of more than 2,000 endpoints the longest idle are forgotten, and none with a delivery in flight', () => {
  const scheduler = createScheduler(8_192, real.webhooks)
  claim(scheduler, ['busy'])
  for (const id of names('e', 2_005)) {
    claim(scheduler, [id])
    end(scheduler, id, quick)
  }
  const { endpointIds } = plan(scheduler)
  assert.equal(endpointIds.length, 2_000)
  assert.ok(endpointIds.includes('busy') && endpointIds.includes('e2004') && !endpointIds.includes('e0'))
})

test('a request starts a claim at once, and one during a claim starts another after it', () => {
  const scheduler = createScheduler(512, real.webhooks)
  assert.equal(scheduler.wakeAt, Number.POSITIVE_INFINITY)
  requestClaim(scheduler, 5)
  assert.equal(scheduler.wakeAt, 5)
  const planned = plan(scheduler, 5)
  assert.equal(scheduler.wakeAt, Number.POSITIVE_INFINITY)
  requestClaim(scheduler, 6)
  recordClaim(scheduler, planned, [], 15)
  assert.equal(scheduler.wakeAt, 25, 'after the time that the claim took')
})

test('a claim that failed is left to the poll, unless another was requested meanwhile', () => {
  const scheduler = createScheduler(512, real.webhooks)
  plan(scheduler, 0)
  recordClaimFailure(scheduler, 1)
  assert.equal(scheduler.wakeAt, Number.POSITIVE_INFINITY)
  plan(scheduler, 2)
  requestClaim(scheduler, 3)
  recordClaimFailure(scheduler, 4)
  assert.equal(scheduler.wakeAt, 6)
})

test('ends are gathered for 2 to 25 ms, and half of those in flight start a claim at once', () => {
  const scheduler = createScheduler(512, real.webhooks)
  prove(scheduler, 'a', 30)
  claim(scheduler, times(16, 'a'))
  recordClaim(scheduler, plan(scheduler, 0), times(14, 'a'), 200)
  scheduler.wakeAt = Number.POSITIVE_INFINITY
  recordAttempt(scheduler, 'a', quick, 300)
  assert.equal(scheduler.wakeAt, 325)
  for (let i = 2; i < 15; i++) recordAttempt(scheduler, 'a', quick, 301)
  assert.equal(scheduler.wakeAt, 325)
  recordAttempt(scheduler, 'a', quick, 302)
  assert.equal(scheduler.wakeAt, 302)
})

test('an end causes no claim while nothing waits', () => {
  const scheduler = createScheduler(512, real.webhooks)
  prove(scheduler, 'a', 8)
  recordClaim(scheduler, plan(scheduler, 0), ['a'], 0)
  scheduler.wakeAt = Number.POSITIVE_INFINITY
  end(scheduler, 'a', quick, 1)
  assert.equal(scheduler.wakeAt, Number.POSITIVE_INFINITY)
})

test('after a claim that took all free slots, the next one waits for a slot', () => {
  const scheduler = createScheduler(8, real.webhooks)
  prove(scheduler, 'a', 10)
  recordClaim(scheduler, plan(scheduler, 0), times(8, 'a'), 0)
  assert.equal(scheduler.wakeAt, Number.POSITIVE_INFINITY)
  recordAttempt(scheduler, 'a', quick, 10)
  releaseSlot(scheduler, 11)
  assert.equal(scheduler.wakeAt, 12)
})
