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

type Row = Parameters<typeof tally>[0][number]
const row = (status: Status, more: Partial<Row> = {}): Row => ({
  workspace_id,
  endpoint_id: 'e',
  event,
  status,
  http_status: status === 'delivered' ? 200 : 500,
  error: status === 'delivered' ? null : 'answered 500',
  ...more,
})
const testRow = (status: Status) => row(status, { event: 'tool_a.test' })

test('a batch counts as its events would one after the other, from whatever number it starts', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: maxFailures - 1 }), statuses, (count, given) => {
      const rows = given.map((status) => row(status))
      assert.deepEqual(apply(count, tally(rows)), fold(count, given))
    }),
    runs,
  )
})

test('endpoints are told apart however they are mixed, and come in the order of their ids', () => {
  const rows = fc.array(
    fc
      .tuple(fc.constantFrom<Status[]>('failed', 'delivered', 'pending'), fc.constantFrom('c', 'a', 'b'))
      .map(([status, endpoint_id]) => row(status, { endpoint_id })),
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

test('a retry does not count, but is the last attempt', () => {
  assert.deepEqual(tally([]), [])
  const [tallied] = tally([row('delivered'), row('pending')])
  assert.deepEqual([tallied?.has_success, tallied?.last_run], [true, 0])
  assert.deepEqual([tallied?.http_status, tallied?.error], [500, 'answered 500'])
})

test('a failed test event does not count, wherever it is among others; a delivered one is a success', () => {
  const count = fc.integer({ min: 0, max: maxFailures - 1 })
  fc.assert(
    fc.property(count, statuses, fc.array(fc.nat(90), { maxLength: 20 }), (before, given, positions) => {
      const rows = given.map((status) => row(status))
      const mixed = positions.reduce((list, i) => list.toSpliced(i, 0, testRow('failed')), rows)
      assert.deepEqual(apply(before, tally(mixed)), apply(before, tally(rows)))
      const tests = given.map((status) => testRow(status))
      const delivered = rows.filter(({ status }) => status === 'delivered')
      assert.deepEqual(apply(before, tally(tests)), apply(before, tally(delivered)))
    }),
    { seed: 1, numRuns: 2_000 },
  )
})
