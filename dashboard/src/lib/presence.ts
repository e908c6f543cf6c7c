/**
 * Presence: which members have a conversation open, whether they write in it, and whether the visitor of a web chat does.
 *
 * The page reports its own state when it changes, and as a heartbeat while it shows a conversation and is visible. The stream
 * sends the state of all members (`live.tsx`). A hidden or closed page is removed at once; the service removes a page that
 * vanished within 45 seconds.
 */
import { useEffect } from 'react'
import { call, newIdempotencyKey } from './api.ts'
import { createStore } from './store.ts'

export type TypingKind = 'reply' | 'note'
export type Presence = { member_id: string; name: string; conversation_id: string; typing: TypingKind | null }

/** `visitors`: the conversations whose web visitor types. */
export type PresenceData = { members: readonly Presence[]; visitors?: readonly string[] }

const none: readonly Presence[] = []
const typingVisitors = createStore<ReadonlySet<string>>(() => new Set())
const byConversation = createStore<ReadonlyMap<string, readonly Presence[]>>(() => new Map())

/** Stores the data of a `presence` event. Unchanged conversations keep their array, so that their rows do not render again. */
export function receivePresence({ members, visitors = [] }: PresenceData): void {
  const groups = Object.groupBy(members, ({ conversation_id }) => conversation_id)
  const before = byConversation.get()
  const next = Object.entries(groups).map(([id, present = []]) => {
    const previous = before.get(id)
    return [id, JSON.stringify(previous) === JSON.stringify(present) && previous ? previous : present] as const
  })
  byConversation.set(new Map(next))
  typingVisitors.set(new Set(visitors))
}

/** Whether the visitor of a web chat types. */
export const useVisitorTyping = (conversationId: string): boolean =>
  typingVisitors.useValue((conversations) => conversations.has(conversationId))

/** Every member in a conversation, including the signed-in member. */
export const usePresence = (conversationId: string): readonly Presence[] =>
  byConversation.useValue((members) => members.get(conversationId) ?? none)

/** The service removes a page 30 seconds after its last report. */
const heartbeatMs = 12_000
/** Moving through the list by keyboard must not report every conversation. */
const settleMs = 150
/** A member who has not typed for this long has stopped. */
const typingMs = 6_000

const pageId = newIdempotencyKey()
let viewedId: string | null = null
let typing: TypingKind | null = null
let isReporting = false
let settling: ReturnType<typeof setTimeout> | undefined
let typingEnds: ReturnType<typeof setTimeout> | undefined

function report(state: 'open' | 'closed'): void {
  clearTimeout(settling)
  const body = { page_id: pageId, state, conversation_id: viewedId, typing }
  // A lost report is repeated by the next heartbeat.
  call('POST /presence', { body, keepalive: true }).catch(() => {})
}

function reportSoon(): void {
  if (!isReporting || document.hidden) return
  clearTimeout(settling)
  settling = setTimeout(() => report('open'), settleMs)
}

/** Reports this page until the returned function is called. */
export function startPresence(): () => void {
  isReporting = true
  const followVisibility = () => report(document.hidden ? 'closed' : 'open')
  const leave = () => report('closed')
  const heartbeat = setInterval(() => viewedId && !document.hidden && report('open'), heartbeatMs)
  document.addEventListener('visibilitychange', followVisibility)
  addEventListener('pagehide', leave)
  reportSoon()
  return () => {
    isReporting = false
    clearInterval(heartbeat)
    clearTimeout(settling)
    document.removeEventListener('visibilitychange', followVisibility)
    removeEventListener('pagehide', leave)
  }
}

/** Removes this page at once. Call it before the session ends: a report needs one. */
export const leavePresence = (): void => report('closed')

/** Reports that the page shows this conversation, until the component is removed. */
export function useViewing(conversationId: string): void {
  useEffect(() => {
    viewedId = conversationId
    typing = null
    reportSoon()
    return () => {
      viewedId = null
      typing = null
      clearTimeout(typingEnds)
      reportSoon()
    }
  }, [conversationId])
}

/** Reports that the member writes, until they stop for some seconds. Null: the member stopped. */
export function reportTyping(kind: TypingKind | null): void {
  clearTimeout(typingEnds)
  if (kind) typingEnds = setTimeout(() => reportTyping(null), typingMs)
  if (typing === kind) return
  typing = kind
  reportSoon()
}
