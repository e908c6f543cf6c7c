import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrief } from './brief.ts'

test('within a moment an answer is shared, a failure is not, and each key has its own', async () => {
  let reads = 0
  const read = createBrief(async (key) => {
    reads++
    if (key === 'bad') throw new Error('no')
    return `${key} ${reads}`
  }, 50)
  assert.deepEqual(await Promise.all([read('a'), read('a'), read('b')]), ['a 1', 'a 1', 'b 2'])
  await assert.rejects(read('bad'))
  await assert.rejects(read('bad'))
  assert.equal(reads, 4)
  const deadline = performance.now() + 60
  while (performance.now() < deadline) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await read('a'), 'a 5')
})
