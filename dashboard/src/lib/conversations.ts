/** Puts conversations, as the service has them, into the query cache. */
import type { InfiniteData, Query } from '@tanstack/react-query'
import { type AnswerOf, type DataOf, type InputOf, invalidate, queryClient } from './api.ts'
import { type Conversation, type ListQuery, matches, placeConversations } from './conversation-lists.ts'

type List = InfiniteData<AnswerOf<'GET /conversations'>>

/** The data of the event `conversations`. */
export type InboxEvent = {
  /** The changed conversations. Null: reload the lists. */
  conversations: Conversation[] | null
  /** The ids of conversations that no longer exist. */
  removed: string[]
  counts: DataOf<'GET /conversations/counts'>
}

export const showCounts = ({ counts }: InboxEvent): void => {
  queryClient.setQueryData<InboxEvent['counts']>(['GET /conversations/counts', {}], counts)
}

const cache = queryClient.getQueryCache()

/** Changes all cached lists, the queries of the conversations themselves and the counts of the sidebar. */
export function putConversations(
  rows: readonly Conversation[],
  memberId: string,
  removed: readonly string[] = [],
): void {
  shiftSidebarCounts(rows, removed, memberId)
  for (const query of cache.findAll({ queryKey: ['GET /conversations'] })) {
    const { query: filters = {} } = query.queryKey[1] as InputOf<'GET /conversations'>
    const list = query.state.data as List | undefined
    const pages = list && placeConversations(list.pages, rows, removed, filters, memberId)
    if (pages !== list?.pages) setData(query, { ...list, pages })
  }
  for (const row of rows) {
    const query = cache.find({ queryKey: ['GET /conversations/{id}', { params: { id: row.id } }] })
    if (query?.state.data) setData(query, row)
  }
}

/**
 * Counts changed conversations in the sidebar as they are now, so that its counts change together with those of the tabs. It knows what
 * a conversation was only from the cache; the counts that the page asks for later (`live.tsx`) include all others.
 */
function shiftSidebarCounts(rows: readonly Conversation[], removed: readonly string[], memberId: string): void {
  const key = ['GET /inbox/counts', {}]
  const counts = queryClient.getQueryData<DataOf<'GET /inbox/counts'>>(key)
  if (!counts) return
  const { labels, members, teams, views } = structuredClone(counts)
  const saved = queryClient.getQueryData<DataOf<'GET /views'>>(['GET /views', {}]) ?? []
  const add = (all: { id: string; count: number }[], id: string, change: number) => {
    const one = all.find((each) => each.id === id)
    if (one) one.count = Math.max(0, one.count + change)
    else if (change > 0) all.push({ id, count: change })
  }
  const count = (row: Conversation, change: 1 | -1) => {
    if (row.inbox_at !== null && row.status === 'open') {
      for (const { id } of row.labels) add(labels, id, change)
      if (row.assigned_team_id) add(teams, row.assigned_team_id, change)
      if (row.assigned_agent_id) add(members, row.assigned_agent_id, change)
    }
    for (const view of views) {
      const { filters } = saved.find(({ id }) => id === view.id) ?? {}
      if (filters && matches(row, filters, memberId)) view.count = Math.max(0, view.count + change)
    }
  }
  const now = new Map(rows.map((row) => [row.id, row]))
  for (const id of [...now.keys(), ...removed]) {
    const before = getCached(id)
    const after = now.get(id)
    if (before) count(before, -1)
    if (before && after) count(after, 1)
  }
  queryClient.setQueryData(key, { ...counts, labels, members, teams, views })
}

/** As the service returned it, from the query that was fetched last: a list that no page shows may be outdated. */
export function getCached(id: string): Conversation | undefined {
  let newest: { row: Conversation; at: number } | undefined
  for (const { queryKey, state } of cache.getAll()) {
    const at = state.dataUpdatedAt
    if (newest && newest.at >= at) continue
    const row = rowsIn(queryKey[0], state.data).find((one) => one.id === id)
    if (row) newest = { row, at }
  }
  return newest?.row
}

function rowsIn(name: unknown, data: unknown): readonly Conversation[] {
  if (name === 'GET /conversations/{id}' && data) return [data as Conversation]
  const list = name === 'GET /conversations' ? (data as List | undefined) : undefined
  return list?.pages.flatMap((page) => page.data) ?? []
}

/** Keeps the time of the last fetch: the lists that depend on it (`live-pages.ts`) did not change. */
const setData = (query: Query, data: unknown): void => {
  queryClient.setQueryData(query.queryKey, data, { updatedAt: query.state.dataUpdatedAt })
}

/** A list that grew to this many rows by changes of the stream is reloaded. */
const maxPageSize = 150

/** Puts the changed conversations of the stream into the cache, and reloads the thread and the contact of those on the page. */
export function showConversations(rows: readonly Conversation[], removed: readonly string[], memberId: string): void {
  putConversations(rows, memberId, removed)
  const ids = new Set([...rows.map(({ id }) => id), ...removed])
  const contactIds = new Set(rows.map(({ contact_id }) => contact_id))
  const isStale = ({ queryKey, state }: Query): boolean => {
    const [name, input] = queryKey as [string, { params?: { id?: string }; query?: ListQuery }]
    const id = input.params?.id ?? ''
    // A fetch in flight may return the state before the change.
    const isFetching = state.fetchStatus === 'fetching'
    switch (name) {
      case 'GET /conversations': {
        // The service decides what a search finds and who has waited for long.
        const isUndecided = !!input.query?.search || !!input.query?.waiting_minutes
        const isLong = (state.data as List | undefined)?.pages.some(({ data }) => data.length > maxPageSize)
        return isUndecided || isFetching || isLong === true
      }
      case 'GET /conversations/{id}':
        return ids.has(id) && (isFetching || !state.data || removed.includes(id))
      case 'GET /conversations/{id}/messages':
      case 'GET /conversations/{id}/timeline':
      case 'GET /conversations/{id}/scheduled-messages':
        return ids.has(id)
      case 'GET /contacts/{id}':
      case 'GET /contacts/{id}/history':
        return contactIds.has(id)
      default:
        return false
    }
  }
  const stale = new Set(cache.getAll().filter(isStale))
  if (stale.size > 0) void invalidate({ predicate: (query) => stale.has(query) })
}
