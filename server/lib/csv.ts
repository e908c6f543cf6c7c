/**
 * CSV (RFC 4180): a strict reader, and a writer whose output is safe to open in a spreadsheet program.
 *
 * The reader is lazy: it reads only the rows that are requested, so the caller can pause between rows. It accepts all three
 * line ends. Wrong quoting is an error with its line, because the intended cells cannot be known.
 *
 * The writer puts an apostrophe before text that a spreadsheet program would run as a formula; `withoutGuard` removes it. Text
 * that already starts with such an apostrophe gets another one, so that reading returns exactly what was written.
 *
 * In many countries a spreadsheet program separates at semicolons, not at our commas. Then our quotes have no effect, and a cell is
 * cut at each semicolon and line end in it. So the text after each of them is guarded like the start of a cell.
 */

export type Delimiter = ',' | ';' | '\t'

export type CsvRow = {
  /** The line on which the row starts, from 1. A cell may contain line ends. */
  line: number
  cells: string[]
  /** The source text, without the line end. */
  text: string
}

export class CsvError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** More cells are not a table and could exhaust the memory. */
const maxCells = 1_000
/** A longer row would keep the caller from pausing for seconds. */
const maxRowLength = 200_000

/** The delimiter that occurs most often in the first line, outside of quotes. */
export function guessDelimiter(text: string): Delimiter {
  const counts: Record<Delimiter, number> = { ',': 0, ';': 0, '\t': 0 }
  let isQuoted = false
  for (let i = 0; i < Math.min(text.length, maxGuessed); i++) {
    const character = text[i]
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (character === '\n' || character === '\r') break
    else if (character === ',' || character === ';' || character === '\t') counts[character]++
  }
  if (counts[';'] > counts[','] && counts[';'] >= counts['\t']) return ';'
  return counts['\t'] > counts[','] ? '\t' : ','
}

const maxGuessed = 100_000

/** Yields every row. An empty line is a row with one empty cell. A line end at the end starts no further row. */
export function* readCsv(text: string, delimiter: Delimiter): Generator<CsvRow> {
  const stop = new RegExp(`[${delimiter}"\\r\\n]`, 'g')
  let at = 0
  let line = 1

  const requireShort = (row: CsvRow, length: number) => {
    if (length > maxRowLength) throw new CsvError(row.line, `a row has more than ${maxRowLength} characters`)
  }

  /** Starts after the opening quote and ends after the closing one. */
  const readQuoted = (row: CsvRow, start: number): string => {
    const opened = line
    let cell = ''
    for (;;) {
      const quote = text.indexOf('"', at)
      if (quote < 0) throw new CsvError(opened, 'a quote is opened and never closed')
      requireShort(row, quote - start)
      const part = text.slice(at, quote)
      line += countLineEnds(part)
      cell += part
      at = quote + 1
      if (text[at] !== '"') return cell
      cell += '"'
      at++
    }
  }

  while (at < text.length) {
    const start = at
    const row: CsvRow = { line, cells: [], text: '' }
    for (;;) {
      let cell: string
      if (text[at] === '"') {
        at++
        cell = readQuoted(row, start)
        const next = text[at]
        if (next !== undefined && next !== delimiter && next !== '\r' && next !== '\n')
          throw new CsvError(line, 'there is text behind a closing quote')
      } else {
        stop.lastIndex = at
        const end = stop.exec(text)?.index ?? text.length
        if (text[end] === '"') throw new CsvError(line, 'a quote is inside a cell that does not begin with one')
        requireShort(row, end - start)
        cell = text.slice(at, end)
        at = end
      }
      row.cells.push(cell)
      if (row.cells.length > maxCells) throw new CsvError(row.line, `a row has more than ${maxCells} cells`)
      if (text[at] !== delimiter) break
      at++
    }
    row.text = text.slice(start, at)
    at += text.startsWith('\r\n', at) ? 2 : 1
    line++
    yield row
  }
}

function countLineEnds(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 10 || (code === 13 && text.charCodeAt(i + 1) !== 10)) count++
  }
  return count
}

export type Cell = string | number | null

/** Spreadsheet programs read a file with this mark as UTF-8. */
export const byteOrderMark = '\ufeff'

/** The first cell is guarded also if it is a number with a plus: to a program with another separator the row is one text. */
export function writeRow([first = null, ...cells]: readonly Cell[]): string {
  return `${[quote(guard(String(first ?? ''))), ...cells.map(toCell)].join(',')}\r\n`
}

/** Guards formulas with an apostrophe. A plus before digits alone stays: the worst reading of it is a number. */
export function toCell(value: Cell): string {
  const text = String(value ?? '')
  return quote(/^\+\d{1,15}$/.test(text) ? text : guard(text))
}

const quote = (text: string): string => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/**
 * Where a formula may start: at the start, and after a separator or a line end. Programs skip quotes there. Apostrophes may precede
 * it, so that each reading takes off what one writing put on.
 */
const start = `(?<=^|[;|\\t\\r\\n])`
const formula = `(?=['"]*[=+\\-@＝＋－＠])`
const blankStart = `(?=['"]*[\\t\\r\\n])`
const unguarded = new RegExp(`${start}${formula}|^${blankStart}`, 'g')
const guarded = new RegExp(`${start}'${formula}|^'${blankStart}`, 'g')

const guard = (text: string): string => text.replace(unguarded, "'")

/** A cell as it was before it was written. */
export const withoutGuard = (cell: string): string => cell.replace(guarded, '')
