/**
 * The inbox: conversations as members see them.
 *
 * A customer's message or a member's reply puts a conversation into the inbox and moves it (`inbox_at`); automated messages
 * do not. A conversation with automated messages only is listed with its contact, in a search, and without a status filter,
 * by its creation.
 *
 * A page merges sorted ranges of an index: one range per connection and status, or per status of an agent, or all unread
 * conversations, or all with a waiting customer. So a page costs the same among a hundred conversations and among a million.
 * Conditions that no index covers are checked for at most `maxScanned` conversations: then a page may be short, and its cursor
 * continues after the last one scanned.
 *
 * A search or a tag finds the contacts first and then their conversations; a label finds its conversations first. One that selects
 * very many is checked along the inbox instead. The order and the cursor are the same. A period limits the ranges themselves, if
 * they are sorted by its time.
 *
 * The order `waiting` has two parts: conversations with a waiting customer, longest wait first, then all others, newest first. So has
 * the order `due`: first those with a due time.
 */
import type { Channel } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Page } from '../lib/page.ts'
import { type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'
import { listTeamIds, type Reader, restrictionOf, visibleTo } from '../teams/visibility.ts'
import { agentOf } from './conversations.ts'
import { dueOf } from './filter-fields.ts'
import {
  allOf,
  arrival,
  findSelection,
  type InboxFilters,
  inboxStatusOf,
  type Order,
  planScan,
  type ScanPlan,
} from './inbox-plan.ts'
import { decodePosition, encodePosition, newestCursor, newestPosition, oldestPosition } from './inbox-position.ts'
import { type InboxRow, memberConversation } from './resource.ts'
import { type Window, windowOf } from './window.ts'

type LastMessage = NonNullable<InboxRow['last_message']>

/** What modules to the right provide: the message that each row shows, and the windows of the channels. */
export type InboxContext = {
  lastMessagesOf: (
    sql: Sql,
    workspaceId: string,
    conversations: readonly { id: string; isWaiting: boolean }[],
  ) => Promise<Map<string, LastMessage>>
  channels: Record<ChannelName, Pick<Channel, 'windowMs' | 'lateWindowMs'>>
}

/** Conversations scanned for one page: about 6 ms. */
const maxScanned = 3_000

/** `window_from`: when the customer last wrote, by the channel's clock. */
type InboxEntry = Omit<InboxRow, keyof Window | 'last_message'> & { window_from: string | null }
type ScannedEntry = InboxEntry & { is_match: boolean; is_end: boolean; at_us: string }
type Scan = { rows: InboxEntry[]; next: string | null }

export async function listInbox(
  sql: Sql,
  reader: Reader,
  context: InboxContext,
  filters: InboxFilters,
  { limit, cursor }: { limit: number; cursor: unknown },
): Promise<Page<InboxRow>> {
  const { workspaceId } = reader
  const selection = await findSelection(sql, workspaceId, filters)
  if (!selection) return { data: [], meta: { next_cursor: null } }
  const planner = await toPlanner(sql, reader)
  const scan = (order: Order, from: string, count: number) =>
    scanPage(sql, workspaceId, planScan(sql, planner, filters, selection, order), order, from, count)
  const start = typeof cursor === 'string' ? cursor : ''
  const { sort = 'newest' } = filters
  const { rows, next } =
    sort === 'waiting' || sort === 'due'
      ? await scanInParts(scan, sort, filters, start, limit)
      : await scan(sort, start, limit)
  return { data: await toInboxRows(sql, workspaceId, context, rows), meta: { next_cursor: next } }
}

/** A reader with the teams that the ranges of a restricted member are of. */
const toPlanner = async (sql: Sql, reader: Reader) => {
  const restricted = restrictionOf(reader)
  return { ...reader, teamIds: restricted ? await listTeamIds(sql, reader.workspaceId, restricted.member.id) : [] }
}

/** The cursor of the first part starts with this letter. */
const waitingMark = 'w'

async function scanInParts(
  scan: (order: Order, from: string, count: number) => Promise<Scan>,
  sort: 'waiting' | 'due',
  { waiting_minutes, has_no_reply, is_overdue }: InboxFilters,
  cursor: string,
  limit: number,
): Promise<Scan> {
  const isSecondPart = cursor !== '' && !cursor.startsWith(waitingMark)
  if (isSecondPart) return scan(`not_${sort}`, cursor, limit)
  const first = await scan(sort, cursor.slice(waitingMark.length), limit)
  if (first.next) return { ...first, next: `${waitingMark}${first.next}` }
  if (is_overdue || (sort === 'waiting' && (waiting_minutes || has_no_reply))) return first
  if (first.rows.length === limit) return { ...first, next: newestCursor }
  const second = await scan(`not_${sort}`, '', limit - first.rows.length)
  return { rows: [...first.rows, ...second.rows], next: second.next }
}

async function scanPage(
  sql: Sql,
  workspaceId: string,
  plan: ScanPlan,
  order: Order,
  cursor: string,
  limit: number,
): Promise<Scan> {
  const { isDescending, direction } = directionOf(sql, order)
  const after = decodePosition(cursor) ?? (isDescending ? newestPosition : oldestPosition)
  const conditions = plan.isOverlapping ? [...plan.conditions, sql`w.is_first`] : plan.conditions
  // A row is in at most two ranges.
  const scanned = plan.conditions.length > 0 ? maxScanned : (plan.isOverlapping ? 2 : 1) * (limit + 1)
  const isMatch = allOf(sql, conditions)
  const merged = mergeRanges(sql, workspaceId, plan, order, after, scanned)
  const rows = await sql<ScannedEntry[]>`
    select ${entryColumns(sql)}, p.is_match, p.is_end, (extract(epoch from p.at) * 1000000)::bigint::text as at_us
    from (
      select w.id, w.at, ${isMatch} as is_match, w.position = ${scanned} as is_end
      from (
        select s.id, s.contact_id, s.channel, s.connection_id, s.status, s.inbox_status, s.unread_count, s.waiting_since, s.agent,
          s.assigned_agent_id, s.team_id, s.is_bot, s.due_at, s.at,${isFirst(sql, plan)} ${hasArrival(order) ? sql`s.arrived_at,` : sql``}
          row_number() over (order by s.at ${direction}, s.id ${direction}) as position
        from (${merged}) s
        order by s.at ${direction}, s.id ${direction}
        limit ${scanned}
      ) w
      -- The cursor continues after the last conversation scanned.
      where ${isMatch} or w.position = ${scanned}
      order by w.at ${direction}, w.id ${direction}
      limit ${limit + 1}
    ) p
    join conversations v on v.workspace_id = ${workspaceId} and v.id = p.id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    left join members a on a.workspace_id = v.workspace_id and a.id = v.assigned_agent_id
    order by p.at ${direction}, p.id ${direction}`
  const found = rows.filter(({ is_match }) => is_match)
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : rows.find(({ is_end }) => is_end)
  return { rows: shown.map(toEntry), next: last ? encodePosition(last.at_us, last.id) : null }
}

/** The conversations of these ranges after a position, at most `limit` of each, in the columns that conditions read. */
function mergeRanges(
  sql: Sql,
  workspaceId: string,
  { ranges, ofConnections }: ScanPlan,
  order: Order,
  after: { at: string; id: string },
  limit: number,
): Fragment {
  const { isAfter, direction } = directionOf(sql, order)
  const at = order === 'waiting' ? sql`v.waiting_since` : order === 'due' ? sql`v.due_at` : arrival(sql)
  const ofConnection = ofConnections ? sql`v.connection_id = k.id` : sql`true`
  return ranges
    .map(
      (range) => sql`(
        select v.id, v.contact_id, v.channel, v.connection_id, v.status, ${inboxStatusOf(sql)} as inbox_status, v.unread_count, v.waiting_since,
          v.assigned_agent_id, v.team_id, v.bot_run_id is not null as is_bot, ${agentOf(sql)} as agent, ${dueOf(sql)} as due_at,
          ${hasArrival(order) ? sql`${arrival(sql)} as arrived_at,` : sql``} ${at} as at
        from conversations v
        where v.workspace_id = ${workspaceId} and ${ofConnection} and ${range}
          and (${at}, v.id) ${isAfter} (${after.at}::timestamptz, ${after.id}::uuid)
        order by ${at} ${direction}, v.id ${direction}
        limit ${limit}
      )`,
    )
    .map((range) =>
      ofConnections
        ? sql`(
            select r.* from channel_connections k cross join lateral ${range} r
            where k.workspace_id = ${workspaceId} and ${ofConnections}
          )`
        : range,
    )
    .reduce((one, other) => sql`${one} union all ${other}`)
}

/** Of the copies of a row that is in two ranges, the first one counts. */
const isFirst = (sql: Sql, { isOverlapping }: ScanPlan): Fragment =>
  isOverlapping ? sql` row_number() over (partition by s.id) = 1 as is_first,` : sql``

/** The list is sorted by another time, so the period is checked on each row. */
const hasArrival = (order: Order): boolean => order === 'waiting' || order === 'due'

function directionOf(sql: Sql, order: Order) {
  const isDescending = order === 'newest' || order === 'not_waiting' || order === 'not_due'
  const [isAfter, direction] = isDescending ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`]
  return { isDescending, isAfter, direction }
}

/** Conversations among which matches are counted, the newest ones: about 2 ms. */
const maxScannedForCount = 500

/** How many of the newest conversations match. `has_more`: not all conversations were scanned, so there may be more. */
export async function countMatches(
  sql: Sql,
  reader: Reader,
  filters: InboxFilters,
): Promise<{ count: number; has_more: boolean }> {
  const { workspaceId } = reader
  const selection = await findSelection(sql, workspaceId, filters)
  if (!selection) return { count: 0, has_more: false }
  const plan = planScan(sql, await toPlanner(sql, reader), filters, selection, 'newest')
  const conditions = plan.isOverlapping ? [...plan.conditions, sql`w.is_first`] : plan.conditions
  const merged = mergeRanges(sql, workspaceId, plan, 'newest', newestPosition, maxScannedForCount)
  const [row] = await sql<{ count: number; has_more: boolean }[]>`
    select (count(*) filter (where ${allOf(sql, conditions)}))::int as count, count(*) = ${maxScannedForCount} as has_more
    from (
      select s.id, s.contact_id, s.channel, s.connection_id, s.status, s.inbox_status, s.unread_count, s.waiting_since, s.agent,
        s.assigned_agent_id, s.team_id,${isFirst(sql, plan)} s.is_bot, s.due_at
      from (${merged}) s
      order by s.at desc, s.id desc
      limit ${maxScannedForCount}
    ) w`
  return requireRow(row, 'the count of a view')
}

export async function requireInboxRow(
  sql: Sql,
  workspaceId: string,
  context: InboxContext,
  id: string,
): Promise<InboxRow> {
  const [row] = isUuid(id) ? await listInboxRows(sql, workspaceId, context, [id]) : []
  if (!row) throw notFound('conversation')
  return row
}

/** The conversations with these ids that exist and that the reader sees, in any order. */
export async function listInboxRows(
  sql: Sql,
  workspaceId: string,
  context: InboxContext,
  ids: readonly string[],
  reader: Reader = { workspaceId },
): Promise<InboxRow[]> {
  const rows = await sql<InboxEntry[]>`
    select ${entryColumns(sql)}
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    left join members a on a.workspace_id = v.workspace_id and a.id = v.assigned_agent_id
    where v.workspace_id = ${workspaceId} and v.id = any(${[...ids]}::uuid[]) and ${visibleTo(sql, reader)}`
  return toInboxRows(sql, workspaceId, context, rows)
}

const entryColumns = (sql: Sql): Fragment => sql`${memberConversation.columns(sql)}, v.last_inbound_at as window_from`

function toEntry({ is_match, is_end, at_us, ...row }: ScannedEntry): InboxEntry {
  return row
}

async function toInboxRows(
  sql: Sql,
  workspaceId: string,
  { lastMessagesOf, channels }: InboxContext,
  rows: readonly InboxEntry[],
): Promise<InboxRow[]> {
  if (rows.length === 0) return []
  // Who is with the bot waits for no member.
  const isWaiting = (row: InboxEntry): boolean => row.waiting_since !== null && row.handled_by === 'team'
  const shown = rows.map((row) => ({ id: row.id, isWaiting: isWaiting(row) }))
  const last = await lastMessagesOf(sql, workspaceId, shown)
  return rows.map(({ window_from, ...row }) => ({
    ...row,
    ...windowOf(channels[row.channel], window_from),
    last_message: last.get(row.id) ?? null,
  }))
}
