/**
 * Messages that this browser is sending. A message shows as soon as it is sent,
 * and the stored message replaces it. Messages of one conversation go out one
 * after the other, so they arrive in the order they were written. A message
 * that the service refuses stays with the reason until it is sent again or
 * discarded. A message that the channel rejects is stored by the service.
 *
 * Unconfirmed messages are kept for the life of the tab, so a reload loses
 * none. After a reload each waits for "Retry", which sends it under its old
 * `Idempotency-Key`.
 */
import { useMemo, useSyncExternalStore } from 'react'
import { CallError, call, describeError, type InputOf, invalidate, newIdempotencyKey } from '../lib/api.ts'
import { words } from '../words/words.ts'
import { insertMessage, type Message, summaryOf, threadInput } from './data.ts'

export type Body = InputOf<'POST /conversations/{id}/messages'>['body']

export type Sending = {
  key: string
  /** The message as the thread shows it. */
  message: Message
  body: Body
  /** The `Idempotency-Key`: a retry of a message that may have been sent does not send it twice. */
  idempotencyKey: string
  /** The id of the newest message when this one was sent. The stored message has a higher id. */
  after: string
  /** `lost`: the connection or the service failed, so the outcome is unknown. If it was sent, the stored message appears. */
  state: 'sending' | 'refused' | 'lost'
}

let all: readonly Sending[] = []
let isRestored = false
const listeners = new Set<() => void>()
const queues = new Map<string, Promise<void>>()
const storageKey = 'parley-outbox'

function set(next: readonly Sending[]): void {
  all = next
  if (all.length > 0) sessionStorage.setItem(storageKey, JSON.stringify(all))
  else sessionStorage.removeItem(storageKey)
  for (const listener of listeners) listener()
}

/** The messages of this tab, read when the first conversation opens. By then `setDraftOwner` has removed another member's. */
function getAll(): readonly Sending[] {
  if (isRestored) return all
  isRestored = true
  const stored = sessionStorage.getItem(storageKey)
  const unsent = { status: 'failed', error_reason: words.inbox.thread.notSent } as const
  all = (stored ? (JSON.parse(stored) as (Sending & { once?: string })[]) : [])
    // A tab that was open before an upgrade stored the key as `once`.
    .map(({ once, ...sending }) => ({ ...sending, idempotencyKey: sending.idempotencyKey ?? once }))
    .map((sending) =>
      sending.state === 'sending' ? { ...sending, state: 'lost', message: { ...sending.message, ...unsent } } : sending,
    )
  return all
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The messages of a conversation that the service has not confirmed, oldest first. */
export function useSendings(conversationId: string, messages: readonly Message[], memberId: string): Sending[] {
  const sendings = useSyncExternalStore(subscribe, getAll)
  return useMemo(() => {
    const matched = new Set<string>()
    return sendings.filter(({ message, after, state }) => {
      if (message.conversation_id !== conversationId) return false
      const storedMessage = messages.find(
        (one) =>
          one.id > after &&
          one.sender_id === memberId &&
          one.content_type === message.content_type &&
          one.template_name === message.template_name &&
          (one.content_text ?? '') === (message.content_text ?? '') &&
          !matched.has(one.id),
      )
      if (!storedMessage || state === 'refused') return true
      matched.add(storedMessage.id)
      return false
    })
  }, [sendings, messages, conversationId, memberId])
}

type Draft = {
  conversationId: string
  body: Body
  after: string
  sender: { id: string; name: string }
  quoted?: Message | undefined
  /** The text to show, when it is not in `body` (templates). */
  text?: string | undefined
}

export function send({ conversationId, body, after, sender, quoted, text }: Draft): void {
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
    content_text: text ?? body.text ?? null,
    content: null,
    media_url: body.media_url ?? null,
    media: null,
    template_name: body.template?.name ?? null,
    broadcast_id: null,
    msgapp_message_id: null,
    message_id: key,
    status: 'pending',
    reply_to_message_id: body.reply_to_message_id ?? null,
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
  }
  start({ key, message, body, idempotencyKey: newIdempotencyKey(), after, state: 'sending' })
}

function start(sending: Sending): void {
  set([...all.filter(({ key }) => key !== sending.key), sending])
  const { conversation_id: id } = sending.message
  const queue = (queues.get(id) ?? Promise.resolve()).then(() => post(sending))
  queues.set(id, queue)
}

async function post({ key, message, body, idempotencyKey }: Sending): Promise<void> {
  const { conversation_id: id } = message
  try {
    const { data } = await call('POST /conversations/{id}/messages', { params: { id }, body, idempotencyKey })
    insertMessage(data)
    discard(key)
  } catch (error) {
    if (error instanceof CallError && error.code === 'platform_error') {
      await invalidate({ queryKey: ['GET /conversations/{id}/messages', threadInput(id)] })
      return discard(key)
    }
    const state = error instanceof CallError && error.code !== 'internal' ? 'refused' : 'lost'
    const failed = { status: 'failed', error_reason: describeError(error) } as const
    set(all.map((one) => (one.key === key ? { ...one, state, message: { ...one.message, ...failed } } : one)))
  }
}

// Warns before closing the tab, which would lose unconfirmed messages. A reload would not, but browsers do not distinguish them.
addEventListener('beforeunload', (event) => {
  if (all.length > 0) event.preventDefault()
})

export function retry(key: string): void {
  const sending = all.find((one) => one.key === key)
  if (!sending) return
  const idempotencyKey = sending.state === 'lost' ? sending.idempotencyKey : newIdempotencyKey()
  start({
    ...sending,
    idempotencyKey,
    state: 'sending',
    message: { ...sending.message, status: 'pending', error_reason: null },
  })
}

export function discard(key: string): void {
  set(all.filter((one) => one.key !== key))
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
