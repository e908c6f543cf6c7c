/**
 * Lists of conversations by a time that every message changes: by last activity, and by change for synchronisation.
 *
 * A B-tree index on these times would cost each automated message about 500 bytes of write-ahead log more, because its update
 * would change an indexed column. A BRIN index is cheaper, and it finds the rows of a short span of time. So a page of a large
 * workspace is read in spans that grow until the page is full. In a prototype with a million conversations, 20 of which changed
 * per minute, the rows of one hour took 37 to 51 ms, and those of a page in the middle of the history up to 0.4 s.
 */
import { nowMs } from '../lib/clock.ts'
import type { Page } from '../lib/page.ts'
import { type ChangePosition, changedUs, isChangedAfter, listChanges } from '../lib/postgres/changes.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { type ConversationFilters, readRows, selectConversations } from './conversations.ts'
import { decodePosition, encodePosition, newestPosition } from './inbox-position.ts'
import { type Conversation, publicConversation } from './resource.ts'

/** A workspace with at most this many conversations is read at once. */
const fewConversations = 5_000
/** From ten minutes to four months; then everything. */
const spansMs = [1, 12, 144, 1_728, 20_736].map((n) => n * 600_000)

/** By the last message, newest first. */
export async function listByActivity(
  sql: Sql,
  workspaceId: string,
  filters: ConversationFilters,
  { limit, cursor }: { limit: number; cursor: unknown },
): Promise<Page<Conversation>> {
  const selected = await selectConversations(sql, workspaceId, filters)
  if (!selected) return { data: [], meta: { next_cursor: null } }
  const before = (typeof cursor === 'string' && decodePosition(cursor)) || newestPosition
  const at = sql`coalesce(v.last_message_at, v.created_at)`
  const startMs = before === newestPosition ? nowMs() : Date.parse(before.at)
  const rows = await readInSpans(sql, workspaceId, filters, limit, (spanMs) =>
    readRows(
      sql,
      workspaceId,
      sql`(${at}, v.id) < (${before.at}::timestamptz, ${before.id}::uuid) and ${selected.condition}
        and ${spanMs === undefined ? sql`true` : sql`${at} >= ${new Date(startMs - spanMs).toISOString()}::timestamptz`}
        order by ${at} desc, v.id desc
        limit ${limit + 1}`,
      sql`, (extract(epoch from ${at}) * 1000000)::bigint::text as at_us`,
    ),
  )
  const last = rows.length > limit ? rows[limit - 1] : undefined
  const nextCursor = last ? encodePosition(String(last.at(-1)), String(last[0])) : null
  return publicConversation.writeRows(sql, workspaceId, rows.slice(0, limit), nextCursor)
}

/** Conversations that changed after a position, oldest change first. None is skipped (`lib/postgres/changes.ts`). */
export async function listChangedConversations(
  sql: Sql,
  workspaceId: string,
  filters: ConversationFilters,
  position: ChangePosition,
): Promise<Page<Conversation>> {
  const selected = await selectConversations(sql, workspaceId, filters)
  if (!selected) return { data: [], meta: { next_cursor: null } }
  const isAfter = isChangedAfter(sql, sql`v.updated_at`, sql`v.id`, position)
  const { data, meta } = await listChanges(sql, position, async () => {
    const found = await readInSpans(sql, workspaceId, filters, position.limit, (spanMs) => {
      const untilMs = spanMs === undefined ? Number.POSITIVE_INFINITY : position.after.us / 1_000 + spanMs
      return readRows(
        sql,
        workspaceId,
        sql`${isAfter} and ${selected.condition} and ${isUntil(sql, untilMs)}
          order by v.updated_at, v.id
          limit ${position.limit + 1}`,
        sql`, ${changedUs(sql, sql`v.updated_at`)}`,
      )
    })
    return found.map((values) => ({ id: String(values[0]), changed_us: Number(values.at(-1)), values }))
  })
  const rows = data.map(({ values }) => values)
  return publicConversation.writeRows(sql, workspaceId, rows, meta.next_cursor)
}

/** No condition once the span reaches the present. */
const isUntil = (sql: Sql, untilMs: number): Fragment =>
  untilMs > nowMs() ? sql`true` : sql`v.updated_at <= ${new Date(untilMs).toISOString()}::timestamptz`

/** Reads a page and one more row: at once, or in growing spans until it is full. */
async function readInSpans(
  sql: Sql,
  workspaceId: string,
  { contact_id }: ConversationFilters,
  limit: number,
  read: (spanMs: number | undefined) => Promise<unknown[][]>,
): Promise<unknown[][]> {
  const few = contact_id !== undefined || (await isFew(sql, workspaceId))
  for (const spanMs of few ? [] : spansMs) {
    const found = await read(spanMs)
    if (found.length > limit) return found
  }
  return read(undefined)
}

async function isFew(sql: Sql, workspaceId: string): Promise<boolean> {
  const [another] = await sql`
    select from conversations where workspace_id = ${workspaceId} offset ${fewConversations} limit 1`
  return another === undefined
}
