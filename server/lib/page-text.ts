/**
 * Pages of the API as JSON bytes, written from the values of a statement.
 *
 * A page has 50 rows with 20 values each. Objects for the rows and a serializer for the response took most of the 1.1 ms of Node per
 * page. Here the values become bytes at once, so they do not stay alive while the tags of the page are read.
 *
 * The select list is the layout: a column is a field, `"contact.name"` is a field of the object `contact`, and `tag_ids` is the list
 * `tags`, which is filled in when the names of all tags of the page have been read. The first column is the id.
 */
import type { PendingQuery, Row } from 'postgres'
import { takeRows } from './db.ts'
import { resolveLists, splitList } from './id-lists.ts'
import { encodeCursor, type Page } from './page.ts'

type Column = { name: string; type: number }
export type ValueRows = { columns: readonly Column[]; rows: unknown[][] }

/** Reads the items of the lists in a column: returns those with these ids, in the order to show. */
export type ListReaders = Record<string, (ids: string[]) => Promise<readonly { id: string }[]>>

type PageOptions = {
  /** By the name of the column: `tag_ids`. */
  lists: ListReaders
  /** A column that is not shown. */
  hidden?: string
}

export async function readValues(query: PendingQuery<Row[]>): Promise<ValueRows> {
  const result = await query.values()
  const rows: unknown[][] = takeRows(result)
  return { columns: result.columns as unknown as readonly Column[], rows }
}

/** A page of the rows of a statement with `limit + 1`, sorted by id. */
export function writePage<Item>(found: ValueRows, limit: number, options: PageOptions): Promise<Page<Item>> {
  const rows = found.rows.slice(0, limit)
  const last = found.rows.length > limit ? rows.at(-1) : undefined
  return writeRows<Item>({ ...found, rows }, last ? encodeCursor(String(last[0])) : null, options)
}

/**
 * The bytes of a page. They have the type of what they contain, so that a handler can return them. Only for routes with `isShared`,
 * which send bytes as they are.
 */
export function writeRows<Item>(
  found: ValueRows,
  nextCursor: string | null,
  { lists, hidden }: PageOptions,
): Promise<Page<Item>> {
  // Not `async`: a suspended function would keep the values alive while the names are read.
  return fillSlots(
    toBytes(found, layoutOf(found.columns, lists, hidden), nextCursor),
    lists,
  ) as Promise<unknown> as Promise<Page<Item>>
}

function toBytes({ rows }: ValueRows, { steps, end }: Layout, nextCursor: string | null): Buffer {
  const texts = rows.map((row) => {
    let text = ''
    for (const { index, prefix, write } of steps) {
      const value = row[index]
      text += prefix
      text += value === null ? 'null' : write(value)
    }
    return text + end
  })
  return Buffer.from(`{"data":[${texts.join(',')}],"meta":{"next_cursor":${JSON.stringify(nextCursor)}}}`)
}

type Step = { index: number; prefix: string; write: (value: unknown) => string }
type Layout = { steps: Step[]; end: string }

/** The driver keeps the columns of a prepared statement, so its layout is built once per connection. */
const layouts = new WeakMap<readonly Column[], Layout>()

function layoutOf(columns: readonly Column[], lists: ListReaders, hidden: string | undefined): Layout {
  const known = layouts.get(columns)
  if (known) return known
  const steps: Step[] = []
  let open = ''
  columns.forEach(({ name, type }, index) => {
    if (name === hidden) return
    const [object, field] = name.includes('.') ? (name.split('.') as [string, string]) : ['', name]
    const start = steps.length === 0 ? '{' : ','
    const opening = object !== open && object !== '' ? `${JSON.stringify(object)}:{` : ''
    open = object
    const key = field.replace(/_(ids|names)$/, 's')
    steps.push({ index, prefix: `${start}${opening}${JSON.stringify(key)}:`, write: writerOf(field, type, lists) })
  })
  const layout = { steps, end: open === '' ? '}' : '}}' }
  layouts.set(columns, layout)
  return layout
}

/** Types of PostgreSQL whose text needs no escaping. Their values are numbers, or texts in quotes. */
const bareTypes = new Set([16, 20, 21, 23, 700, 701])
const quotedTypes = new Set([1184, 2950])
const jsonTypes = new Set([114, 3802])

function writerOf(field: string, type: number, lists: ListReaders): Step['write'] {
  if (lists[field]) return (ids) => (ids === '' ? '[]' : `${slotMark}${field} ${ids}${slotMark}`)
  if (field.endsWith('_names')) return (names) => writeNames(names as string)
  if (bareTypes.has(type)) return String
  if (quotedTypes.has(type)) return (text) => `"${text}"`
  if (jsonTypes.has(type)) return (value) => JSON.stringify(value)
  return (text) => quote(text as string)
}

/** Characters that JSON escapes. */
const escaped = /["\\\p{Cc}]/u
const quote = (text: string): string => (escaped.test(text) ? JSON.stringify(text) : `"${text}"`)

/** Names separated by spaces, each once. */
const writeNames = (names: string): string =>
  names.includes(' ') || names === '' ? JSON.stringify([...new Set(splitList(names))].sort()) : `["${names}"]`

/** Encloses the ids of a list in the bytes of a page. JSON never contains it: in a text it is escaped. */
const slotMark = '\u0001'

async function fillSlots(page: Buffer, lists: ListReaders): Promise<Buffer> {
  if (!page.includes(slotMark)) return page
  // Alternates between JSON and the content of a slot.
  const parts = splitSlots(page)
  const slots = parts.filter((_, i) => i % 2 === 1).map((part) => part.toString('latin1'))
  const idsOf = (slot: string) => slot.slice(slot.indexOf(' ') + 1)
  const readers = Object.entries(lists).map(async ([name, read]) => {
    const ofList = slots.filter((slot) => slot.startsWith(`${name} `))
    return [name, await resolveLists(ofList.map(idsOf), read)] as const
  })
  const itemsOf = new Map(await Promise.all(readers))
  const written = new Map<string, Buffer>()
  for (const slot of slots) {
    if (written.has(slot)) continue
    const items = itemsOf.get(slot.slice(0, slot.indexOf(' ')))?.(idsOf(slot)) ?? []
    written.set(slot, Buffer.from(JSON.stringify(items)))
  }
  return Buffer.concat(parts.map((part, i) => (i % 2 === 0 ? part : (written.get(part.toString('latin1')) ?? part))))
}

function splitSlots(page: Buffer): Buffer[] {
  const mark = slotMark.charCodeAt(0)
  const parts: Buffer[] = []
  let from = 0
  for (let at = page.indexOf(mark); at >= 0; at = page.indexOf(mark, from)) {
    parts.push(page.subarray(from, at))
    from = at + 1
  }
  return [...parts, page.subarray(from)]
}
