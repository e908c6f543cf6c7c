/**
 * The past episodes: written once after the upgrade, from messages and timeline, by the loop `episode-history`.
 *
 * A chunk of conversations is read without a lock. A short transaction then locks them, reads those again that have changed meanwhile, writes
 * their episodes, and advances the position in `episode_history`. So a process that is killed leaves nothing half done, and two processes write
 * nothing twice.
 *
 * The statements of today may have opened an episode before. Then the past ends with its first message, and the stretch of work that was in
 * progress then becomes a part of that episode, which keeps its id.
 */

import type { ConversationStatus } from '../conversations/conversations.ts'
import {
  applyPast,
  endReplay,
  isContinuedAt,
  openEpisodeOf,
  type PastEpisode,
  type PastEvent,
  type Replay,
  startReplay,
} from '../conversations/episodes/replay.ts'
import { bottom } from '../lib/page.ts'
import { type Db, type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import { isReply } from './episode-replies.ts'

/** Conversations of a transaction. */
const chunkSize = 100
/** Messages and entries of one statement. */
const readSize = 5_000
/** A round works this long. The pause until the next one leaves time for other work. */
const roundMs = 500

type Past = {
  id: string
  status: ConversationStatus
  connection_id: string | null
  updated_at: string
  /** The first episode that the statements of today wrote. */
  live_id: string | null
  live_opened_at: string | null
}

type Position = { after_workspace_id: string; after_id: string }

/** Condition on conversation `v`: its contact is being merged. The module to the right that has the merges provides it. */
export type IsMerging = (sql: Sql) => Fragment

/** Returns a function that writes past episodes for half a second. After the last one it does nothing. */
export function createEpisodeHistory(db: Db, isMerging: IsMerging): () => Promise<void> {
  let isFinished = false
  return async () => {
    const untilMs = performance.now() + roundMs
    for (let state: ChunkState = 'written'; !isFinished && state === 'written' && performance.now() < untilMs; ) {
      state = await writeChunk(db, isMerging)
      isFinished = state === 'finished'
    }
  }
}

/** `waiting`: another process has just written the chunk, or the next conversation waits for a merge. */
type ChunkState = 'written' | 'waiting' | 'finished'

/** Writes the episodes of the next conversations. */
export async function writeChunk(db: Db, isMerging: IsMerging, size = chunkSize): Promise<ChunkState> {
  const [position] = await db<Position[]>`
    select after_workspace_id, after_id from episode_history where finished_at is null`
  if (!position) return 'finished'
  const next = await listNext(db, position, isMerging, size)
  if (!next) {
    await db`update episode_history set finished_at = now() where finished_at is null`
    return 'finished'
  }
  const { workspaceId, ids } = next
  const last = ids.at(-1)
  if (last === undefined) return 'waiting'
  const read = await readPast(db, workspaceId, ids)
  return withRetries(() =>
    db.begin(async (sql) => {
      const [claimed] = await sql`
        update episode_history set after_workspace_id = ${workspaceId}, after_id = ${last}
        where after_workspace_id = ${position.after_workspace_id} and after_id = ${position.after_id} and finished_at is null
        returning is_only`
      if (!claimed) return 'waiting'
      const locked = await sql<{ id: string; updated_at: string }[]>`
        select id, updated_at::text from conversations
        where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])
        order by id
        for no key update`
      const isCurrent = ({ id, updated_at }: { id: string; updated_at: string }) =>
        read.get(id)?.conversation.updated_at === updated_at
      const changed = locked.filter((one) => !isCurrent(one)).map(({ id }) => id)
      const again = await readPast(sql, workspaceId, changed)
      await writePast(
        sql,
        workspaceId,
        locked.flatMap(({ id }) => again.get(id) ?? read.get(id) ?? []),
      )
      return 'written'
    }),
  ) as Promise<ChunkState>
}

/** The next conversations, of one workspace; undefined after the last. Up to one whose contact is being merged: a part of its messages is in another conversation. */
async function listNext(
  sql: Sql,
  { after_workspace_id, after_id }: Position,
  isMerging: IsMerging,
  size: number,
): Promise<{ workspaceId: string; ids: string[] } | undefined> {
  const rows = await sql<{ workspace_id: string; id: string; is_merging: boolean }[]>`
    select v.workspace_id, v.id, ${isMerging(sql)} as is_merging
    from conversations v
    where (v.workspace_id, v.id) > (${after_workspace_id}, ${after_id})
    order by v.workspace_id, v.id
    limit ${size}`
  const [first] = rows
  if (!first) return undefined
  const end = rows.findIndex(({ workspace_id, is_merging }) => is_merging || workspace_id !== first.workspace_id)
  const ids = (end === -1 ? rows : rows.slice(0, end)).map(({ id }) => id)
  return { workspaceId: first.workspace_id, ids }
}

type Replayed = { conversation: Past; replay: Replay }

/** Reads the conversations, then what happened in them until their first episode of today. */
async function readPast(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<Map<string, Replayed>> {
  const found = new Map<string, Replayed>()
  if (ids.length === 0) return found
  const conversations = await sql<Past[]>`
    select v.id, v.status, v.connection_id, v.updated_at::text, e.id as live_id, e.opened_at as live_opened_at
    from conversations v
    left join lateral (
      select e.id, e.opened_at from episodes e
      where e.workspace_id = v.workspace_id and e.conversation_id = v.id
      order by e.opened_at, e.id
      limit 1
    ) e on true
    where v.workspace_id = ${workspaceId} and v.id = any(${[...ids]}::uuid[])`
  for (const conversation of conversations) found.set(conversation.id, { conversation, replay: startReplay() })
  let last = { conversation_id: bottom, id: bottom }
  for (;;) {
    const events = await readEvents(sql, workspaceId, ids, last)
    for (const { conversation_id, ...event } of events) {
      const one = found.get(conversation_id)
      if (one && (one.conversation.live_id === null || event.id < one.conversation.live_id))
        applyPast(one.replay, event)
    }
    const end = events.at(-1)
    if (!end || events.length < readSize) break
    last = end
  }
  for (const { conversation, replay } of found.values()) {
    if (conversation.live_id === null) endReplay(replay, conversation.status)
  }
  return found
}

/** The next messages of customers, replies and entries, by conversation. */
async function readEvents(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  after: { conversation_id: string; id: string },
): Promise<(PastEvent & { conversation_id: string })[]> {
  return sql<(PastEvent & { conversation_id: string })[]>`
    select conversation_id, id, kind, at, member_id, details from (
      (
        select m.conversation_id, m.id, case when m.direction = 'inbound' then 'received' else 'reply' end as kind,
          m.created_at as at, m.sender_id as member_id, null::jsonb as details
        from messages m
        where m.workspace_id = ${workspaceId} and m.conversation_id = any(${[...ids]}::uuid[])
          and (m.conversation_id, m.id) > (${after.conversation_id}, ${after.id}) and (m.direction = 'inbound' or ${isReply(sql)})
        order by m.conversation_id, m.id
        limit ${readSize}
      )
      union all
      (
        select e.conversation_id, e.id, e.kind, e.created_at, e.member_id, e.details
        from timeline_entries e
        where e.workspace_id = ${workspaceId} and e.conversation_id = any(${[...ids]}::uuid[])
          and (e.conversation_id, e.id) > (${after.conversation_id}, ${after.id}) and e.kind <> 'note'
        order by e.conversation_id, e.id
        limit ${readSize}
      )
    ) events
    order by conversation_id, id
    limit ${readSize}`
}

/** Writes the episodes of conversations that the transaction has locked. */
async function writePast(sql: Sql, workspaceId: string, replayed: readonly Replayed[]): Promise<void> {
  const past = replayed.flatMap(({ conversation, replay }) => {
    const { id: conversation_id, connection_id, live_id } = conversation
    // The stretch of work that the first episode of today continues is a part of it.
    const own = replay.episodes.filter((one) => live_id === null || one.closed_at !== null)
    return own.map((one) => ({ ...one, conversation_id, connection_id }))
  })
  await insertEpisodes(sql, workspaceId, past)
  const extensions = replayed.flatMap(({ conversation: { id, live_id, live_opened_at }, replay }): Extension[] => {
    if (live_id === null || live_opened_at === null) return []
    const open = openEpisodeOf(replay)
    const last = replay.episodes.at(-1)
    if (open) return [{ ...open, id: live_id, conversation_id: id }]
    return isContinuedAt(last, live_opened_at) ? [{ id: live_id, conversation_id: id, reopened_from: last.id }] : []
  })
  if (extensions.length > 0) await extendEpisodes(sql, workspaceId, extensions)
  const open = past.filter(({ closed_at }) => closed_at === null)
  if (open.length === 0) return
  await sql`
    update conversations v set episode_id = i.id, episode_messages = i.customer_messages, episode_replies = i.replies
    from json_to_recordset(${JSON.stringify(open)}::text::json)
      as i (conversation_id uuid, id uuid, customer_messages integer, replies integer)
    where v.workspace_id = ${workspaceId} and v.id = i.conversation_id`
}

type Row = PastEpisode & { conversation_id: string; connection_id: string | null }

async function insertEpisodes(sql: Sql, workspaceId: string, past: readonly Row[]): Promise<void> {
  if (past.length === 0) return
  const silent = await findSilent(sql, workspaceId, past)
  const labelIds = await findLabels(sql, workspaceId, past)
  const rows = past.map((one) => ({
    ...one,
    closed_by: one.closed_by === 'automation' && silent.has(one.closed_by_id ?? '') ? 'silence' : one.closed_by,
    labels: one.labels.flatMap((name) => labelIds.get(fold(name)) ?? []).sort(),
  }))
  await sql`
    insert into episodes (workspace_id, id, conversation_id, connection_id, opened_at, opened_by, first_assigned_at, first_reply_at,
      first_reply_by, replies, customer_messages, closed_at, closed_by, closed_by_id, reopened_from, member_id, labels)
    select ${workspaceId}, i.id, i.conversation_id, i.connection_id, i.opened_at, i.opened_by, i.first_assigned_at, i.first_reply_at,
      i.first_reply_by, case when i.closed_at is null then 0 else i.replies end,
      case when i.closed_at is null then 0 else i.customer_messages end, i.closed_at, i.closed_by, i.closed_by_id, i.reopened_from,
      i.member_id, array(select jsonb_array_elements_text(i.labels))::uuid[]
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
      id uuid, conversation_id uuid, connection_id uuid, opened_at timestamptz, opened_by text, first_assigned_at timestamptz,
      first_reply_at timestamptz, first_reply_by uuid, replies integer, customer_messages integer, closed_at timestamptz,
      closed_by text, closed_by_id uuid, reopened_from uuid, member_id uuid, labels jsonb
    )
    on conflict do nothing`
}

/** The runs among the closers whose automation waits for silence. */
async function findSilent(sql: Sql, workspaceId: string, past: readonly Row[]): Promise<Set<string>> {
  const runIds = past.flatMap(({ closed_by, closed_by_id }) =>
    closed_by === 'automation' && closed_by_id ? closed_by_id : [],
  )
  if (runIds.length === 0) return new Set()
  const silent = await sql<{ id: string }[]>`
    select r.id from automation_runs r
    join automations a on a.workspace_id = r.workspace_id and a.id = r.automation_id
    where r.workspace_id = ${workspaceId} and r.id = any(${runIds}::uuid[]) and a.kind = 'silence'`
  return new Set(silent.map(({ id }) => id))
}

/** The ids of labels by the key of their name. */
async function findLabels(sql: Sql, workspaceId: string, past: readonly Row[]): Promise<Map<string, string>> {
  const keys = [...new Set(past.flatMap(({ labels }) => labels.map(fold)))]
  if (keys.length === 0) return new Map()
  const labels = await sql<{ id: string; name_key: string }[]>`
    select id, name_key from labels where workspace_id = ${workspaceId} and name_key = any(${keys}::text[])`
  return new Map(labels.map(({ id, name_key }) => [name_key, id]))
}

/** `opened_at` is absent if the episode has no earlier part, and only follows the one before. */
type Extension = Partial<PastEpisode> & { id: string; conversation_id: string }

async function extendEpisodes(sql: Sql, workspaceId: string, extensions: readonly Extension[]): Promise<void> {
  await sql`
    with
    -- What came before the first episodes of today.
    input as (
      select i.id, i.conversation_id, i.opened_at, i.opened_by, i.first_assigned_at, i.first_reply_at, i.first_reply_by, i.reopened_from,
        coalesce(i.replies, 0) as replies, coalesce(i.customer_messages, 0) as customer_messages
      from json_to_recordset(${JSON.stringify(extensions)}::text::json) as i (
        id uuid, conversation_id uuid, opened_at timestamptz, opened_by text, first_assigned_at timestamptz,
        first_reply_at timestamptz, first_reply_by uuid, replies integer, customer_messages integer, reopened_from uuid
      )
    ),
    -- An open episode has its counts in the conversation.
    extended_episodes as (
      update episodes e set
        opened_at = coalesce(i.opened_at, e.opened_at), opened_by = coalesce(i.opened_by, e.opened_by),
        first_assigned_at = coalesce(i.first_assigned_at, e.first_assigned_at),
        first_reply_by = case when i.first_reply_at is null then e.first_reply_by else i.first_reply_by end,
        first_reply_at = coalesce(i.first_reply_at, e.first_reply_at),
        replies = case when e.closed_at is null then e.replies else e.replies + i.replies end,
        customer_messages = case when e.closed_at is null then e.customer_messages else e.customer_messages + i.customer_messages end,
        reopened_from = coalesce(i.reopened_from, e.reopened_from),
        office_first_reply_s = null, office_closing_s = null, updated_at = now()
      from input i
      where e.workspace_id = ${workspaceId} and e.id = i.id
    )
    update conversations v set episode_messages = v.episode_messages + i.customer_messages,
      episode_replies = v.episode_replies + i.replies
    from input i
    where v.workspace_id = ${workspaceId} and v.id = i.conversation_id and v.episode_id = i.id`
}
