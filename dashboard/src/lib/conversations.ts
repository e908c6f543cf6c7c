/** Puts the conversations of the stream into the query cache. */
import type { InfiniteData, Query } from '@tanstack/react-query'
import { type AnswerOf, type DataOf, type InputOf, invalidate, queryClient } from './api.ts'
import { type Conversation, placeConversation, removeConversation } from './conversation-lists.ts'

type List = InfiniteData<AnswerOf<'GET /conversations'>>

/** The data of the event `conversations`. */
export type InboxEvent = {
  /** The changed conversations. Null: reload the lists. */
  conversations: Conversation[] | null
  /** The ids of conversations that no longer exist. */
  removed: string[]
  counts: DataOf<'GET /conversations/counts'>
}

/** Conversations whose change by this page is not stored yet: the stream still has their old state. */
const unsaved = new Map<string, number>()

/** Ignores what the stream says about conversations until the returned function is called. */
export function holdConversations(ids: readonly string[]): () => void {
  for (const id of ids) unsaved.set(id, (unsaved.get(id) ?? 0) + 1)
  return () => {
    for (const id of ids) {
      const rest = (unsaved.get(id) ?? 1) - 1
      if (rest > 0) unsaved.set(id, rest)
      else unsaved.delete(id)
    }
  }
}

export const showCounts = ({ counts }: InboxEvent): void => {
  queryClient.setQueryData<InboxEvent['counts']>(['GET /conversations/counts', {}], counts)
}

/** A list that grew to this many rows by changes of the stream is reloaded. */
const maxPageSize = 150

/** Puts changed conversations into all cached lists, and reloads the thread and the contact of those on the page. */
export function showConversations(rows: readonly Conversation[], removed: readonly string[], memberId: string): void {
  const changed = rows.filter(({ id }) => !unsaved.has(id))
  const stale: Query[] = []
  const cache = queryClient.getQueryCache()
  for (const query of cache.findAll({ queryKey: ['GET /conversations'] })) {
    const { query: filters = {} } = query.queryKey[1] as InputOf<'GET /conversations'>
    const list = query.state.data as List | undefined
    if (list) {
      const pages = changed.reduce(
        (before, row) => placeConversation(before, row, filters, memberId),
        removed.reduce(removeConversation, list.pages),
      )
      if (pages !== list.pages) setData(query, { ...list, pages })
    }
    // The service decides what a search finds and who has waited for long. A fetch in flight may return the state before the change.
    const isUndecided = filters.search || filters.waiting_minutes
    const isLong = list?.pages.some(({ data }) => data.length > maxPageSize)
    if (isUndecided || isLong || query.state.fetchStatus === 'fetching') stale.push(query)
  }
  const ids = new Set([...rows.map(({ id }) => id), ...removed])
  const contactIds = new Set(rows.map(({ contact_id }) => contact_id))
  const byId = new Map(changed.map((row) => [row.id, row]))
  for (const query of cache.getAll()) {
    const [name, input] = query.queryKey as [string, { params?: { id?: string } }]
    const id = input.params?.id ?? ''
    if (name === 'GET /conversations/{id}' && ids.has(id)) {
      const row = byId.get(id)
      if (row && query.state.data && query.state.fetchStatus === 'idle') setData(query, row)
      else stale.push(query)
    }
    const isThread = name === 'GET /conversations/{id}/messages' || name === 'GET /conversations/{id}/timeline'
    if ((isThread && ids.has(id)) || (name === 'GET /contacts/{id}' && contactIds.has(id))) stale.push(query)
  }
  if (stale.length > 0) void invalidate({ predicate: (query) => stale.includes(query) })
}

/** Keeps the time of the last fetch: the lists that depend on it (`live-pages.ts`) did not change. */
const setData = (query: Query, data: unknown): void => {
  queryClient.setQueryData(query.queryKey, data, { updatedAt: query.state.dataUpdatedAt })
}
