/**
 * The episodes of a conversation by its past: a pure function of its messages and timeline, in the order of their ids. It follows the rules by
 * which the statements of today write episodes.
 */
import type { StoredDetails } from '../timeline.ts'
import type { closers, openers } from './writing.ts'

export type PastEvent = {
  id: string
  /** `received` and `reply`: messages. The others: entries of the timeline. */
  kind: 'received' | 'reply' | 'status' | 'assigned' | 'labeled' | 'snoozed' | 'blocked' | 'unblocked'
  at: string
  /** Of a reply: its sender. Of an entry: its author. */
  member_id: string | null
  details: StoredDetails | null
}

export type PastEpisode = {
  /** Of the message that opened it. */
  id: string
  opened_at: string
  opened_by: (typeof openers)[number]
  first_assigned_at: string | null
  first_reply_at: string | null
  first_reply_by: string | null
  replies: number
  customer_messages: number
  closed_at: string | null
  closed_by: (typeof closers)[number] | null
  closed_by_id: string | null
  reopened_from: string | null
  member_id: string | null
  /** Names. */
  labels: string[]
}

export type Replay = {
  /** Oldest first. Only the last one can be open. */
  episodes: PastEpisode[]
  status: 'open' | 'pending' | 'closed'
  isBlocked: boolean
  /** The status to which the end of a block returns. */
  statusBeforeBlock: Replay['status'] | undefined
  assigneeId: string | null
  labels: Set<string>
  lastAt: string
}

export const startReplay = (): Replay => ({
  ...{ episodes: [], status: 'open', isBlocked: false, statusBeforeBlock: undefined },
  ...{ assigneeId: null, labels: new Set(), lastAt: '' },
})

/** Closed for less than this, an episode is continued: by the next one, or because it is reopened. */
const continuedMs = 24 * 3_600_000

/** Whether the last episode closed less than 24 hours before. */
export const isContinuedAt = (last: PastEpisode | undefined, at: string): last is PastEpisode =>
  typeof last?.closed_at === 'string' && Date.parse(last.closed_at) > Date.parse(at) - continuedMs

export function openEpisodeOf({ episodes }: Replay): PastEpisode | undefined {
  const last = episodes.at(-1)
  return last?.closed_at === null ? last : undefined
}

export function applyPast(replay: Replay, event: PastEvent): void {
  const { kind, at, member_id, details } = event
  replay.lastAt = at
  if (kind === 'received') {
    if (replay.isBlocked) return
    const episode = openEpisodeOf(replay) ?? openEpisode(replay, event, 'customer')
    episode.customer_messages++
    replay.status = 'open'
  } else if (kind === 'reply') {
    if (replay.status === 'closed') return
    const episode = openEpisodeOf(replay) ?? openEpisode(replay, event, 'member')
    episode.replies++
    if (episode.first_reply_at === null) Object.assign(episode, { first_reply_at: at, first_reply_by: member_id })
  } else if (kind === 'assigned') {
    // A line about the team names no assignee.
    if (details?.assignee_id !== undefined) replay.assigneeId = details.assignee_id
    noteAssignment(replay, at)
    changeClosed(replay, at)
  } else if (kind === 'labeled') {
    for (const name of details?.added ?? []) replay.labels.add(name)
    for (const name of details?.removed ?? []) replay.labels.delete(name)
    changeClosed(replay, at)
  } else if (kind === 'blocked') {
    replay.isBlocked = true
    replay.statusBeforeBlock = details?.status
    if (replay.status !== 'closed') setStatus(replay, { ...event, details: { status: 'closed' } }, 'block')
  } else if (kind === 'unblocked') {
    replay.isBlocked = false
    const status = replay.statusBeforeBlock
    if (status) setStatus(replay, { ...event, details: { status } })
    replay.statusBeforeBlock = undefined
  } else {
    replay.statusBeforeBlock = undefined
    setStatus(replay, kind === 'snoozed' ? { ...event, details: { ...details, status: 'pending' } } : event)
  }
}

/** A conversation that is closed without an entry that says when: its episode ended with the last thing that happened. */
export function endReplay(replay: Replay, status: Replay['status']): void {
  const open = openEpisodeOf(replay)
  if (open && status === 'closed') closeEpisode(replay, open, { at: replay.lastAt, by: null, byId: null })
}

function setStatus(replay: Replay, { at, member_id, details }: PastEvent, by?: 'block'): void {
  const status = details?.status ?? 'open'
  const before = replay.status
  replay.status = status
  const open = openEpisodeOf(replay)
  if (status === 'closed') {
    const closing = details?.run_id
      ? { by: 'automation' as const, byId: details.run_id }
      : details?.by === 'api'
        ? { by: 'api' as const, byId: details.key_id ?? null }
        : { by: by ?? ('member' as const), byId: member_id }
    if (open) closeEpisode(replay, open, { at, ...closing })
    return
  }
  // The message of a customer who reopens a conversation opens an episode.
  const last = replay.episodes.at(-1)
  if (before !== 'closed' || open || details?.by === 'customer' || !isContinuedAt(last, at)) return
  Object.assign(last, { closed_at: null, closed_by: null, closed_by_id: null, member_id: null, labels: [] })
  noteAssignment(replay, at)
}

function openEpisode(replay: Replay, { id, at }: PastEvent, opened_by: PastEpisode['opened_by']): PastEpisode {
  const last = replay.episodes.at(-1)
  const episode: PastEpisode = {
    ...{ id, opened_at: at, opened_by, first_assigned_at: replay.assigneeId === null ? null : at },
    ...{ first_reply_at: null, first_reply_by: null, replies: 0, customer_messages: 0 },
    ...{ closed_at: null, closed_by: null, closed_by_id: null },
    ...{ reopened_from: isContinuedAt(last, at) ? last.id : null, member_id: null, labels: [] },
  }
  replay.episodes.push(episode)
  return episode
}

function closeEpisode(
  { assigneeId, labels }: Replay,
  episode: PastEpisode,
  { at, by, byId }: { at: string; by: PastEpisode['closed_by']; byId: string | null },
): void {
  Object.assign(episode, {
    closed_at: at,
    closed_by: by,
    closed_by_id: byId,
    member_id: assigneeId,
    labels: [...labels],
  })
}

/** Entries of one change follow one another at once, the status first. */
const sameChangeMs = 20

/** What the change that closed an episode also did belongs to its end. */
function changeClosed({ episodes, assigneeId, labels }: Replay, at: string): void {
  const last = episodes.at(-1)
  if (typeof last?.closed_at !== 'string' || Date.parse(at) - Date.parse(last.closed_at) > sameChangeMs) return
  Object.assign(last, { member_id: assigneeId, labels: [...labels] })
  if (assigneeId !== null) last.first_assigned_at ??= last.closed_at
}

function noteAssignment(replay: Replay, at: string): void {
  const open = openEpisodeOf(replay)
  if (open && replay.assigneeId !== null) open.first_assigned_at ??= at
}
