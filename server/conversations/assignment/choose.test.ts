import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Candidate, chooseMembers } from './choose.ts'

const names = (picks: ReturnType<typeof chooseMembers>) => picks.map(({ memberId }) => memberId).join('')
const of = (opens: Record<string, number>, capacity = 5): Candidate[] =>
  Object.entries(opens).map(([id, open]) => ({ id, open, capacity }))

test('round robin goes on after the last member and skips those without capacity', () => {
  assert.equal(names(chooseMembers('round_robin', of({ c: 0, a: 0, b: 4 }), 'a', 6)), 'bcacac')
  assert.equal(names(chooseMembers('round_robin', of({ a: 0, b: 0 }), 'z', 3)), 'aba')
  assert.equal(names(chooseMembers('round_robin', of({ a: 5, b: 7 }), null, 3)), '')
})

test('fewest open fills the gaps first, and then takes turns', () => {
  assert.equal(names(chooseMembers('fewest_open', of({ a: 3, b: 1, c: 2 }), null, 5)), 'bcbca')
  assert.equal(names(chooseMembers('fewest_open', of({ a: 0, b: 0, c: 0 }), 'b', 4)), 'cabc')
  const [pick] = chooseMembers('fewest_open', of({ a: 1 }), null, 1)
  assert.deepEqual(pick, { memberId: 'a', open: 2, capacity: 5 })
})

test('no pick exceeds a capacity, all capacity is used, and shares differ by at most one', () => {
  const candidates = fc.uniqueArray(
    fc.record({ id: fc.string({ minLength: 1, maxLength: 3 }), open: fc.nat(8), capacity: fc.nat(8) }),
    { selector: ({ id }) => id, maxLength: 6 },
  )
  fc.assert(
    fc.property(
      fc.constantFrom('round_robin', 'fewest_open'),
      candidates,
      fc.option(fc.string({ maxLength: 3 })),
      fc.nat(40),
      (policy, all, lastId, count) => {
        const picks = chooseMembers(policy, all, lastId, count)
        const free = all.reduce((sum, { open, capacity }) => sum + Math.max(0, capacity - open), 0)
        assert.equal(picks.length, Math.min(count, free))
        for (const { id, open, capacity } of all) {
          const own = picks.filter(({ memberId }) => memberId === id)
          assert.deepEqual(
            own.map((pick) => pick.open),
            own.map((_, i) => open + i + 1),
          )
          assert.ok(own.length <= Math.max(0, capacity - open))
        }
        const equal = all.map((one) => ({ ...one, open: 0, capacity: 100 }))
        const shares = equal.map(
          ({ id }) => chooseMembers(policy, equal, lastId, count).filter(({ memberId }) => memberId === id).length,
        )
        if (shares.length > 0) assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, shares.join())
      },
    ),
  )
})
