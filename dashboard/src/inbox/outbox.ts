/**
 * Messages that this browser is sending. A message shows as soon as it is sent,
 * and the stored message replaces it. Messages of one conversation go out one
 * after the other, so they arrive in the order they were written. A message
 * that the service refuses stays with the reason until it is sent again or
 * discarded. A message that the channel rejects is stored by the service.
 *
 * Unconfirmed messages are kept for the life of the tab, so a reload loses
 * none. After a reload each waits for "Send again", under its old
 * `Idempotency-Key`.
 */
import { useMemo, useSyncExternalStore } from 'react'
import { askAgain, CallError, call, type InputOf, messageOf, newOnce } from '../lib/api.ts'
import { words } from '../words/words.ts'
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
let isRestored = false
const listeners = new Set<() => void>()
const lines = new Map<string, Promise<void>>()
const storageKey = 'parley-outbox'

function set(next: readonly Sending[]): void {
  all = next
  if (all.length > 0) sessionStorage.setItem(storageKey, JSON.stringify(all))
  else sessionStorage.removeItem(storageKey)
  for (const listener of listeners) listener()
}

/** The messages of this tab. Read when a conversation is first shown: by then `claimDrafts` has removed another member's. */
function getAll(): readonly Sending[] {
  if (isRestored) return all
  isRestored = true
  const stored = sessionStorage.getItem(storageKey)
  const unsent = { status: 'failed', error_reason: words.inbox.thread.notSent } as const
  all = (stored ? (JSON.parse(stored) as Sending[]) : []).map((sending) =>
    sending.state === 'sending' ? { ...sending, state: 'lost', message: { ...sending.message, ...unsent } } : sending,
  )
  return all
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** What is still on its way in a conversation, oldest first. */
export function useSendings(conversationId: string, messages: readonly Message[], memberId: string): Sending[] {
  const sendings = useSyncExternalStore(subscribe, getAll)
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
  const key = `sending-${newOnce()}`
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

// Closing the tab would lose what is not confirmed; a reload would not, but the browser does not tell them apart.
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
