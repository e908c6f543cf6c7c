/**
 * The inbox: conversations as members see them, latest activity first. A conversation without messages sorts by its
 * creation.
 *
 * A page merges sorted ranges of an index: one range per channel and status, or per status of an agent, or all unread
 * conversations. So a page costs the same among a hundred conversations and among a million. Conditions that no index
 * covers are checked for at most `maxScanned` conversations: then a page may be short, and its cursor continues after the
 * last one scanned.
 *
 * A search finds the contacts first and then their conversations. A text that matches very many contacts is checked along
 * the inbox instead. The order and the cursor are the same.
 */
import type { Channel, ContentType } from '../channels/channel.ts'
import { type ChannelName, channels as channelNames, matches } from '../contacts/contacts.ts'
import { type Fragment, requireRow, type Sql } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Page } from '../lib/page.ts'
import { type Conversation, type ConversationStatus, conversationColumns } from './conversations.ts'
import { statuses } from './filter-fields.ts'
import { type Window, windowOf } from './window.ts'

type LastMessage = {
  direction: 'inbound' | 'outbound'
  content_type: ContentType
  /** The channel's type of an `unsupported` message: `order`, `call`, `ig_reel`. */
  content_kind: string | null
  status: 'received' | 'pending' | 'sent' | 'failed' | 'delivered' | 'read'
}

export type InboxRow = Conversation &
  Window & {
    assigned_agent: { id: string; name: string | null; email: string } | null
    last_message: LastMessage | null
  }

/** What rooms to the right provide: the newest message of each conversation, and the windows of the channels. */
export type InboxContext = {
  lastMessagesOf: (sql: Sql, workspaceId: string, ids: readonly string[]) => Promise<Map<string, LastMessage>>
  channels: Record<ChannelName, Pick<Channel, 'windowMs' | 'lateWindowMs'>>
}

export type InboxFilters = {
  status?: ConversationStatus | undefined
  channel?: ChannelName | undefined
  contact_id?: string | undefined
  /** A member's id, or `nobody`. */
  agent?: string | undefined
  unread?: boolean
  /** A part of a name, number, e-mail address or company. */
  search?: string | undefined
}

export type InboxPosition = { limit: number; before: { at: string; id: string } }

/** Conversations scanned for one page: about 6 ms. */
const maxScanned = 3_000
/** A search that matches more contacts is checked along the inbox. */
const maxContacts = 500

type InboxEntry = Omit<InboxRow, keyof Window | 'last_message'>
type ScannedEntry = InboxEntry & { is_match: boolean; is_end: boolean; activity_us: string }

export async function listInbox(
  sql: Sql,
  workspaceId: string,
  context: InboxContext,
  filters: InboxFilters,
  { limit, before }: InboxPosition,
): Promise<Page<InboxRow>> {
  const contactIds = await findContacts(sql, workspaceId, filters)
  if (contactIds?.length === 0) return { data: [], meta: { next_cursor: null } }
  const { ranges, conditions } = planScan(sql, workspaceId, filters, contactIds)
  const scanned = conditions.length > 0 ? maxScanned : limit + 1
  const isMatch = conditions.reduce((one, other) => sql`${one} and ${other}`, sql`true`)
  const merged = ranges
    .map(
      (range) => sql`(
        select v.id, v.contact_id, v.channel, v.status, v.unread_count, ${agentOf(sql)} as agent, ${activity(sql)} as at
        from conversations v
        where v.workspace_id = ${workspaceId} and ${range}
          and (${activity(sql)}, v.id) < (${before.at}::timestamptz, ${before.id}::uuid)
        order by ${activity(sql)} desc, v.id desc
        limit ${scanned}
      )`,
    )
    .reduce((one, other) => sql`${one} union all ${other}`)
  const rows = await sql<ScannedEntry[]>`
    select ${entryColumns(sql)}, p.is_match, p.is_end, (extract(epoch from p.at) * 1000000)::bigint::text as activity_us
    from (
      select w.id, w.at, ${isMatch} as is_match, w.position = ${scanned} as is_end
      from (
        select s.id, s.contact_id, s.channel, s.status, s.unread_count, s.agent, s.at,
          row_number() over (order by s.at desc, s.id desc) as position
        from (${merged}) s
        order by s.at desc, s.id desc
        limit ${scanned}
      ) w
      -- The cursor continues after the last conversation scanned.
      where ${isMatch} or w.position = ${scanned}
      order by w.at desc, w.id desc
      limit ${limit + 1}
    ) p
    join conversations v on v.workspace_id = ${workspaceId} and v.id = p.id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    left join members a on a.workspace_id = v.workspace_id and a.id = v.assigned_agent_id
    order by p.at desc, p.id desc`
  const found = rows.filter(({ is_match }) => is_match)
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : rows.find(({ is_end }) => is_end)
  return {
    data: await toInboxRows(sql, workspaceId, context, shown.map(toEntry)),
    meta: { next_cursor: last ? encodePosition(last) : null },
  }
}

export async function requireInboxRow(
  sql: Sql,
  workspaceId: string,
  context: InboxContext,
  id: string,
): Promise<InboxRow> {
  const rows = isUuid(id)
    ? await sql<InboxEntry[]>`
        select ${entryColumns(sql)}
        from conversations v
        join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
        left join members a on a.workspace_id = v.workspace_id and a.id = v.assigned_agent_id
        where v.workspace_id = ${workspaceId} and v.id = ${id}`
    : []
  const [row] = await toInboxRows(sql, workspaceId, context, rows)
  if (!row) throw notFound('conversation')
  return row
}

export type InboxCounts = { open: number; pending: number; mine: number; unassigned: number; unread: number }

/** Counting stops here, because it is not free: this number means "or more". */
const maxCounted = 1_000

export async function countInbox(sql: Sql, workspaceId: string, memberId: string): Promise<InboxCounts> {
  const count = (condition: Fragment) => sql`(
    select count(*)::int
    from (
      select from conversations v where v.workspace_id = ${workspaceId} and ${condition} limit ${maxCounted}
    ) counted
  )`
  const isOpen = sql`v.status = 'open'`
  const [counts] = await sql<InboxCounts[]>`
    select ${count(isOpen)} as open, ${count(sql`v.status = 'pending'`)} as pending,
      ${count(sql`${agentOf(sql)} = ${memberId}::uuid and ${isOpen}`)} as mine,
      ${count(sql`${isUnassigned(sql)} and ${isOpen}`)} as unassigned,
      ${count(sql`v.unread_count > 0`)} as unread`
  return requireRow(counts, 'the inbox count')
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
function planScan(
  sql: Sql,
  workspaceId: string,
  { status, channel, agent, unread, search }: InboxFilters,
  contactIds: readonly string[] | undefined,
): { ranges: Fragment[]; conditions: Fragment[] } {
  const agentId = agent === 'nobody' ? unassigned : agent
  const has = {
    status: status && sql`w.status = ${status}`,
    channel: channel && sql`w.channel = ${channel}`,
    agent: agentId && sql`w.agent = ${agentId}::uuid`,
    unread: unread && sql`w.unread_count > 0`,
  }
  const present = (...conditions: (Fragment | undefined | false | '')[]) => conditions.filter((one) => !!one)
  if (contactIds) {
    const range = sql`v.contact_id = any(${[...contactIds]}::uuid[])`
    return { ranges: [range], conditions: present(has.status, has.channel, has.agent, has.unread) }
  }
  // A scalar subquery, because the planner turns `exists` into a join that reads all contacts.
  const matchesSearch =
    search &&
    sql`(
      select ${matches(sql, search)} from contacts c where c.workspace_id = ${workspaceId} and c.id = w.contact_id
    )`
  const scannedStatuses = status ? [status] : statuses
  // Where members read their messages, few conversations are unread.
  if (unread)
    return { ranges: [sql`v.unread_count > 0`], conditions: present(has.status, has.channel, has.agent, matchesSearch) }
  if (agentId) {
    const ranges = scannedStatuses.map((one) => sql`${agentOf(sql)} = ${agentId}::uuid and v.status = ${one}`)
    return { ranges, conditions: present(has.channel, matchesSearch) }
  }
  const ranges = (channel ? [channel] : channelNames).flatMap((name) =>
    scannedStatuses.map((one) => sql`v.channel = ${name} and v.status = ${one}`),
  )
  return { ranges, conditions: present(matchesSearch) }
}

/** Exactly the expressions of the indexes. */
const unassigned = '00000000-0000-0000-0000-000000000000'
const activity = (sql: Sql): Fragment => sql`coalesce(v.last_message_at, v.created_at)`
const agentOf = (sql: Sql): Fragment => sql`coalesce(v.assigned_agent_id, '00000000-0000-0000-0000-000000000000'::uuid)`
/** Condition: conversation `v` is assigned to no member. */
export const isUnassigned = (sql: Sql): Fragment => sql`${agentOf(sql)} = ${unassigned}::uuid`

/** The fields of conversation `v` with contact `c` and member `a`. */
const entryColumns = (sql: Sql): Fragment => sql`
  ${conversationColumns(sql)},
  case when a.id is not null then json_build_object('id', a.id, 'name', a.name, 'email', a.email) end as assigned_agent`

function toEntry({ is_match, is_end, activity_us, ...row }: ScannedEntry): InboxEntry {
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
  return rows.map((row) => ({
    ...row,
    ...windowOf(channels[row.channel], row.last_inbound_at),
    last_message: last.get(row.id) ?? null,
  }))
}

/** Sorts before every conversation: the start of the first page. */
const top = { at: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }
const lastMicrosecond = 253_402_300_799_999_999n

/** The cursor: eight bytes with the microseconds of the last activity, then the id. */
function encodePosition({ activity_us, id }: Pick<ScannedEntry, 'activity_us' | 'id'>): string {
  const time = Buffer.alloc(8)
  time.writeBigInt64BE(BigInt(activity_us))
  return Buffer.concat([time, Buffer.from(id.replaceAll('-', ''), 'hex')]).toString('base64url')
}

/** The start of a page. A malformed cursor means the first page. */
export function readInboxPosition(cursor: unknown): InboxPosition['before'] {
  if (typeof cursor !== 'string' || !/^[\w-]{32}$/.test(cursor)) return top
  const bytes = Buffer.from(cursor, 'base64url')
  const time = bytes.readBigInt64BE()
  if (time < 0n || time > lastMicrosecond) return top
  const milliseconds = new Date(Number(time / 1000n)).toISOString().slice(0, -1)
  const id = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { at: `${milliseconds}${String(time % 1000n).padStart(3, '0')}Z`, id }
}
