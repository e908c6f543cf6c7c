import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMediaSlots, slowMs } from './slots.ts'

function startSlots() {
  let now = 0
  const slots = createMediaSlots(() => now)
  const pass = (ms: number) => {
    now += ms
  }
  const mostOf = (workspaceId: string) =>
    slots.busy().find(({ workspace_id }) => workspace_id === workspaceId)?.most ?? slots.mostPerWorkspace
  return { slots, pass, mostOf }
}

test('a fetch gives its slot up after a second, so slots become free whatever hangs', () => {
  const { slots, pass } = startSlots()
  for (let round = 0; round < 8; round++) {
    assert.equal(slots.free(), 8)
    for (let i = 0; i < 8; i++) slots.start(`${round} ${i}`)
    assert.equal(slots.free(), 0)
    pass(slowMs)
  }
  assert.equal(slots.free(), 0, 'there is a limit to what may hang at once')
})

test('a workspace may have fewer in flight while its fetches are slow, and since one failed until one succeeds', () => {
  const { slots, pass, mostOf } = startSlots()
  const release = slots.start('a')
  assert.deepEqual([mostOf('a'), mostOf('b')], [4, 4])
  pass(slowMs)
  assert.deepEqual([mostOf('a'), mostOf('b')], [2, 4])
  release(false)
  assert.deepEqual(slots.busy(), [{ workspace_id: 'a', in_flight: 0, most: 2 }])
  slots.start('a')(false)
  assert.equal(mostOf('a'), 2)
  slots.start('a')(true)
  assert.deepEqual([mostOf('a'), slots.busy()], [4, []])
  slots.start('a')(false)
  assert.equal(mostOf('a'), 4, 'what fails at once delays nobody')
})
