/**
 * The clocks of conversations: follows the changes that a trigger of the database queues, and records breaches.
 *
 * One transaction per workspace locks some conversations, reads their queued changes in order, decides their clocks (`policy.ts`), and
 * writes clocks, breaches and due times and deletes the changes. So a crash repeats a round as a whole, and a breach is recorded once
 * with the automations that it starts. Each change has its own time: it makes no difference how late it is read. A reply that is being
 * stored holds the lock of its conversation, so a breach is never recorded past a reply that came in time.
 *
 * When a target or a schedule has changed, all open episodes of the workspace are queued, some at a time.
 */
import { addOfficeMs, officeMs } from '../hours/hours.ts'
import { scheduleOf } from '../hours/schedules.ts'
import { type Db, type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import {
  type ActiveTarget,
  type ClockEvent,
  type Due,
  deleteChanges,
  type EpisodeResult,
  type LockedConversation,
  limitsOf,
  listActiveTargets,
  lockConversations,
  type QueuedChange,
  queueEvents,
  readChanges,
  readEpisodes,
  type StoredClock,
  type StoredEpisode,
  type StoredResult,
  writeDues,
  writeResults,
} from './clock-rows.ts'
import {
  type Change,
  type Clock,
  calendar,
  firstDue,
  follow,
  isRunning,
  stopClock,
  type TimeCount,
  type Track,
} from './policy.ts'
import { listReminders, type Reminder, toRemind } from './reminders.ts'

/** Conversations of a transaction: about 30 ms. */
const batchSize = 50
/** Queued changes that are read to find them. */
const maxChanges = 200
/** Conversations that are queued at a time when all are computed again. Changes that members cause wait behind them. */
const fillSize = 200
/** Of an advisory lock: one process at a time follows a workspace. */
const followLock = 7_263_574

export type FollowedRound = {
  /** Conversations whose due time has changed. */
  changed: { workspaceId: string; conversationIds: string[] }[]
  hasMore: boolean
  /** Automations may start. */
  hasTriggers: boolean
}

/** One batch of every workspace that has something to do. */
export async function followTargets(db: Db): Promise<FollowedRound> {
  const round: FollowedRound = { changed: [], hasMore: false, hasTriggers: false }
  for (const workspaceId of await listPending(db)) {
    const followed = await withRetries(() => db.begin((sql) => followWorkspace(sql, workspaceId)))
    if (!followed) continue
    const { conversationIds, hasMore, hasTriggers } = followed
    if (conversationIds.length > 0) round.changed.push({ workspaceId, conversationIds })
    round.hasMore ||= hasMore
    round.hasTriggers ||= hasTriggers
  }
  return round
}

/** Whether a workspace has queued changes, clocks that run out, or clocks to compute again. */
export const hasTargetWork = (sql: Sql): Fragment => sql`
  exists (select from target_changes) or exists (select from target_clocks where next_at <= now())
  or exists (select from target_workspaces where is_requested or ready_after is not null)`

/** Workspaces with queued changes, found by one step in the index each, with clocks that run out, or to compute again. */
async function listPending(sql: Sql): Promise<string[]> {
  const rows = await sql<{ workspace_id: string }[]>`
    with recursive queued_workspaces as (
      (select workspace_id from target_changes order by workspace_id limit 1)
      union all
      select (
        select c.workspace_id from target_changes c where c.workspace_id > w.workspace_id order by c.workspace_id limit 1
      )
      from queued_workspaces w
      where w.workspace_id is not null
    )
    select workspace_id from queued_workspaces where workspace_id is not null
    union
    select workspace_id from (select workspace_id from target_clocks where next_at <= now() order by next_at limit 1000) k
    union
    select workspace_id from target_workspaces where is_requested or ready_after is not null`
  return rows.map(({ workspace_id }) => workspace_id)
}

type Followed = { conversationIds: string[]; hasMore: boolean; hasTriggers: boolean }

/** Undefined: another process follows this workspace. */
async function followWorkspace(sql: Sql, workspaceId: string): Promise<Followed | undefined> {
  const [lock] = await sql<{ is_held: boolean }[]>`
    select pg_try_advisory_xact_lock(${followLock}, hashtext(${workspaceId})) as is_held`
  if (!lock?.is_held) return undefined
  // In this order, because an edited target must not be read without its request.
  const targets = await listActiveTargets(sql, workspaceId)
  const isRecomputed = await queueOpenEpisodes(sql, workspaceId)
  const chosen = await chooseConversations(sql, workspaceId)
  if (chosen.length === 0) return { conversationIds: [], hasMore: false, hasTriggers: false }
  const conversations = await lockConversations(sql, workspaceId, chosen, targets)
  const ids = conversations.map(({ id }) => id)
  const changes = await readChanges(sql, workspaceId, ids)
  const episodes = await readEpisodes(sql, workspaceId, ids, changes)
  const nowMs = conversations[0]?.now_ms ?? 0
  const reminders = await listReminders(sql, workspaceId)
  const counts = createCounts(sql, workspaceId)
  const results: EpisodeResult[] = []
  const dues: Due[] = []
  for (const conversation of conversations) {
    const target = targets.find((_, i) => conversation.met[i])
    const count = target && (await counts(target, conversation))
    const own = episodes.filter(({ conversation_id }) => conversation_id === conversation.id)
    const isTracked = targets.length > 0
    const own_results = own.map((episode) =>
      followEpisode({ conversation, episode, changes, target, count, reminders, nowMs, isTracked, isRecomputed }),
    )
    results.push(...own_results)
    const due = own_results.find(({ episodeId }) => episodeId === conversation.episode_id)?.due
    const [dueMs, kind] = [due?.dueMs ?? null, due?.kind ?? null]
    if (dueMs !== conversation.due_ms || kind !== conversation.due_kind)
      dues.push({ id: conversation.id, due_ms: dueMs, due_kind: kind })
  }
  await writeResults(sql, workspaceId, results)
  await writeDues(sql, workspaceId, dues)
  await deleteChanges(sql, workspaceId, chosen, changes)
  const hasTriggers = await queueEvents(sql, workspaceId, results)
  return { conversationIds: dues.map(({ id }) => id), hasMore: chosen.length >= batchSize, hasTriggers }
}

/**
 * Continues a request to compute all clocks again. Transactions that were in flight may not have seen that the workspace has targets, and
 * then they queued nothing: the episodes are read when those have ended. Returns whether there is a request.
 */
async function queueOpenEpisodes(sql: Sql, workspaceId: string): Promise<boolean> {
  type State = { is_requested: boolean; is_ready: boolean | null; filled_up_to: string | null }
  const [state] = await sql<State[]>`
    select is_requested, pg_snapshot_xmin(pg_current_snapshot()) >= ready_after as is_ready, filled_up_to from target_workspaces
    where workspace_id = ${workspaceId} and (is_requested or ready_after is not null)
    for no key update`
  if (!state) return false
  if (state.is_requested) {
    await sql`
      update target_workspaces set is_requested = false, ready_after = pg_snapshot_xmax(pg_current_snapshot()), filled_up_to = null
      where workspace_id = ${workspaceId}`
    return true
  }
  if (!state.is_ready) return true
  const filled = await sql<{ conversation_id: string }[]>`
    with
    -- The next open episodes, unless enough is queued.
    next_episodes as (
      select e.conversation_id from episodes e
      where e.workspace_id = ${workspaceId} and e.closed_at is null
        and e.conversation_id > coalesce(${state.filled_up_to}::uuid, '00000000-0000-0000-0000-000000000000')
        and (select count(*) from (select from target_changes where workspace_id = ${workspaceId} limit ${fillSize}) c) < ${fillSize}
      order by e.conversation_id
      limit ${fillSize}
    ),
    queued_changes as (
      insert into target_changes (workspace_id, conversation_id, at)
      select ${workspaceId}, conversation_id, clock_timestamp() from next_episodes order by conversation_id
    )
    select conversation_id from next_episodes order by conversation_id`
  const last = filled.at(-1)
  if (last) {
    await sql`update target_workspaces set filled_up_to = ${last.conversation_id} where workspace_id = ${workspaceId}`
    return true
  }
  const [queued] = await sql`select from target_changes where workspace_id = ${workspaceId} limit 1`
  if (queued) return true
  await sql`
    update target_workspaces set ready_after = null, filled_up_to = null where workspace_id = ${workspaceId}`
  return true
}

/** The conversations of the oldest changes, and those whose clocks run out. */
async function chooseConversations(sql: Sql, workspaceId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from (
      select distinct conversation_id as id from (
        select conversation_id from target_changes where workspace_id = ${workspaceId} order by id limit ${maxChanges}
      ) c
      union
      select e.conversation_id from (
        select episode_id from target_clocks where workspace_id = ${workspaceId} and next_at <= now() order by next_at limit ${batchSize}
      ) k
      join episodes e on e.workspace_id = ${workspaceId} and e.id = k.episode_id
    ) chosen
    limit ${batchSize}`
  return rows.map(({ id }) => id)
}

/** How the time of a target counts in a conversation. */
function createCounts(sql: Sql, workspaceId: string) {
  const known = new Map<string, TimeCount>()
  return async (
    { is_office_time }: Pick<ActiveTarget, 'is_office_time'>,
    { team_id: teamId, connection_id: connectionId }: Pick<LockedConversation, 'team_id' | 'connection_id'>,
  ): Promise<TimeCount> => {
    if (!is_office_time) return calendar
    const key = `${teamId} ${connectionId}`
    const count = known.get(key) ?? (await readCount(sql, workspaceId, teamId, connectionId))
    known.set(key, count)
    return count
  }
}

export async function readCount(
  sql: Sql,
  workspaceId: string,
  teamId: string | null,
  connectionId: string | null,
): Promise<TimeCount> {
  const schedule = await scheduleOf(sql, workspaceId, { teamId, connectionId })
  return {
    between: (fromMs, toMs) => officeMs(schedule, fromMs, toMs),
    add: (fromMs, ms) => addOfficeMs(schedule, fromMs, ms),
  }
}

type EpisodeInput = {
  conversation: LockedConversation
  episode: StoredEpisode
  changes: readonly QueuedChange[]
  target: ActiveTarget | undefined
  count: TimeCount | undefined
  reminders: readonly Reminder[]
  nowMs: number
  isTracked: boolean
  /** The clocks of all open episodes are computed again, because a target or a schedule has changed. */
  isRecomputed: boolean
}
function followEpisode(input: EpisodeInput): EpisodeResult {
  const { conversation, episode, target, count = calendar, nowMs, isTracked } = input
  const isCurrent = conversation.episode_id === episode.id
  const known = episode.clocks.filter(({ target_id }) => target_id === target?.id)
  const changes = [
    ...input.changes.filter(({ episode_id }) => episode_id === episode.id),
    ...impliedChanges(input, isCurrent),
  ]
  const appliedMs = appliedSince(input)
  const followed = follow(
    { track: episode.track ?? undefined, clocks: known },
    changes,
    { count, limitsMs: target ? limitsOf(target) : {}, appliedMs },
    nowMs,
  )
  const { track } = followed
  const own = target
    ? followed.clocks.map((clock) =>
        remind(
          input,
          target,
          clock,
          known.find(({ kind }) => kind === clock.kind),
          track,
        ),
      )
    : []
  const others = episode.clocks
    .filter(({ target_id }) => target_id !== target?.id)
    .flatMap((clock) => {
      const ended = follow(
        { track: episode.track ?? undefined, clocks: [clock] },
        changes,
        { count: calendar, limitsMs: {} },
        nowMs,
      )
      const stopped = stopClock(ended.track, ended.clocks[0])
      return stopped ? [{ ...clock, ...stopped, nextMs: null }] : []
    })
  const kept = [...own.map(({ clock }) => clock), ...others]
  const isKept = ({ target_id, kind }: StoredClock) =>
    kept.some((one) => one.target_id === target_id && one.kind === kind)
  const { assigned_agent_id: member_id, team_id } = conversation
  return {
    episodeId: episode.id,
    holder: { member_id, team_id },
    track: isTracked && track?.closedMs === null ? { ...track, targetId: target?.id ?? null, appliedMs } : undefined,
    clocks: kept,
    dropped: episode.clocks.filter((clock) => !isKept(clock)).map(({ target_id, kind }) => ({ target_id, kind })),
    due:
      track && isCurrent
        ? firstDue(
            track,
            own.map(({ clock }) => clock),
          )
        : undefined,
    events: own.flatMap(({ events }) => events),
  }
}

/** `appliedMs` of `Times`. A new or edited target applies to the whole episode, as its preview shows. The first change counts, to miss no breach. */
function appliedSince({ conversation, episode, changes, target, nowMs, isRecomputed }: EpisodeInput): number | null {
  const { targetId, appliedMs = null } = episode.track ?? {}
  if (targetId === (target?.id ?? null)) return appliedMs
  if (targetId === undefined || isRecomputed) return null
  return Math.min(
    nowMs,
    ...changes.flatMap(({ conversation_id, atMs }) => (conversation_id === conversation.id ? [atMs] : [])),
  )
}

/** The facts of an episode that was not followed yet, and the end of one that a merge has ended. */
function impliedChanges({ conversation, episode, changes, nowMs }: EpisodeInput, isCurrent: boolean): Change[] {
  const queued = changes.filter(({ episode_id }) => episode_id === episode.id)
  const { isOpen, waitingSinceMs, isWithBot, hasReplied } = conversation
  if (isCurrent) {
    return episode.track || queued.length > 0 ? [] : [{ atMs: nowMs, isOpen, waitingSinceMs, isWithBot, hasReplied }]
  }
  if (!episode.track && queued.length === 0) return []
  if (queued.at(-1)?.isOpen === false) return []
  return [
    { atMs: episode.closed_ms ?? nowMs, isOpen: false, waitingSinceMs: null, isWithBot: false, hasReplied: false },
  ]
}

/** When the worker acts next for a clock, and the automations that it starts now. */
function remind(
  { conversation: { id, contact_id }, reminders, nowMs }: EpisodeInput,
  target: ActiveTarget,
  clock: Clock,
  known: StoredClock | undefined,
  track: Track | undefined,
): { clock: StoredResult; events: ClockEvent[] } {
  const { kind, breachedMs, endedMs, dueMs } = clock
  const isNext = known !== undefined && known.startedMs === clock.startedMs
  const stored = { ...clock, target_id: target.id, remindedMinutes: isNext ? known.remindedMinutes : [] }
  const event = (name: ClockEvent['event'], minutes = 0): ClockEvent => ({
    ...{ contact_id, conversation_id: id, event: name, detail: `${kind} ${target.id} ${minutes}` },
  })
  // A breach that only an edit of the target has found starts nothing.
  const isNew = breachedMs !== null && (known?.breachedMs ?? null) === null && breachedMs >= target.updated_ms
  const events = isNew ? [event('breached')] : []
  if (!track || !isRunning(track) || endedMs !== null || dueMs === null || dueMs <= nowMs) {
    return { clock: { ...stored, nextMs: null }, events }
  }
  const ofClock = reminders.filter((one) => (one.target ?? target.id) === target.id && (one.kind ?? kind) === kind)
  const sinceMs = track.stretches.at(-1)?.[0] ?? nowMs
  const { now, nextMs } = toRemind(ofClock, stored.remindedMinutes, {
    dueMs,
    sinceMs,
    nowMs,
    editedMs: target.updated_ms,
  })
  return {
    clock: {
      ...stored,
      remindedMinutes: [...stored.remindedMinutes, ...now.map(({ minutes }) => minutes)],
      nextMs: Math.min(nextMs, breachedMs === null ? dueMs : Infinity, Number.MAX_SAFE_INTEGER),
    },
    events: [...events, ...now.flatMap(({ minutes, isQuiet }) => (isQuiet ? [] : [event('due', minutes)]))],
  }
}
