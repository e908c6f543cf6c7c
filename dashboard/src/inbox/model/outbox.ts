/**
 * Sends messages. A message shows as soon as it is sent, and the stored message replaces it. Messages of one conversation go out one
 * after the other, so they arrive in the order they were written. A message that the service refuses stays with the reason
 * until it is sent again or discarded. A message that fails at the channel is stored by the service.
 *
 * Unconfirmed messages survive a reload and closing the tab (`outbox-store.ts`). Each then waits for "Retry", which sends it under
 * its old `Idempotency-Key`.
 */
import { useEffect, useMemo } from 'react'
import { CallError, call, describeError, invalidate, newIdempotencyKey } from '../../lib/api.ts'
import { insertMessage, type Message, summaryOf, threadInput } from './data.ts'
import { type Body, discard, findSending, putSending, type Sending, useAllSendings } from './outbox-store.ts'

/** The sends of each conversation, one after the other; the result says whether the last one was accepted. */
const queues = new Map<string, Promise<boolean>>()

/** The messages of a conversation that the service has not confirmed, oldest first. */
export function useSendings(conversationId: string, messages: readonly Message[], memberId: string): Sending[] {
  const sendings = useAllSendings()
  const { unconfirmed, confirmed } = useMemo(() => {
    const matched = new Set<string>()
    const isConfirmed = ({ message, after, state }: Sending): boolean => {
      const storedMessage = messages.find(
        (one) =>
          one.id > after &&
          one.sender_id === memberId &&
          one.content_type === message.content_type &&
          one.template_name === message.template_name &&
          (one.content_text ?? '') === (message.content_text ?? '') &&
          !matched.has(one.id),
      )
      if (!storedMessage || state === 'refused') return false
      matched.add(storedMessage.id)
      return true
    }
    const here = sendings.filter(({ message }) => message.conversation_id === conversationId)
    const confirmed = here.filter(isConfirmed)
    return { confirmed, unconfirmed: here.filter((one) => !confirmed.includes(one)) }
  }, [sendings, messages, conversationId, memberId])
  // A message whose outcome was unknown was sent after all.
  useEffect(() => {
    for (const { key, state } of confirmed) if (state === 'lost') discard(key)
  }, [confirmed])
  return unconfirmed
}

type Draft = {
  conversationId: string
  body: Body
  after: string
  sender: { id: string; name: string }
  quoted?: Message | undefined
  /** The text to show, when it is not in `body` (templates). */
  text?: string | undefined
  /** Called instead of keeping the message for a retry, for a message that does not show in the thread. */
  onFailed?: (error: unknown) => void
}

export function send({ conversationId, body, after, sender, quoted, text, onFailed }: Draft): void {
  const key = `sending-${newIdempotencyKey()}`
  const at = new Date().toISOString()
  const message: Message = {
    id: key,
    conversation_id: conversationId,
    direction: 'outbound',
    sender_type: 'agent',
    sender_id: sender.id,
    sender,
    content_type: body.type ?? 'text',
    content_text: text ?? body.text ?? (body.reaction?.emoji || null),
    content: null,
    media_url: body.media_url ?? null,
    media: null,
    template_name: body.template?.name ?? null,
    broadcast_id: null,
    msgapp_message_id: null,
    message_id: key,
    status: 'pending',
    reply_to_message_id: body.reaction?.message_id ?? body.reply_to_message_id ?? null,
    reply_to: quoted
      ? {
          id: quoted.id,
          direction: quoted.direction,
          content_type: quoted.content_type,
          content_text: summaryOf(quoted),
        }
      : null,
    interactive_reply_id: null,
    error: null,
    error_reason: null,
    deleted_at: null,
    created_at: at,
    idempotency_key: null,
  }
  start({ key, message, body, idempotencyKey: newIdempotencyKey(), after }, onFailed)
}

function start(unsent: Omit<Sending, 'state' | 'startedAt'>, onFailed?: Draft['onFailed']): void {
  const sending: Sending = { ...unsent, state: 'sending', startedAt: Date.now() }
  putSending(sending)
  const { conversation_id: id } = sending.message
  const queue = (queues.get(id) ?? Promise.resolve(true)).then(() => post(sending, onFailed))
  queues.set(id, queue)
}

/** Whether the last message of a conversation was accepted, once its send has ended. */
export const isLastSent = (conversationId: string): Promise<boolean> =>
  queues.get(conversationId) ?? Promise.resolve(true)

async function post(sending: Sending, onFailed: Draft['onFailed']): Promise<boolean> {
  const { key, message, body, idempotencyKey } = sending
  const { conversation_id: id } = message
  try {
    const { data } = await call('POST /conversations/{id}/messages', { params: { id }, body, idempotencyKey })
    insertMessage(data)
    discard(key)
    return true
  } catch (error) {
    onFailed?.(error)
    if (error instanceof CallError && error.details.message_id) {
      await invalidate({ queryKey: ['GET /conversations/{id}/messages', threadInput(id)] })
      discard(key)
      return false
    }
    if (onFailed) {
      discard(key)
      return false
    }
    const state = error instanceof CallError && error.code !== 'internal' ? 'refused' : 'lost'
    const failed = { status: 'failed', error_reason: describeError(error) } as const
    putSending({ ...sending, state, message: { ...message, ...failed } })
    return false
  }
}

export function retry(key: string): void {
  const sending = findSending(key)
  if (!sending) return
  const idempotencyKey = sending.state === 'lost' ? sending.idempotencyKey : newIdempotencyKey()
  start({
    ...sending,
    idempotencyKey,
    message: { ...sending.message, status: 'pending', error_reason: null },
  })
}

/** Sends a message again that the channel rejected. Templates cannot be resent: their values are not stored. */
export function resendMessage(message: Message, sender: Draft['sender']): void {
  const body = bodyOf(message)
  if (body) send({ conversationId: message.conversation_id, body, after: message.id, sender })
}

export const canResend = (message: Message): boolean => message.status === 'failed' && bodyOf(message) !== undefined

function bodyOf({ content_type: type, content_text, content, media, media_url }: Message): Body | undefined {
  const text = content_text ?? ''
  if (type === 'text') return { type, text }
  if (!media_url || (type !== 'image' && type !== 'video' && type !== 'audio' && type !== 'document')) return undefined
  const filename = media?.filename ?? (typeof content?.filename === 'string' ? content.filename : '')
  return { type, media_url, ...(text ? { text } : {}), ...(filename ? { filename } : {}) }
}
