/**
 * The file of an import: read from the store in blocks, and its first rows for the page that maps the columns. An error that concerns
 * the whole file is one sentence that starts with `file:`, with the line if there is one.
 */
import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { withoutGuard } from '../lib/csv.ts'
import { type ByteSource, CsvError, type Delimiter, detectFormat, type Encoding } from '../lib/csv-format.ts'
import { type CsvPosition, type CsvReader, createCsvReader } from '../lib/csv-reader.ts'
import { badRequest } from '../lib/errors.ts'
import type { Store } from '../lib/store.ts'

export type FileHead = {
  encoding: Encoding
  delimiter: Delimiter
  header: string[]
  /** The values of each column in the first rows, without empty ones. */
  samples: string[][]
  /** Where the first row below the header starts. */
  first: CsvPosition
}

const sampledRows = 100
/** Longer names and values are cut. */
const maxShown = 200

/** The file of an import in the store. */
export const sourceOf = (store: Store, id: string, size: number): ByteSource => ({
  size,
  async read(start, end) {
    if (start >= end) return Buffer.alloc(0)
    const found = await store.get(id, { start, end: end - 1 })
    if (!found) throw new MissingFile('the file is not in the store')
    return buffer(found.bytes)
  },
})

/** The store does not have the file. */
export class MissingFile extends Error {}

/** Reads the names of the columns and the first rows. Throws 400 for a file that cannot be read. */
export async function readHead(source: ByteSource, delimiter?: Delimiter): Promise<FileHead> {
  try {
    const format = await detectFormat(source)
    const { encoding, start } = format
    const options = { encoding, delimiter: delimiter ?? format.delimiter }
    const reader = createCsvReader(source, { ...options, position: { byte: start, line: 1 } })
    const names = await nextRows(reader, 1)
    if (!names) throw new CsvError(undefined, 'is empty')
    if (names.hasNull) throw new CsvError(names.lineOf(0), 'contains a character that is not text')
    const header = Array.from({ length: names.cellCountOf(0) }, (_, i) => toShown(names.cell(0, i)))
    const rows = await nextRows(reader, sampledRows)
    if (!rows) throw new CsvError(undefined, 'has only one row; the first row must name the columns')
    const samples = header.map((_, column) =>
      Array.from({ length: rows.count }, (_, row) => toShown(rows.cell(row, column))).filter((text) => text !== ''),
    )
    return { ...options, header, samples, first: names.end }
  } catch (error) {
    throw error instanceof CsvError ? badRequest(describeFault(error)) : error
  }
}

/** The next chunk with rows. */
async function nextRows(reader: CsvReader, maxRows: number) {
  for (;;) {
    const chunk = await reader.next({ maxRows })
    if (!chunk || chunk.count > 0) return chunk
  }
}

export const describeFault = ({ line, message }: CsvError): string =>
  line === undefined ? `file: ${message}` : `file: line ${line}: ${message}`

/** Two files with the same names of columns have the same key. */
export const headerKeyOf = (header: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(header)).digest('base64url')

function toShown(cell: string): string {
  const text = withoutGuard(cell.slice(0, 2 * maxShown))
    .trim()
    .replaceAll('\0', '\ufffd')
  return (text.length > maxShown ? `${text.slice(0, maxShown)}…` : text).toWellFormed()
}
