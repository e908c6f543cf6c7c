/**
 * Tables as RFC 4180 has them: read strictly, written so that a spreadsheet
 * program shows them and runs nothing.
 *
 * The reader is lazy: it looks at no more of the text than the rows that were
 * asked for, so whoever reads much can pause between rows. It accepts any of
 * the three line ends. What is quoted wrongly is refused with its line, as
 * nobody can tell which cells were meant.
 *
 * The writer puts an apostrophe before what a spreadsheet program would take
 * for a formula; `withoutGuard` takes it off again. A text that looks as if it
 * had one already gets one more, so that what was written is what is read.
 */

export type Delimiter = ',' | ';' | '\t'

export type CsvRow = {
  /** Where it begins, counted from 1. A cell may have line ends in it. */
  line: number
  cells: string[]
  /** As it stands in the text, without the line end. */
  text: string
}

export class CsvError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** A row with more cells is no table, and could fill the memory. */
const maxCells = 1_000
/** Nor is one that is longer, and whoever pauses between rows would not for seconds. */
const maxRowLength = 200_000

/** What separates the cells of the first line: the one of the three that is there most often, outside of quotes. */
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

/** Every row; an empty line is a row with one empty cell, and nothing follows the last line end. */
export function* readCsv(text: string, delimiter: Delimiter): Generator<CsvRow> {
  const stop = new RegExp(`[${delimiter}"\\r\\n]`, 'g')
  let at = 0
  let line = 1

  const requireShort = (row: CsvRow, length: number) => {
    if (length > maxRowLength) throw new CsvError(row.line, `a row has more than ${maxRowLength} characters`)
  }

  /** Behind the opening quote; ends behind the closing one. */
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

/** The mark tells spreadsheet programs that what follows is UTF-8. */
export const byteOrderMark = '\ufeff'

export const writeRow = (cells: readonly Cell[]): string => `${cells.map(toCell).join(',')}\r\n`

/**
 * What a spreadsheet program would take for a formula gets an apostrophe, which makes it text. A phone number keeps its
 * plus: it is a number at worst.
 */
export function toCell(value: Cell): string {
  const text = String(value ?? '')
  const safe = formula.test(text) && !/^\+\d{1,15}$/.test(text) ? `'${text}` : text
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** With any number of apostrophes before it, so that each reading takes off what one writing put on. */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/

/** A cell as it was before it was written. */
export function withoutGuard(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}
