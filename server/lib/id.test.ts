import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { derivedId, isUuid, newId, pastId, timeOfId } from './id.ts'

const isRising = (ids: readonly string[]) => ids.every((id, i) => i === 0 || id > (ids[i - 1] ?? ''))

test('an id is a UUID of version 7 with its time of creation', () => {
  const before = Date.now()
  const id = newId()
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const made = Date.parse(timeOfId(id))
  assert.ok(made >= before && made <= Date.now())
})

test('an id for a past time has that time', () => {
  const then = Date.now() - 86_400_000
  const ids = Array.from({ length: 100 }, () => pastId(then))
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(timeOfId(id), new Date(then).toISOString())
  }
})

test('a derived id is the same for the same names, and has the time of its base', () => {
  const base = newId()
  const ids = Array.from({ length: 100 }, (_, i) => derivedId(base, `steps.${i}`))
  assert.equal(new Set([...ids, derivedId(newId(), 'steps.0')]).size, 101)
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(timeOfId(id), timeOfId(base))
  }
  assert.equal(derivedId(base, 'steps.7'), ids[7])
})

test('ids increase within a millisecond, even beyond the counter', () => {
  const now = Date.now() + 10_000
  const ids = Array.from({ length: 20_000 }, () => newId(now))
  assert.ok(isRising(ids))
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(timeOfId(ids[0] ?? ''), new Date(now).toISOString())
})

test('ids increase while the clock is corrected by up to a second', () => {
  const start = Date.now() + 2_000_000
  let last = newId(start)
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 900 }), (offset) => {
      const next = newId(start + offset)
      assert.ok(next > last, `${next} after ${last}`)
      last = next
    }),
    { seed: 1, numRuns: 5_000 },
  )
})

test('ids follow a clock that was far ahead and is corrected', () => {
  const now = Date.now() + 3_000_000
  for (const wrong of [now + 3_600_000, now + 10 * 365 * 86_400_000]) {
    newId(wrong)
    const ids = Array.from({ length: 10 }, () => newId(now))
    assert.equal(timeOfId(ids[0] ?? ''), new Date(now).toISOString())
    assert.ok(isRising(ids))
  }
})

test('ids of the same moment share no random part', () => {
  const tails = Array.from({ length: 2_000 }, () => newId().slice(20))
  assert.equal(new Set(tails).size, tails.length)
})

test('a UUID is recognized in either case, and similar text is not', () => {
  const id = newId()
  for (const text of [id, id.toUpperCase(), '00000000-0000-0000-0000-000000000000']) assert.ok(isUuid(text), text)
  const others = [
    ...['', `urn:uuid:${id}`, `{${id}}`, id.replaceAll('-', ''), `${id}\n`],
    ...[` ${id}`, `${id}0`, id.slice(1), id.replace(/^./, 'g')],
  ]
  for (const text of others) assert.ok(!isUuid(text), JSON.stringify(text))
})
