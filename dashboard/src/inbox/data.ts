/**
 * What the inbox shows, by the names it uses for it, and its places in the
 * cache: what a deed changes is seen at once, before the service has answered.
 */
import type { InfiniteData } from '@tanstack/react-query'
import { type AnswerOf, askAgain, type DataOf, type ItemOf, queries } from '../lib/api.ts'
import { words } from '../words/words.ts'

export type Conversation = ItemOf<'GET /conversations'>
export type Message = ItemOf<'GET /conversations/{id}/messages'>
export type Contact = DataOf<'GET /contacts/{id}'>

type Conversations = InfiniteData<AnswerOf<'GET /conversations'>>
type Messages = InfiniteData<AnswerOf<'GET /conversations/{id}/messages'>>

/** The calls that show something of a contact. */
export const showsContact = [
  'GET /contacts/{id}',
  'GET /conversations',
  'GET /conversations/{id}',
  'GET /tags',
] as const

/** As many as are kept fresh of a list or a thread; what is older is asked for in larger pages. */
export const freshCount = 50
export const olderCount = 100

export const threadInput = (id: string, limit = freshCount) => ({ params: { id }, query: { limit } })

/** What a message says in one line. */
export function lineOf({ content_type, content_text }: Pick<Message, 'content_type' | 'content_text'>): string {
  return content_text?.replace(/\s+/g, ' ').trim() || words.inbox.message.kinds[content_type]
}

/** What a message without words is. */
export function kindOf({ content_type, content_kind }: NonNullable<Conversation['last_message']>): string {
  const { kinds } = words.inbox.structured
  return content_kind && Object.hasOwn(kinds, content_kind)
    ? (kinds[content_kind] ?? '')
    : words.inbox.message.kinds[content_type]
}

export const activityOf = ({ last_message_at, created_at }: Conversation): string => last_message_at ?? created_at

/** Last activity first. */
export function byActivity(one: Conversation, other: Conversation): number {
  const order = Date.parse(activityOf(other)) - Date.parse(activityOf(one))
  return order || (one.id > other.id ? -1 : 1)
}

/** Newest first: ids grow with time. */
export const byAge = (one: Message, other: Message): number => (one.id > other.id ? -1 : one.id < other.id ? 1 : 0)

/** A conversation as some list has it, until it is asked for itself. */
export function findConversation(id: string): Conversation | undefined {
  for (const [, lists] of queries.getQueriesData<Conversations>({ queryKey: ['GET /conversations'] })) {
    const found = lists?.pages.flatMap(({ data }) => data).find((row) => row.id === id)
    if (found) return found
  }
  return undefined
}

/** Show a change wherever the conversation is shown. */
export function showChange(id: string, change: Partial<Conversation>): void {
  const changed = (row: Conversation) => (row.id === id ? { ...row, ...change } : row)
  queries.setQueriesData<Conversations>(
    { queryKey: ['GET /conversations'] },
    (lists) => lists && { ...lists, pages: lists.pages.map((page) => ({ ...page, data: page.data.map(changed) })) },
  )
  queries.setQueryData<Conversation>(['GET /conversations/{id}', { params: { id } }], (row) => row && changed(row))
}

/** Put a message that was just sent where the thread has its newest, unless news was faster. */
export function showMessage(message: Message): void {
  queries.setQueryData<Messages>(
    ['GET /conversations/{id}/messages', threadInput(message.conversation_id)],
    (thread) => {
      const [first, ...rest] = thread?.pages ?? []
      if (!thread || !first || first.data.some(({ id }) => id === message.id)) return thread
      return { ...thread, pages: [{ ...first, data: [message, ...first.data].sort(byAge) }, ...rest] }
    },
  )
}

/** Ask again for whatever shows this conversation. */
export async function refresh(id: string): Promise<void> {
  await Promise.all([
    askAgain({ queryKey: ['GET /conversations'] }),
    askAgain({ queryKey: ['GET /conversations/{id}', { params: { id } }] }),
    askAgain({ queryKey: ['GET /conversations/counts'] }),
  ])
}
