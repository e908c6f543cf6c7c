import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CsvError, type Delimiter, guessDelimiter, readCsv, toCell, withoutGuard, writeRow } from './csv.ts'

const cellsOf = (text: string, delimiter: Delimiter = ',') => [...readCsv(text, delimiter)].map(({ cells }) => cells)

const aCell = fc.string({
  unit: fc.constantFrom(...'aé🙂 ,;|"\'\t\r\n=+-@1\\', '""', '\r\n', '‮', "'=", '+1', ';=', '\n=', ';"=', ";'=", '|＝'),
  maxLength: 8,
})
const aTable = fc.array(fc.array(aCell, { minLength: 1, maxLength: 4 }), { maxLength: 5 })

test('reading returns what was written', () => {
  fc.assert(
    fc.property(aTable, (rows) => {
      const text = rows.map(writeRow).join('')
      const read = cellsOf(text).map((cells) => cells.map(withoutGuard))
      assert.deepEqual(read, rows)
    }),
    { numRuns: 2_000 },
  )
})

test('every delimiter and line end reads the same, with or without a final line end', () => {
  const ends = fc.constantFrom('\n', '\r\n', '\r')
  const delimiters = fc.constantFrom<Delimiter>(',', ';', '\t')
  fc.assert(
    fc.property(aTable, ends, delimiters, fc.boolean(), (rows, end, delimiter, isEnded) => {
      fc.pre(isEnded || rows.at(-1)?.join('') !== '' || (rows.at(-1)?.length ?? 0) > 1)
      const lines = rows.map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(delimiter))
      assert.deepEqual(cellsOf(lines.join(end) + (isEnded && rows.length > 0 ? end : ''), delimiter), rows)
    }),
    { numRuns: 1_000 },
  )
})

test('the output contains no formula, also for a program that separates at other characters', () => {
  fc.assert(
    fc.property(aCell, (text) => {
      const [[cell = ''] = []] = cellsOf(writeRow([text]))
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

test('the line number of a row counts line ends within cells', () => {
  const text = 'a,b\r\n"x\r\ny\nz\rq",2\n\n3,4'
  assert.deepEqual(
    [...readCsv(text, ',')].map(({ line, cells, text: raw }) => [line, cells.length, raw]),
    [
      [1, 2, 'a,b'],
      [2, 2, '"x\r\ny\nz\rq",2'],
      [6, 1, ''],
      [7, 2, '3,4'],
    ],
  )
})

test('wrong quoting is refused with its line', () => {
  for (const [text, line, message] of [
    ['a\nb"c\n', 2, /inside a cell/],
    ['a\n"b\n"c\n', 3, /behind a closing quote/],
    ['a\n\n"b\nc\nd', 3, /never closed/],
    ['"', 1, /never closed/],
    [`a\n${','.repeat(1_000)}`, 2, /more than 1000 cells/],
    [`a\n"${'""'.repeat(150_000)}"\nb`, 2, /more than 200000 characters/],
    [`a\nb,"c\n${'d'.repeat(200_000)}"`, 2, /more than 200000 characters/],
    [`a\nb\n${'c'.repeat(200_001)}`, 3, /more than 200000 characters/],
  ] as const) {
    assert.throws(
      () => cellsOf(text),
      (error) => {
        assert.ok(error instanceof CsvError, String(error))
        assert.equal(error.line, line)
        assert.match(error.message, message)
        return true
      },
    )
  }
})

test('the delimiter is the most frequent one in the first line', () => {
  for (const [text, delimiter] of [
    ['a,b;c,d\n;;;;', ','],
    ['a;b;"c,,,,,"', ';'],
    ['a\tb\tc,d', '\t'],
    ['phone', ','],
    ['', ','],
  ] as const) {
    assert.equal(guessDelimiter(text), delimiter, text)
  }
})

test('a phone number is written as it is; text that a spreadsheet would run is quoted', () => {
  const cells = ['\rx', '+1 415', '+12a', '+123', null, 7].map(toCell)
  assert.deepEqual(cells, ['"\'\rx"', "'+1 415", "'+12a", '+123', '', '7'])
})
