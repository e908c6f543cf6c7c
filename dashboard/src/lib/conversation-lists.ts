/** Where a conversation belongs in a list that pages of the service make up. Without access to the cache, so that tests need no browser. */
import type { Calls } from './calls.ts'

type Page = Calls['GET /conversations']['answer']
export type Conversation = Page['data'][number]
export type ListQuery = NonNullable<Calls['GET /conversations']['query']>
type Compare = (one: Conversation, other: Conversation) => number

/** It has automated messages only: it is in no list of open conversations, whatever its status. */
export const isAutomated = ({ inbox_at, status, snoozed_until }: Conversation): boolean =>
  inbox_at === null && status !== 'closed' && snoozed_until === null

/** Compares by an order of the inbox, as the service sorts. */
export const inboxOrders: Record<NonNullable<ListQuery['sort']>, Compare> = {
  newest: byArrival,
  oldest: (one, other) => byArrival(other, one),
  waiting: byTime(({ waiting_since }) => waiting_since),
  due: byTime(({ due_at }) => due_at),
}

/** First those with the time, the earliest first, then the others as they arrived. */
function byTime(timeOf: (row: Conversation) => string | null): Compare {
  return (one, other) => {
    const [time, otherTime] = [timeOf(one), timeOf(other)]
    if (!time || !otherTime) return Number(!time) - Number(!otherTime) || byArrival(one, other)
    return Date.parse(time) - Date.parse(otherTime) || (one.id < other.id ? -1 : 1)
  }
}

function byArrival(one: Conversation, other: Conversation): number {
  const order = Date.parse(other.inbox_at ?? other.created_at) - Date.parse(one.inbox_at ?? one.created_at)
  return order || (one.id > other.id ? -1 : 1)
}

/**
 * The pages of a list after conversations changed or were removed: each row at its position, unless it does not match or its
 * position is on a page that is not loaded.
 */
export function placeConversations(
  pages: Page[],
  rows: readonly Conversation[],
  removed: readonly string[],
  query: ListQuery,
  memberId: string,
): Page[] {
  const listed = new Set(pages.flatMap(({ data }) => data.map(({ id }) => id)))
  // The service decides what a search finds: the list gets no other row.
  const placed = rows.filter((row) => matches(row, query, memberId) && (!query.search || listed.has(row.id)))
  const moved = new Set([...removed, ...rows.map(({ id }) => id)])
  if (placed.length === 0 && ![...moved].some((id) => listed.has(id))) return pages
  const others = pages.map((page) => ({ ...page, data: page.data.filter(({ id }) => !moved.has(id)) }))
  const compare = inboxOrders[query.sort ?? 'newest']
  const isAll = others.at(-1)?.meta.next_cursor === null
  const byPage = Map.groupBy(placed, (row) => {
    const index = others.findIndex(({ data }) => data.slice(-1).some((last) => compare(row, last) < 0))
    return index === -1 && isAll ? others.length - 1 : index
  })
  return others.map((page, index) => {
    const added = byPage.get(index)
    return added ? { ...page, data: [...page.data, ...added].sort(compare) } : page
  })
}

/** Whether the conversation is in a list with these filters, as far as a page can know. */
export function matches(row: Conversation, filters: ListQuery, memberId: string): boolean {
  const {
    status,
    channel,
    connection,
    contact_id,
    assigned,
    team,
    label,
    tag,
    waiting_minutes,
    no_reply,
    overdue,
    unread,
    search,
  } = filters
  // A person's conversations are listed whatever their messages are.
  const isInList = !status || (row.status === status && (row.inbox_at !== null || !!search || !!contact_id))
  const agentIds = assigned?.split(',').map((one) => (one === 'me' ? memberId : one === 'nobody' ? null : one))
  const teamIds = team?.split(',').map((one) => (one === 'nobody' ? null : one))
  const waitedMs = row.waiting_since && row.status !== 'closed' ? Date.now() - Date.parse(row.waiting_since) : 0
  return (
    isInList &&
    (!channel || channel.split(',').includes(row.channel)) &&
    (!connection || connection.split(',').includes(row.connection?.id ?? '')) &&
    (!contact_id || row.contact_id === contact_id) &&
    (!agentIds || agentIds.includes(row.assigned_agent_id)) &&
    (!teamIds || teamIds.includes(row.assigned_team_id)) &&
    (!waiting_minutes || waitedMs >= Number(waiting_minutes) * 60_000) &&
    (!no_reply || (row.waiting_since !== null && row.status !== 'closed')) &&
    (!overdue || (row.due_at !== null && Date.parse(row.due_at) <= Date.now())) &&
    (!unread || row.unread_count > 0) &&
    (!label || hasNamed(row.labels, label)) &&
    (!tag || hasNamed(row.contact.tags, tag)) &&
    isActiveIn(row, filters)
  )
}

/** Whether one of the labels or tags has one of these ids, or this name. */
function hasNamed(all: readonly { id: string; name: string }[], idsOrName: string): boolean {
  const ids = idsOrName.split(',')
  return all.some(({ id, name }) => ids.includes(id) || name.toLowerCase() === idsOrName.toLowerCase())
}

const dayMs = 86_400_000

function isActiveIn({ inbox_at, created_at }: Conversation, { active_days, active_after, active_before }: ListQuery) {
  const at = Date.parse(inbox_at ?? created_at)
  return (
    (!active_days || at >= Date.now() - Number(active_days) * dayMs) &&
    (!active_after || at >= Date.parse(active_after)) &&
    (!active_before || at < Date.parse(active_before))
  )
}
