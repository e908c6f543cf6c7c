/**
 * Writes CSV (RFC 4180) that is safe to open in a spreadsheet program. `csv-reader.ts` reads it.
 *
 * The writer puts an apostrophe before text that a spreadsheet program would run as a formula; `withoutGuard` removes it. Text
 * that already starts with such an apostrophe gets another one, so that reading returns exactly what was written.
 *
 * In many countries a spreadsheet program separates at semicolons, not at our commas. Then our quotes have no effect, and a cell is
 * cut at each semicolon and line end in it. So the text after each of them is guarded like the start of a cell.
 */

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
