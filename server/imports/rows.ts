/**
 * Reads the rows of a file: cells in, people out. It does not use the database.
 *
 * A row has a person or a fault, which is the reason to reject it. Texts are trimmed, and an empty cell has no value. A number that
 * occurred in an earlier row is a fault.
 */
import { maxAttributeLength } from '../contacts/attributes.ts'
import { contactLimits } from '../contacts/contacts.ts'
import { identityOfPhone, parsePhone } from '../contacts/phone.ts'
import { maxNames, maxTags, readTagNames, splitTags, type TagSeparator } from '../contacts/tags.ts'
import { withoutGuard } from '../lib/csv.ts'
import { CsvError, type Delimiter } from '../lib/csv-format.ts'
import type { CsvChunk } from '../lib/csv-reader.ts'
import { ApiError } from '../lib/errors.ts'
import { lengthOf } from '../lib/text.ts'
import { createYielder } from '../lib/time.ts'
import type { AttributeType, ImportOptions, MappedColumns } from './mapping.ts'
import { createNumberTable } from './numbers.ts'
import { readBoolean, readNumber } from './values.ts'

export type AttributeValue = string | number | boolean

/** The values of a row. */
export type ImportedPerson = {
  /** Of the row in its chunk. */
  index: number
  identity: string
  phone: string
  name: string | undefined
  email: string | undefined
  company: string | undefined
  optedOut: boolean | undefined
  /** Folded names. */
  tags: readonly string[]
  attributes: readonly (readonly [key: string, value: AttributeValue])[]
}

export type Fault = { index: number; reason: string }

export type ReadRows = {
  people: ImportedPerson[]
  faults: Fault[]
  /** The names of the tags of the file so far, by their folded form. */
  tagNames: ReadonlyMap<string, string>
}

export const maxRows = 1_000_000
/** A limit, because a column of remarks used as tags would create thousands of them. */
const maxTagNames = 1_000
/** Cells of tags whose names are remembered: most files have a few different ones. */
const maxCachedCells = 1_000
const maxCachedLength = 1_000

export type RowReader = {
  /** Reads the next rows of the file. Throws a `CsvError` when the file has too many rows or tags. */
  read(chunk: CsvChunk): Promise<ReadRows>
  /** Remembers the numbers of rows that are imported already. */
  skip(chunk: CsvChunk): Promise<void>
}

type RowReaderOptions = { columns: MappedColumns; options: ImportOptions; country: string; delimiter: Delimiter }

/** A reader of the rows of one file, from the first one on. */
export function createRowReader({ columns, options, country, delimiter }: RowReaderOptions): RowReader {
  const numbers = createNumberTable()
  const tagNames = new Map<string, string>()
  const cachedCells = new Map<string, readonly string[]>()
  const hasDecimalComma = delimiter === ';'
  const tagOfAll = options.tag === null ? [] : keep(readTagNames([options.tag]))
  let rowCount = 0

  /** Remembers the names. Returns their folded forms. */
  function keep(names: ReadonlyMap<string, string>): string[] {
    for (const [key, name] of names) if (!tagNames.has(key)) tagNames.set(copyOf(key), copyOf(name))
    return [...names.keys()].map(copyOf)
  }

  function readTags(cell: string, separator: TagSeparator): readonly string[] {
    const cacheKey = separator + cell
    const cached = cachedCells.get(cacheKey)
    if (cached) return cached
    const names = splitTags(cell, separator, maxNames)
    if (names.length > maxNames) throw new RowFault(`tags: must have at most ${maxNames} names`)
    const keys = keep(refusing(() => readTagNames(names.filter((name) => name.trim() !== ''))))
    if (cachedCells.size < maxCachedCells && cell.length < maxCachedLength) cachedCells.set(copyOf(cacheKey), keys)
    return keys
  }

  function readPerson(chunk: CsvChunk, row: number): ImportedPerson {
    const textOf = (column: number): string => {
      const cell = chunk.cell(row, column)
      return (cell.includes("'") ? withoutGuard(cell) : cell).trim()
    }
    const fieldOf = (field: string, column: number | undefined, maxLength: number): string | undefined => {
      if (column === undefined) return undefined
      return requireText(field, textOf(column), maxLength, chunk.hasNull)
    }
    for (let column = columns.count; column < chunk.cellCountOf(row); column++) {
      if (textOf(column) !== '') throw new RowFault('row: has more cells than the first row')
    }
    const phone = readPhone(textOf(columns.phone), country)
    const identity = identityOfPhone(phone)
    const person: ImportedPerson = {
      ...{ index: row, identity, phone },
      name: requireText('name', columns.names.map(textOf).join(' ').trim(), contactLimits.name, chunk.hasNull),
      email: fieldOf('email', columns.email, contactLimits.email),
      company: fieldOf('company', columns.company, contactLimits.company),
      optedOut: undefined,
      tags: tagOfAll,
      attributes: none,
    }
    if (columns.optedOut !== undefined) person.optedOut = readOptOut(textOf(columns.optedOut))
    if (columns.tags.length > 0) {
      const all = columns.tags.flatMap(({ column, separator }) => {
        const cell = requireText('tags', textOf(column), Number.POSITIVE_INFINITY, chunk.hasNull)
        return cell === undefined ? [] : readTags(cell, separator)
      })
      if (all.length > 0) person.tags = [...new Set([...tagOfAll, ...all])]
      if (person.tags.length > maxTags) throw new RowFault(`tags: must have at most ${maxTags} different names`)
    }
    if (columns.attributes.length > 0) {
      person.attributes = columns.attributes.flatMap(({ column, key, type }) => {
        const text = requireText(`attributes.${key}`, textOf(column), maxAttributeLength, chunk.hasNull)
        return text === undefined ? [] : [[key, readValue(key, type, text, hasDecimalComma)] as const]
      })
    }
    // Last: a row with another fault does not hide a later row with the same number.
    const earlier = numbers.add(identity, chunk.lineOf(row))
    if (earlier !== 0) throw new RowFault(`phone: same number as line ${earlier}`)
    return person
  }

  async function forEachRow(chunk: CsvChunk, run: (row: number) => void): Promise<void> {
    const yieldIfDue = createYielder()
    for (let row = 0; row < chunk.count; row++) {
      const yielding = yieldIfDue()
      if (yielding) await yielding
      if (++rowCount > maxRows) {
        throw excess(`${maxRows.toLocaleString('en')} rows; import it in parts`, chunk.lineOf(row))
      }
      run(row)
    }
  }

  async function read(chunk: CsvChunk): Promise<ReadRows> {
    const people: ImportedPerson[] = []
    const faults: Fault[] = []
    await forEachRow(chunk, (index) => {
      try {
        people.push(readPerson(chunk, index))
      } catch (error) {
        if (!(error instanceof RowFault)) throw error
        faults.push({ index, reason: error.reason })
      }
      if (tagNames.size > maxTagNames) {
        throw excess(`${maxTagNames.toLocaleString('en')} different tags`, chunk.lineOf(index))
      }
    })
    return { people, faults, tagNames }
  }

  return {
    read,
    async skip(chunk) {
      await read(chunk)
    },
  }
}

const excess = (what: string, line: number) => new CsvError(undefined, `has more than ${what} (line ${line})`)

/** Ends the reading of a row. Not an `Error`: a file has up to a million of them, and each would record its stack. */
class RowFault {
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}

const none: ImportedPerson['attributes'] = []

function readPhone(text: string, country: string): string {
  if (text === '') throw new RowFault('phone: missing')
  const phone = parsePhone(text, country)
  if (phone === undefined) throw new RowFault('phone: not a phone number')
  return phone
}

/** Undefined for an empty text. */
function requireText(field: string, text: string, maxLength: number, mayHaveNull: boolean): string | undefined {
  if (text === '') return undefined
  if (mayHaveNull && text.includes('\0')) throw new RowFault(`${field}: contains a character that is not text`)
  // Characters are at most as many as units.
  if (text.length > maxLength && lengthOf(text) > maxLength) {
    throw new RowFault(`${field}: must have at most ${maxLength} characters`)
  }
  return text
}

function readOptOut(text: string): boolean | undefined {
  if (text === '') return undefined
  const value = readBoolean(text)
  if (value === undefined) throw new RowFault('opted_out: must be true or false')
  return value
}

function readValue(key: string, type: AttributeType, text: string, hasDecimalComma: boolean): AttributeValue {
  if (type === 'text') return text
  const value = type === 'number' ? readNumber(text, hasDecimalComma) : readBoolean(text)
  if (value === undefined) {
    throw new RowFault(`attributes.${key}: must be ${type === 'number' ? 'a number' : 'true or false'}`)
  }
  return value
}

/** Turns a caller's mistake into the fault of a row. */
function refusing<Value>(run: () => Value): Value {
  try {
    return run()
  } catch (error) {
    throw error instanceof ApiError ? new RowFault(error.message) : error
  }
}

/** A cell can share the memory of its whole chunk. A text that is kept must not. */
const copyOf = (text: string): string => Buffer.from(text).toString()
