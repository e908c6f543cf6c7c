/**
 * The recipients of a broadcast, as members see them: in pages, and as a CSV file.
 *
 * `status` has no index: it changes three times per row, and an index would slow every send. So a page of one status scans
 * at most 50,000 positions. A shorter page has a cursor to continue from. The counters show at once that no recipient has a
 * status.
 */
import { byteOrderMark, writeRow } from '../lib/csv.ts'
import { isUuid } from '../lib/id.ts'
import type { Page } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { type Reader, visibleTo } from '../teams/visibility.ts'
import { requireBroadcast } from './broadcasts.ts'
import type { RecipientStatus } from './counts.ts'
import type { Broadcast } from './resource.ts'

/** The statuses that members see. `sending` shows as `pending`. */
export const shownStatuses = ['pending', 'sent', 'delivered', 'read', 'failed', 'skipped'] as const
export type ShownStatus = (typeof shownStatuses)[number]

export type ListedRecipient = {
  place: number
  phone: string | null
  name: string | null
  /** That of the contact. */
  username: string | null
  contact_id: string | null
  status: ShownStatus
  reason: string | null
  message_id: string | null
  /** Null also if the reader does not see it. */
  conversation_id: string | null
}

/** Positions scanned for a page of one status: about 20 ms. */
const maxScanned = 50_000

export async function listRecipients(
  sql: Sql,
  reader: Reader,
  id: string,
  { status }: { status?: ShownStatus | undefined },
  { limit, after }: { limit: number; after: number },
): Promise<Page<ListedRecipient>> {
  const broadcast = await requireBroadcast(sql, reader.workspaceId, id)
  if (status && countOf(broadcast, status) === 0) return { data: [], meta: { next_cursor: null } }
  const last = status ? after + maxScanned : maxPosition
  const rows = await readRecipients(sql, reader, id, { status, after, last, limit: limit + 1 })
  const data = rows.slice(0, limit)
  if (rows.length > limit) return { data, meta: { next_cursor: encodeCursor(data.at(-1)?.place ?? last) } }
  return { data, meta: { next_cursor: last < broadcast.total_count ? encodeCursor(last) : null } }
}

/** The number of recipients that have exactly this status. */
function countOf(broadcast: Broadcast, status: ShownStatus): number {
  const { pending_count, sent_count, delivered_count, read_count, failed_count, skipped_count } = broadcast
  const counts = {
    pending: pending_count,
    sent: sent_count - delivered_count,
    delivered: delivered_count - read_count,
    read: read_count,
    failed: failed_count,
    skipped: skipped_count,
  }
  return counts[status]
}

const maxPosition = 2_147_483_647

const encodeCursor = (position: number): string => Buffer.from(String(position)).toString('base64url')

/** The position after which a page starts. An invalid cursor is the beginning. */
export function readCursor(cursor: unknown): number {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : ''
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}

type RecipientRange = { status?: ShownStatus | undefined; after: number; last: number; limit: number }

async function readRecipients(
  sql: Sql,
  reader: Reader,
  id: string,
  { status, after, last, limit }: RecipientRange,
): Promise<ListedRecipient[]> {
  const { workspaceId } = reader
  return sql<ListedRecipient[]>`
    select r.place, r.phone, coalesce(r.name, c.name) as name, c.username, c.id as contact_id,
      case when r.status = 'sending' then 'pending' else r.status end as status, r.reason, r.message_id,
      v.id as conversation_id
    from (
      select place, phone, name, contact_id, identity, status, reason, message_id
      from broadcast_recipients
      where workspace_id = ${workspaceId} and broadcast_id = ${id} and place > ${after} and place <= ${last}
        and ${hasStatus(sql, status)}
      order by place
      limit ${limit}
    ) r
    left join lateral (
      select c.id, c.name, c.username
      from contacts c
      where c.workspace_id = ${workspaceId} and c.id = coalesce(r.contact_id, (
        select i.contact_id from contact_identities i
        where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = r.identity
      ))
      limit 1
    ) c on true
    left join lateral (
      select v.id
      from conversations v
      where v.workspace_id = ${workspaceId} and v.contact_id = c.id and v.channel = 'msgapp' and ${visibleTo(sql, reader)}
      limit 1
    ) v on true
    order by r.place`
}

function hasStatus(sql: Sql, status: ShownStatus | undefined): Fragment {
  if (!status) return sql`true`
  const stored: RecipientStatus[] = status === 'pending' ? ['pending', 'sending'] : [status]
  return sql`status = any(${stored}::text[])`
}

const columns = ['place', 'phone', 'name', 'status', 'reason', 'contact_id', 'message_id'] as const

/** Rows per statement: bounds the memory of a download and the duration of a statement. */
const chunkSize = 2_000

/**
 * All recipients as CSV (RFC 4180), a chunk whenever the reader can take one. A slow reader holds no database connection, and
 * reading ends when the reader disconnects. The byte order mark lets spreadsheet programs recognize UTF-8.
 */
export async function* writeRecipients(sql: Sql, workspaceId: string, id: string): AsyncGenerator<string> {
  yield byteOrderMark + writeRow(columns)
  let after = 0
  while (isUuid(id)) {
    const rows = await readRecipients(sql, { workspaceId }, id, { after, last: maxPosition, limit: chunkSize })
    const end = rows.at(-1)
    if (!end) return
    yield rows.map((row) => writeRow(columns.map((column) => row[column]))).join('')
    after = end.place
  }
}
