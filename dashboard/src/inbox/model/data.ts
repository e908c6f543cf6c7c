/** Types of the inbox, and updates of the query cache that show a change before the service has answered (optimistic updates). */
import type { InfiniteData } from '@tanstack/react-query'
import { type AnswerOf, type DataOf, type ItemOf, queryClient } from '../../lib/api.ts'
import type { Conversation } from '../../lib/conversation-lists.ts'
import { prefetchPages } from '../../lib/prefetch.ts'
import { words } from '../../words/words.ts'

export type { Conversation }
export type Message = ItemOf<'GET /conversations/{id}/messages'>
export type Contact = DataOf<'GET /contacts/{id}'>

type Conversations = InfiniteData<AnswerOf<'GET /conversations'>>
type Messages = InfiniteData<AnswerOf<'GET /conversations/{id}/messages'>>

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

export const threadInput = (id: string, limit = headPageSize) => ({ params: { id }, query: { limit } })

export const timelineInput = (id: string, limit = headPageSize) => ({ params: { id }, query: { limit } })

/** Loads the thread of a conversation before the member opens it. */
export function prefetchThread(id: string): void {
  prefetchPages('GET /conversations/{id}/messages', threadInput(id))
  prefetchPages('GET /conversations/{id}/timeline', timelineInput(id))
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

export const activityOf = ({ last_message_at, created_at }: Conversation): string => last_message_at ?? created_at

/** Compares by id, newest first: ids grow with time. */
export const byId = (one: { id: string }, other: { id: string }): number =>
  one.id > other.id ? -1 : one.id < other.id ? 1 : 0

/** A conversation from the cache: shown until its own query has loaded. */
export function findConversation(id: string): Conversation | undefined {
  for (const [, lists] of queryClient.getQueriesData<Conversations>({ queryKey: ['GET /conversations'] })) {
    const found = lists?.pages.flatMap(({ data }) => data).find((row) => row.id === id)
    if (found) return found
  }
  return queryClient.getQueryData<Conversation>(['GET /conversations/{id}', { params: { id } }])
}

/** Applies a change to all cached copies of a conversation. */
export const patchConversation = (id: string, change: Partial<Conversation>): void =>
  patchConversations([id], () => change)

/** Applies a change to all cached copies of conversations. */
export function patchConversations(ids: readonly string[], change: (row: Conversation) => Partial<Conversation>): void {
  const targets = new Set(ids)
  const changed = (row: Conversation) => (targets.has(row.id) ? { ...row, ...change(row) } : row)
  queryClient.setQueriesData<Conversations>(
    { queryKey: ['GET /conversations'] },
    (lists) => lists && { ...lists, pages: lists.pages.map((page) => ({ ...page, data: page.data.map(changed) })) },
  )
  for (const id of ids) {
    queryClient.setQueryData<Conversation>(
      ['GET /conversations/{id}', { params: { id } }],
      (row) => row && changed(row),
    )
  }
}

/** Inserts a sent message into the cached thread, unless a live update already did. */
export function insertMessage(message: Message): void {
  queryClient.setQueryData<Messages>(
    ['GET /conversations/{id}/messages', threadInput(message.conversation_id)],
    (thread) => {
      const [first, ...rest] = thread?.pages ?? []
      if (!thread || !first || first.data.some(({ id }) => id === message.id)) return thread
      return { ...thread, pages: [{ ...first, data: [message, ...first.data].sort(byId) }, ...rest] }
    },
  )
}
