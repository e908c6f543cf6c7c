/**
 * The recipients of a broadcast as members see them: in pages, and as a table
 * to take away.
 *
 * No index says `status`, as it changes three times a row and would cost every
 * send. So a page of one status is looked for among so many places and no more;
 * whoever finds it short is told where to look on, and a status that nobody
 * has is known from the counters at once.
 */
import { byteOrderMark, writeRow } from '../lib/csv.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { isUuid } from '../lib/id.ts'
import type { Page } from '../lib/page.ts'
import { type Broadcast, requireBroadcast } from './broadcasts.ts'
import type { RecipientStatus } from './counts.ts'

/** Whoever is being sent to is pending, as far as anybody can tell. */
export const shownStatuses = ['pending', 'sent', 'delivered', 'read', 'failed', 'skipped'] as const
export type ShownStatus = (typeof shownStatuses)[number]

export type ListedRecipient = {
  place: number
  phone: string | null
  name: string | null
  contact_id: string | null
  status: ShownStatus
  reason: string | null
  message_id: string | null
  conversation_id: string | null
}

/** So many places are looked at for a page of one status: some 20 ms. */
const mostLooked = 50_000

export async function listRecipients(
  sql: Sql,
  workspaceId: string,
  id: string,
  { status }: { status?: ShownStatus | undefined },
  { limit, after }: { limit: number; after: number },
): Promise<Page<ListedRecipient>> {
  const broadcast = await requireBroadcast(sql, workspaceId, id)
  if (status && countOf(broadcast, status) === 0) return { data: [], meta: { next_cursor: null } }
  const last = status ? after + mostLooked : maxPlace
  const rows = await readRecipients(sql, workspaceId, id, { status, after, last, limit: limit + 1 })
  const data = rows.slice(0, limit)
  if (rows.length > limit) return { data, meta: { next_cursor: encodePlace(data.at(-1)?.place ?? last) } }
  return { data, meta: { next_cursor: last < broadcast.total_count ? encodePlace(last) : null } }
}

/** Exactly so many have this status now. */
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

const maxPlace = 2_147_483_647

const encodePlace = (place: number): string => Buffer.from(String(place)).toString('base64url')

/** The place behind which a page starts; what is no cursor of ours is the beginning. */
export function readPlace(cursor: unknown): number {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : ''
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}

type Looking = { status?: ShownStatus | undefined; after: number; last: number; limit: number }

async function readRecipients(
  sql: Sql,
  workspaceId: string,
  id: string,
  { status, after, last, limit }: Looking,
): Promise<ListedRecipient[]> {
  return sql<ListedRecipient[]>`
    select r.place, r.phone, coalesce(r.name, c.name) as name, c.id as contact_id,
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
      select c.id, c.name
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
      where v.workspace_id = ${workspaceId} and v.contact_id = c.id and v.channel = 'msgapp'
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

/** Rows at a time: what is in memory for somebody who downloads, and how long a statement takes. */
const chunkSize = 2_000

/**
 * Everybody, as RFC 4180 has it, a chunk whenever there is room for one: nothing is held while somebody on a slow line
 * reads, and nothing more is read once nobody does. The mark at the beginning tells spreadsheet programs that it is UTF-8.
 */
export async function* writeRecipients(sql: Sql, workspaceId: string, id: string): AsyncGenerator<string> {
  yield byteOrderMark + writeRow(columns)
  let after = 0
  while (isUuid(id)) {
    const rows = await readRecipients(sql, workspaceId, id, { after, last: maxPlace, limit: chunkSize })
    const end = rows.at(-1)
    if (!end) return
    yield rows.map((row) => writeRow(columns.map((column) => row[column]))).join('')
    after = end.place
  }
}
