/** Puts conversations, as the service has them, into the query cache. */
import type { InfiniteData, Query } from '@tanstack/react-query'
import { type AnswerOf, type DataOf, type InputOf, invalidate, queryClient } from './api.ts'
import { type Conversation, type ListQuery, placeConversations } from './conversation-lists.ts'

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

/** Changes all cached lists and the queries of the conversations themselves. */
export function putConversations(
  rows: readonly Conversation[],
  memberId: string,
  removed: readonly string[] = [],
): void {
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
