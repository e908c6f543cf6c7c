/**
 * What is on its way from this browser. A message shows as soon as it is sent,
 * and makes way for the real one. Those of a conversation go out one after the
 * other, so they arrive in the order they were written. What the service
 * refuses stays with its reason until it is sent again or thrown away; what the
 * channel refuses is kept by the service, and is shown from there.
 */
import { useMemo, useSyncExternalStore } from 'react'
import { askAgain, CallError, call, type InputOf, messageOf, newOnce } from '../lib/api.ts'
import { lineOf, type Message, showMessage, threadInput } from './data.ts'

export type Body = InputOf<'POST /conversations/{id}/messages'>['body']

export type Sending = {
  key: string
  /** The message as it will look. */
  message: Message
  body: Body
  /** What the service knows it by, so that what may have gone out does not go out twice. */
  once: string
  /** The newest message there was: the real one is newer. */
  after: string
  /** `lost`: the line or the service broke, so it may have gone out; if it did, the real one shows up. */
  state: 'sending' | 'refused' | 'lost'
}

let all: readonly Sending[] = []
const listeners = new Set<() => void>()
const lines = new Map<string, Promise<void>>()
let count = 0

function set(next: readonly Sending[]): void {
  all = next
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** What is still on its way in a conversation, oldest first. */
export function useSendings(conversationId: string, messages: readonly Message[], memberId: string): Sending[] {
  const sendings = useSyncExternalStore(subscribe, () => all)
  return useMemo(() => {
    const taken = new Set<string>()
    return sendings.filter(({ message, after, state }) => {
      if (message.conversation_id !== conversationId) return false
      const real = messages.find(
        (one) =>
          one.id > after &&
          one.sender_id === memberId &&
          one.content_type === message.content_type &&
          one.template_name === message.template_name &&
          (one.content_text ?? '') === (message.content_text ?? '') &&
          !taken.has(one.id),
      )
      if (!real || state === 'refused') return true
      taken.add(real.id)
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
  /** What it will read as, where the body does not say it. */
  text?: string | undefined
}

export function send({ conversationId, body, after, sender, quoted, text }: Draft): void {
  count += 1
  const key = `sending-${count}`
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
          content_text: lineOf(quoted),
        }
      : null,
    interactive_reply_id: null,
    error: null,
    error_reason: null,
    deleted_at: null,
    created_at: at,
  }
  start({ key, message, body, once: newOnce(), after, state: 'sending' })
}

function start(sending: Sending): void {
  set([...all.filter(({ key }) => key !== sending.key), sending])
  const { conversation_id: id } = sending.message
  const line = (lines.get(id) ?? Promise.resolve()).then(() => post(sending))
  lines.set(id, line)
}

async function post({ key, message, body, once }: Sending): Promise<void> {
  const { conversation_id: id } = message
  try {
    const { data } = await call('POST /conversations/{id}/messages', { params: { id }, body, once })
    showMessage(data)
    discard(key)
  } catch (error) {
    if (error instanceof CallError && error.code === 'platform_error') {
      await askAgain({ queryKey: ['GET /conversations/{id}/messages', threadInput(id)] })
      return discard(key)
    }
    const state = error instanceof CallError && error.code !== 'internal' ? 'refused' : 'lost'
    const failed = { status: 'failed', error_reason: messageOf(error) } as const
    set(all.map((one) => (one.key === key ? { ...one, state, message: { ...one.message, ...failed } } : one)))
  }
}

// Whoever leaves the page now would lose what nobody got yet.
addEventListener('beforeunload', (event) => {
  if (all.length > 0) event.preventDefault()
})

export function retry(key: string): void {
  const sending = all.find((one) => one.key === key)
  if (!sending) return
  const once = sending.state === 'lost' ? sending.once : newOnce()
  start({ ...sending, once, state: 'sending', message: { ...sending.message, status: 'pending', error_reason: null } })
}

export function discard(key: string): void {
  set(all.filter((one) => one.key !== key))
}

/** The same once more, for what the channel refused. A template is not: its values are not known any more. */
export function sendAgain(message: Message, sender: Draft['sender']): void {
  const body = bodyOf(message)
  if (body) send({ conversationId: message.conversation_id, body, after: message.id, sender })
}

export const isRepeatable = (message: Message): boolean => message.status === 'failed' && bodyOf(message) !== undefined

function bodyOf({ content_type: type, content_text, content, media, media_url }: Message): Body | undefined {
  const text = content_text ?? ''
  if (type === 'text') return { type, text }
  if (!media_url || (type !== 'image' && type !== 'video' && type !== 'audio' && type !== 'document')) return undefined
  const filename = media?.filename ?? (typeof content?.filename === 'string' ? content.filename : '')
  return { type, media_url, ...(text ? { text } : {}), ...(filename ? { filename } : {}) }
}
