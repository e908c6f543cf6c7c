/** How many sends may be in flight, and what an answer of the channel changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInFlight, type Load } from './in-flight.ts'

const createLoad = (): Load => ({ count: 0, unanswered: 0 })

/** Sends that end, or are answered, when the test says so. */
function createSends(pace = 80) {
  const inFlight = createInFlight()
  const own = createLoad()
  const open: { answer: () => void; end: () => void }[] = []
  const begin = (count: number, load = own) => {
    for (let i = 0; i < count; i++) {
      inFlight.track(load, (answer) => new Promise((end) => open.push({ answer, end })))
    }
  }
  return { inFlight, open, begin, capacity: (load = own) => inFlight.capacity(load, pace) }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('without any answer 25 may leave for a number, and then one at a time; other numbers have their own', async () => {
  const { begin, capacity, open } = createSends()
  assert.equal(capacity(), 25)
  begin(25)
  assert.deepEqual([capacity(), capacity(createLoad())], [0, 25])
  for (const { end } of open.slice(0, 24)) end()
  await settled()
  assert.equal(capacity(), 0, 'a timeout is no answer')
  open[24]?.end()
  await settled()
  assert.equal(capacity(), 1)
  begin(1)
  assert.equal(capacity(), 0)
  open[25]?.answer()
  assert.equal(capacity(), 25)
})

test('an answer makes room for 25 more, up to 200 of a number and 400 in all', async () => {
  const { begin, capacity, open } = createSends()
  for (const [left, expected] of [25, 25, 25, 25, 25, 25, 25, 0].entries()) {
    begin(25)
    open.at(-1)?.answer()
    assert.equal(capacity(), expected, `${(left + 1) * 25} in flight`)
  }
  begin(100, createLoad())
  begin(98, createLoad())
  assert.equal(capacity(createLoad()), 2)
})

test('a fast number may send more before the first answer: a tenth of a second of its pace', () => {
  assert.equal(createSends(1_000).capacity(), 100)
  assert.equal(createSends(10_000).capacity(), 200)
})

test('a caller that waits goes on when a send ends or is answered, and when all is stopped', async () => {
  const { inFlight, begin, open } = createSends()
  begin(2)
  const freed = inFlight.whenFreed()
  open[0]?.answer()
  await freed
  const again = inFlight.whenFreed()
  open[1]?.end()
  await again
  const last = inFlight.whenFreed()
  const stopped = inFlight.stop()
  await last
  await inFlight.whenFreed()
  open[0]?.end()
  await stopped
})
