/** The view model of the conversation: stored messages in the service's order, then the queued messages. */
import type { Message } from './api.ts'
import type { Store } from './store.ts'

export type MessageView = {
  /** Stays the same when a queued message becomes a sent one. */
  key: string
  isOwn: boolean
  state: 'sent' | 'pending' | 'failed'
  text: string | null
  media_url: string | null
  isDeleted: boolean
  at: string
}

export type ChatView = { messages: MessageView[]; unreadCount: number; isOffline: boolean; hasEarlier: boolean }

type ChatState = {
  thread: ReadonlyMap<string, Message>
  failedIds: ReadonlySet<string>
  hasEarlier: boolean
  store: Store
}

export function toView({ thread, failedIds, hasEarlier, store }: ChatState): ChatView {
  const { queue, seen = '' } = store.read()
  const sent = [...thread.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  const sentIds = new Set(sent.map(({ client_id }) => client_id))
  return {
    messages: [
      ...sent.map(
        (message): MessageView => ({
          key: message.client_id ?? message.id,
          isOwn: message.direction === 'inbound',
          state: 'sent',
          text: message.content_text,
          media_url: message.media_url,
          isDeleted: message.deleted_at !== null,
          at: message.created_at,
        }),
      ),
      ...queue
        .filter(({ client_id }) => !sentIds.has(client_id))
        .map(
          ({ client_id, text, at }): MessageView => ({
            ...{ key: client_id, isOwn: true, text, media_url: null, isDeleted: false, at },
            state: failedIds.has(client_id) ? 'failed' : 'pending',
          }),
        ),
    ],
    unreadCount: sent.filter(({ id, direction }) => direction === 'outbound' && id > seen).length,
    isOffline: !navigator.onLine,
    hasEarlier,
  }
}
