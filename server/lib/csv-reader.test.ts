import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../tests/cpu.ts'
import { writeRow } from './csv.ts'
import { type ByteSource, CsvError, type Delimiter, detectFormat, type Encoding } from './csv-format.ts'
import { type CsvOptions, type CsvPosition, createCsvReader } from './csv-reader.ts'

/** Returns short blocks as well: a source may be read in pieces of any size. */
const sourceOf = (bytes: Buffer): ByteSource => ({
  size: bytes.length,
  read: async (start, end) => bytes.subarray(start, end),
})

const marks: Record<Encoding, number[]> = { 'utf-8': [], 'utf-16le': [0xff, 0xfe], 'utf-16be': [0xfe, 0xff] }

function encode(text: string, encoding: Encoding): Buffer {
  const units = encoding === 'utf-8' ? Buffer.from(text) : Buffer.from(text, 'utf16le')
  return Buffer.concat([Buffer.from(marks[encoding]), encoding === 'utf-16be' ? units.swap16() : units])
}

type Row = { line: number; cells: string[] }

async function readAll(
  bytes: Buffer,
  options: Partial<CsvOptions> = {},
  maxRows?: number,
): Promise<{ rows: Row[]; ends: CsvPosition[] }> {
  const reader = createCsvReader(sourceOf(bytes), {
    ...{ delimiter: ',', encoding: 'utf-8', position: { byte: 0, line: 1 } },
    ...options,
  })
  const rows: Row[] = []
  const ends: CsvPosition[] = []
  for (;;) {
    const chunk = await reader.next(maxRows === undefined ? {} : { maxRows })
    if (!chunk) return { rows, ends }
    ends.push(chunk.end)
    for (let row = 0; row < chunk.count; row++) {
      const cells = Array.from({ length: chunk.cellCountOf(row) }, (_, column) => chunk.cell(row, column))
      rows.push({ line: chunk.lineOf(row), cells })
    }
  }
}

const cellsOf = async (text: string, delimiter: Delimiter = ',') =>
  (await readAll(Buffer.from(text), { delimiter })).rows.map(({ cells }) => cells)

const aCell = fc.string({ unit: fc.constantFrom(...'aé🙂 ,;|"\'\t\r\n1', '""', '\r\n', '‮'), maxLength: 8 })
const aTable = fc.array(fc.array(aCell, { minLength: 1, maxLength: 4 }), { maxLength: 6 })
/** A row without any content is skipped. White space of other scripts is content. */
const isBlank = (cells: readonly string[]) => cells.every((cell) => /^[\0-\x20]*$/.test(cell))

test('every delimiter, line end and encoding reads the same, with or without a final line end', async () => {
  await fc.assert(
    fc.asyncProperty(
      aTable,
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.constantFrom<Delimiter>(',', ';', '\t'),
      fc.constantFrom<Encoding>('utf-8', 'utf-16le', 'utf-16be'),
      fc.boolean(),
      async (table, end, delimiter, encoding, isEnded) => {
        const lines = table.map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(delimiter))
        const bytes = encode(lines.join(end) + (isEnded ? end : ''), encoding)
        const position = { byte: marks[encoding].length, line: 1 }
        const { rows } = await readAll(bytes, { delimiter, encoding, position })
        assert.deepEqual(
          rows.map(({ cells }) => cells),
          table.filter((cells) => !isBlank(cells)),
        )
      },
    ),
    { numRuns: 1_000 },
  )
})

test('reading from the end of any chunk returns the rows behind it, with their lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      aTable,
      fc.constantFrom<Encoding>('utf-8', 'utf-16le', 'utf-16be'),
      fc.integer({ min: 1, max: 3 }),
      async (table, encoding, maxRows) => {
        const bytes = encode(table.map(writeRow).join(''), encoding)
        const options = { encoding, position: { byte: marks[encoding].length, line: 1 } }
        const whole = await readAll(bytes, options)
        const { rows, ends } = await readAll(bytes, options, maxRows)
        assert.deepEqual(rows, whole.rows)
        assert.equal(ends.at(-1)?.byte ?? bytes.length, bytes.length)
        for (const position of ends) {
          const rest = await readAll(bytes, { ...options, position })
          assert.deepEqual(
            rest.rows,
            rows.filter(({ line }) => line >= position.line),
          )
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('rows at the borders of blocks and chunks are whole', async () => {
  const rows = Array.from({ length: 110_000 }, (_, i) => [`+1415${1_000_000 + i}`, 'é'.repeat(i % 50), `"${i}", x\r\n`])
  const text = rows.map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\n')
  assert.ok(Buffer.byteLength(text) > 8 * 1024 * 1024, 'several blocks')
  const read = await readAll(Buffer.from(text))
  assert.equal(read.rows.length, rows.length)
  assert.deepEqual(
    read.rows.map(({ cells }) => cells),
    rows,
  )
  // A row has two lines.
  assert.equal(read.rows.at(-1)?.line, 2 * rows.length - 1)
})

test('the line of a row counts line ends within cells and blank lines', async () => {
  const { rows } = await readAll(Buffer.from('a,b\r\n"x\r\ny\nz\rq",2\n\n , \n3,4'))
  assert.deepEqual(
    rows.map(({ line, cells }) => [line, cells.length]),
    [
      [1, 2],
      [2, 2],
      [8, 2],
    ],
  )
  assert.deepEqual(await cellsOf('\n\n , ,\n""\n'), [])
  assert.deepEqual(await cellsOf('a,\n,b\n'), [
    ['a', ''],
    ['', 'b'],
  ])
})

test('a file that cannot be read is refused with its line and one sentence', async () => {
  const megabyte = 1024 * 1024
  const faults: [text: string | Buffer, line: number, message: RegExp][] = [
    ['a\nb"c\n', 2, /^a quote is inside a cell that does not begin with one$/],
    ['a\n"b\n"c\n', 3, /^there is text behind a closing quote$/],
    ['a\n\n"b\nc\nd', 3, /^a quote is opened and never closed$/],
    ['"', 1, /^a quote is opened and never closed$/],
    [`a\n${','.repeat(1_000)}x`, 2, /^a row has more than 1000 columns$/],
    [`${'a,'.repeat(1_000_000)}b`, 1, /^a row has more than 1000 columns$/],
    [`a\nb\n${'c'.repeat(megabyte + 1)}`, 3, /^a row has more than 1 MB$/],
    [`a\n${'b'.repeat(6 * megabyte)}\nc`, 2, /^a row has more than 1 MB$/],
    [`a\nb,"c\n${'d'.repeat(megabyte)}`, 2, /^a quote opens a cell of more than 1 MB; its closing quote is missing$/],
    [
      `a\nb,"${'d\n'.repeat(3 * megabyte)}`,
      2,
      /^a quote opens a cell of more than 1 MB; its closing quote is missing$/,
    ],
    [`a\n"${'""'.repeat(megabyte)}"\nb`, 2, /^a (quote opens|row)/],
    [Buffer.from('a\nb\nJos\xe9,"x"y\n', 'latin1'), 3, /^not UTF-8; save it as “CSV UTF-8”$/],
    [Buffer.from('a\nb\nJos\xe9\nc\n', 'latin1'), 3, /^not UTF-8; save it as “CSV UTF-8”$/],
  ]
  for (const [text, line, message] of faults) {
    await assert.rejects(readAll(Buffer.from(text)), (error) => {
      assert.ok(error instanceof CsvError, String(error))
      assert.deepEqual([error.line, message.test(error.message)], [line, true], error.message)
      return true
    })
  }
  const broken = [...'a\nb\n'].map((character) => character.charCodeAt(0))
  for (const units of [
    [...broken, 0xd800, 0x61],
    [...broken, 0xdc00],
    [...broken, 0xd83d],
  ]) {
    const bytes = Buffer.from(new Uint16Array(units).buffer)
    await assert.rejects(readAll(bytes, { encoding: 'utf-16le' }), { line: 3, message: /^not UTF-16/ })
  }
  await assert.rejects(readAll(Buffer.from([0x61, 0, 0x62]), { encoding: 'utf-16le' }), { message: /^not UTF-16/ })
})

test('encoding and delimiter follow from the first bytes', async () => {
  const formatOf = async (bytes: Buffer | string) => {
    const { encoding, start, delimiter } = await detectFormat(sourceOf(Buffer.from(bytes)))
    return [encoding, start, delimiter]
  }
  for (const [text, delimiter] of [
    ['a,b;c,d\n;;;;', ','],
    ['a;b;"c,,,,,"', ';'],
    ['\n \na;b\n,,,,', ';'],
    ['a\tb\tc,d', '\t'],
    ['phone', ','],
    ['', ','],
  ] as const) {
    assert.deepEqual(await formatOf(text), ['utf-8', 0, delimiter], text)
    assert.deepEqual(await formatOf(`\ufeff${text}`), ['utf-8', 3, delimiter], text)
    assert.deepEqual(await formatOf(encode(text, 'utf-16le')), ['utf-16le', 2, delimiter], text)
    assert.deepEqual(await formatOf(encode(text, 'utf-16be')), ['utf-16be', 2, delimiter], text)
  }
  for (const [bytes, message] of [
    [[0x50, 0x4b, 3, 4, 20], /^is a spreadsheet/],
    [[0xd0, 0xcf, 0x11, 0xe0], /^is a spreadsheet/],
    [[0x1f, 0x8b, 8], /^is compressed/],
    [[0xff, 0xfe, 0, 0, 0x61], /^is UTF-32/],
    [[0x61, 0, 0x62, 0], /^is UTF-16 without a byte order mark/],
  ] as const) {
    await assert.rejects(formatOf(Buffer.from(bytes)), { line: undefined, message })
  }
})

test('the time to read grows with the size only, whatever the content', async () => {
  // Linear work takes a tenth of the limit, quadratic work minutes.
  const size = 1024 * 1024
  for (const piece of ['\n', ',', 'a\n', '"",', '"a""b"\n', '""\n', '\r', '" "\r\n', 'é;\n']) {
    const bytes = Buffer.from(piece.repeat(Math.floor(size / Buffer.byteLength(piece))))
    await assertCheap(JSON.stringify(piece), 200, () =>
      readAll(bytes).catch((error: unknown) => assert.ok(error instanceof CsvError, String(error))),
    )
  }
})
