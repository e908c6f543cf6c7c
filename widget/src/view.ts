/** The view model of the conversation: stored messages in the service's order, then the queued messages. */
import type { Message, MessageContent } from './api.ts'
import type { Store } from './store.ts'

export type MessageView = {
  /** Stays the same when a queued message becomes a sent one. */
  key: string
  isOwn: boolean
  state: 'sent' | 'pending' | 'failed'
  text: string | null
  media_url: string | null
  /** `image`, `audio`, … of a message with a file. */
  type: string
  /** The name of a file that is not sent yet. */
  name?: string | undefined
  isDeleted: boolean
  at: string
  /** The name of the member who wrote it, on the first of several messages. */
  sender?: string | undefined
  /** The last message: a member has read it. */
  isSeen?: boolean
  /** The id and content of a message with choices or a location. */
  id?: string
  content?: MessageContent | undefined
  /** The button or row that the visitor tapped in this message. */
  tappedId?: string | undefined
}

export type ChatView = {
  messages: MessageView[]
  unreadCount: number
  isOffline: boolean
  hasEarlier: boolean
  /** The visitor has answered or skipped the form for name and email, or the site has signed them in. */
  isIntroduced: boolean
  /** The member who types. */
  typing: Typing | undefined
  /** The position in the queue of a team, as a sentence. */
  queued: string | null | undefined
}

type Typing = { name: string | null }

/** A file that is being uploaded by this page. */
export type Upload = { client_id: string; at: string; file: File; isFailed: boolean }

type ChatState = {
  thread: ReadonlyMap<string, Message>
  failedIds: ReadonlySet<string>
  hasEarlier: boolean
  uploads: readonly Upload[]
  typing: Typing | undefined
  queued: string | null | undefined
  store: Store
}

export function toView({ thread, failedIds, hasEarlier, uploads, typing, queued, store }: ChatState): ChatView {
  const { queue, seen = '', introduced = false } = store.read()
  const sent = [...thread.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  const sentIds = new Set(sent.map(({ client_id }) => client_id))
  const taps = new Map<string | null, string>()
  for (const { reply_to_message_id: id, interactive_reply_id: tapped } of sent) if (tapped) taps.set(id, tapped)
  for (const { tap } of queue) if (tap) taps.set(tap.message_id, tap.id)
  return {
    messages: [
      ...sent.map(
        (message, index): MessageView => ({
          key: message.client_id ?? message.id,
          isOwn: message.direction === 'inbound',
          state: 'sent',
          text: message.content_text,
          media_url: message.media_url,
          type: message.content_type,
          isDeleted: message.deleted_at !== null,
          at: message.created_at,
          sender: message.sender?.name === sent[index - 1]?.sender?.name ? undefined : message.sender?.name,
          isSeen: index === sent.length - 1 && message.direction === 'inbound' && message.status === 'read',
          ...(message.content ? { id: message.id, content: message.content, tappedId: taps.get(message.id) } : {}),
        }),
      ),
      ...queue
        .filter(({ client_id }) => !sentIds.has(client_id))
        .map(
          ({ client_id, text, at, name }): MessageView => ({
            ...{ key: client_id, isOwn: true, text, media_url: null, type: 'text', name, isDeleted: false, at },
            state: failedIds.has(client_id) ? 'failed' : 'pending',
          }),
        ),
      ...uploads.map(
        ({ client_id, at, file, isFailed }): MessageView => ({
          ...{ key: client_id, isOwn: true, text: null, media_url: null, type: 'text', isDeleted: false, at },
          name: file.name,
          state: isFailed ? 'failed' : 'pending',
        }),
      ),
    ],
    unreadCount: sent.filter(({ id, direction, status }) => direction === 'outbound' && status !== 'read' && id > seen)
      .length,
    isOffline: !navigator.onLine,
    hasEarlier,
    isIntroduced: introduced,
    typing,
    queued,
  }
}
