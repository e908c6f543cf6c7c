/**
 * The conversation as it is to be shown: what the service has, in its order,
 * and behind it what waits to be sent.
 */
import type { Message } from './service.ts'
import type { Store } from './store.ts'

export type Shown = {
  /** Stays the same from waiting to sent. */
  key: string
  isOwn: boolean
  state: 'sent' | 'waiting' | 'refused'
  text: string | null
  media_url: string | null
  isDeleted: boolean
  at: string
}

export type View = { messages: Shown[]; unread: number; isOffline: boolean; hasEarlier: boolean }

type Parts = { thread: ReadonlyMap<string, Message>; refused: ReadonlySet<string>; hasEarlier: boolean; store: Store }

export function toView({ thread, refused, hasEarlier, store }: Parts): View {
  const { queue, seen = '' } = store.read()
  const sent = [...thread.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  const known = new Set(sent.map(({ client_id }) => client_id))
  return {
    messages: [
      ...sent.map(
        (message): Shown => ({
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
        .filter(({ client_id }) => !known.has(client_id))
        .map(
          ({ client_id, text, at }): Shown => ({
            ...{ key: client_id, isOwn: true, text, media_url: null, isDeleted: false, at },
            state: refused.has(client_id) ? 'refused' : 'waiting',
          }),
        ),
    ],
    unread: sent.filter(({ id, direction }) => direction === 'outbound' && id > seen).length,
    isOffline: !navigator.onLine,
    hasEarlier,
  }
}
