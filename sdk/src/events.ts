/**
 * What a webhook delivers, and a stream: one of four events.
 *
 * Events can come twice and in any order: act once for each `id`. `data` may
 * get further keys; a name of an event you do not know is one to ignore.
 */
import type { Contact, Conversation, Message } from './types.ts'

type Envelope<Name extends string, Data> = {
  /** The same whenever this event is delivered again. */
  id: string
  event: Name
  /** When it happened, not when it was delivered. */
  occurred_at: string
  /** The workspace. */
  account_id: string
  data: Data
}

type Received = {
  conversation_id: string
  contact_id: string
  content_type: Message['content_type']
  /** The text, the caption, the title of a tapped button, an emoji. */
  text: string | null
  message: Message
  contact: Contact
}

/** A customer wrote. On the primary channel there is no `channel`. */
export type MessageReceived = Envelope<
  'message.received',
  | (Received & { channel?: undefined; msgapp_message_id: string })
  | (Received & { channel: 'social'; social_message_id: string })
  | (Received & { channel: 'web'; message_id: string })
>

/** The delivery status of a message of yours on the primary channel. A status can come more than once, and late. */
export type MessageStatusUpdated = Envelope<
  'message.status_updated',
  {
    /** Null when the message failed before the channel gave it an id. */
    msgapp_message_id: string | null
    conversation_id: string
    status: 'sent' | 'delivered' | 'read' | 'failed'
    /** As it is now: its own `status` may be ahead of the one reported. */
    message: Message
  }
>

export type ConversationCreated = Envelope<
  'conversation.created',
  { conversation_id: string; contact_id: string; conversation: Conversation }
>

export type ContactCreated = Envelope<
  'contact.created',
  {
    contact_id: string
    /** E.164; null for somebody who never gave one. */
    phone: string | null
    name: string | null
    /** Only of somebody who wrote on the social channel. */
    social_username?: string | null
    contact: Contact
  }
>

export type WebhookEvent = MessageReceived | MessageStatusUpdated | ConversationCreated | ContactCreated

export function isEvent(value: unknown): value is WebhookEvent {
  if (typeof value !== 'object' || value === null) return false
  const { id, event, data } = value as Record<string, unknown>
  return typeof id === 'string' && typeof event === 'string' && typeof data === 'object' && data !== null
}
