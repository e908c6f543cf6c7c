/**
 * Contacts sorted by name or company, for members. Contacts without one come last, newest first. Each part reads an index; the cursor is
 * the sorted text and the id of the last contact.
 */
import { isUuid } from '../lib/id.ts'
import { type Page, top } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type ContactFilters, matchesFilters } from './contacts.ts'
import { type Contact, memberContact } from './resource.ts'

/** The order of creation when absent. */
export const contactSorts = ['name', 'name_desc', 'company', 'company_desc'] as const
type ContactSort = (typeof contactSorts)[number]

/** `key` is null in the part of the contacts without one. */
type SortPosition = { key: string | null; id: string }

export async function listSortedContacts(
  sql: Sql,
  workspaceId: string,
  filters: ContactFilters,
  sort: ContactSort,
  { limit, cursor }: { limit: number; cursor: unknown },
): Promise<Page<Contact>> {
  const column = sql(sort.startsWith('name') ? 'name_key' : 'company_key')
  // Exactly the expression of the index.
  const key = sql`left(c.${column}, 100)`
  const [isAfter, direction] = sort.endsWith('_desc') ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`]
  const isMatch = matchesFilters(sql, workspaceId, filters)
  const read = async (range: ReturnType<Sql>, count: number) => {
    const rows = await sql`
      select ${memberContact.rowColumns(sql)}, ${key} as sort_key
      from contacts c
      where c.workspace_id = ${workspaceId} and ${isMatch} and ${range}
      limit ${count}`
    return memberContact.fillLists<Contact & { sort_key: string | null }>(sql, workspaceId, rows)
  }
  const after = readCursor(cursor)
  const isAfterKey =
    after && after.key !== null ? sql`(${key}, c.id) ${isAfter} (${after.key}, ${after.id}::uuid)` : sql`true`
  const named =
    after?.key === null
      ? []
      : await read(
          sql`c.${column} is not null and ${isAfterKey} order by ${key} ${direction}, c.id ${direction}`,
          limit + 1,
        )
  const before = after?.key === null ? after.id : top
  const others =
    named.length > limit
      ? []
      : await read(sql`c.${column} is null and c.id < ${before} order by c.id desc`, limit + 1 - named.length)
  const found = [...named, ...others]
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : undefined
  return {
    data: shown.map(({ sort_key, ...contact }) => contact),
    meta: { next_cursor: last ? writeCursor({ key: last.sort_key, id: last.id }) : null },
  }
}

const writeCursor = ({ key, id }: SortPosition): string => Buffer.from(JSON.stringify([key, id])).toString('base64url')

/** A malformed cursor means the first page. */
function readCursor(cursor: unknown): SortPosition | undefined {
  if (typeof cursor !== 'string' || cursor === '') return undefined
  try {
    const [key, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const isKey = key === null || (typeof key === 'string' && key.isWellFormed() && !key.includes('\0'))
    return isKey && typeof id === 'string' && isUuid(id) ? { key: key as string | null, id } : undefined
  } catch {
    return undefined
  }
}
