/**
 * Which conversations a list of the inbox scans: ranges of its indexes, and conditions to check on each row (see `inbox.ts`).
 */
import { matches } from '../contacts/contacts.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { findTagged } from '../contacts/tags.ts'
import { type Fragment, plannedPerCall, type Sql } from '../lib/postgres/db.ts'
import { type Reader, restrictionOf, visibleTo } from '../teams/visibility.ts'
import { agentOf, type ConversationStatus, unassigned } from './conversations.ts'
import { type handlers, isDue, statuses } from './filter-fields.ts'
import { findLabeled } from './labels.ts'

export const inboxSorts = ['newest', 'oldest', 'waiting', 'due'] as const

export type InboxFilters = {
  /** Absent: `newest`. */
  sort?: (typeof inboxSorts)[number] | undefined
  status?: ConversationStatus | undefined
  /** Of several values of a filter, one must match. */
  channels?: readonly ChannelName[] | undefined
  /** Ids. */
  connections?: readonly string[] | undefined
  contact_id?: string | undefined
  /** Ids of members, or `nobody`. */
  agents?: readonly string[] | undefined
  /** Ids of teams, or `nobody`. */
  teams?: readonly string[] | undefined
  /** Ids or names of labels. */
  labels?: readonly string[] | undefined
  /** Ids or names of tags of the contact. */
  tags?: readonly string[] | undefined
  /** The customer has waited for this long. */
  waiting_minutes?: number | undefined
  /** The customer waits for a reply. */
  has_no_reply?: boolean
  /** The time of a target has run out. */
  is_overdue?: boolean
  /** The last message of the customer or reply of a member is in this period. */
  active_after?: string | undefined
  active_before?: string | undefined
  unread?: boolean
  handled_by?: (typeof handlers)[number] | undefined
  /** A part of a name, number, e-mail address or company. */
  search?: string | undefined
}

/** The orders of `listInbox`. The order `waiting` consists of `waiting` and `not_waiting`, the order `due` of `due` and `not_due`. */
export type Order = 'newest' | 'oldest' | 'waiting' | 'not_waiting' | 'due' | 'not_due'

/** A search or a tag that selects more contacts is checked along the inbox. */
const maxContacts = 500

/** The rows that filters select before the scan, and the filters that selected too many: the scan checks those on each row. */
type Selection = {
  contactIds: string[] | undefined
  conversationIds: string[] | undefined
  checked: { search: string | undefined; tagIds: string[] | undefined; labelIds: string[] | undefined }
}

/** Undefined when no conversation can match. */
export async function findSelection(
  sql: Sql,
  workspaceId: string,
  filters: InboxFilters,
): Promise<Selection | undefined> {
  const { search, tags, labels } = filters
  const found = await findContacts(sql, workspaceId, filters)
  if (found?.length === 0) return undefined
  const tagged = tags && (await findTagged(sql, workspaceId, tags, maxContacts))
  if (tags && !tagged) return undefined
  const taggedIds = tagged?.ids && new Set(tagged.ids)
  const contactIds = found && taggedIds ? found.filter((id) => taggedIds.has(id)) : (found ?? tagged?.ids)
  if (contactIds?.length === 0) return undefined
  const labeled = labels && (await findLabeled(sql, workspaceId, labels))
  if (labels && !labeled) return undefined
  const checked = {
    search: found ? undefined : search,
    tagIds: tagged?.ids ? undefined : tagged?.tagIds,
    labelIds: labeled?.ids ? undefined : labeled?.tagIds,
  }
  return { contactIds, conversationIds: labeled?.ids, checked }
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

/**
 * The index ranges to scan, as conditions on `v`, and the conditions to check on each scanned row `w`. `ofConnections`: each range is
 * scanned once for every connection `k` with this condition; otherwise once. `isOverlapping`: a row may be in two ranges.
 */
export type ScanPlan = {
  ranges: Fragment[]
  conditions: Fragment[]
  ofConnections?: Fragment | undefined
  isOverlapping?: boolean | undefined
}

export function planScan(
  sql: Sql,
  reader: Reader & { teamIds: readonly string[] },
  filters: InboxFilters,
  selection: Selection,
  order: Order,
): ScanPlan {
  const { ranges, conditions, ofConnections, isOverlapping } = planRanges(sql, reader, filters, selection, order)
  // These indexes are not sorted by the last message: there it is checked for each row.
  return order === 'waiting' || order === 'due'
    ? { ranges, conditions: [...conditions, ...periodOf(sql, filters, sql`w.arrived_at`)] }
    : {
        ranges: ranges.map((range) => joinAnd(sql, [range, ...periodOf(sql, filters, arrival(sql))])),
        conditions,
        ofConnections,
        isOverlapping,
      }
}

/** The conditions of the period on the time `at`. */
function periodOf(sql: Sql, { active_after: after, active_before: before }: InboxFilters, at: Fragment): Fragment[] {
  return [
    ...(after ? [sql`${at} >= ${after}::timestamptz`] : []),
    ...(before ? [sql`${at} < ${before}::timestamptz`] : []),
  ]
}

function planRanges(
  sql: Sql,
  reader: Reader & { teamIds: readonly string[] },
  filters: InboxFilters,
  { contactIds, conversationIds, checked }: Selection,
  order: Order,
): ScanPlan {
  const { workspaceId } = reader
  const {
    status,
    channels,
    connections,
    contact_id,
    agents,
    waiting_minutes,
    has_no_reply,
    is_overdue,
    unread,
    search,
  } = filters
  const restricted = restrictionOf(reader)
  // Each once: a row of two ranges would be listed twice.
  const agentIds = agents && [...new Set(agents.map((agent) => (agent === 'nobody' ? unassigned : agent)))]
  // A person's conversations are listed whatever their messages are.
  const isOfPerson = !!search || contact_id !== undefined
  // Who is with the bot waits for no member.
  const isForMembers =
    order === 'waiting' ||
    order === 'due' ||
    is_overdue ||
    has_no_reply ||
    waiting_minutes ||
    agents?.includes('nobody')
  const handler = filters.handled_by ?? (isForMembers ? 'team' : undefined)
  const has = {
    inboxStatus: status && (isOfPerson ? sql`w.status = ${status}` : sql`w.inbox_status = ${status}`),
    channel: channels && sql`w.channel = any(${[...channels]}::text[])`,
    connection: connections && sql`w.connection_id = any(${[...connections]}::uuid[])`,
    agent: agentIds && sql`w.agent = any(${agentIds}::uuid[])`,
    team: filters.teams && isOfTeams(sql, filters.teams),
    visible: restricted && visibleTo(sql, restricted, sql`w`),
    unread: unread && sql`w.unread_count > 0`,
    label:
      checked.labelIds &&
      sql`exists (
        select from conversation_labels cl
        where cl.workspace_id = ${workspaceId} and cl.label_id = any(${checked.labelIds}::uuid[])
          and cl.conversation_id = w.id
      )`,
    // A scalar subquery, because the planner turns `exists` into a join that reads all tagged contacts.
    tag:
      checked.tagIds &&
      sql`(
        select count(*) > 0 from contact_tags ct
        where ct.workspace_id = ${workspaceId} and ct.contact_id = w.contact_id
          and ct.tag_id = any(${checked.tagIds}::uuid[])
      )`,
    reply: has_no_reply && sql`w.status <> 'closed' and w.waiting_since is not null`,
    wait:
      waiting_minutes &&
      sql`w.status <> 'closed' and w.waiting_since <= now() - make_interval(mins => ${waiting_minutes})`,
    // Scalar for the same reason.
    search:
      checked.search &&
      sql`(
        select ${matches(sql, checked.search)} from contacts c where c.workspace_id = ${workspaceId} and c.id = w.contact_id
      )`,
    handler: handler && (handler === 'bot' ? sql`w.is_bot` : sql`not w.is_bot`),
    overdue: is_overdue && sql`w.due_at <= now()`,
    rest:
      (order === 'not_waiting' && sql`(w.status = 'closed' or w.waiting_since is null or w.is_bot)`) ||
      (order === 'not_due' && sql`(w.due_at is null or w.is_bot)`),
  }
  const conditionsBut = (...covered: (keyof typeof has)[]) =>
    Object.entries(has).flatMap(([name, one]) => (one && !covered.includes(name as keyof typeof has) ? [one] : []))
  if (contactIds || conversationIds) {
    const ofContacts = contactIds ? sql`v.contact_id = any(${contactIds}::uuid[])` : sql`true`
    const labeled = conversationIds ? sql`v.id = any(${conversationIds}::uuid[])` : sql`true`
    const ofOrder = order === 'waiting' ? isWaiting(sql) : order === 'due' ? isDue(sql) : sql`true`
    return { ranges: [sql`${ofContacts} and ${labeled} and ${ofOrder}`], conditions: conditionsBut() }
  }
  if (order === 'waiting') return { ranges: [isWaiting(sql)], conditions: conditionsBut() }
  // Few conversations are overdue at a time, in whatever order.
  if (is_overdue) return { ranges: [sql`${isDue(sql)} and v.due_at <= now()`], conditions: conditionsBut('overdue') }
  if (order === 'due') return { ranges: [isDue(sql)], conditions: conditionsBut() }
  // Few conversations are with the bot at a time.
  if (handler === 'bot') return { ranges: [sql`v.bot_run_id is not null`], conditions: conditionsBut('handler') }
  // Where members read their messages, few conversations are unread.
  if (unread) return { ranges: [sql`v.unread_count > 0`], conditions: conditionsBut('unread') }
  const scannedStatuses = status ? (isOfPerson ? [status, 'automated'] : [status]) : [...statuses, 'automated']
  const isCovered = isOfPerson ? [] : (['inboxStatus'] as const)
  if (agentIds) {
    const ranges = agentIds.flatMap((id) =>
      scannedStatuses.map((one) => sql`${agentOf(sql)} = ${id}::uuid and ${inboxStatusOf(sql)} = ${one}`),
    )
    const conditions = conditionsBut('agent', ...isCovered)
    // Each number of agents is another text.
    return { ranges: agentIds.length > 1 ? ranges.map((range) => plannedPerCall(sql, range)) : ranges, conditions }
  }
  const rangesOf = (condition: Fragment) =>
    scannedStatuses.map((one) => sql`${condition} and ${inboxStatusOf(sql)} = ${one}`)
  const rangesOfTeams = (ids: readonly string[]) => ids.flatMap((id) => rangesOf(sql`v.team_id = ${id}::uuid`))
  // Conversations of no team have no index: they are most of the inbox, or there are no teams.
  if (filters.teams && !filters.teams.includes('nobody')) {
    const ranges = rangesOfTeams(filters.teams).map((range) => plannedPerCall(sql, range))
    return { ranges, conditions: conditionsBut('team', ...isCovered) }
  }
  if (restricted && reader.teamIds.length <= maxTeamRanges) {
    const mine = rangesOf(sql`${agentOf(sql)} = ${restricted.member.id}::uuid`)
    // Of several ranges, each number of teams is another text.
    const ranges = [...mine, ...rangesOfTeams(reader.teamIds)].map((range) => plannedPerCall(sql, range))
    const isCoveredToo = restricted.sees === 'teams' ? (['visible'] as const) : []
    return { ranges, conditions: conditionsBut(...isCovered, ...isCoveredToo), isOverlapping: true }
  }
  const ranges = scannedStatuses.map((one) => sql`${inboxStatusOf(sql)} = ${one}`)
  const ofConnections = joinAnd(sql, [
    channels ? sql`k.channel_name = any(${[...channels]}::text[])` : sql`true`,
    connections ? sql`k.id = any(${[...connections]}::uuid[])` : sql`true`,
  ])
  return { ranges, conditions: conditionsBut('channel', 'connection', ...isCovered), ofConnections }
}

/** A restricted member of more teams is checked along the inbox. */
const maxTeamRanges = 10

/** Condition on the scanned row `w`: it is of one of these teams, or of none (`nobody`). */
function isOfTeams(sql: Sql, teams: readonly string[]): Fragment {
  const ids = teams.filter((one) => one !== 'nobody')
  const isOfOne = sql`w.team_id = any(${ids}::uuid[])`
  return ids.length < teams.length ? sql`(w.team_id is null or ${isOfOne})` : isOfOne
}

const joinAnd = (sql: Sql, conditions: readonly Fragment[]): Fragment =>
  conditions.reduce((one, other) => sql`${one} and ${other}`)

/** All of the conditions hold. They are composed of many texts, so the statement is not prepared. */
export const allOf = (sql: Sql, conditions: readonly Fragment[]): Fragment =>
  conditions.length === 0 ? sql`true` : plannedPerCall(sql, joinAnd(sql, conditions))

/** Exactly the expressions of the indexes. */
export const arrival = (sql: Sql): Fragment => sql`coalesce(v.inbox_at, v.created_at)`
/** The status of a conversation in the inbox, or `automated`. */
export const inboxStatusOf = (sql: Sql): Fragment =>
  sql`(case when v.inbox_at is null then 'automated' else v.status end)`
const isWaiting = (sql: Sql): Fragment => sql`v.waiting_since is not null and v.status <> 'closed'`
/** Condition: conversation `v` is in the inbox with this status. The list of connections lets it use an index. */
export const hasInboxStatus = (sql: Sql, workspaceId: string, status: ConversationStatus): Fragment =>
  sql`v.connection_id = any(array(select k.id from channel_connections k where k.workspace_id = ${workspaceId}))
    and ${inboxStatusOf(sql)} = ${status}`
