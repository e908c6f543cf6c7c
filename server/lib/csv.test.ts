import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toCell, withoutGuard, writeRow } from './csv.ts'
import { createCsvReader } from './csv-reader.ts'

async function cellsOf(text: string): Promise<string[][]> {
  const bytes = Buffer.from(text)
  const source = { size: bytes.length, read: async (start: number, end: number) => bytes.subarray(start, end) }
  const reader = createCsvReader(source, { delimiter: ',', encoding: 'utf-8', position: { byte: 0, line: 1 } })
  const chunk = await reader.next()
  return Array.from({ length: chunk?.count ?? 0 }, (_, row) =>
    Array.from({ length: chunk?.cellCountOf(row) ?? 0 }, (_, column) => chunk?.cell(row, column) ?? ''),
  )
}

const aCell = fc.string({
  unit: fc.constantFrom(...'aé🙂 ,;|"\'\t\r\n=+-@1\\', '""', '\r\n', '‮', "'=", '+1', ';=', '\n=', ';"=', ";'=", '|＝'),
  maxLength: 8,
})
const aTable = fc.array(fc.array(aCell, { minLength: 1, maxLength: 4 }), { maxLength: 5 })

test('reading returns what was written', async () => {
  // A row without any content is skipped.
  const isBlank = (cells: readonly string[]) => cells.every((cell) => /^[\0-\x20]*$/.test(cell))
  await fc.assert(
    fc.asyncProperty(aTable, async (rows) => {
      const written = await cellsOf(rows.map(writeRow).join(''))
      // A guard is content: it precedes a tab or a line end at the start of a cell.
      const read = written.map((cells) => cells.map(withoutGuard)).filter((cells) => !isBlank(cells))
      assert.deepEqual(
        read,
        rows.filter((cells) => !isBlank(cells)),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('the output contains no formula, also for a program that separates at other characters', async () => {
  await fc.assert(
    fc.asyncProperty(aCell, async (text) => {
      const [[cell = ''] = []] = await cellsOf(writeRow([text]))
      assert.ok(!/^[=+\-@\t\r\n]/.test(cell) || /^\+\d{1,15}$/.test(cell), JSON.stringify(cell))
    }),
    { numRuns: 1_000 },
  )
  fc.assert(
    fc.property(
      fc.array(aCell, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(';', '\t', '|'),
      (cells, separator) => {
        for (const cell of writeRow(cells).split(new RegExp(`[\\${separator}\\r\\n]`))) {
          assert.doesNotMatch(cell, /^"*[=+\-@＝＋－＠]/, JSON.stringify(cells))
        }
      },
    ),
    { numRuns: 5_000 },
  )
  assert.deepEqual(['x;=1+1', 'x\n=1', 'a;b', 'x;"=1;', "x|'-1", 'a\r\nb'].map(toCell), [
    `"x;'=1+1"`,
    `"x\n'=1"`,
    '"a;b"',
    `"x;'""=1;"`,
    "x|''-1",
    '"a\r\nb"',
  ])
  // A number of the first column and the name behind it are one formula where a comma is the decimal point.
  assert.equal(writeRow(['+14155550100', '1+cmd']), "'+14155550100,1+cmd\r\n")
  assert.equal(writeRow(['Ann', '+14155550100']), 'Ann,+14155550100\r\n')
  assert.deepEqual(['=1', "'=1", "''=1", "'a", '+12', '＝1'].map(toCell), ["'=1", "''=1", "'''=1", "'a", '+12', "'＝1"])
})

test('a phone number is written as it is; text that a spreadsheet would run is quoted', () => {
  const cells = ['\rx', '+1 415', '+12a', '+123', null, 7].map(toCell)
  assert.deepEqual(cells, ['"\'\rx"', "'+1 415", "'+12a", '+123', '', '7'])
})
