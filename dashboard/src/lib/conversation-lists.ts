/** Where a conversation belongs in a list that pages of the service make up. Without access to the cache, so that tests need no browser. */
import type { Calls } from './calls.ts'

type Answer = Calls['GET /conversations']['answer']
export type Conversation = Answer['data'][number]
export type ListQuery = NonNullable<Calls['GET /conversations']['query']>
type Page = Answer
type Compare = (one: Conversation, other: Conversation) => number

/** Compares by an order of the inbox, as the service sorts. */
export const inboxOrders: Record<NonNullable<ListQuery['sort']>, Compare> = {
  newest: byArrival,
  oldest: (one, other) => byArrival(other, one),
  waiting(one, other) {
    if (!one.waiting_since || !other.waiting_since) {
      return Number(!one.waiting_since) - Number(!other.waiting_since) || byArrival(one, other)
    }
    return Date.parse(one.waiting_since) - Date.parse(other.waiting_since) || (one.id < other.id ? -1 : 1)
  },
}

function byArrival(one: Conversation, other: Conversation): number {
  const order = Date.parse(other.inbox_at ?? other.created_at) - Date.parse(one.inbox_at ?? one.created_at)
  return order || (one.id > other.id ? -1 : 1)
}

/** The pages of a list after a conversation changed. */
export function placeConversation(pages: Page[], row: Conversation, query: ListQuery, memberId: string): Page[] {
  return placeRow(pages, row, matches(row, query, memberId), inboxOrders[query.sort ?? 'newest'])
}

function matches(row: Conversation, filters: ListQuery, memberId: string): boolean {
  const { status, channel, contact_id, assigned, label, unread, search } = filters
  // A person's conversations are listed whatever their messages are.
  const isInList = !status || (row.status === status && (row.inbox_at !== null || !!search || !!contact_id))
  const agentId = assigned === 'me' ? memberId : assigned === 'nobody' ? null : assigned
  return (
    isInList &&
    (!channel || row.channel === channel) &&
    (!contact_id || row.contact_id === contact_id) &&
    (!assigned || row.assigned_agent_id === agentId) &&
    (!unread || row.unread_count > 0) &&
    (!label || row.labels.some(({ id, name }) => id === label || name.toLowerCase() === label.toLowerCase()))
  )
}

export function removeConversation(pages: Page[], id: string): Page[] {
  if (!pages.some(({ data }) => data.some((row) => row.id === id))) return pages
  return pages.map((page) => ({ ...page, data: page.data.filter((row) => row.id !== id) }))
}

/** Moves the row to its position, or removes it if it does not match or its position is on a page that is not loaded. */
function placeRow(pages: Page[], row: Conversation, isMatch: boolean, compare: Compare): Page[] {
  const others = removeConversation(pages, row.id)
  if (!isMatch) return others
  const isAll = others.at(-1)?.meta.next_cursor === null
  const target = others.findIndex(({ data }) => data.some((other) => compare(row, other) < 0))
  const pageIndex = target === -1 && isAll ? others.length - 1 : target
  return others.map((page, index) =>
    index === pageIndex ? { ...page, data: [...page.data, row].sort(compare) } : page,
  )
}
