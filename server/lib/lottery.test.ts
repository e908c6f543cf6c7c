import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLottery } from './lottery.ts'

test('each slot goes to one of the callers who wait for it, at random, and the key is forgotten afterwards', async () => {
  const lottery = createLottery({ maxPerKey: 10, maxWaiting: 15 })
  const winners = new Set<number>()
  for (let round = 0; round < 40; round++) {
    const timing = { afterMs: 1, everyMs: 1 }
    const entered = Array.from({ length: 4 }, (_, i) => lottery.enter('key', timing, async () => i))
    assert.ok(lottery.hasWaiting('key') && !lottery.hasWaiting('other'))
    const drawn = (await Promise.all(entered)).filter((result) => result !== undefined)
    assert.equal(drawn.length, 1)
    winners.add(drawn[0] ?? -1)
  }
  assert.deepEqual([...winners].sort(), [0, 1, 2, 3])
  assert.ok(!lottery.hasWaiting('key'))
})

test('a caller who comes while the drawn one runs waits for the next slot', async () => {
  const lottery = createLottery({ maxPerKey: 10, maxWaiting: 15 })
  const timing = { afterMs: 1, everyMs: 1 }
  const order: string[] = []
  const late: Promise<unknown>[] = []
  const enterLate = () => lottery.enter('key', timing, async () => void order.push('late'))
  await lottery.enter('key', timing, async () => {
    late.push(enterLate())
    // Meanwhile slots pass.
    for (let i = 0; i < 3; i++) await lottery.enter('other', timing, async () => i)
    order.push('first')
  })
  await Promise.all(late)
  assert.deepEqual(order, ['first', 'late'])
  assert.ok(!lottery.hasWaiting('key'))
})

test('a drawn caller that fails does not keep the key', async () => {
  const lottery = createLottery({ maxPerKey: 10, maxWaiting: 15 })
  await assert.rejects(lottery.enter('key', { afterMs: 1, everyMs: 1 }, () => Promise.reject(new Error('broken'))))
  assert.ok(!lottery.hasWaiting('key'))
})

test('the number of waiting callers is limited', async () => {
  const lottery = createLottery({ maxPerKey: 10, maxWaiting: 15 })
  const enter = (key: string) => lottery.enter(key, { afterMs: 50, everyMs: 1 }, async () => key)
  const callers = [...Array.from({ length: 10 }, () => enter('a')), ...Array.from({ length: 5 }, () => enter('b'))]
  for (const key of ['a', 'b', 'c']) assert.equal(await enter(key), undefined)
  assert.ok(!lottery.hasWaiting('c'))
  assert.deepEqual((await Promise.all(callers)).filter(Boolean), ['a', 'b'])
  assert.equal(await enter('c'), 'c')
})
