/**
 * The inbox: conversations as members see them.
 *
 * A customer's message or a member's reply puts a conversation into the inbox and moves it (`inbox_at`); automated messages
 * do not. A conversation with automated messages only is listed with its contact, in a search, and without a status filter,
 * by its creation.
 *
 * A page merges sorted ranges of an index: one range per channel and status, or per status of an agent, or all unread
 * conversations, or all with a waiting customer. So a page costs the same among a hundred conversations and among a million.
 * Conditions that no index covers are checked for at most `maxScanned` conversations: then a page may be short, and its cursor
 * continues after the last one scanned.
 *
 * A search or a tag finds the contacts first and then their conversations; a label finds its conversations first. One that selects
 * very many is checked along the inbox instead. The order and the cursor are the same. A time limits the ranges themselves.
 *
 * The order `waiting` has two parts: conversations with a waiting customer, longest wait first, then all others, newest first.
 */
import type { Channel } from '../channels/channel.ts'
import { matches } from '../contacts/contacts.ts'
import { type ChannelName, channels as channelNames } from '../contacts/resource.ts'
import { findTagged } from '../contacts/tags.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Page } from '../lib/page.ts'
import { type Fragment, plannedPerCall, requireRow, type Sql } from '../lib/postgres/db.ts'
import { agentOf, type ConversationStatus, unassigned } from './conversations.ts'
import { statuses } from './filter-fields.ts'
import { decodePosition, encodePosition, newestCursor, newestPosition, oldestPosition } from './inbox-position.ts'
import { findLabeled } from './labels.ts'
import { type InboxRow, memberConversation } from './resource.ts'
import { type Window, windowOf } from './window.ts'

type LastMessage = NonNullable<InboxRow['last_message']>

/** What modules to the right provide: the newest message of each conversation, and the windows of the channels. */
export type InboxContext = {
  lastMessagesOf: (sql: Sql, workspaceId: string, ids: readonly string[]) => Promise<Map<string, LastMessage>>
  channels: Record<ChannelName, Pick<Channel, 'windowMs' | 'lateWindowMs'>>
}

export const inboxSorts = ['newest', 'oldest', 'waiting'] as const

export type InboxFilters = {
  /** Absent: `newest`. */
  sort?: (typeof inboxSorts)[number] | undefined
  status?: ConversationStatus | undefined
  /** Of several values of a filter, one must match. */
  channels?: readonly ChannelName[] | undefined
  contact_id?: string | undefined
  /** Ids of members, or `nobody`. */
  agents?: readonly string[] | undefined
  /** Ids or names of labels. */
  labels?: readonly string[] | undefined
  /** Ids or names of tags of the contact. */
  tags?: readonly string[] | undefined
  /** The customer has waited for this long. */
  waiting_minutes?: number | undefined
  /** The customer waits for a reply. */
  has_no_reply?: boolean
  /** The last message of the customer or reply of a member is in this period. */
  active_after?: string | undefined
  active_before?: string | undefined
  unread?: boolean
  /** A part of a name, number, e-mail address or company. */
  search?: string | undefined
}

/** Conversations scanned for one page: about 6 ms. */
const maxScanned = 3_000
/** A search that matches more contacts is checked along the inbox. */
const maxContacts = 500

/** `window_from`: when the customer last wrote, by the channel's clock. */
type InboxEntry = Omit<InboxRow, keyof Window | 'last_message'> & { window_from: string | null }
type ScannedEntry = InboxEntry & { is_match: boolean; is_end: boolean; at_us: string }
type Scan = { rows: InboxEntry[]; next: string | null }

export async function listInbox(
  sql: Sql,
  workspaceId: string,
  context: InboxContext,
  filters: InboxFilters,
  { limit, cursor }: { limit: number; cursor: unknown },
): Promise<Page<InboxRow>> {
  const selection = await findSelection(sql, workspaceId, filters)
  if (!selection) return { data: [], meta: { next_cursor: null } }
  const scan = (order: Order, from: string, count: number) =>
    scanPage(sql, workspaceId, planScan(sql, workspaceId, filters, selection, order), order, from, count)
  const start = typeof cursor === 'string' ? cursor : ''
  const { sort = 'newest' } = filters
  const { rows, next } =
    sort === 'waiting' ? await scanByWait(scan, filters, start, limit) : await scan(sort, start, limit)
  return { data: await toInboxRows(sql, workspaceId, context, rows), meta: { next_cursor: next } }
}

/** The cursor of the first part starts with this letter. */
const waitingMark = 'w'

async function scanByWait(
  scan: (order: Order, from: string, count: number) => Promise<Scan>,
  { waiting_minutes, has_no_reply }: InboxFilters,
  cursor: string,
  limit: number,
): Promise<Scan> {
  const isSecondPart = cursor !== '' && !cursor.startsWith(waitingMark)
  if (isSecondPart) return scan('not_waiting', cursor, limit)
  const first = await scan('waiting', cursor.slice(waitingMark.length), limit)
  if (first.next) return { ...first, next: `${waitingMark}${first.next}` }
  if (waiting_minutes || has_no_reply) return first
  if (first.rows.length === limit) return { ...first, next: newestCursor }
  const second = await scan('not_waiting', '', limit - first.rows.length)
  return { rows: [...first.rows, ...second.rows], next: second.next }
}

/** The orders of `listInbox`. The order `waiting` consists of `waiting` and `not_waiting`. */
type Order = 'newest' | 'oldest' | 'waiting' | 'not_waiting'

async function scanPage(
  sql: Sql,
  workspaceId: string,
  { ranges, conditions }: ScanPlan,
  order: Order,
  cursor: string,
  limit: number,
): Promise<Scan> {
  const { isDescending, direction } = directionOf(sql, order)
  const after = decodePosition(cursor) ?? (isDescending ? newestPosition : oldestPosition)
  const scanned = conditions.length > 0 ? maxScanned : limit + 1
  const isMatch = allOf(sql, conditions)
  const merged = mergeRanges(sql, workspaceId, ranges, order, after, scanned)
  const rows = await sql<ScannedEntry[]>`
    select ${entryColumns(sql)}, p.is_match, p.is_end, (extract(epoch from p.at) * 1000000)::bigint::text as at_us
    from (
      select w.id, w.at, ${isMatch} as is_match, w.position = ${scanned} as is_end
      from (
        select s.id, s.contact_id, s.channel, s.status, s.inbox_status, s.unread_count, s.waiting_since, s.agent, s.at,
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
  ranges: readonly Fragment[],
  order: Order,
  after: { at: string; id: string },
  limit: number,
): Fragment {
  const { isAfter, direction } = directionOf(sql, order)
  const at = order === 'waiting' ? sql`v.waiting_since` : arrival(sql)
  return ranges
    .map(
      (range) => sql`(
        select v.id, v.contact_id, v.channel, v.status, ${inboxStatusOf(sql)} as inbox_status, v.unread_count, v.waiting_since,
          ${agentOf(sql)} as agent, ${at} as at
        from conversations v
        where v.workspace_id = ${workspaceId} and ${range}
          and (${at}, v.id) ${isAfter} (${after.at}::timestamptz, ${after.id}::uuid)
        order by ${at} ${direction}, v.id ${direction}
        limit ${limit}
      )`,
    )
    .reduce((one, other) => sql`${one} union all ${other}`)
}

function directionOf(sql: Sql, order: Order) {
  const isDescending = order === 'newest' || order === 'not_waiting'
  const [isAfter, direction] = isDescending ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`]
  return { isDescending, isAfter, direction }
}

const allOf = (sql: Sql, conditions: readonly Fragment[]): Fragment =>
  conditions.length === 0
    ? sql`true`
    : plannedPerCall(
        sql,
        conditions.reduce((one, other) => sql`${one} and ${other}`),
      )

/** A view counts up to this many conversations, among so many newest ones of each range: about 2 ms. */
export const maxCountedInView = 100
const maxScannedForCount = 500

/** How many of the newest conversations match, at most `maxCountedInView`. */
export async function countMatches(sql: Sql, workspaceId: string, filters: InboxFilters): Promise<number> {
  const selection = await findSelection(sql, workspaceId, filters)
  if (!selection) return 0
  const { ranges, conditions } = planScan(sql, workspaceId, filters, selection, 'newest')
  const limit = conditions.length > 0 ? maxScannedForCount : maxCountedInView
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from (
      select from (${mergeRanges(sql, workspaceId, ranges, 'newest', newestPosition, limit)}) w
      where ${allOf(sql, conditions)}
      limit ${maxCountedInView}
    ) counted`
  return requireRow(row, 'the count of a view').count
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

/** The conversations with these ids that exist, in any order. */
export async function listInboxRows(
  sql: Sql,
  workspaceId: string,
  context: InboxContext,
  ids: readonly string[],
): Promise<InboxRow[]> {
  const rows = await sql<InboxEntry[]>`
    select ${entryColumns(sql)}
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    left join members a on a.workspace_id = v.workspace_id and a.id = v.assigned_agent_id
    where v.workspace_id = ${workspaceId} and v.id = any(${[...ids]}::uuid[])`
  return toInboxRows(sql, workspaceId, context, rows)
}

/** Rows that a filter selects before the scan. `undefined`: the scan checks the condition of each row. */
type Selection = {
  contactIds: string[] | undefined
  tagIds: string[] | undefined
  labelIds: string[] | undefined
  labeledIds: string[] | undefined
}

/** Undefined when no conversation can match. */
async function findSelection(sql: Sql, workspaceId: string, filters: InboxFilters): Promise<Selection | undefined> {
  const found = await findContacts(sql, workspaceId, filters)
  if (found?.length === 0) return undefined
  const tagged = filters.tags && (await findTagged(sql, workspaceId, filters.tags, maxContacts))
  if (filters.tags && !tagged) return undefined
  const contactIds = found && tagged?.ids ? found.filter((id) => tagged.ids?.includes(id)) : (found ?? tagged?.ids)
  if (contactIds?.length === 0) return undefined
  const contacts = { contactIds, tagIds: tagged?.tagIds }
  if (filters.labels === undefined) return { ...contacts, labelIds: undefined, labeledIds: undefined }
  const labeled = await findLabeled(sql, workspaceId, filters.labels)
  return labeled && { ...contacts, labelIds: labeled.tagIds, labeledIds: labeled.ids }
}

/** The contacts that the filter selects; undefined when it selects none in particular, or too many match the search. */
async function findContacts(
  sql: Sql,
  workspaceId: string,
  { contact_id, search }: InboxFilters,
): Promise<string[] | undefined> {
  if (!search) return contact_id === undefined ? undefined : [contact_id]
  const isContact = contact_id === undefined ? sql`true` : sql`c.id = ${contact_id}`
  const found = await sql<{ id: string }[]>`
    select c.id from contacts c
    where c.workspace_id = ${workspaceId} and ${isContact} and ${matches(sql, search)}
    order by c.id desc
    limit ${maxContacts + 1}`
  return found.length > maxContacts ? undefined : found.map(({ id }) => id)
}

/** The index ranges to scan, as conditions on `v`, and the conditions to check on each scanned row `w`. */
type ScanPlan = { ranges: Fragment[]; conditions: Fragment[] }

function planScan(sql: Sql, workspaceId: string, filters: InboxFilters, selection: Selection, order: Order): ScanPlan {
  const { ranges, conditions } = planRanges(sql, workspaceId, filters, selection, order)
  const { active_after: after, active_before: before } = filters
  // On the expression that most ranges are sorted by.
  const isAfter = after ? sql` and ${arrival(sql)} >= ${after}::timestamptz` : sql``
  const isBefore = before ? sql` and ${arrival(sql)} < ${before}::timestamptz` : sql``
  return { ranges: after || before ? ranges.map((range) => sql`${range}${isAfter}${isBefore}`) : ranges, conditions }
}

function planRanges(
  sql: Sql,
  workspaceId: string,
  filters: InboxFilters,
  { contactIds, tagIds, labelIds, labeledIds }: Selection,
  order: Order,
): ScanPlan {
  const { status, channels, contact_id, agents, waiting_minutes, has_no_reply, unread, search } = filters
  const agentIds = agents?.map((agent) => (agent === 'nobody' ? unassigned : agent))
  // A person's conversations are listed whatever their messages are.
  const isOfPerson = !!search || contact_id !== undefined
  const has = {
    inboxStatus: status && (isOfPerson ? sql`w.status = ${status}` : sql`w.inbox_status = ${status}`),
    channel: channels && sql`w.channel = any(${[...channels]}::text[])`,
    agent: agentIds && sql`w.agent = any(${agentIds}::uuid[])`,
    unread: unread && sql`w.unread_count > 0`,
    label:
      labelIds &&
      !labeledIds &&
      sql`exists (
        select from conversation_labels cl
        where cl.workspace_id = ${workspaceId} and cl.label_id = any(${labelIds}::uuid[]) and cl.conversation_id = w.id
      )`,
    // Scalar, as the search below. Checked also for a contact that the search selected.
    tag:
      tagIds &&
      sql`(
        select count(*) > 0 from contact_tags ct
        where ct.workspace_id = ${workspaceId} and ct.contact_id = w.contact_id and ct.tag_id = any(${tagIds}::uuid[])
      )`,
    reply: has_no_reply && sql`w.status <> 'closed' and w.waiting_since is not null`,
    wait:
      waiting_minutes &&
      sql`w.status <> 'closed' and w.waiting_since <= now() - make_interval(mins => ${waiting_minutes})`,
    // A scalar subquery, because the planner turns `exists` into a join that reads all contacts.
    search:
      search &&
      !contactIds &&
      sql`(
        select ${matches(sql, search)} from contacts c where c.workspace_id = ${workspaceId} and c.id = w.contact_id
      )`,
    rest: order === 'not_waiting' && sql`(w.status = 'closed' or w.waiting_since is null)`,
  }
  const conditionsBut = (...covered: (keyof typeof has)[]) =>
    Object.entries(has).flatMap(([name, one]) => (one && !covered.includes(name as keyof typeof has) ? [one] : []))
  if (contactIds || labeledIds) {
    const ofContacts = contactIds ? sql`v.contact_id = any(${contactIds}::uuid[])` : sql`true`
    const labeled = labeledIds ? sql`v.id = any(${labeledIds}::uuid[])` : sql`true`
    const range = sql`${ofContacts} and ${labeled} and ${order === 'waiting' ? isWaiting(sql) : sql`true`}`
    return { ranges: [range], conditions: conditionsBut() }
  }
  if (order === 'waiting') return { ranges: [isWaiting(sql)], conditions: conditionsBut() }
  // Where members read their messages, few conversations are unread.
  if (unread) return { ranges: [sql`v.unread_count > 0`], conditions: conditionsBut('unread') }
  const scannedStatuses = status ? (isOfPerson ? [status, 'automated'] : [status]) : [...statuses, 'automated']
  const isCovered = isOfPerson ? [] : (['inboxStatus'] as const)
  if (agentIds) {
    const ranges = agentIds.flatMap((id) =>
      scannedStatuses.map((one) => sql`${agentOf(sql)} = ${id}::uuid and ${inboxStatusOf(sql)} = ${one}`),
    )
    return { ranges, conditions: conditionsBut('agent', ...isCovered) }
  }
  const ranges = (channels ?? channelNames).flatMap((name) =>
    scannedStatuses.map((one) => sql`v.channel = ${name} and ${inboxStatusOf(sql)} = ${one}`),
  )
  return { ranges, conditions: conditionsBut('channel', ...isCovered) }
}

/** Exactly the expressions of the indexes. */
const arrival = (sql: Sql): Fragment => sql`coalesce(v.inbox_at, v.created_at)`
/** The status of a conversation in the inbox, or `automated`. */
export const inboxStatusOf = (sql: Sql): Fragment =>
  sql`(case when v.inbox_at is null then 'automated' else v.status end)`
const isWaiting = (sql: Sql): Fragment => sql`v.waiting_since is not null and v.status <> 'closed'`
/** Condition: conversation `v` is in the inbox with this status. The list of channels lets it use an index. */
export const hasInboxStatus = (sql: Sql, status: ConversationStatus): Fragment =>
  sql`v.channel in ('msgapp', 'social', 'web') and ${inboxStatusOf(sql)} = ${status}`

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
  const ids = rows.map(({ id }) => id)
  const last = await lastMessagesOf(sql, workspaceId, ids)
  return rows.map(({ window_from, ...row }) => ({
    ...row,
    ...windowOf(channels[row.channel], window_from),
    last_message: last.get(row.id) ?? null,
  }))
}
