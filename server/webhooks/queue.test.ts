import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxFailures, tally } from './queue.ts'

const workspace_id = 'w'
const event = 'contact.created'

/** What the statement makes of a tally: the count, and whether the endpoint is still on. */
function apply(count: number, [tallied]: ReturnType<typeof tally>): { count: number; is_active: boolean } {
  if (!tallied) return { count, is_active: true }
  const { first_run, longest_run, last_run, has_success } = tallied
  if (count + first_run >= maxFailures || longest_run >= maxFailures) return { count: maxFailures, is_active: false }
  return { count: has_success ? last_run : count + first_run, is_active: true }
}

/** One event after the other, as the specification tells it. */
function fold(count: number, statuses: readonly Status[]): { count: number; is_active: boolean } {
  let is_active = true
  for (const status of statuses) {
    if (!is_active || status === 'pending') continue
    count = status === 'delivered' ? 0 : count + 1
    is_active = count < maxFailures
  }
  return { count, is_active }
}

/** Runs of the same, long enough to matter. */
type Status = Parameters<typeof tally>[0][number]['status']
const statuses = fc
  .array(
    fc
      .tuple(
        fc.constantFrom<Status[]>('failed', 'failed', 'failed', 'delivered', 'pending'),
        fc.integer({ min: 1, max: 16 }),
      )
      .map(([status, times]) => Array<Status>(times).fill(status)),
    { maxLength: 6 },
  )
  .map((runs) => runs.flat())
const runs = { seed: 1, numRuns: 20_000 }

test('a batch counts as its events would one after the other, from whatever number it starts', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: maxFailures - 1 }), statuses, (count, given) => {
      const rows = given.map((status) => ({ workspace_id, endpoint_id: 'e', event, status }))
      assert.deepEqual(apply(count, tally(rows)), fold(count, given))
    }),
    runs,
  )
})

test('endpoints are told apart however they are mixed, and come in the order of their ids', () => {
  const rows = fc.array(
    fc.record({
      workspace_id: fc.constant(workspace_id),
      endpoint_id: fc.constantFrom('c', 'a', 'b'),
      event: fc.constant(event),
      status: fc.constantFrom<Status[]>('failed', 'delivered', 'pending'),
    }),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(rows, (given) => {
      const together = tally(given)
      const apart = ['a', 'b', 'c'].flatMap((id) => tally(given.filter(({ endpoint_id }) => endpoint_id === id)))
      assert.deepEqual(together, apart)
    }),
    { seed: 1, numRuns: 5_000 },
  )
})

test('what is tried again does not count, and a batch of nothing else has no tally', () => {
  assert.deepEqual(tally([]), [])
  assert.deepEqual(tally([{ workspace_id, endpoint_id: 'e', event, status: 'pending' }]), [])
})

test('a failed test event changes nothing, wherever it is among others; a delivered one is a success', () => {
  const row = (status: Status) => ({ workspace_id, endpoint_id: 'e', event, status })
  const testRow = (status: Status) => ({ ...row(status), event: 'tool_a.test' })
  fc.assert(
    fc.property(statuses, fc.array(fc.nat(90), { maxLength: 20 }), (given, positions) => {
      const rows = given.map(row)
      const mixed = positions.reduce((list, i) => list.toSpliced(i, 0, testRow('failed')), rows)
      assert.deepEqual(tally(mixed), tally(rows))
      assert.deepEqual(tally(given.map(testRow)), tally(rows.filter(({ status }) => status === 'delivered')))
    }),
    { seed: 1, numRuns: 2_000 },
  )
})
