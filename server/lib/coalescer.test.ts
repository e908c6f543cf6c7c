import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCoalescer } from './coalescer.ts'

/** Runs that end when the test ends them. */
function createRuns() {
  const ends: ((error?: Error) => void)[] = []
  const run = () => {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const number = ends.push((error) => (error ? reject(error) : resolve(number)))
    return promise
  }
  return { ends, run }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('all calls during a run share the next run', async () => {
  const coalesce = createCoalescer()
  const { ends, run } = createRuns()
  const first = coalesce('a', run)
  const others = [coalesce('a', run), coalesce('a', run), coalesce('a', run)]
  assert.equal(ends.length, 1)
  ends[0]?.()
  assert.equal(await first, 1)
  await settled()
  assert.equal(ends.length, 2)
  const late = coalesce('a', run)
  ends[1]?.()
  assert.deepEqual(await Promise.all(others), [2, 2, 2])
  await settled()
  ends[2]?.()
  assert.equal(await late, 3)
})

test('a failed run rejects only its own callers, and the next run starts', async () => {
  const coalesce = createCoalescer()
  const { ends, run } = createRuns()
  const first = coalesce('a', run)
  const second = coalesce('a', run)
  ends[0]?.(new Error('down'))
  await assert.rejects(first, /down/)
  await settled()
  ends[1]?.()
  assert.equal(await second, 2)
  const third = coalesce('a', run)
  assert.equal(ends.length, 3, 'the earlier runs are forgotten')
  ends[2]?.()
  assert.equal(await third, 3)
})

test('runs of different keys are independent', () => {
  const coalesce = createCoalescer()
  const { ends, run } = createRuns()
  void coalesce('a', run)
  void coalesce('b', run)
  assert.equal(ends.length, 2)
})
