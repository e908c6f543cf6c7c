/**
 * Sends messages. A message shows as soon as it is sent, and the stored message replaces it. Messages of one conversation go out one
 * after the other, so they arrive in the order they were written. A message that the service refuses stays with the reason
 * until it is sent again or discarded. A message that fails at the channel is stored by the service.
 *
 * A message whose connection was lost is sent again when the connection returns, and once if it is lost while there is one.
 * Unconfirmed messages survive a reload and closing the tab (`unconfirmed.ts`). Each then waits for "Retry". All of these send it under
 * its `Idempotency-Key`: a message that may have been sent is not sent twice.
 */
import { useEffect, useMemo } from 'react'
import { CallError, call, describeError, invalidate, newIdempotencyKey } from '../../lib/api.ts'
import { insertInThread, type Message, summaryOf, threadInput } from './data.ts'
import {
  type Body,
  dropUnconfirmed,
  isLost,
  listUnconfirmed,
  putUnconfirmed,
  type Sending,
  useUnconfirmed,
} from './unconfirmed.ts'

/** The sends of each conversation, one after the other; the result says whether the last one was accepted. */
const queues = new Map<string, Promise<boolean>>()

/** The messages of a conversation that are not among those of the service, oldest first. */
export function useSendings(conversationId: string, messages: readonly Message[]): Sending[] {
  const all = useUnconfirmed('message')
  const { unconfirmed, confirmed } = useMemo(() => {
    const keys = new Set(messages.map(({ idempotency_key }) => idempotency_key))
    const here = sendingsOf(conversationId, all)
    return {
      unconfirmed: here.filter(({ key }) => !keys.has(key)),
      confirmed: here.filter(({ key }) => keys.has(key)),
    }
  }, [all, messages, conversationId])
  // A message whose outcome was unknown was sent after all, perhaps before a retry was refused.
  useEffect(() => {
    for (const { key, state } of confirmed) if (state !== 'sending') dropUnconfirmed(key)
  }, [confirmed])
  return unconfirmed
}

type Draft = {
  conversationId: string
  body: Body
  sender: { id: string; name: string }
  quoted?: Message | undefined
  /** The text to show, when it is not in `body` (templates). */
  text?: string | undefined
  /** Called instead of keeping the message for a retry, for a message that does not show in the thread. */
  onFailed?: (error: unknown) => void
}

export function send({ conversationId, body, sender, quoted, text, onFailed }: Draft): void {
  const key = newIdempotencyKey()
  // Sorts after the ids of the service.
  const id = `sending-${key}`
  const message: Message = {
    id,
    idempotency_key: key,
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
    run_id: null,
    msgapp_message_id: null,
    message_id: id,
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
    created_at: new Date().toISOString(),
  }
  start({ kind: 'message', key, conversationId, message, body }, onFailed)
}

function start(unsent: Omit<Sending, 'state' | 'startedAt'>, onFailed?: Draft['onFailed']): void {
  const sending: Sending = { ...unsent, state: 'sending', startedAt: Date.now() }
  putUnconfirmed(sending)
  const { conversation_id: id } = sending.message
  const queue = (queues.get(id) ?? Promise.resolve(true)).then(() => post(sending, onFailed))
  queues.set(id, queue)
}

/** Whether the last message of a conversation was accepted, once its send has ended. */
export const isLastSent = (conversationId: string): Promise<boolean> =>
  queues.get(conversationId) ?? Promise.resolve(true)

async function post(sending: Sending, onFailed: Draft['onFailed']): Promise<boolean> {
  const { key, conversationId: id, message, body } = sending
  try {
    const input = { params: { id }, body, idempotencyKey: key }
    const { data } = await call('POST /conversations/{id}/messages', input)
    insertInThread('messages', data.conversation_id, data)
    dropUnconfirmed(key)
    return true
  } catch (error) {
    onFailed?.(error)
    const isStored = error instanceof CallError && error.details.message_id
    const thread = ['GET /conversations/{id}/messages', threadInput(message.conversation_id)]
    if (isStored) await invalidate({ queryKey: thread })
    if (isStored || onFailed) dropUnconfirmed(key)
    else {
      const state = error instanceof CallError && error.code !== 'internal' ? 'refused' : 'lost'
      const failed = { status: 'failed', error_reason: describeError(error) } as const
      putUnconfirmed({ ...sending, state, message: { ...message, ...failed } })
    }
    return false
  }
}

/** The service stores no refusal, so the same key sends the message. */
export function retry(message: Message): void {
  const sending = listUnconfirmed().find(({ key }) => key === message.idempotency_key)
  if (sending?.kind !== 'message') return
  start({ ...sending, message: { ...message, status: 'pending', error_reason: null } })
}

/** An older message waits for the member: it may no longer fit the conversation. */
const retryMs = 60 * 60_000

/** Sent again since the connection returned. One that is lost again waits for the next connection or the member. */
const retried = new Set<string>()

/**
 * Sends the messages of this tab again whose connection was lost, in the order they were written. Each keeps its key, so one that was
 * sent after all is not sent twice. `isReturned`: the connection was lost until now.
 */
export function retryLost(isReturned: boolean): void {
  if (isReturned) retried.clear()
  const lost = listUnconfirmed()
    .filter(isLost)
    .filter(({ key, message }) => !retried.has(key) && Date.now() - Date.parse(message.created_at) < retryMs)
    .sort((one, other) => one.message.created_at.localeCompare(other.message.created_at))
  for (const { key, message } of lost) {
    retried.add(key)
    retry(message)
  }
}

/** Whether the message is sent again without the member: as soon as there is a connection, unless that was tried in vain. */
export const isWaiting = ({ idempotency_key: key, created_at }: Message, isLive: boolean, now: number): boolean =>
  listUnconfirmed().some((one) => one.key === key && isLost(one)) &&
  now - Date.parse(created_at) < retryMs &&
  !(isLive && retried.has(key ?? ''))

export const discard = ({ idempotency_key: key }: Message): void => dropUnconfirmed(key ?? '')

const sendingsOf = (conversationId: string, all = listUnconfirmed()): Sending[] =>
  all.filter((one) => one.kind === 'message').filter(({ message }) => message.conversation_id === conversationId)

/** Messages that were not sent follow their conversation into the one it was merged into. */
export function moveSendings(fromId: string, toId: string): void {
  for (const sending of sendingsOf(fromId).filter(({ state }) => state !== 'sending'))
    putUnconfirmed({ ...sending, message: { ...sending.message, conversation_id: toId } })
}

/** Sends a message again that the channel rejected. Templates cannot be resent: their values are not stored. */
export function resendMessage(message: Message, sender: Draft['sender']): void {
  const body = bodyOf(message)
  if (body) send({ conversationId: message.conversation_id, body, sender })
}

export const canResend = (message: Message): boolean => message.status === 'failed' && bodyOf(message) !== undefined

function bodyOf({ content_type: type, content_text, content, media, media_url }: Message): Body | undefined {
  const text = content_text ?? ''
  if (type === 'text') return { type, text }
  if (!media_url || (type !== 'image' && type !== 'video' && type !== 'audio' && type !== 'document')) return undefined
  const filename = media?.filename ?? (typeof content?.filename === 'string' ? content.filename : '')
  return { type, media_url, ...(text ? { text } : {}), ...(filename ? { filename } : {}) }
}
