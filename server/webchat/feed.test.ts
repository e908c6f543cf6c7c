import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { createFeed } from './feed.ts'

test('a thousand followers share each read, and a burst of changes causes one more', async () => {
  const listeners = new Set<(ids?: readonly string[]) => void>()
  const reads: number[] = []
  const waits: (() => void)[] = []
  const feed = createFeed<{ id: string }>({
    live: {
      announce: () => {},
      listen: (_, onNotified) => {
        listeners.add(onNotified)
        return () => void listeners.delete(onNotified)
      },
      stop: async () => {},
    },
    ...{ log: pino({ level: 'silent' }), what: 'a test', topicOf: (workspaceId) => workspaceId, recheckMs: 3_600_000 },
    read: (_, followers) => {
      reads.push(followers.size)
      return new Promise((resolve) => waits.push(() => resolve(false)))
    },
    concerns: (followers, ids) => [...followers].some(({ id }) => ids.includes(id)),
  })
  const finish = async () => {
    waits.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const stops = Array.from({ length: 1_000 }, (_, i) => feed.follow('one', { id: `${i}` }))
  assert.deepEqual([reads, listeners.size], [[1], 1])
  await finish()
  assert.deepEqual(reads, [1, 1_000])
  for (let i = 0; i < 100; i++) for (const notify of listeners) notify(['7'])
  await finish()
  assert.deepEqual(reads, [1, 1_000, 1_000])
  await finish()
  // A change that concerns no follower causes no read; a lost connection does.
  for (const notify of listeners) notify(['other'])
  assert.equal(reads.length, 3)
  for (const notify of listeners) notify()
  assert.equal(reads.length, 4)
  await finish()
  for (const stop of stops) stop()
  assert.equal(listeners.size, 0)
})
