/**
 * The clocks of an episode: a function of when its customer waited for a member, and of the times of the target. Pure.
 *
 * A clock runs while the episode is open, the customer waits for a reply, and no bot handles the conversation. So it pauses while we wait
 * for the customer, also while the conversation is snoozed meanwhile. The first reply is due from the opening, every later one from the
 * message that it answers, and the closing from the opening. The stretches of waiting are kept rather than the state of a clock, so that
 * another target, other times or other office hours need no history of their own.
 */
import { type ClockKind, clockKinds } from '../automation/definition.ts'

/** A conversation in its open episode from `atMs` on. `isOpen`: false when the episode ended then. */
export type Change = {
  atMs: number
  isOpen: boolean
  waitingSinceMs: number | null
  isWithBot: boolean
  hasReplied: boolean
}

/** `toMs`: null while it lasts. */
type Stretch = [fromMs: number, toMs: number | null]

/** When the customer waited for a member. Indexes are those of stretches. */
export type Track = {
  stretches: Stretch[]
  /** `waiting_since` of the last wait, the first stretch after its start, and its end. */
  waitMs: number | null
  waitIndex: number
  waitEndedMs: number | null
  /** A member's first reply, and the first stretch after it. */
  repliedMs: number | null
  repliedIndex: number
  closedMs: number | null
}

/** How time is counted: on the calendar, or in office hours. `add` is undefined when the time never passes. */
export type TimeCount = {
  between: (fromMs: number, toMs: number) => number
  add: (fromMs: number, ms: number) => number | undefined
}

export const calendar: TimeCount = {
  between: (fromMs, toMs) => Math.max(0, toMs - fromMs),
  add: (fromMs, ms) => fromMs + ms,
}

/**
 * What a target asks for. An absent time is not asked for. `appliedMs`: when a change of the conversation made it apply. Null or absent: it
 * applies to the whole episode.
 */
export type Times = {
  count: TimeCount
  limitsMs: Readonly<Partial<Record<ClockKind, number>>>
  appliedMs?: number | null
}

export type Clock = {
  kind: ClockKind
  startedMs: number
  /** Null while it is paused. */
  dueMs: number | null
  /** When the time ran out first. */
  breachedMs: number | null
  outcome: 'met' | 'missed' | null
  endedMs: number | null
}

/** The stretches of a long episode are joined, the oldest first. */
const maxStretches = 200

const emptyTrack: Track = {
  ...{ stretches: [], waitMs: null, waitIndex: 0, waitEndedMs: null },
  ...{ repliedMs: null, repliedIndex: 0, closedMs: null },
}

/** The track after a change. That of an episode that was not followed from its opening starts with the wait that lasts. */
export function applyChange(track: Track = emptyTrack, change: Change): Track {
  const { atMs, isOpen, isWithBot, hasReplied } = change
  const waitingSinceMs = isOpen ? change.waitingSinceMs : null
  const isRunning = waitingSinceMs !== null && !isWithBot
  const stretches = track.stretches.map(([from, to]): Stretch => [from, to])
  const lastEndMs = stretches.at(-1)?.[1] ?? 0
  const wasWaiting = track.waitMs !== null && track.waitEndedMs === null
  const isFirstReply = hasReplied && track.repliedMs === null
  const isNewWait = waitingSinceMs !== null && (!wasWaiting || (isFirstReply && track !== emptyTrack))
  const open = stretches.at(-1)?.[1] === null ? stretches.at(-1) : undefined
  // A merge can find out that the wait began earlier.
  if (open && !isNewWait && waitingSinceMs !== null && waitingSinceMs < (track.waitMs ?? 0)) {
    open[0] = Math.min(open[0], Math.max(waitingSinceMs, stretches.at(-2)?.[1] ?? 0))
  }
  if (open && (!isRunning || isNewWait)) open[1] = Math.max(open[0], atMs)
  const count = stretches.length
  if (isRunning && (!open || isNewWait)) {
    const from = isNewWait && !wasWaiting ? Math.min(waitingSinceMs, atMs) : atMs
    stretches.push([Math.max(from, lastEndMs), null])
  }
  return joinOldest({
    stretches,
    waitMs: waitingSinceMs ?? track.waitMs,
    waitIndex: isNewWait ? count : track.waitIndex,
    waitEndedMs: waitingSinceMs !== null ? null : wasWaiting ? atMs : track.waitEndedMs,
    repliedMs: track.repliedMs ?? (hasReplied ? atMs : null),
    repliedIndex: isFirstReply ? count : track.repliedIndex,
    closedMs: isOpen ? null : (track.closedMs ?? atMs),
  })
}

/** Keeps the length of both stretches, without the time between them. */
function joinOldest(track: Track): Track {
  const [first, second, ...rest] = track.stretches
  if (track.stretches.length <= maxStretches || !first || !second) return track
  const joined: Stretch = [second[0] - ((first[1] ?? first[0]) - first[0]), second[1]]
  const { waitIndex, repliedIndex } = track
  return {
    ...track,
    stretches: [joined, ...rest],
    waitIndex: Math.max(0, waitIndex - 1),
    repliedIndex: Math.max(0, repliedIndex - 1),
  }
}

export const isRunning = ({ stretches }: Track): boolean => stretches.at(-1)?.[1] === null

/** The track and the clocks after these changes. They are those of one target. */
export function follow(
  followed: { track: Track | undefined; clocks: readonly Clock[] },
  changes: readonly Change[],
  times: Times,
  nowMs: number,
): { track: Track | undefined; clocks: Clock[] } {
  let { track } = followed
  let clocks = [...followed.clocks]
  const step = (change: Change): void => {
    if (!track && !change.isOpen) return
    track = applyChange(track, change)
    clocks = decideClocks(track, clocks, times, change.atMs)
  }
  for (const change of changes) {
    const { waitingSinceMs, atMs } = change
    const waitMs = track?.waitEndedMs === null ? track.waitMs : null
    // The reply to the wait before is a change of its own.
    if (waitingSinceMs !== null && waitMs !== null && waitingSinceMs > waitMs) {
      step({ ...change, waitingSinceMs: null, atMs: Math.min(waitingSinceMs, atMs) })
    }
    step(change)
  }
  if (track) clocks = decideClocks(track, clocks, times, nowMs)
  return { track, clocks }
}

/** The clocks at `atMs`: those that run, and those that have an outcome. */
function decideClocks(track: Track, clocks: readonly Clock[], times: Times, atMs: number): Clock[] {
  return clockKinds.flatMap((kind) => {
    const known = clocks.find((clock) => clock.kind === kind)
    const limitMs = times.limitsMs[kind]
    return (
      (limitMs === undefined ? stopClock(track, known) : decideClock(track, kind, known, limitMs, times, atMs)) ?? []
    )
  })
}

/** A clock that no target asks for any more: only its outcome is kept. A miss ends with its wait, so that reports know how late it was. */
export function stopClock(track: Track | undefined, clock: Clock | undefined): Clock | undefined {
  if (!clock?.outcome) return undefined
  const { kind, startedMs, outcome } = clock
  const waitMs = kind === 'next_reply' && track ? (partsOf(track, kind)[0]?.[0] ?? Infinity) : 0
  const isEnding = track && outcome === 'missed' && waitMs <= startedMs
  const endedMs = clock.endedMs ?? (isEnding ? endOf(track, kind).endedMs : null)
  return { ...clock, dueMs: endedMs === null ? null : clock.dueMs, endedMs }
}

function decideClock(
  track: Track,
  kind: ClockKind,
  known: Clock | undefined,
  limitMs: number,
  { count, appliedMs = null }: Times,
  atMs: number,
): Clock | undefined {
  const parts = partsOf(track, kind)
  const [start] = parts
  const startedMs = start?.[0]
  if (startedMs === undefined) return stopClock(track, known)
  const { endedMs, isFulfilled } = endOf(track, kind)
  const isSame = kind !== 'next_reply' || known?.startedMs === startedMs
  // What ended before is not judged again when the target is edited, nor by a target that did not apply then.
  if (endedMs !== null && (!isSame || known?.endedMs !== null)) return stopClock(track, known)
  const due = dueOf(parts, limitMs, count)
  // When the time ran out, or will run out if the customer waits on.
  const lateMs = due && (due.isPast || due.isRunning) ? due.atMs : Infinity
  // What was late before the target applied is not its miss, but a recorded one stays.
  const isBreached = isSame && (known?.breachedMs ?? null) !== null
  if (appliedMs !== null && lateMs <= appliedMs && !isBreached) return stopClock(track, known)
  const breachedMs = known?.breachedMs ?? (lateMs <= atMs ? lateMs : null)
  const outcome = breachedMs !== null ? 'missed' : endedMs !== null && isFulfilled ? 'met' : (known?.outcome ?? null)
  // It was closed without the reply that was not due yet.
  if (endedMs !== null && outcome === null) return undefined
  const isShown = endedMs !== null || isRunning(track)
  return { kind, startedMs, dueMs: isShown ? (due?.atMs ?? null) : null, breachedMs, outcome, endedMs }
}

/** The stretches that count for a clock. */
function partsOf({ stretches, repliedMs, repliedIndex, waitIndex }: Track, kind: ClockKind): Stretch[] {
  if (kind === 'closing') return stretches
  if (kind === 'first_reply') return repliedMs === null ? stretches : stretches.slice(0, repliedIndex)
  return repliedMs === null || waitIndex < repliedIndex ? [] : stretches.slice(waitIndex)
}

/** When the clock ended by what has happened, and whether that is what the target asks for. */
function endOf({ repliedMs, closedMs, waitEndedMs }: Track, kind: ClockKind) {
  if (kind === 'closing') return { endedMs: closedMs, isFulfilled: true }
  if (kind === 'first_reply') return { endedMs: repliedMs ?? closedMs, isFulfilled: repliedMs !== null }
  return { endedMs: waitEndedMs, isFulfilled: closedMs === null }
}

type Due = {
  atMs: number
  /** It was passed in a stretch that has ended. */
  isPast: boolean
  /** The last stretch lasts. */
  isRunning: boolean
}

/** When the time runs out, or would have run out if the last stretch went on. */
function dueOf(parts: readonly Stretch[], limitMs: number, count: TimeCount): Due | undefined {
  let leftMs = limitMs
  let due: Due | undefined
  for (const [from, to] of parts) {
    const atMs = count.add(from, leftMs)
    due = atMs === undefined ? undefined : { atMs, isPast: to !== null && atMs < to, isRunning: to === null }
    if (to === null || due?.isPast) return due
    leftMs = Math.max(0, leftMs - count.between(from, to))
  }
  return due
}

/** The clock that is due first; undefined while none runs. */
export function firstDue(track: Track, clocks: readonly Clock[]): { dueMs: number; kind: ClockKind } | undefined {
  if (!isRunning(track)) return undefined
  const due = clocks.flatMap(({ kind, dueMs, endedMs }) =>
    dueMs === null || endedMs !== null ? [] : [{ dueMs, kind }],
  )
  return due.sort((a, b) => a.dueMs - b.dueMs)[0]
}
