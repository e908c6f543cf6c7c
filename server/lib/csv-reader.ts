/**
 * Reads CSV (RFC 4180) as a stream, in chunks of whole rows.
 *
 * The source is read in blocks when the caller wants the next chunk. So a chunk and a block are in memory, and a slow caller slows
 * the reading. A chunk ends after a number of rows and bytes that the content alone decides. So two readers get the same chunks, also
 * when one of them starts at the position of a later chunk.
 *
 * A cell is a pair of offsets into the bytes of its chunk: a cell that the caller does not want is never decoded. The three line ends
 * are accepted. Wrong quoting is an error with its line, because the intended cells cannot be known. Rows without any content are skipped.
 *
 * UTF-16 is converted block by block. Positions are always those of the source.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import {
  advice,
  type ByteSource,
  CsvError,
  countUnits,
  type Delimiter,
  decodeUtf16,
  type Encoding,
} from './csv-format.ts'

/** Where a row starts: the byte of the source, and the line, from 1. */
export type CsvPosition = { byte: number; line: number }

export type CsvChunk = {
  /** The number of rows. It may be 0. */
  count: number
  /** The first row has the index 0. */
  lineOf(row: number): number
  cellCountOf(row: number): number
  /** Empty for a cell that the row does not have. The text may share the memory of the whole chunk: copy what is kept. */
  cell(row: number, column: number): string
  /** Whether a cell contains a null character, which is not text. */
  hasNull: boolean
  /** Where the next chunk starts. */
  end: CsvPosition
}

export type CsvReader = {
  /** Undefined: there are no further rows. Throws a `CsvError`. */
  next(limits?: Partial<ChunkLimits>): Promise<CsvChunk | undefined>
}

type ChunkLimits = { maxRows: number; maxBytes: number }

const chunkLimits: ChunkLimits = { maxRows: 2_000, maxBytes: 2 * 1024 * 1024 }

/** Several blocks are in memory until the next major collection. */
const blockBytes = 1024 * 1024
const maxRowBytes = 1024 * 1024
/** How far a closing quote is looked for, so that an error says whether it is missing. */
const maxQuotedBytes = 4 * 1024 * 1024
/** More cells are not a table. */
const maxColumns = 1_000

const [lineFeed, carriageReturn, space, quote, needsMore] = [10, 13, 32, 34, -1]

export type CsvOptions = { delimiter: Delimiter; encoding: Encoding; position: CsvPosition }

export function createCsvReader(source: ByteSource, { delimiter, encoding, position }: CsvOptions): CsvReader {
  let { line } = position
  /** The source byte of the next chunk, and of the next block. */
  let chunkByte = position.byte
  let blockByte = position.byte
  /** Bytes in UTF-8. The next chunk starts at `start`. */
  let buffer: Buffer = Buffer.alloc(0)
  let start = 0
  let isEnd = false

  /** Reads the next block. Sets `isEnd` after the last one. `chunkLine`: where the chunk starts. */
  async function load(chunkLine: number): Promise<void> {
    const end = Math.min(source.size, blockByte + blockBytes)
    if (end <= blockByte) {
      isEnd = true
      return
    }
    const read = await source.read(blockByte, end)
    if (read.length !== end - blockByte) throw new Error('the file is shorter than it was')
    const rest = buffer.subarray(start)
    start = 0
    if (encoding === 'utf-8') {
      blockByte = end
      buffer = rest.length > 0 ? Buffer.concat([rest, read]) : read
      return
    }
    const { bytes, length, isBroken } = decodeUtf16(read, encoding)
    const isStuck = length === 0 || (end === source.size && length < read.length)
    buffer = Buffer.concat([rest, bytes])
    blockByte += length
    if (isBroken || isStuck) throw new CsvError(chunkLine + countLineEnds(buffer), `not UTF-16; ${advice}`)
  }

  /** A fault of quoting may follow from bytes that are no text, which is then the better explanation. */
  function fail(cells: Cells, at: number, message: string, errorLine: number): never {
    const end = buffer.indexOf(lineFeed, start + at)
    const wholeEnd = isEnd ? buffer.length : start + at
    requireText(buffer.subarray(start, end < 0 ? wholeEnd : end), cells)
    throw new CsvError(errorLine, message)
  }

  return {
    async next(limits) {
      const { maxRows, maxBytes } = { ...chunkLimits, ...limits }
      const cells = createCells()
      const chunkLine = line
      /** Of the current row, relative to the start of the chunk. */
      let at = 0
      // Rows with blank ones: a chunk of nothing else would take long.
      let scannedRows = 0
      while (cells.rowCount() < maxRows && at < maxBytes && scannedRows < 10 * maxRows) {
        if (start + at >= buffer.length) {
          await load(chunkLine)
          if (start + at >= buffer.length) break
        }
        const scanned = cells.scan(buffer, start, at, delimiter, line, isEnd)
        if (scanned.error !== undefined) fail(cells, at, scanned.error, scanned.line)
        const rowBytes = (scanned.end === needsMore ? buffer.length - start : scanned.end) - at
        if (scanned.isQuoted && rowBytes < maxQuotedBytes && blockByte < source.size) {
          await load(chunkLine)
          continue
        }
        const isLong = rowBytes > maxRowBytes
        if (isLong && scanned.isQuoted) {
          fail(cells, at, 'a quote opens a cell of more than 1 MB; its closing quote is missing', scanned.line)
        }
        if (isLong) fail(cells, at, 'a row has more than 1 MB', line)
        if (scanned.end === needsMore) {
          await load(chunkLine)
          continue
        }
        line = scanned.nextLine
        at = scanned.end
        scannedRows++
      }
      if (at === 0) return undefined
      const bytes = buffer.subarray(start, start + at)
      requireText(bytes, cells)
      start += at
      chunkByte += encoding === 'utf-8' ? at : 2 * countUnits(bytes)
      return cells.toChunk(bytes, { byte: chunkByte, line })
    },
  }
}

/** Throws for bytes that are not UTF-8, with the line of the first row that is not. */
function requireText(bytes: Buffer, cells: Cells): void {
  if (isUtf8(bytes)) return
  const row = cells.findRow((from, to) => !isUtf8(bytes.subarray(from, to)))
  throw new CsvError(row, `not UTF-8; ${advice}`)
}

type Scanned = {
  /** Where the row ends, relative to the start of the chunk; `needsMore` when the bytes end before it. */
  end: number
  nextLine: number
  error: string | undefined
  /** The line of the error, or of the opening quote. */
  line: number
  /** The bytes end within quotes. */
  isQuoted: boolean
}

type Cells = ReturnType<typeof createCells>

/** The cells of the rows of one chunk: the index of each row's first cell, and the offsets of each cell. */
function createCells() {
  let starts = new Int32Array(1 << 15)
  /** Negative and less by one, for a cell with pairs of quotes. */
  let ends = new Int32Array(1 << 15)
  let firstCells = new Int32Array(1 << 11)
  let lines = new Int32Array(1 << 11)
  let offsets = new Int32Array(1 << 11)
  let rows = 0
  let cells = 0
  /** Where the rows scanned so far end, blank ones included, and their last line. */
  let scannedTo = 0
  let scannedLine = 0

  const grown = (array: Int32Array): Int32Array<ArrayBuffer> => {
    const larger = new Int32Array(2 * array.length)
    larger.set(array)
    return larger
  }

  return {
    rowCount: () => rows,

    /** The line of the first row whose bytes meet a condition; without one, that of the row which is being scanned. */
    findRow(isMatch: (from: number, to: number) => boolean): number {
      for (let row = 0; row < rows; row++) {
        const to = row + 1 < rows ? (offsets[row + 1] ?? 0) : scannedTo
        if (isMatch(offsets[row] ?? 0, to)) return lines[row] ?? 0
      }
      return scannedLine
    },

    /** Scans the row at `base + from`. A row without any content is not recorded. */
    scan(bytes: Buffer, base: number, from: number, delimiter: Delimiter, line: number, isEnd: boolean): Scanned {
      const separator = delimiter.charCodeAt(0)
      const size = bytes.length
      const result: Scanned = { end: needsMore, nextLine: line, error: undefined, line, isQuoted: false }
      let at = base + from
      let count = cells
      let isBlank = true
      let nextLine = line
      scannedLine = line
      for (;;) {
        let cellStart = at
        let cellEnd: number
        if (at < size && bytes[at] === quote) {
          cellStart = ++at
          let hasPairs = false
          result.line = nextLine
          for (;;) {
            for (; at < size; at++) {
              const byte = bytes[at] ?? 0
              if (byte === quote) break
              if (byte > space) isBlank = false
              else if (byte === carriageReturn || (byte === lineFeed && bytes[at - 1] !== carriageReturn)) nextLine++
            }
            if (at + 1 >= size && !isEnd) return { ...result, isQuoted: true }
            if (at >= size) return { ...result, error: 'a quote is opened and never closed' }
            if (bytes[at + 1] !== quote) break
            hasPairs = true
            isBlank = false
            at += 2
          }
          cellEnd = hasPairs ? -(at - base) - 1 : at - base
          at++
          const next = at < size ? bytes[at] : undefined
          if (next !== undefined && next !== separator && next !== lineFeed && next !== carriageReturn) {
            return { ...result, error: 'there is text behind a closing quote', line: nextLine }
          }
        } else {
          for (; at < size; at++) {
            const byte = bytes[at] ?? 0
            if (byte === separator || byte === lineFeed || byte === carriageReturn) break
            if (byte === quote) {
              return { ...result, error: 'a quote is inside a cell that does not begin with one', line: nextLine }
            }
            if (byte > space) isBlank = false
          }
          cellEnd = at - base
        }
        if (count - cells === maxColumns) return { ...result, error: `a row has more than ${maxColumns} columns`, line }
        if (count === starts.length) {
          starts = grown(starts)
          ends = grown(ends)
        }
        starts[count] = cellStart - base
        ends[count] = cellEnd
        count++
        if (at >= size && !isEnd) return result
        if (at < size && bytes[at] === separator) {
          at++
          continue
        }
        if (at < size) {
          const isReturn = bytes[at] === carriageReturn
          if (isReturn && at + 1 >= size && !isEnd) return result
          at += isReturn && bytes[at + 1] === lineFeed ? 2 : 1
          nextLine++
        }
        break
      }
      if (!isBlank) {
        if (rows + 1 >= firstCells.length) {
          firstCells = grown(firstCells)
          lines = grown(lines)
          offsets = grown(offsets)
        }
        firstCells[rows] = cells
        lines[rows] = line
        offsets[rows] = from
        rows++
        firstCells[rows] = count
        cells = count
      }
      scannedTo = at - base
      return { ...result, end: at - base, nextLine }
    },

    toChunk(bytes: Buffer, end: CsvPosition): CsvChunk {
      // Offsets of ASCII are the same in bytes and text, so one text serves all cells.
      const text = isAscii(bytes) ? bytes.toString('latin1') : undefined
      const [allStarts, allEnds, firsts, ofLines] = [starts, ends, firstCells, lines]
      return {
        count: rows,
        hasNull: bytes.includes(0),
        lineOf: (row) => ofLines[row] ?? 0,
        cellCountOf: (row) => (firsts[row + 1] ?? 0) - (firsts[row] ?? 0),
        cell(row, column) {
          const index = (firsts[row] ?? 0) + column
          if (index >= (firsts[row + 1] ?? 0)) return ''
          const from = allStarts[index] ?? 0
          const to = allEnds[index] ?? 0
          const isPlain = to >= 0
          const until = isPlain ? to : -to - 1
          const cell = text === undefined ? bytes.toString('utf8', from, until) : text.slice(from, until)
          return isPlain ? cell : cell.replaceAll('""', '"')
        },
        end,
      }
    },
  }
}

function countLineEnds(bytes: Buffer): number {
  let count = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === lineFeed || (byte === carriageReturn && bytes[i + 1] !== lineFeed)) count++
  }
  return count
}
