/**
 * Reads an import file: bytes in, rows out. It does not use the database.
 *
 * The first row names the columns: `phone` is required; `name`, `email`, `company` and `tags` are optional. Names are
 * compared without regard to case, spaces and hyphens. Other columns are ignored. An error that concerns the whole file (not
 * UTF-8, a misplaced quote, no phone column) is thrown before anything is imported, with the line if there is one. An error
 * in a row is the fault of that row.
 *
 * Only UTF-8 is read. Spreadsheet programs may also write the code page of their machine, which a file does not name: a
 * guess would garble names silently.
 */
import { isUtf8 } from 'node:buffer'
import { byteOrderMark, CsvError, type CsvRow, guessDelimiter, readCsv, withoutGuard } from '../lib/csv.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { fold, isStorable, lengthOf } from '../lib/text.ts'
import { createYielder } from '../lib/time.ts'
import { contactLimits } from './contacts.ts'
import { identityOfPhone, parsePhone } from './phone.ts'
import { maxNames, readTagNames } from './tags.ts'

export const textFields = ['name', 'email', 'company'] as const
export type TextField = (typeof textFields)[number]

/** The values of a row. An empty cell has none. */
export type ImportedPerson = {
  identity: string
  phone: string
  texts: Partial<Record<TextField, string>>
  /** Tag names, by their folded form. */
  tags: ReadonlyMap<string, string>
}

export type ImportRow = { line: number; text: string } & ({ person: ImportedPerson } | { fault: string })

export type ImportFile = { rows: ImportRow[]; ignored_columns: string[] }

const maxRows = 100_000
/** A limit, because a column of remarks used as tags would create thousands of them. */
const maxTagNames = 1_000

export async function readImport(bytes: Buffer, defaultCountry: string): Promise<ImportFile> {
  const text = decode(bytes)
  const lines = readCsv(text, guessDelimiter(text))
  let columns: Columns | undefined
  const rows: ImportRow[] = []
  const tagNames = new Set<string>()
  const yieldIfDue = createYielder()
  try {
    for (const row of lines) {
      await yieldIfDue()
      if (row.cells.every((cell) => cell.trim() === '')) continue
      if (!columns) {
        columns = readHeader(row.cells)
        continue
      }
      if (rows.length === maxRows)
        throw badRequest(`file: has more than ${maxRows} rows; import it in parts (line ${row.line})`)
      const read = readRow(row, columns, defaultCountry)
      rows.push({ line: row.line, text: shorten(row.text), ...read })
      if ('person' in read) for (const key of read.person.tags.keys()) tagNames.add(key)
      if (tagNames.size > maxTagNames)
        throw badRequest(`file: has more than ${maxTagNames} different tags (line ${row.line})`)
    }
  } catch (error) {
    if (error instanceof CsvError) throw badRequest(`file: line ${error.line}: ${error.message}`)
    throw error
  }
  if (!columns) throw badRequest('file: is empty')
  return { rows, ignored_columns: columns.ignored }
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw badRequest(`file: line ${findInvalidLine(bytes)}: not UTF-8; save it as “CSV UTF-8”`)
  const text = bytes.toString('utf8')
  return text.startsWith(byteOrderMark) ? text.slice(1) : text
}

/** The first line that is not UTF-8. A line feed is never part of another character, so lines can be checked one by one. */
function findInvalidLine(bytes: Buffer): number {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(10, start)
    if (!isUtf8(bytes.subarray(start, end < 0 ? bytes.length : end))) return line
    if (end < 0) break
    start = end + 1
  }
  return line
}

type Columns = { count: number; phone: number; tags: number; texts: [TextField, number][]; ignored: string[] }

const maxIgnored = 100

function readHeader(cells: readonly string[]): Columns {
  const known = ['phone', 'tags', ...textFields] as const
  const names = cells.map((cell) => (cell.length > maxShown ? '' : fold(withoutGuard(cell)).replace(/[\s-]/gu, '')))
  const indexOf = (name: string) => names.indexOf(name)
  for (const name of known) {
    if (names.lastIndexOf(name) !== indexOf(name)) throw badRequest(`file: has two columns named ${name}`)
  }
  if (indexOf('phone') < 0) throw badRequest('file: has no column named phone; its first row must name the columns')
  const ignored = cells.filter((cell, i) => cell.trim() !== '' && !known.some((name) => name === names[i]))
  return {
    count: cells.length,
    phone: indexOf('phone'),
    tags: indexOf('tags'),
    texts: textFields.flatMap((name): [TextField, number][] => (indexOf(name) < 0 ? [] : [[name, indexOf(name)]])),
    ignored: ignored.slice(0, maxIgnored).map((cell) => shorten(cell.trim())),
  }
}

function readRow({ cells }: CsvRow, columns: Columns, country: string): { person: ImportedPerson } | { fault: string } {
  if (cells.slice(columns.count).some((cell) => cell.trim() !== ''))
    return { fault: 'row: has more cells than the first row' }
  const textOf = (index: number) => withoutGuard(cells[index] ?? '').trim()
  const phoneText = textOf(columns.phone)
  if (phoneText === '') return { fault: 'phone: missing' }
  const phone = parsePhone(phoneText, country)
  if (!phone) return { fault: 'phone: not a phone number' }
  const texts: ImportedPerson['texts'] = {}
  for (const [field, index] of columns.texts) {
    const text = textOf(index)
    if (text === '') continue
    if (!isStorable(text)) return { fault: `${field}: contains a character that is not text` }
    if (lengthOf(text) > contactLimits[field])
      return { fault: `${field}: must have at most ${contactLimits[field]} characters` }
    texts[field] = text
  }
  const tags = readTags(textOf(columns.tags))
  if (typeof tags === 'string') return { fault: tags }
  return { person: { identity: identityOfPhone(phone), phone, texts, tags } }
}

const noTags: ReadonlyMap<string, string> = new Map()

/** The tag names of a cell, or the error. */
function readTags(cell: string): ReadonlyMap<string, string> | string {
  // Most rows have none, and a file has up to 100,000.
  if (cell === '') return noTags
  const names = splitTags(cell, maxNames)
  if (names.length > maxNames) return `tags: must have at most ${maxNames} names`
  if (!isStorable(cell)) return 'tags: contains a character that is not text'
  try {
    return readTagNames(names.filter((name) => name.trim() !== ''))
  } catch (error) {
    if (error instanceof ApiError) return error.message
    throw error
  }
}

/** Splits names at `;` or `|`. A backslash escapes these and itself. Stops after `max` names and one more. */
export function splitTags(cell: string, max = Number.POSITIVE_INFINITY): string[] {
  const names = ['']
  for (const [token, escaped, plain = ''] of cell.matchAll(/\\([\\;|])|([^\\;|]+|\\)|[;|]/gu)) {
    if (names.length > max) break
    if (token === ';' || token === '|') names.push('')
    else names.push((names.pop() ?? '') + (escaped ?? plain))
  }
  return names
}

export const joinTags = (names: readonly string[]): string =>
  names.map((name) => name.replace(/[\\;|]/g, '\\$&')).join(';')

const maxShown = 200

function shorten(text: string): string {
  return text.length > maxShown ? `${text.slice(0, maxShown).toWellFormed()}…` : text
}
