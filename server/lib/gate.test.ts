import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGate } from './gate.ts'

test('at most so many run at once, the others in order, also after one failed', async () => {
  const enter = createGate(2)
  let running = 0
  let most = 0
  const order: number[] = []
  const work = Array.from({ length: 10 }, (_, i) =>
    enter(async () => {
      most = Math.max(most, ++running)
      order.push(i)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      if (i === 3) throw new Error('fails')
      return i
    }),
  )
  const results = await Promise.allSettled(work)
  assert.equal(most, 2)
  assert.deepEqual(
    order,
    Array.from({ length: 10 }, (_, i) => i),
  )
  assert.deepEqual(
    results.map(({ status }) => status === 'fulfilled'),
    Array.from({ length: 10 }, (_, i) => i !== 3),
  )
})
