import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { planMoves } from './automation-order.ts'

/** As the service does it. */
function moved(current: readonly string[], moves: ReturnType<typeof planMoves>): string[] {
  return moves.reduce(
    (order, { id, position }) => {
      const others = order.filter((each) => each !== id)
      return [...others.slice(0, position), id, ...others.slice(position)]
    },
    [...current],
  )
}

test('automations move to the places of their files, and the others keep their order', () => {
  const place = (id: string, position: number) => ({ id, position })
  const cases: [string, ReturnType<typeof place>[], string][] = [
    ['abc', [], 'abc'],
    ['abc', [place('a', 0), place('b', 1), place('c', 2)], 'abc'],
    ['abc', [place('c', 0)], 'cab'],
    ['abx', [place('a', 1), place('b', 2)], 'xab'],
    ['abc', [place('a', 900)], 'bca'],
    ['abc', [place('b', 0), place('c', 0)], 'bca'],
  ]
  for (const [current, placed, expected] of cases) {
    const moves = planMoves([...current], placed)
    assert.equal(moved([...current], moves).join(''), expected, `${current} ${JSON.stringify(placed)}`)
  }
})

test('after its moves a plan has none, whatever places the files name', () => {
  const ids = [...'abcdefgh']
  const plan = fc.record({
    current: fc.shuffledSubarray(ids, { minLength: ids.length }),
    placed: fc.uniqueArray(fc.record({ id: fc.constantFrom(...ids), position: fc.nat({ max: 10 }) }), {
      selector: ({ id }) => id,
    }),
  })
  fc.assert(
    fc.property(plan, ({ current, placed }) => {
      const order = moved(current, planMoves(current, placed))
      assert.deepEqual([...order].sort(), ids)
      assert.deepEqual(planMoves(order, placed), [])
    }),
  )
})
