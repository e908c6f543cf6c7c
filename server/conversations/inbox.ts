/**
 * The inbox: conversations as members see them, last activity first.
 *
 * A conversation without messages stands where it was made. A page is read
 * from the stretches of an index that a filter names (one for each channel and
 * status, or for an agent and each status, or all that is unread), merged as
 * they are walked, so it costs the same with a hundred conversations and with
 * a million. What no index says is looked for among so many and no more: a
 * page may then be short, and its cursor tells where to look on.
 *
 * Whoever is searched for is found first, and then what was said with them. A
 * text that is in very many people's names is looked for the other way round,
 * along the inbox; the order, and with it a cursor, is the same.
 */
import type { Channel, ContentType } from '../channels/channel.ts'
import { type ChannelName, channels as channelNames, matches } from '../contacts/contacts.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Page } from '../lib/page.ts'
import { type Conversation, type ConversationStatus, conversationColumns } from './conversations.ts'
import { statuses } from './filter-fields.ts'
import { type Window, windowOf } from './window.ts'

type LastMessage = {
  direction: 'inbound' | 'outbound'
  content_type: ContentType
  /** What an `unsupported` message is, by the channel's name for it: `order`, `call`, `ig_reel`. */
  content_kind: string | null
  status: 'received' | 'pending' | 'sent' | 'failed' | 'delivered' | 'read'
}

export type InboxRow = Conversation &
  Window & {
    assigned_agent: { id: string; name: string | null; email: string } | null
    last_message: LastMessage | null
  }

/** What is known further right: the newest message of each conversation, and the channels' rules. */
export type Seeing = {
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

/** So many conversations are looked at for a page: some 6 ms. */
const mostLooked = 3_000
/** So many people are found first; of more of them, the conversations are gone through instead. */
const mostPeople = 500

type Listed = Omit<InboxRow, keyof Window | 'last_message'>
type Walked = Listed & { is_match: boolean; is_end: boolean; activity_us: string }

export async function listInbox(
  sql: Sql,
  workspaceId: string,
  seeing: Seeing,
  filters: InboxFilters,
  { limit, before }: InboxPosition,
): Promise<Page<InboxRow>> {
  const people = await findPeople(sql, workspaceId, filters)
  if (people?.length === 0) return { data: [], meta: { next_cursor: null } }
  const { stretches, rest } = plan(sql, workspaceId, filters, people)
  const looked = rest.length > 0 ? mostLooked : limit + 1
  const isMatch = rest.reduce((one, other) => sql`${one} and ${other}`, sql`true`)
  const merged = stretches
    .map(
      (stretch) => sql`(
        select v.id, v.contact_id, v.channel, v.status, v.unread_count, ${agentOf(sql)} as agent, ${activity(sql)} as at
        from conversations v
        where v.workspace_id = ${workspaceId} and ${stretch}
          and (${activity(sql)}, v.id) < (${before.at}::timestamptz, ${before.id}::uuid)
        order by ${activity(sql)} desc, v.id desc
        limit ${looked}
      )`,
    )
    .reduce((one, other) => sql`${one} union all ${other}`)
  const rows = await sql<Walked[]>`
    select ${listedColumns(sql)}, p.is_match, p.is_end, (extract(epoch from p.at) * 1000000)::bigint::text as activity_us
    from (
      select w.id, w.at, ${isMatch} as is_match, w.place = ${looked} as is_end
      from (
        select s.id, s.contact_id, s.channel, s.status, s.unread_count, s.agent, s.at,
          row_number() over (order by s.at desc, s.id desc) as place
        from (${merged}) s
        order by s.at desc, s.id desc
        limit ${looked}
      ) w
      -- The last one looked at says where to go on.
      where ${isMatch} or w.place = ${looked}
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
    data: await complete(sql, workspaceId, seeing, shown.map(withoutPlace)),
    meta: { next_cursor: last ? encodePosition(last) : null },
  }
}

export async function requireInboxRow(sql: Sql, workspaceId: string, seeing: Seeing, id: string): Promise<InboxRow> {
  const rows = isUuid(id)
    ? await sql<Listed[]>`
        select ${listedColumns(sql)}
        from conversations v
        join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
        left join members a on a.workspace_id = v.workspace_id and a.id = v.assigned_agent_id
        where v.workspace_id = ${workspaceId} and v.id = ${id}`
    : []
  const [row] = await complete(sql, workspaceId, seeing, rows)
  if (!row) throw notFound('conversation')
  return row
}

export type InboxCounts = { open: number; pending: number; mine: number; unassigned: number; unread: number }

/** Nobody counts further, and counting is not free: this many may be more. */
const mostCounted = 1_000

export async function countInbox(sql: Sql, workspaceId: string, memberId: string): Promise<InboxCounts> {
  const count = (condition: Fragment) => sql`(
    select count(*)::int
    from (
      select from conversations v where v.workspace_id = ${workspaceId} and ${condition} limit ${mostCounted}
    ) counted
  )`
  const isOpen = sql`v.status = 'open'`
  const [counts] = await sql<InboxCounts[]>`
    select ${count(isOpen)} as open, ${count(sql`v.status = 'pending'`)} as pending,
      ${count(sql`${agentOf(sql)} = ${memberId}::uuid and ${isOpen}`)} as mine,
      ${count(sql`${isUnassigned(sql)} and ${isOpen}`)} as unassigned,
      ${count(sql`v.unread_count > 0`)} as unread`
  if (!counts) throw new Error('a count gave nothing')
  return counts
}

/** Those a filter asks for by name or text; undefined: it does not, or too many are so called. */
async function findPeople(
  sql: Sql,
  workspaceId: string,
  { contact_id, search }: InboxFilters,
): Promise<string[] | undefined> {
  if (!search) return contact_id === undefined ? undefined : [contact_id]
  const isAsked = contact_id === undefined ? sql`true` : sql`c.id = ${contact_id}`
  const found = await sql<{ id: string }[]>`
    select c.id from contacts c
    where c.workspace_id = ${workspaceId} and ${isAsked} and ${matches(sql, search)}
    order by c.id desc
    limit ${mostPeople + 1}`
  return found.length > mostPeople ? undefined : found.map(({ id }) => id)
}

/** Which stretches of an index to walk, as conditions on `v`, and what else must hold of `w`, which was met there. */
function plan(
  sql: Sql,
  workspaceId: string,
  { status, channel, agent, unread, search }: InboxFilters,
  people: readonly string[] | undefined,
): { stretches: Fragment[]; rest: Fragment[] } {
  const agentId = agent === 'nobody' ? nobody : agent
  const has = {
    status: status && sql`w.status = ${status}`,
    channel: channel && sql`w.channel = ${channel}`,
    agent: agentId && sql`w.agent = ${agentId}::uuid`,
    unread: unread && sql`w.unread_count > 0`,
  }
  const only = (...conditions: (Fragment | undefined | false | '')[]) => conditions.filter((one) => !!one)
  if (people) {
    const stretch = sql`v.contact_id = any(${[...people]}::uuid[])`
    return { stretches: [stretch], rest: only(has.status, has.channel, has.agent, has.unread) }
  }
  // A value, not `exists`: that is turned into a list of everybody who is so called, for which all contacts are read.
  const isSaid =
    search &&
    sql`(
      select ${matches(sql, search)} from contacts c where c.workspace_id = ${workspaceId} and c.id = w.contact_id
    )`
  const ofStatus = status ? [status] : statuses
  // Of what nobody has read there is little where somebody reads.
  if (unread) return { stretches: [sql`v.unread_count > 0`], rest: only(has.status, has.channel, has.agent, isSaid) }
  if (agentId) {
    const stretches = ofStatus.map((one) => sql`${agentOf(sql)} = ${agentId}::uuid and v.status = ${one}`)
    return { stretches, rest: only(has.channel, isSaid) }
  }
  const stretches = (channel ? [channel] : channelNames).flatMap((on) =>
    ofStatus.map((one) => sql`v.channel = ${on} and v.status = ${one}`),
  )
  return { stretches, rest: only(isSaid) }
}

/** As the indexes say them, to the letter. */
const nobody = '00000000-0000-0000-0000-000000000000'
const activity = (sql: Sql): Fragment => sql`coalesce(v.last_message_at, v.created_at)`
const agentOf = (sql: Sql): Fragment => sql`coalesce(v.assigned_agent_id, '00000000-0000-0000-0000-000000000000'::uuid)`
/** Nobody looks after conversation `v`. */
export const isUnassigned = (sql: Sql): Fragment => sql`${agentOf(sql)} = ${nobody}::uuid`

/** The fields of conversation `v` with contact `c` and member `a`. */
const listedColumns = (sql: Sql): Fragment => sql`
  ${conversationColumns(sql)},
  case when a.id is not null then json_build_object('id', a.id, 'name', a.name, 'email', a.email) end as assigned_agent`

function withoutPlace({ is_match, is_end, activity_us, ...row }: Walked): Listed {
  return row
}

async function complete(
  sql: Sql,
  workspaceId: string,
  { lastMessagesOf, channels }: Seeing,
  rows: readonly Listed[],
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

/** Above every conversation: where the first page starts. */
const top = { at: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }
const lastMicrosecond = 253_402_300_799_999_999n

/** Eight bytes of microseconds, as the database counts them, and the id. */
function encodePosition({ activity_us, id }: Pick<Walked, 'activity_us' | 'id'>): string {
  const time = Buffer.alloc(8)
  time.writeBigInt64BE(BigInt(activity_us))
  return Buffer.concat([time, Buffer.from(id.replaceAll('-', ''), 'hex')]).toString('base64url')
}

/** Where a page starts; what is no cursor of ours is the beginning. */
export function readInboxPosition(cursor: unknown): InboxPosition['before'] {
  if (typeof cursor !== 'string' || !/^[\w-]{32}$/.test(cursor)) return top
  const bytes = Buffer.from(cursor, 'base64url')
  const time = bytes.readBigInt64BE()
  if (time < 0n || time > lastMicrosecond) return top
  const milliseconds = new Date(Number(time / 1000n)).toISOString().slice(0, -1)
  const id = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { at: `${milliseconds}${String(time % 1000n).padStart(3, '0')}Z`, id }
}
