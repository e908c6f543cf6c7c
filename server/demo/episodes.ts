/**
 * The work of the demo's members: timelines, episodes, ratings, and what the clocks of targets follow.
 *
 * Episodes are those that the rules of the service give for these messages and entries. The loop `targets` decides the clocks, from changes with
 * times in the past, as if it had been late.
 */
import {
  applyPast,
  openEpisodeOf,
  type PastEpisode,
  type PastEvent,
  startReplay,
} from '../conversations/episodes/replay.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { PastThread } from './past.ts'

/** A change of an episode, as the trigger of conversations queues it. */
export type TargetChange = {
  conversation_id: string
  episode_id: string
  at: string
  is_open: boolean
  waiting_since: string | null
  has_replied: boolean
}

type Work = { thread: PastThread; episodes: PastEpisode[]; changes: TargetChange[] }

const json = (rows: unknown) => JSON.stringify(rows)

/** Runs in the caller's transaction. Returns the changes in their order. */
export async function insertWork(
  sql: Sql,
  workspaceId: string,
  threads: readonly PastThread[],
): Promise<TargetChange[]> {
  const work = threads.map(replayThread)
  await insertEntries(sql, workspaceId, threads)
  await insertEpisodes(sql, workspaceId, work)
  await insertRatings(sql, workspaceId, work)
  return work.flatMap(({ changes }) => changes).sort((one, other) => (one.at < other.at ? -1 : 1))
}

function replayThread(thread: PastThread): Work {
  const replay = startReplay()
  const changes: TargetChange[] = []
  let waiting_since: string | null = null
  let last: TargetChange | undefined
  for (const { isWaiting, ...event } of eventsOf(thread)) {
    const { at } = event
    applyPast(replay, event)
    if (isWaiting) waiting_since ??= at
    if (event.kind === 'reply' || replay.status === 'closed') waiting_since = null
    const open = openEpisodeOf(replay)
    if (last && last.episode_id !== open?.id) {
      changes.push({ ...last, at, is_open: false, waiting_since: null })
      last = undefined
    }
    if (!open) continue
    const has_replied = open.replies > 0
    if (last?.waiting_since === waiting_since && last.has_replied === has_replied) continue
    last = { conversation_id: thread.id, episode_id: open.id, at, is_open: true, waiting_since, has_replied }
    changes.push(last)
  }
  return { thread, episodes: replay.episodes, changes }
}

/** `isWaiting`: the customer waits from then on, if not before. */
function eventsOf({ messages, entries }: PastThread): (PastEvent & { isWaiting: boolean })[] {
  const ofMessages = messages.flatMap(
    ({ id, direction, sender_id, status, content_type, isOfRating, created_at: at }) => {
      const isReply = sender_id !== null && status !== 'failed'
      if (isOfRating || (direction === 'outbound' && !isReply)) return []
      const kind = isReply ? ('reply' as const) : ('received' as const)
      return [{ id, kind, at, member_id: sender_id, details: null, isWaiting: !isReply && content_type !== 'reaction' }]
    },
  )
  const ofEntries = entries.flatMap(({ kind, created_at: at, ...entry }) =>
    kind === 'rated' ? [] : [{ ...entry, kind, at, isWaiting: false }],
  )
  return [...ofMessages, ...ofEntries].sort((one, other) => (one.id < other.id ? -1 : 1))
}

async function insertEntries(sql: Sql, workspaceId: string, threads: readonly PastThread[]): Promise<void> {
  await sql`
    insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, details, created_at)
    select ${workspaceId}, conversation_id, id, kind, member_id, details, created_at
    from json_to_recordset(${json(threads.flatMap(({ entries }) => entries))}::text::json) as g (
      conversation_id uuid, id uuid, kind text, member_id uuid, details jsonb, created_at timestamptz
    )`
}

/** The conversations have the team, the member and the counts of their open episode. */
async function insertEpisodes(sql: Sql, workspaceId: string, work: readonly Work[]): Promise<void> {
  const rows = work.flatMap(({ thread: { id, team_id }, episodes }) =>
    episodes.map((episode) => ({ ...episode, conversation_id: id, team_id })),
  )
  await sql`
    with
    input as (
      select * from json_to_recordset(${json(rows)}::text::json) as g (
        id uuid, conversation_id uuid, opened_at timestamptz, opened_by text, first_assigned_at timestamptz, first_reply_at timestamptz,
        first_reply_by uuid, replies int, customer_messages int, closed_at timestamptz, closed_by text, closed_by_id uuid,
        reopened_from uuid, team_id uuid, member_id uuid, labels jsonb
      )
    ),
    inserted_episodes as (
      insert into episodes (workspace_id, id, conversation_id, connection_id, opened_at, opened_by, first_assigned_at, first_reply_at,
        first_reply_by, replies, customer_messages, closed_at, closed_by, closed_by_id, reopened_from, team_id, member_id, labels)
      select v.workspace_id, i.id, v.id, v.connection_id, i.opened_at, i.opened_by, i.first_assigned_at, i.first_reply_at,
        i.first_reply_by, case when i.closed_at is null then 0 else i.replies end,
        case when i.closed_at is null then 0 else i.customer_messages end, i.closed_at, i.closed_by, i.closed_by_id, i.reopened_from,
        case when i.closed_at is not null then i.team_id end, i.member_id, array(
          select l.id from labels l where l.workspace_id = v.workspace_id and i.labels ? l.name order by l.id
        )
      from input i
      join conversations v on v.workspace_id = ${workspaceId} and v.id = i.conversation_id
    )
    update conversations v set episode_id = i.id, episode_messages = i.customer_messages, episode_replies = i.replies
    from input i
    where v.workspace_id = ${workspaceId} and v.id = i.conversation_id and i.closed_at is null`
}

/** The messages and the lines in the threads are there already. */
async function insertRatings(sql: Sql, workspaceId: string, work: readonly Work[]): Promise<void> {
  const rows = work.flatMap(({ thread: { id: conversation_id, ratings }, episodes }) =>
    ratings.map(({ closed_at, ...rating }) => {
      const episode = episodes.find((one) => one.closed_at === closed_at)
      if (!episode) throw new Error(`the demo asks about an episode that did not close at ${closed_at}`)
      return { ...rating, conversation_id, episode_id: episode.id }
    }),
  )
  await sql`
    with
    input as (
      select * from json_to_recordset(${json(rows)}::text::json) as g (
        message_id uuid, episode_id uuid, conversation_id uuid, member_id uuid, state text, asked_at timestamptz, rating smallint,
        rated_at timestamptz, thanks_id uuid, comment_until timestamptz, comment text
      )
    ),
    inserted_ratings as (
      insert into ratings (workspace_id, message_id, episode_id, conversation_id, contact_id, member_id, team_id, connection_id, state,
        attempt_count, asked_at, rating, rated_at, is_announced, thanks_id, comment_until, comment, created_at, updated_at)
      select v.workspace_id, i.message_id, i.episode_id, v.id, v.contact_id, i.member_id, e.team_id, e.connection_id, i.state, 1,
        i.asked_at, i.rating, i.rated_at, i.state = 'rated', i.thanks_id, i.comment_until, i.comment, i.asked_at,
        coalesce(i.rated_at, i.asked_at)
      from input i
      join conversations v on v.workspace_id = ${workspaceId} and v.id = i.conversation_id
      join episodes e on e.workspace_id = v.workspace_id and e.id = i.episode_id
    )
    update conversations v set rating_message_id = i.message_id
    from input i
    where v.workspace_id = ${workspaceId} and v.id = i.conversation_id`
}
