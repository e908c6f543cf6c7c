import assert from 'node:assert/strict'
import { test } from 'node:test'
import { times } from '../../../common/times.ts'
import { createHealth } from './health.ts'

const succeed = async () => 'done'
const fail = async () => {
  throw new Error('no database')
}

test('a loop fails after 30 s without a success, and recovers with the next one', async () => {
  let now = 0
  const health = createHealth(times.health, () => now)
  assert.equal(await health.watch('deliver', succeed), 'done')
  await assert.rejects(health.watch('deliver', fail), /no database/)
  await assert.rejects(health.watch('digest', fail))
  assert.deepEqual(health.failing(), [])
  now = 20_000
  await health.watch('digest', succeed)
  await assert.rejects(health.watch('digest', fail))
  now = 30_000
  await assert.rejects(health.watch('deliver', fail))
  assert.deepEqual(health.failing(), ['deliver'])
  now = 50_000
  assert.deepEqual(health.failing(), ['deliver', 'digest'])
  await health.watch('deliver', succeed)
  assert.deepEqual(health.failing(), ['digest'])
})

test('a loop works again with the first part of a long round that succeeds', async () => {
  let now = 0
  const health = createHealth(times.health, () => now)
  await assert.rejects(health.watch('broadcast-sends', fail))
  const ending = Promise.withResolvers<void>()
  const round = health.watch('broadcast-sends', () => ending.promise)
  now = 30_000
  assert.deepEqual(health.failing(), ['broadcast-sends'])
  health.progressed('broadcast-sends')
  assert.deepEqual(health.failing(), [])
  ending.resolve()
  await round
})

test('a full disk counts at once, whichever part it fails, and for some seconds', async () => {
  let now = 0
  const health = createHealth(times.health, () => now)
  const full = Object.assign(new Error('could not extend file'), { code: '53100' })
  await assert.rejects(health.watch('digest', () => Promise.reject(full)))
  assert.deepEqual(health.failing(), ['disk'])
  now = 5_000
  assert.deepEqual(health.failing(), [])
  health.note(Object.assign(new Error('write'), { code: 'ENOSPC' }))
  health.note(new Error('a bug'))
  assert.deepEqual(health.failing(), ['disk'])
})
