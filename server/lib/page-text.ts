/**
 * Pages of the API as JSON bytes, written from the values of a statement.
 *
 * A page has 50 rows with 20 values each. Objects for the rows and a serializer for the response took most of the 1.1 ms of Node per
 * page. Here the values become bytes at once, so they do not stay alive while the items of lists are read.
 *
 * `lib/resource.ts` makes the layout of a row from a schema. The first column is the id. A list of ids is filled in when the items of
 * all lists of the page have been read.
 */
import type { PendingQuery, Row } from 'postgres'
import { resolveLists, splitNames } from './id-lists.ts'
import { encodeCursor, type Page } from './page.ts'
import { takeRows } from './postgres/db.ts'

/**
 * How a value is written: as it is, in quotes, as escaped text, as JSON, as a list of the names in a text, or as a list of the items
 * with the ids in a text.
 */
export type Form = 'bare' | 'quoted' | 'text' | 'json' | 'names' | 'ids'

/** A field of the row. `contact.name` is the field `name` of the object `contact`. */
type PageColumn = { name: string; form: Form }

/** By the name of the column: returns the items with these ids, in the order to show. */
export type ListReaders = ReadonlyMap<string, (ids: string[]) => Promise<readonly { id: string }[]>>

export async function readValues(query: PendingQuery<Row[]>): Promise<unknown[][]> {
  return takeRows<unknown[]>(await query.values())
}

/** A page of the rows of a statement with `limit + 1`, sorted by id. */
export function writePage<Item>(
  found: unknown[][],
  limit: number,
  layout: Layout,
  lists: ListReaders,
): Promise<Page<Item>> {
  const rows = found.slice(0, limit)
  const last = found.length > limit ? rows.at(-1) : undefined
  return writeRows<Item>(rows, last ? encodeCursor(String(last[0])) : null, layout, lists)
}

/**
 * The bytes of a page. They have the type of what they contain, so that a handler can return them. Only for routes with `isShared`,
 * which send bytes as they are.
 */
export function writeRows<Item>(
  rows: unknown[][],
  nextCursor: string | null,
  layout: Layout,
  lists: ListReaders,
): Promise<Page<Item>> {
  // Not `async`: a suspended function would keep the values alive while the names are read.
  return fillSlots(toBytes(rows, layout, nextCursor), lists) as Promise<unknown> as Promise<Page<Item>>
}

function toBytes(rows: unknown[][], { steps, end }: Layout, nextCursor: string | null): Buffer {
  const texts = rows.map((row) => {
    let text = ''
    let index = 0
    for (const { prefix, write } of steps) {
      const value = row[index++]
      text += prefix
      text += value === null ? 'null' : write(value)
    }
    return text + end
  })
  return Buffer.from(`{"data":[${texts.join(',')}],"meta":{"next_cursor":${JSON.stringify(nextCursor)}}}`)
}

type Step = { prefix: string; write: (value: unknown) => string }
type Layout = { steps: Step[]; end: string }

export function layoutOf(columns: readonly PageColumn[]): Layout {
  let open = ''
  const steps = columns.map(({ name, form }, index) => {
    const [object, field] = name.includes('.') ? (name.split('.') as [string, string]) : ['', name]
    const isOther = object !== open
    const start = index === 0 ? '{' : isOther && open !== '' ? '},' : ','
    const opening = isOther && object !== '' ? `${JSON.stringify(object)}:{` : ''
    open = object
    return { prefix: `${start}${opening}${JSON.stringify(field)}:`, write: writerOf(name, form) }
  })
  return { steps, end: open === '' ? '}' : '}}' }
}

function writerOf(name: string, form: Form): Step['write'] {
  if (form === 'bare') return String
  if (form === 'quoted') return (text) => `"${text}"`
  if (form === 'json') return (value) => JSON.stringify(value)
  if (form === 'names') return (names) => writeNames(names as string)
  if (form === 'ids') return (ids) => (ids === '' ? '[]' : `${slotMark}${name} ${ids}${slotMark}`)
  return (text) => quote(text as string)
}

/** Characters that JSON escapes. */
const escaped = /["\\\p{Cc}]/u
const quote = (text: string): string => (escaped.test(text) ? JSON.stringify(text) : `"${text}"`)

/** Names separated by spaces, each once. */
const writeNames = (names: string): string =>
  names.includes(' ') || names === '' ? JSON.stringify(splitNames(names)) : `["${names}"]`

/** Encloses the ids of a list in the bytes of a page. JSON never contains it: in a text it is escaped. */
const slotMark = '\u0001'

async function fillSlots(page: Buffer, lists: ListReaders): Promise<Buffer> {
  if (!page.includes(slotMark)) return page
  // Alternates between JSON and the content of a slot.
  const parts = splitSlots(page)
  const slots = parts.filter((_, i) => i % 2 === 1).map((part) => part.toString('latin1'))
  const idsOf = (slot: string) => slot.slice(slot.indexOf(' ') + 1)
  const readers = [...lists].map(async ([name, read]) => {
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
