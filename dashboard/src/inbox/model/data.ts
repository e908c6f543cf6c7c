/** Types of the inbox, the input of its queries, and what its parts show of a message or a conversation. */
import type { InfiniteData } from '@tanstack/react-query'
import { type CallName, call, type DataOf, type InputOf, type ItemOf, queryClient } from '../../lib/api.ts'
import type { Conversation, ListQuery } from '../../lib/conversation-lists.ts'
import { words } from '../../words/words.ts'

export type { Conversation }
export type Message = ItemOf<'GET /conversations/{id}/messages'>
export type Entry = ItemOf<'GET /conversations/{id}/timeline'>
export type Contact = DataOf<'GET /contacts/{id}'>

/** The queries whose answers contain contact data. */
export const contactQueries = [
  'GET /contacts/{id}',
  'GET /conversations',
  'GET /conversations/{id}',
  'GET /tags',
] as const

/** Page sizes: of the first page, which live updates reload, and of older pages. */
export const headPageSize = 50
export const olderPageSize = 100

/** The input of the two queries of a thread: messages and timeline. */
export const threadInput = (id: string, limit = headPageSize) => ({ params: { id }, query: { limit } })

/** Loads the thread of a conversation before the member opens it. */
export function prefetchThread(id: string): void {
  prefetchPages('GET /conversations/{id}/messages', threadInput(id))
  prefetchPages('GET /conversations/{id}/timeline', threadInput(id))
}

/** Inserts a confirmed message or note into the cached thread, unless a live update already did. */
export function insertInThread(part: 'messages' | 'timeline', conversationId: string, item: { id: string }): void {
  queryClient.setQueryData<InfiniteData<{ data: { id: string }[] }>>(
    [`GET /conversations/{id}/${part}`, threadInput(conversationId)],
    (thread) => {
      const [first, ...rest] = thread?.pages ?? []
      if (!thread || !first || first.data.some(({ id }) => id === item.id)) return thread
      return { ...thread, pages: [{ ...first, data: [item, ...first.data].sort(byId) }, ...rest] }
    },
  )
}

/** A message as one line of text. */
export function summaryOf({ content_type, content_text }: Pick<Message, 'content_type' | 'content_text'>): string {
  return content_text?.replace(/\s+/g, ' ').trim() || words.inbox.message.kinds[content_type]
}

/** The label of a message without text. */
export function typeLabelOf({ content_type, content_kind }: NonNullable<Conversation['last_message']>): string {
  const { kinds } = words.inbox.structured
  return content_kind && Object.hasOwn(kinds, content_kind)
    ? (kinds[content_kind] ?? '')
    : words.inbox.message.kinds[content_type]
}

/** The time by which the inbox sorts a conversation. An automated message does not change it. */
export const sortedAt = (row: Conversation, sort?: ListQuery['sort']): string =>
  (sort === 'waiting' && row.waiting_since) || (row.inbox_at ?? row.created_at)

/** Compares by id, newest first: ids grow with time. */
export const byId = (one: { id: string }, other: { id: string }): number =>
  one.id > other.id ? -1 : one.id < other.id ? 1 : 0

/** Fetches the first page of a list before the member opens it, into the cache entry that `usePages` reads. */
function prefetchPages<Call extends CallName>(name: Call, input: InputOf<Call>): void {
  void queryClient.prefetchInfiniteQuery({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, input, signal),
    initialPageParam: '',
    meta: { live: true },
  })
}
