import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxFailures, tallyOutcomes } from './tally.ts'

const workspace_id = 'w'
const event = 'contact.created'

/** Applies a tally as the settling statement does. */
function apply(count: number, [tallied]: ReturnType<typeof tallyOutcomes>): { count: number; is_active: boolean } {
  if (!tallied) return { count, is_active: true }
  const { first_run, longest_run, last_run, has_success } = tallied
  if (count + first_run >= maxFailures || longest_run >= maxFailures) return { count: maxFailures, is_active: false }
  return { count: has_success ? last_run : count + first_run, is_active: true }
}

/** Applies the outcomes one after the other. */
function fold(count: number, statuses: readonly Status[]): { count: number; is_active: boolean } {
  let is_active = true
  for (const status of statuses) {
    if (!is_active || status === 'pending') continue
    count = status === 'delivered' ? 0 : count + 1
    is_active = count < maxFailures
  }
  return { count, is_active }
}

/** Runs of equal outcomes, long enough to reach the limit. */
type Status = Parameters<typeof tallyOutcomes>[0][number]['status']
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

type Row = Parameters<typeof tallyOutcomes>[0][number]
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

test('a batch counts as its outcomes would one after the other, from any count', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: maxFailures - 1 }), statuses, (count, given) => {
      const rows = given.map((status) => row(status))
      assert.deepEqual(apply(count, tallyOutcomes(rows)), fold(count, given))
    }),
    runs,
  )
})

test('outcomes of several endpoints are tallied apart, in the order of endpoint ids', () => {
  const rows = fc.array(
    fc
      .tuple(fc.constantFrom<Status[]>('failed', 'delivered', 'pending'), fc.constantFrom('c', 'a', 'b'))
      .map(([status, endpoint_id]) => row(status, { endpoint_id })),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(rows, (given) => {
      const together = tallyOutcomes(given)
      const apart = ['a', 'b', 'c'].flatMap((id) =>
        tallyOutcomes(given.filter(({ endpoint_id }) => endpoint_id === id)),
      )
      assert.deepEqual(together, apart)
    }),
    { seed: 1, numRuns: 5_000 },
  )
})

test('an attempt that will be retried does not count, but is the last attempt', () => {
  assert.deepEqual(tallyOutcomes([]), [])
  const [tallied] = tallyOutcomes([row('delivered'), row('pending')])
  assert.deepEqual([tallied?.has_success, tallied?.last_run], [true, 0])
  assert.deepEqual([tallied?.http_status, tallied?.error], [500, 'answered 500'])
})

test('a failed test event does not count; a delivered one is a success', () => {
  const count = fc.integer({ min: 0, max: maxFailures - 1 })
  fc.assert(
    fc.property(count, statuses, fc.array(fc.nat(90), { maxLength: 20 }), (before, given, positions) => {
      const rows = given.map((status) => row(status))
      const mixed = positions.reduce((list, i) => list.toSpliced(i, 0, testRow('failed')), rows)
      assert.deepEqual(apply(before, tallyOutcomes(mixed)), apply(before, tallyOutcomes(rows)))
      const tests = given.map((status) => testRow(status))
      const delivered = rows.filter(({ status }) => status === 'delivered')
      assert.deepEqual(apply(before, tallyOutcomes(tests)), apply(before, tallyOutcomes(delivered)))
    }),
    { seed: 1, numRuns: 2_000 },
  )
})
