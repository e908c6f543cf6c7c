import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNextRuns } from './next-run.ts'

/** Runs that end when they are told to. */
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

test('whoever asks during a run shares the next one', async () => {
  const inNextRun = createNextRuns()
  const { ends, run } = createRuns()
  const first = inNextRun('a', run)
  const others = [inNextRun('a', run), inNextRun('a', run), inNextRun('a', run)]
  assert.equal(ends.length, 1)
  ends[0]?.()
  assert.equal(await first, 1)
  await settled()
  assert.equal(ends.length, 2)
  const late = inNextRun('a', run)
  ends[1]?.()
  assert.deepEqual(await Promise.all(others), [2, 2, 2])
  await settled()
  ends[2]?.()
  assert.equal(await late, 3)
})

test('a failure is told to those who shared it, and the next run begins all the same', async () => {
  const inNextRun = createNextRuns()
  const { ends, run } = createRuns()
  const first = inNextRun('a', run)
  const second = inNextRun('a', run)
  ends[0]?.(new Error('down'))
  await assert.rejects(first, /down/)
  await settled()
  ends[1]?.()
  assert.equal(await second, 2)
  const third = inNextRun('a', run)
  assert.equal(ends.length, 3, 'nothing is left of the runs before')
  ends[2]?.()
  assert.equal(await third, 3)
})

test('keys do not wait for each other', () => {
  const inNextRun = createNextRuns()
  const { ends, run } = createRuns()
  void inNextRun('a', run)
  void inNextRun('b', run)
  assert.equal(ends.length, 2)
})
