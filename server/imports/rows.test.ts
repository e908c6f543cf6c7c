import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../tests/cpu.ts'
import { joinTags, splitTags } from '../contacts/tags.ts'
import { type CsvChunk, createCsvReader } from '../lib/csv-reader.ts'
import { toColumns } from './mapping.ts'
import { createRowReader, maxRows } from './rows.ts'
import { readBoolean, readNumber } from './values.ts'

const options = { tag: null, update: 'all' } as const
const settings = { options, country: 'US', delimiter: ',' } as const

/** Chunks of rows whose only cell is this text. */
const chunkOf = (count: number, cell: string): CsvChunk => ({
  ...{ count, hasNull: false, end: { byte: 0, line: 1 } },
  lineOf: (row) => row + 2,
  cellCountOf: () => 1,
  cell: () => cell,
})

test('a file has at most a million rows', async () => {
  const reader = createRowReader({ ...settings, columns: toColumns([{ to: 'phone' }]) })
  const { faults } = await reader.read(chunkOf(maxRows, ''))
  assert.equal(faults.length, maxRows)
  await assert.rejects(reader.read(chunkOf(1, '')), {
    line: undefined,
    message: 'has more than 1,000,000 rows; import it in parts (line 2)',
  })
})

test('a cell with very many tag names is not read to its end', async () => {
  const names = Array.from({ length: 30_000 }, (_, i) => `É${i}`).join(';')
  const file = Buffer.from(Array.from({ length: 20 }, (_, i) => `+141555501${10 + i},${names}\n`).join(''))
  const source = { size: file.length, read: async (start: number, end: number) => file.subarray(start, end) }
  const rows = createCsvReader(source, { delimiter: ',', encoding: 'utf-8', position: { byte: 0, line: 1 } })
  const reader = createRowReader({ ...settings, columns: toColumns([{ to: 'phone' }, { to: 'tags', separator: ';' }]) })
  const reasons: string[] = []
  await assertCheap('twenty rows', 40, async () => {
    for (let chunk = await rows.next(); chunk; chunk = await rows.next()) {
      reasons.push(...(await reader.read(chunk)).faults.map(({ reason }) => reason))
    }
  })
  assert.deepEqual(new Set(reasons), new Set(['tags: must have at most 1000 names']))
  assert.equal(reasons.length, 20)
})

test('names of tags are read as they were written', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.constantFrom(...'a;|,\\ b'), minLength: 1 })), (names) => {
      assert.deepEqual(splitTags(joinTags(names), ';'), names.length > 0 ? names : [''])
    }),
  )
  assert.deepEqual(splitTags('a, b;c', ','), ['a', ' b;c'])
  assert.deepEqual(splitTags('a\\,b,c\\d', ','), ['a,b', 'c\\d'])
})

test('numbers and yes or no are read only where they have one meaning', () => {
  for (const [text, value, withComma = value] of [
    ['12', 12],
    ['-3.50', -3.5],
    ['+7', 7],
    ['007', 7],
    ['1,5', undefined, 1.5],
    ['1.234,5', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['Infinity', undefined],
    ['', undefined],
    [' 1', undefined],
  ] as [string, number | undefined, (number | undefined)?][]) {
    assert.equal(readNumber(text, false), value, text)
    assert.equal(readNumber(text, true), withComma, text)
  }
  for (const text of ['true', 'YES', 'Sí', 'ja', '1', 'x', 'Да']) assert.equal(readBoolean(text), true, text)
  for (const text of ['false', 'No', 'NEIN', '0', 'não']) assert.equal(readBoolean(text), false, text)
  for (const text of ['', 'maybe', '2', 'yes please, all of them']) assert.equal(readBoolean(text), undefined, text)
})
