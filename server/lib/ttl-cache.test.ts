import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTtlCache } from './ttl-cache.ts'

test('a value is shared until its TTL ends, a failure is not cached, and each key has its own value', async () => {
  let loadCount = 0
  const read = createTtlCache(async (key) => {
    loadCount++
    if (key === 'bad') throw new Error('no')
    return `${key} ${loadCount}`
  }, 50)
  assert.deepEqual(await Promise.all([read('a'), read('a'), read('b')]), ['a 1', 'a 1', 'b 2'])
  await assert.rejects(read('bad'))
  await assert.rejects(read('bad'))
  assert.equal(loadCount, 4)
  const deadline = performance.now() + 60
  while (performance.now() < deadline) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await read('a'), 'a 5')
})
