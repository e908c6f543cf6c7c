import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTtlCache } from './ttl-cache.ts'

test('a value is shared until its TTL ends, a failure or an absent value is not cached, and each key has its own value', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  let loadCount = 0
  const read = createTtlCache(async (key) => {
    loadCount++
    if (key === 'bad') throw new Error('no')
    return key === 'absent' ? undefined : `${key} ${loadCount}`
  }, 50)
  assert.deepEqual(await Promise.all([read('a'), read('a'), read('b')]), ['a 1', 'a 1', 'b 2'])
  await assert.rejects(read('bad'))
  await assert.rejects(read('bad'))
  assert.deepEqual([await read('absent'), await read('absent')], [undefined, undefined])
  assert.equal(loadCount, 6)
  now = 49
  assert.equal(await read('a'), 'a 1')
  now = 50
  assert.equal(await read('a'), 'a 7')
})
