/**
 * The messages that this member's browser is sending, shared by its tabs in `localStorage`. One entry per message, so that two tabs
 * never overwrite each other's.
 *
 * The tab that sends a message owns its entry. A tab that closes marks its messages as `lost`, since it does not know the outcome. The
 * messages of a tab that crashed become `lost` after `sendTimeoutMs`.
 */
import { useSyncExternalStore } from 'react'
import type { InputOf } from '../../lib/api.ts'
import { listUnsent, removeUnsent, storeUnsent, unsentPrefix } from '../../lib/drafts.ts'
import { words } from '../../words/words.ts'
import type { Message } from './data.ts'

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
  /** When the last attempt started, in milliseconds. */
  startedAt: number
}

const prefix = 'message-'
/** Longer than a send with all its retries may take. */
const sendTimeoutMs = 90_000

let all: readonly Sending[] = []
let isRestored = false
const own = new Set<string>()
const listeners = new Set<() => void>()

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function set(next: readonly Sending[]): void {
  all = next
  for (const listener of listeners) listener()
}

/** Adds or replaces a message of this tab. */
export function putSending(sending: Sending): void {
  own.add(sending.key)
  // A reaction does not show in the thread, so it cannot wait there for a retry.
  if (sending.body.type !== 'reaction') storeUnsent(prefix + sending.key, JSON.stringify(sending))
  set([...getAll().filter(({ key }) => key !== sending.key), sending])
}

export function discard(key: string): void {
  removeUnsent(prefix + key)
  set(getAll().filter((one) => one.key !== key))
}

/** Messages that were not sent follow their conversation into the one it was merged into. */
export function moveSendings(fromId: string, toId: string): void {
  for (const sending of getAll()) {
    const { message, state } = sending
    if (message.conversation_id !== fromId || state === 'sending') continue
    putSending({ ...sending, message: { ...message, conversation_id: toId } })
  }
}

export const findSending = (key: string): Sending | undefined => getAll().find((one) => one.key === key)

/** All messages that the service has not confirmed, oldest first. */
export const useAllSendings = (): readonly Sending[] => useSyncExternalStore(subscribe, getAll)

/** Whether a conversation has a message that was not sent, for its row in the list. */
export const useHasUnsent = (conversationId: string): boolean =>
  useSyncExternalStore(subscribe, () =>
    getAll().some(({ message, state }) => state !== 'sending' && message.conversation_id === conversationId),
  )

/** Read when the inbox opens. By then `setDraftOwner` has removed another member's messages. */
function getAll(): readonly Sending[] {
  if (isRestored) return all
  isRestored = true
  all = readStored()
  return all
}

function readStored(): readonly Sending[] {
  const now = Date.now()
  const reactions = all.filter(({ body }) => body.type === 'reaction')
  const stored = [...listUnsent(prefix).map(({ value }) => JSON.parse(value) as Sending), ...reactions]
  const inFlight = stored.filter(({ key, state, startedAt }) => isInFlight(state, startedAt, now) && !own.has(key))
  if (inFlight.length > 0) setTimeout(reload, sendTimeoutMs)
  return stored
    .map((sending) =>
      own.has(sending.key) || isInFlight(sending.state, sending.startedAt, now) ? sending : toLost(sending),
    )
    .sort((one, other) => one.message.created_at.localeCompare(other.message.created_at))
}

const isInFlight = (state: Sending['state'], startedAt: number, now: number) =>
  state === 'sending' && now - startedAt < sendTimeoutMs

function toLost(sending: Sending): Sending {
  if (sending.state !== 'sending') return sending
  const failed = { status: 'failed', error_reason: words.inbox.thread.notSent } as const
  return { ...sending, state: 'lost', message: { ...sending.message, ...failed } }
}

const reload = () => {
  if (isRestored) set(readStored())
}

// Another tab changed its messages, or sign-out removed them all.
addEventListener('storage', ({ key }) => {
  if (key === null || key.startsWith(unsentPrefix + prefix)) reload()
})

addEventListener('pagehide', () => {
  for (const sending of all) {
    if (own.has(sending.key) && sending.state === 'sending' && sending.body.type !== 'reaction')
      storeUnsent(prefix + sending.key, JSON.stringify(toLost(sending)))
  }
})
