/**
 * A file of people, from bytes to rows. Nothing is read from the database.
 *
 * The first row names the columns: `phone` must be there, `name`, `email`,
 * `company` and `tags` may be, compared without regard to case, spaces and
 * hyphens; others are ignored. What makes the whole file doubtful (no UTF-8, a
 * quote in the wrong place, no phone column) is thrown, with the line where
 * there is one, before anything is imported. What is wrong with one row is that
 * row's fault, in words.
 *
 * Only UTF-8 is read. Spreadsheet programs also write the code page of the
 * machine they are on, which a file does not name: a guess would turn names
 * into nonsense without a word.
 */
import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { byteOrderMark, CsvError, type CsvRow, guessDelimiter, readCsv, withoutGuard } from '../lib/csv.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { fold, isStorable, lengthOf } from '../lib/text.ts'
import { contactLimits } from './contacts.ts'
import { identityOfPhone, parsePhone } from './phone.ts'
import { readTagNames } from './tags.ts'

export const textFields = ['name', 'email', 'company'] as const
export type TextField = (typeof textFields)[number]

/** What a row says of a person; an empty cell says nothing. */
export type GivenPerson = {
  identity: string
  phone: string
  texts: Partial<Record<TextField, string>>
  /** By their folded names. */
  tags: Map<string, string>
}

export type ImportRow = { line: number; text: string } & ({ person: GivenPerson } | { fault: string })

export type ImportFile = { rows: ImportRow[]; ignored_columns: string[] }

const maxRows = 100_000
/** A column of remarks taken for tags would make thousands of them. */
const maxTagNames = 1_000
/** So long the event loop is ours at a time. */
const sliceMs = 10

export async function readImport(bytes: Buffer, defaultCountry: string): Promise<ImportFile> {
  const text = decode(bytes)
  const lines = readCsv(text, guessDelimiter(text))
  let columns: Columns | undefined
  const rows: ImportRow[] = []
  const tagNames = new Set<string>()
  let since = performance.now()
  try {
    for (const row of lines) {
      if (performance.now() - since > sliceMs) {
        await nextTurn()
        since = performance.now()
      }
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
  if (!isUtf8(bytes)) throw badRequest(`file: line ${lineOfFault(bytes)}: not UTF-8; save it as “CSV UTF-8”`)
  const text = bytes.toString('utf8')
  return text.startsWith(byteOrderMark) ? text.slice(1) : text
}

/** The first line that is not UTF-8. No line end is a part of another character, so lines can be looked at one by one. */
function lineOfFault(bytes: Buffer): number {
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
  const placeOf = (name: string) => names.indexOf(name)
  for (const name of known) {
    if (names.lastIndexOf(name) !== placeOf(name)) throw badRequest(`file: has two columns named ${name}`)
  }
  if (placeOf('phone') < 0) throw badRequest('file: has no column named phone; its first row must name the columns')
  const ignored = cells.filter((cell, i) => cell.trim() !== '' && !known.some((name) => name === names[i]))
  return {
    count: cells.length,
    phone: placeOf('phone'),
    tags: placeOf('tags'),
    texts: textFields.flatMap((name): [TextField, number][] => (placeOf(name) < 0 ? [] : [[name, placeOf(name)]])),
    ignored: ignored.slice(0, maxIgnored).map((cell) => shorten(cell.trim())),
  }
}

function readRow({ cells }: CsvRow, columns: Columns, country: string): { person: GivenPerson } | { fault: string } {
  if (cells.slice(columns.count).some((cell) => cell.trim() !== ''))
    return { fault: 'row: has more cells than the first row names' }
  const textOf = (place: number) => withoutGuard(cells[place] ?? '').trim()
  const given = textOf(columns.phone)
  if (given === '') return { fault: 'phone: missing' }
  const phone = parsePhone(given, country)
  if (!phone) return { fault: 'phone: not a phone number' }
  const texts: GivenPerson['texts'] = {}
  for (const [field, place] of columns.texts) {
    const text = textOf(place)
    if (text === '') continue
    if (!isStorable(text)) return { fault: `${field}: contains a character that is not text` }
    if (lengthOf(text) > contactLimits[field])
      return { fault: `${field}: must have at most ${contactLimits[field]} characters` }
    texts[field] = text
  }
  const tags = columns.tags < 0 ? new Map<string, string>() : readTags(textOf(columns.tags))
  if (typeof tags === 'string') return { fault: tags }
  return { person: { identity: identityOfPhone(phone), phone, texts, tags } }
}

/** The names in a cell, or what is wrong with them. */
function readTags(cell: string): Map<string, string> | string {
  const names = splitTags(cell).filter((name) => name.trim() !== '')
  if (!isStorable(cell)) return 'tags: contains a character that is not text'
  try {
    return readTagNames(names)
  } catch (error) {
    if (error instanceof ApiError) return error.message
    throw error
  }
}

/** Names are separated by `;` or `|`; behind a backslash these are a part of a name, and so is a backslash. */
export function splitTags(cell: string): string[] {
  const names = ['']
  for (const [token, escaped, plain = ''] of cell.matchAll(/\\([\\;|])|([^\\;|]+|\\)|[;|]/gu)) {
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
