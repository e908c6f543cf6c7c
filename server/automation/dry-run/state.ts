/**
 * The state of a conversation at a moment of the past. Pure.
 *
 * A dry run starts with the state before the first event and changes it with each event, as the statements of messages, changes and
 * blocks do. What a simulated run would have changed is part of the state, too.
 */
import type { ConversationState } from '../../conversations/activity.ts'
import type { StoredDetails } from '../../conversations/timeline.ts'
import { fold } from '../../lib/text.ts'

export type PastEvent =
  | { kind: 'message'; ms: number; message: PastMessage }
  /** A reply of a member, or one from the provider's own app. */
  | { kind: 'person'; ms: number }
  /** An entry of the timeline. */
  | { kind: 'change'; ms: number; entry: PastEntry }
  | { kind: 'opt_out'; ms: number; isOptedOut: boolean }
  | { kind: 'created'; ms: number }

export type PastMessage = {
  id: string
  ms: number
  /** By the clock of the channel. */
  sentMs: number
  text: string | null
  content_type: string
  button: string | null
  deletedMs: number | null
  wish: 'stop' | 'resume' | undefined
  /** The first one of the contact, in all conversations. */
  is_first: boolean
}

export type PastEntry = { kind: string; details: StoredDetails }

export type ThreadState = ConversationState & {
  isBlocked: boolean
  /** What the end of a block restores. */
  statusBeforeBlock: ConversationState['status'] | undefined
  isOptedOut: boolean
  /** As the columns of `conversations`: when the service received the last message, and when the customer sent it. */
  receivedMs: number | null
  inboundMs: number | null
  inboxMs: number | null
  waitingSinceMs: number | null
}

export const newState = (): ThreadState => ({
  ...{ status: 'open', assigned_agent_id: null, assigned_team_id: null, snoozed_until: null, labels: [] },
  ...{ isBlocked: false, statusBeforeBlock: undefined, isOptedOut: false },
  ...{ receivedMs: null, inboundMs: null, inboxMs: null, waitingSinceMs: null },
})

/** A customer's message. Returns whether it opens the conversation. */
export function receive(state: ThreadState, { ms, sentMs, content_type }: PastMessage): boolean {
  const opens = state.status === 'closed' || state.receivedMs === null
  state.inboundMs = Math.max(state.inboundMs ?? 0, sentMs)
  state.receivedMs = ms
  if (state.isBlocked) return false
  const waits = content_type === 'reaction' ? null : ms
  state.waitingSinceMs = state.status === 'closed' ? waits : (state.waitingSinceMs ?? waits)
  state.inboxMs = ms
  state.status = 'open'
  state.snoozed_until = null
  return opens
}

/** A reply of a person. */
export function reply(state: ThreadState, ms: number): void {
  state.inboxMs = ms
  state.waitingSinceMs = null
}

/** The conversation after an entry of the timeline. One by the customer is part of the message that reopened it. */
export function applyEntry(state: ThreadState, { kind, details }: PastEntry, ms: number): void {
  const { status, by, assignee_id, team, added = [], removed = [], until } = details
  if (by === 'customer') return
  if (kind === 'status' && status) {
    state.statusBeforeBlock = undefined
    setStatus(state, status)
    if (by === 'timer') state.inboxMs = ms
  }
  if (kind === 'snoozed') {
    state.statusBeforeBlock = undefined
    state.status = 'pending'
    state.snoozed_until = until ?? null
  }
  if (assignee_id !== undefined) state.assigned_agent_id = assignee_id
  if (team !== undefined) state.assigned_team_id = team?.id ?? null
  if (kind === 'labeled') state.labels = changeLabels(state.labels, added, removed)
  if (kind === 'blocked') {
    state.isBlocked = true
    state.statusBeforeBlock = status
    setStatus(state, 'closed')
  }
  if (kind === 'unblocked') {
    state.isBlocked = false
    setStatus(state, state.statusBeforeBlock ?? state.status)
  }
}

/** Any status but `pending` ends a snooze. */
export function setStatus(state: ThreadState, status: ThreadState['status']): void {
  state.status = status
  if (status !== 'pending') state.snoozed_until = null
}

export function changeLabels(
  labels: readonly string[],
  added: readonly string[],
  removed: readonly string[],
): string[] {
  const byKey = new Map(labels.map((name) => [fold(name), name]))
  for (const name of added) if (!byKey.has(fold(name))) byKey.set(fold(name), name)
  for (const name of removed) byKey.delete(fold(name))
  return [...byKey.values()]
}
