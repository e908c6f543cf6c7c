/** The rows of clocks: what a round reads of targets, conversations, changes and episodes, and what it writes. */
import { type ClockKind, clockKinds } from '../automation/definition.ts'
import { automationFields } from '../automation/fields.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { type Filter, toCondition } from '../segments/filter.ts'
import { queueTriggers } from '../triggers/queue.ts'
import type { Change, Clock, firstDue, Times, Track } from './policy.ts'

export type ActiveTarget = {
  id: string
  is_office_time: boolean
  conditions: Filter | null
  first_reply_minutes: number | null
  next_reply_minutes: number | null
  closing_minutes: number | null
  updated_ms: number
}

export async function listActiveTargets(sql: Sql, workspaceId: string): Promise<ActiveTarget[]> {
  return sql<ActiveTarget[]>`
    select id, is_office_time, conditions, first_reply_minutes, next_reply_minutes, closing_minutes,
      (extract(epoch from updated_at) * 1000)::float8 as updated_ms
    from targets
    where workspace_id = ${workspaceId} and is_active
    order by position, id`
}

export const limitsOf = (target: Pick<ActiveTarget, `${ClockKind}_minutes`>): Times['limitsMs'] =>
  Object.fromEntries(
    clockKinds.flatMap((kind) => {
      const minutes = target[`${kind}_minutes`]
      return minutes === null ? [] : [[kind, minutes * 60_000]]
    }),
  )

/** Condition on contact `c` and conversation `v`. */
export const conditionOf = (sql: Sql, workspaceId: string, conditions: Filter | null): Fragment =>
  conditions ? sql`coalesce(${toCondition(sql, workspaceId, automationFields, conditions)}, false)` : sql`true`

export type LockedConversation = Omit<Change, 'atMs'> & {
  id: string
  contact_id: string
  episode_id: string | null
  team_id: string | null
  assigned_agent_id: string | null
  connection_id: string | null
  due_ms: number | null
  due_kind: ClockKind | null
  met: boolean[]
  now_ms: number
}

/** With which targets match. One that another transaction has locked is followed in the next round. */
export async function lockConversations(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  targets: readonly ActiveTarget[],
): Promise<LockedConversation[]> {
  const conditions = targets.map(({ conditions }) => conditionOf(sql, workspaceId, conditions))
  const met =
    conditions.length > 0
      ? sql`array[${conditions.reduce((one, other) => sql`${one}, ${other}`)}]`
      : sql`'{}'::boolean[]`
  return sql<LockedConversation[]>`
    select v.id, v.contact_id, v.episode_id, v.team_id, v.assigned_agent_id, v.connection_id, v.due_kind, ${msOf(sql, sql`v.due_at`)} as due_ms,
      true as "isOpen", ${msOf(sql, sql`v.waiting_since`)} as "waitingSinceMs", v.bot_run_id is not null as "isWithBot",
      v.episode_replies > 0 as "hasReplied", ${met} as met, ${msOf(sql, sql`clock_timestamp()`)} as now_ms
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId} and v.id = any(${[...ids]}::uuid[])
    order by v.id
    for no key update of v skip locked`
}

/** Milliseconds since 1970. */
const msOf = (sql: Sql, time: Fragment): Fragment => sql`floor(extract(epoch from ${time}) * 1000)::float8`

export type QueuedChange = Change & { id: string; conversation_id: string; episode_id: string | null }

export async function readChanges(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<QueuedChange[]> {
  return sql<QueuedChange[]>`
    select id::text, conversation_id, episode_id, ${msOf(sql, sql`at`)} as "atMs", is_open as "isOpen",
      ${msOf(sql, sql`waiting_since`)} as "waitingSinceMs", is_with_bot as "isWithBot", has_replied as "hasReplied"
    from target_changes
    where workspace_id = ${workspaceId} and conversation_id = any(${[...ids]}::uuid[])
    order by target_changes.id`
}

export type StoredClock = Clock & { target_id: string; remindedMinutes: number[] }
/** With the target that applies, null for none, and `appliedMs` of `Times`. They are absent if an earlier version stored it. */
export type StoredTrack = Track & { targetId?: string | null; appliedMs?: number | null }
export type StoredEpisode = {
  id: string
  conversation_id: string
  closed_ms: number | null
  track: StoredTrack | null
  clocks: StoredClock[]
}

/** The open episodes, those that are followed, and those that the changes name, with their clocks. */
export async function readEpisodes(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  changes: readonly QueuedChange[],
): Promise<StoredEpisode[]> {
  const named = [...new Set(changes.flatMap(({ episode_id }) => episode_id ?? []))]
  return sql<StoredEpisode[]>`
    select e.id, e.conversation_id, ${msOf(sql, sql`e.closed_at`)} as closed_ms, f.track,
      ${clocksOf(sql, workspaceId, sql`k.episode_id = e.id`)} as clocks
    from episodes e
    left join target_episodes f on f.workspace_id = e.workspace_id and f.episode_id = e.id
    where e.workspace_id = ${workspaceId} and e.conversation_id = any(${[...ids]}::uuid[])
      and (e.closed_at is null or f.episode_id is not null or e.id = any(${named}::uuid[]))
    order by e.id`
}

/** The stored clocks as a JSON array. `condition`: on clock `k`. */
export const clocksOf = (sql: Sql, workspaceId: string, condition: Fragment): Fragment => sql`coalesce((
      select json_agg(json_build_object(
        'target_id', k.target_id, 'kind', k.kind, 'startedMs', ${msOf(sql, sql`k.started_at`)}, 'dueMs', ${msOf(sql, sql`k.due_at`)},
        'breachedMs', ${msOf(sql, sql`k.breached_at`)}, 'outcome', k.outcome, 'endedMs', ${msOf(sql, sql`k.ended_at`)},
        'remindedMinutes', k.reminded_minutes
      ))
      from target_clocks k where k.workspace_id = ${workspaceId} and ${condition}
    ), '[]'::json)`

export type StoredResult = StoredClock & { nextMs: number | null }
export type ClockEvent = { contact_id: string; conversation_id: string; event: 'due' | 'breached'; detail: string }
export type EpisodeResult = {
  episodeId: string
  /** Who has the conversation: outcomes that are decided now are theirs. */
  holder: { member_id: string | null; team_id: string | null }
  track: StoredTrack | undefined
  clocks: StoredResult[]
  dropped: { target_id: string; kind: ClockKind }[]
  due: ReturnType<typeof firstDue>
  events: ClockEvent[]
}

export type Due = { id: string; due_ms: number | null; due_kind: ClockKind | null }

export async function writeResults(sql: Sql, workspaceId: string, results: readonly EpisodeResult[]): Promise<void> {
  const tracks = results.flatMap(({ episodeId: id, track }) => (track ? [{ id, track }] : []))
  const ended = results.flatMap(({ episodeId: id, track }) => (track ? [] : [id]))
  const dropped = results.flatMap(({ episodeId, dropped }) => dropped.map((one) => ({ episode_id: episodeId, ...one })))
  const clocks = results.flatMap(({ episodeId, holder, clocks }) =>
    clocks.map((clock) => ({
      ...clock,
      ...holder,
      episode_id: episodeId,
      nextMs: clock.nextMs === Number.MAX_SAFE_INTEGER ? null : clock.nextMs,
    })),
  )
  if (tracks.length > 0) {
    await sql`
      insert into target_episodes as f (workspace_id, episode_id, track)
      select ${workspaceId}, i.id, i.track from json_to_recordset(${JSON.stringify(tracks)}::text::json) as i (id uuid, track jsonb)
      order by i.id
      on conflict (workspace_id, episode_id) do update set track = excluded.track where f.track <> excluded.track`
  }
  if (ended.length > 0) {
    await sql`delete from target_episodes where workspace_id = ${workspaceId} and episode_id = any(${ended}::uuid[])`
  }
  if (dropped.length > 0) {
    await sql`
      delete from target_clocks k
      using json_to_recordset(${JSON.stringify(dropped)}::text::json) as i (episode_id uuid, target_id uuid, kind text)
      where k.workspace_id = ${workspaceId} and k.episode_id = i.episode_id and k.target_id = i.target_id and k.kind = i.kind`
  }
  if (clocks.length === 0) return
  // A miss stays with whom it happened; a reply in time to a later wait is an outcome of its own.
  const isDecidedBefore = sql`
    k.outcome = excluded.outcome and (k.breached_at is not null or k.ended_at is not distinct from excluded.ended_at)`
  const time = (ms: Fragment) => sql`to_timestamp(${ms} / 1000.0)`
  await sql`
    insert into target_clocks as k (workspace_id, episode_id, target_id, kind, started_at, due_at, next_at, reminded_minutes, breached_at,
      outcome, ended_at, member_id, team_id)
    select ${workspaceId}, i.episode_id, i.target_id, i.kind, ${time(sql`i."startedMs"`)}, ${time(sql`i."dueMs"`)}, ${time(sql`i."nextMs"`)},
      array(select json_array_elements_text(i."remindedMinutes")::int), ${time(sql`i."breachedMs"`)}, i.outcome, ${time(sql`i."endedMs"`)},
      case when i.outcome is not null then i.member_id end, case when i.outcome is not null then i.team_id end
    from json_to_recordset(${JSON.stringify(clocks)}::text::json) as i (
      episode_id uuid, target_id uuid, kind text, "startedMs" float8, "dueMs" float8, "nextMs" float8, "remindedMinutes" json,
      "breachedMs" float8, outcome text, "endedMs" float8, member_id uuid, team_id uuid
    )
    order by i.episode_id, i.target_id, i.kind
    on conflict (workspace_id, episode_id, target_id, kind) do update set
      started_at = excluded.started_at, due_at = excluded.due_at, next_at = excluded.next_at, reminded_minutes = excluded.reminded_minutes,
      breached_at = excluded.breached_at, outcome = excluded.outcome, ended_at = excluded.ended_at,
      member_id = case when ${isDecidedBefore} then k.member_id else excluded.member_id end,
      team_id = case when ${isDecidedBefore} then k.team_id else excluded.team_id end`
}

/** The pages read the due time with the conversation. It is no change that lists by `updated_after` show. */
export async function writeDues(sql: Sql, workspaceId: string, dues: readonly Due[]): Promise<void> {
  if (dues.length === 0) return
  await sql`
    update conversations v set due_at = to_timestamp(i.due_ms / 1000.0), due_kind = i.due_kind
    from json_to_recordset(${JSON.stringify(dues)}::text::json) as i (id uuid, due_ms float8, due_kind text)
    where v.workspace_id = ${workspaceId} and v.id = i.id`
}

/** Those that were followed, and those of conversations that are gone. */
export async function deleteChanges(
  sql: Sql,
  workspaceId: string,
  chosen: readonly string[],
  changes: readonly QueuedChange[],
): Promise<void> {
  await sql`
    delete from target_changes c
    where c.workspace_id = ${workspaceId} and c.conversation_id = any(${[...chosen]}::uuid[]) and (
      c.id = any(${changes.map(({ id }) => id)}::bigint[])
      or not exists (select from conversations v where v.workspace_id = c.workspace_id and v.id = c.conversation_id)
    )`
}

/** Returns whether automations may start. */
export async function queueEvents(sql: Sql, workspaceId: string, results: readonly EpisodeResult[]): Promise<boolean> {
  const events = results.flatMap((result) => result.events)
  if (events.length === 0) return false
  await sql`
    with
    -- Breaches, and clocks that are about to run out.
    clock_events as (
      select ${workspaceId}::uuid as workspace_id, i.contact_id, i.conversation_id, i.event, i.detail
      from json_to_recordset(${JSON.stringify(events)}::text::json)
        as i (contact_id uuid, conversation_id uuid, event text, detail text)
    ),
    ${queueTriggers(sql, {
      kinds: ['target'],
      workspaces: sql`clock_events`,
      from: sql`clock_events i`,
      workspaceId: sql`i.workspace_id`,
      event: sql`i.event`,
      contactId: sql`i.contact_id`,
      conversationId: sql`i.conversation_id`,
      detail: sql`i.detail`,
    })}
    select 1`
  return true
}
