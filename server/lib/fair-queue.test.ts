import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairQueue } from './fair-queue.ts'

const tick = () => new Promise((resolve) => setImmediate(resolve))

test('a flow with one job does not wait for all jobs of a flow with many', async () => {
  const queue = createFairQueue(2)
  const done: string[] = []
  let running = 0
  let most = 0
  const run = (name: string) => async () => {
    most = Math.max(most, ++running)
    await tick()
    running--
    done.push(name)
    return name
  }
  const many = Array.from({ length: 50 }, (_, i) => queue('many', run(`many ${i}`)))
  const few = [queue('one', run('one')), queue('other', run('other'))]
  assert.deepEqual(await Promise.all(few), ['one', 'other'])
  assert.ok(done.length <= 6, done.join())
  const expected = Array.from({ length: 50 }, (_, i) => `many ${i}`)
  assert.deepEqual(await Promise.all(many), expected)
  assert.equal(most, 2)
})

test('a failed job rejects only its caller', async () => {
  const queue = createFairQueue(1)
  const failed = queue('a', () => Promise.reject(new Error('broken')))
  const next = queue('a', async () => 'fine')
  await assert.rejects(failed, /broken/)
  assert.equal(await next, 'fine')
})

test('a flow with too many waiting jobs is refused, and other flows are not', async () => {
  const queue = createFairQueue(1, { maxWaiting: 2, refuse: () => new Error('full') })
  const run = async () => 'done'
  const accepted = [queue('a', run), queue('a', run), queue('a', run)]
  await assert.rejects(queue('a', run), /full/)
  assert.equal(await queue('b', run), 'done')
  assert.deepEqual(await Promise.all(accepted), ['done', 'done', 'done'])
  assert.equal(await queue('a', run), 'done')
})
