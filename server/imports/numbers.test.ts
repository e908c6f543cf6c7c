import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../tests/cpu.ts'
import { createNumberTable } from './numbers.ts'

test('a number that occurs again is found with its first line', () => {
  const aNumber = fc.oneof(
    fc.integer({ min: 14_155_550_000, max: 14_155_550_020 }),
    fc.integer({ min: 1, max: 999_999_999_999_999 }),
  )
  fc.assert(
    fc.property(fc.array(aNumber, { maxLength: 50 }), (numbers) => {
      const table = createNumberTable()
      const lines = new Map<number, number>()
      numbers.forEach((number, i) => {
        assert.equal(table.add(`+${number}`, i + 1), lines.get(number) ?? 0)
        if (!lines.has(number)) lines.set(number, i + 1)
      })
    }),
  )
})

test('a million numbers in a row are added in linear time', async () => {
  await assertCheap('a million numbers', 200, () => {
    const table = createNumberTable()
    let known = 0
    for (let i = 0; i < 1_000_000; i++) if (table.add(`+${14_150_000_000 + i}`, i + 2) !== 0) known++
    assert.equal(known, 0)
    for (let i = 0; i < 1_000_000; i += 1_000) assert.equal(table.add(`+${14_150_000_000 + i}`, 1), i + 2)
  })
})
