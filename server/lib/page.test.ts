import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newId } from './id.ts'
import { decodeCursor, encodeCursor, readPosition, toPage } from './page.ts'

const top = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

test('a cursor decodes to its id and has 22 URL-safe characters', () => {
  fc.assert(
    fc.property(fc.uuid(), (id) => {
      const cursor = encodeCursor(id)
      assert.match(cursor, /^[A-Za-z0-9_-]{22}$/)
      assert.equal(decodeCursor(cursor), id)
    }),
    { seed: 1 },
  )
})

test('an invalid cursor is ignored', () => {
  const cursor = encodeCursor(newId())
  const garbage = [
    '',
    'x',
    ' '.repeat(22),
    cursor.slice(1),
    `${cursor}A`,
    `${cursor}==`,
    ` ${cursor}`,
    `${cursor}\n`,
    `${cursor.slice(0, 21)}+`,
    `${cursor.slice(0, 21)}\0`,
    'é'.repeat(22),
    newId(),
    'a'.repeat(100_000),
  ]
  for (const text of garbage) assert.equal(decodeCursor(text), undefined, text.slice(0, 50))
})

test('an id has exactly one cursor: set spare bits are refused', () => {
  const cursor = encodeCursor(top)
  assert.equal(cursor.at(-1), 'w')
  for (const last of 'xyz01234') assert.equal(decodeCursor(cursor.slice(0, 21) + last), undefined)
})

test('any query gives a position within its bounds', () => {
  fc.assert(
    fc.property(fc.anything(), fc.oneof(fc.anything(), fc.base64String()), (limit, cursor) => {
      const position = readPosition({ limit, cursor })
      assert.ok(position.limit >= 1 && position.limit <= 100)
      assert.match(position.before, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    }),
    { seed: 1, numRuns: 1_000 },
  )
})

test('a page size is 1 to 100, and 50 for invalid values', () => {
  for (const [given, expected] of [
    ['1', 1],
    ['50', 50],
    ['100', 100],
    ['007', 7],
  ] as const) {
    assert.equal(readPosition({ limit: given }).limit, expected)
  }
  const unusable = [
    ...[undefined, null, '', '0', '101', '-1', '1.5', '1e2', '0x10', ' 5', '5 ', '٥', 'NaN'],
    ...['9'.repeat(400), ['5'], 5, {}],
  ]
  for (const given of unusable) assert.equal(readPosition({ limit: given }).limit, 50, String(given))
})

test('without a valid cursor the list starts above every id', () => {
  assert.equal(readPosition({}).before, top)
  assert.equal(readPosition({ cursor: 'garbage' }).before, top)
  assert.equal(readPosition({ cursor: [encodeCursor(newId())] }).before, top)
  assert.ok(newId() < top)
})

test('a page ends with a cursor exactly when there is a row beyond it', () => {
  const rows = Array.from({ length: 4 }, () => ({ id: newId() })).reverse()
  const [, , third] = rows
  assert.deepEqual(toPage([], 3), { data: [], meta: { next_cursor: null } })
  assert.deepEqual(toPage(rows.slice(0, 3), 3), { data: rows.slice(0, 3), meta: { next_cursor: null } })
  assert.deepEqual(toPage(rows, 3), { data: rows.slice(0, 3), meta: { next_cursor: encodeCursor(third?.id ?? '') } })
})
