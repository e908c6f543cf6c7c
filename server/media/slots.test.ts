import assert from 'node:assert/strict'
import { test } from 'node:test'
import { times } from '../../common/times.ts'
import { createMediaSlots } from './slots.ts'

const { slowMs } = times.media

function startSlots() {
  let now = 0
  const slots = createMediaSlots(times.media, () => now)
  const pass = (ms: number) => {
    now += ms
  }
  const maxOf = (workspaceId: string) =>
    slots.busy().find(({ workspace_id }) => workspace_id === workspaceId)?.max_in_flight ?? slots.maxPerWorkspace
  return { slots, pass, maxOf }
}

test('a fetch releases its slot after a second, so slow fetches do not block others', () => {
  const { slots, pass } = startSlots()
  for (let round = 0; round < 8; round++) {
    assert.equal(slots.free(), 8)
    for (let i = 0; i < 8; i++) slots.start(`${round} ${i}`)
    assert.equal(slots.free(), 0)
    pass(slowMs)
  }
  assert.equal(slots.free(), 0, 'the number of slow fetches is limited')
})

test('a workspace may have fewer in flight while its fetches are slow, and since one failed until one succeeds', () => {
  const { slots, pass, maxOf } = startSlots()
  const release = slots.start('a')
  assert.deepEqual([maxOf('a'), maxOf('b')], [4, 4])
  pass(slowMs)
  assert.deepEqual([maxOf('a'), maxOf('b')], [2, 4])
  release(false)
  assert.deepEqual(slots.busy(), [{ workspace_id: 'a', in_flight: 0, max_in_flight: 2 }])
  slots.start('a')(false)
  assert.equal(maxOf('a'), 2)
  slots.start('a')(true)
  assert.deepEqual([maxOf('a'), slots.busy()], [4, []])
  slots.start('a')(false)
  assert.equal(maxOf('a'), 4, 'a fast failure delays no other fetch')
})
