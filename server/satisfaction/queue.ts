/**
 * The queue of questions and thanks: which episodes are asked about, claim and settle.
 *
 * A row of `ratings` is the job. It has the id of its message, and a claim takes a lease: a worker that claims the row after a crash of
 * the first one sends under the same id, and the sender finds the first attempt by it. The message and the state `asked` are written in
 * one transaction, so a row in that state has its message.
 *
 * No statement that closes an episode does anything for this. Each workspace remembers up to which time its closed episodes are decided;
 * a worker locks that row, so one process at a time decides for a workspace.
 */
import type { Channel } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { idFromTime, newId, timeOfId } from '../lib/id.ts'
import { type Db, type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import type { MediaSlots } from '../media/slots.ts'
import { queueTriggers } from '../triggers/queue.ts'

/** Episodes of a workspace that are decided at once, the oldest first. */
const batchSize = 200
/** A closing is visible at the latest so long after its time: the transaction that closes starts before it commits. */
const overlapSeconds = 60

type Windows = Record<ChannelName, Pick<Channel, 'windowMs'>>

/** Chooses the episodes to ask about, in all workspaces that ask. */
export async function decideQuestions(db: Db, channels: Windows): Promise<void> {
  const asking = await db<{ workspace_id: string }[]>`${withClosedEpisodes(db)} order by workspace_id`
  for (const { workspace_id } of asking)
    await withRetries(() => db.begin((sql) => decideFor(sql, workspace_id, channels)))
}

/** The workspaces that ask, with an episode that is not decided or was decided a minute ago. */
const withClosedEpisodes = (sql: Sql): Fragment => sql`
  select workspace_id from satisfaction_settings s
  where is_on and exists (
    select from episodes e
    where e.workspace_id = s.workspace_id and e.closed_at > s.checked_until - make_interval(secs => ${overlapSeconds})
      and e.closed_at <= now() - make_interval(secs => s.delay_seconds)
  )`

/** Whether there may be episodes to decide, questions or thanks. */
export const mayHaveQuestions = (sql: Sql): Fragment => sql`
  exists (${withClosedEpisodes(sql)}) or exists (select from ratings where due_at is not null)`

async function decideFor(sql: Sql, workspaceId: string, channels: Windows): Promise<void> {
  // Another worker decides, or a member changes the settings. Times as text, which has the microseconds.
  const [settings] = await sql<
    { from: string; to: string; min_days: number; has_template: boolean; labels: string[] }[]
  >`
    select (checked_until - make_interval(secs => ${overlapSeconds}))::text as from,
      (now() - make_interval(secs => delay_seconds))::text as to, min_days, template is not null as has_template,
      skip_labels as labels
    from satisfaction_settings
    where workspace_id = ${workspaceId} and is_on
    for no key update skip locked`
  if (!settings) return
  const { from, to, min_days, has_template, labels } = settings
  const closed = await sql<{ closed_at: string }[]>`
    with
    -- The episodes whose time has come, the oldest first.
    closed_episodes as (
      select e.workspace_id, e.id, e.conversation_id, e.connection_id, e.team_id, e.closed_at, e.opened_at, e.replies,
        e.closed_by, e.labels
      from episodes e
      where e.workspace_id = ${workspaceId} and e.closed_at > ${from}::timestamptz and e.closed_at <= ${to}::timestamptz
        and not exists (select from ratings r where r.workspace_id = e.workspace_id and r.episode_id = e.id)
      order by e.closed_at
      -- A bulk action closes many at the same time.
      fetch first ${batchSize} rows with ties
    ),
    -- Those to ask about, the last one of each contact. What changes until the question is sent is checked again then.
    chosen_episodes as (
      select distinct on (v.contact_id) e.workspace_id, e.id, e.conversation_id, e.connection_id, e.team_id, v.contact_id, (
          select m.sender_id from messages m
          where m.workspace_id = e.workspace_id and m.conversation_id = e.conversation_id
            and m.id >= ${idFromTime(sql, sql`e.opened_at`)} and m.created_at <= e.closed_at
            and m.direction = 'outbound' and m.sender_id is not null
          order by m.id desc
          limit 1
        ) as member_id
      from closed_episodes e
      join satisfaction_settings s on s.workspace_id = e.workspace_id
      join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
      join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where e.replies > 0 and e.closed_by is distinct from 'block' and ${isAskable(sql)}
        and (s.connection_ids is null or e.connection_id = any(s.connection_ids))
        and (s.team_ids is null or e.team_id = any(s.team_ids))
        and (${isInWindow(sql, channels)} or (${has_template} and v.channel = 'msgapp'))
        and not exists (
          select from labels l
          where l.workspace_id = e.workspace_id and l.id = any(e.labels) and l.name_key = any(${labels.map(fold)}::text[])
        )
        and not exists (
          select from ratings r
          where r.workspace_id = v.workspace_id and r.contact_id = v.contact_id and r.state <> 'failed'
            and coalesce(r.asked_at, r.created_at) > now() - make_interval(days => ${min_days})
        )
      order by v.contact_id, e.closed_at desc
    ),
    -- Two levels, because the time is that of the id.
    inserted_ratings as (
      insert into ratings (workspace_id, message_id, episode_id, conversation_id, contact_id, member_id, team_id, connection_id,
        state, due_at, created_at)
      select n.workspace_id, ${idFromTime(sql, sql`n.at`)}, n.id, n.conversation_id, n.contact_id, n.member_id, n.team_id,
        n.connection_id, 'due', now(), n.at
      from (select c.*, clock_timestamp() as at from chosen_episodes c) n
      on conflict do nothing
    )
    select e.closed_at::text
    from closed_episodes e
    order by e.closed_at`
  const last = closed.length >= batchSize ? (closed.at(-1)?.closed_at ?? to) : to
  // With the overlap, so that a full batch goes on after its last episode.
  const until =
    closed.length >= batchSize
      ? sql`${last}::timestamptz + make_interval(secs => ${overlapSeconds})`
      : sql`${last}::timestamptz`
  await sql`
    update satisfaction_settings set checked_until = greatest(checked_until, ${until})
    where workspace_id = ${workspaceId}`
}

/** Condition on conversation `v`, contact `c` and the closed episode `e`: the customer and the team have left it as it was closed. */
const isAskable = (sql: Sql): Fragment => sql`
  v.status = 'closed' and v.blocked_at is null and v.episode_id is null and c.opted_out_at is null
  and coalesce(v.last_received_at <= e.closed_at, true)`

/** Condition on conversation `v`: a program may send what it likes. */
function isInWindow(sql: Sql, channels: Windows): Fragment {
  const windows = Object.entries(channels).map(([channel, { windowMs }]) => ({
    channel,
    seconds: windowMs && windowMs / 1000,
  }))
  return sql`exists (
    select from json_to_recordset(${JSON.stringify(windows)}::text::json) as w (channel text, seconds float8)
    where w.channel = v.channel and (w.seconds is null or v.last_inbound_at > now() - make_interval(secs => w.seconds))
  )`
}

export type ClaimedRating = {
  workspace_id: string
  message_id: string
  conversation_id: string
  state: 'due' | 'asked' | 'rated'
  is_announced: boolean
  thanks_id: string | null
  attempt_count: number
}

/** Workspaces take turns: those with the fewest sends in flight in this process first, within their limits. */
const maxRead = 50

export async function claimRatings(
  sql: Sql,
  limit: number,
  slots: Pick<MediaSlots, 'busy' | 'maxPerWorkspace'>,
  { leaseMs }: { leaseMs: number },
): Promise<ClaimedRating[]> {
  return sql<ClaimedRating[]>`
    with recursive
    -- The workspaces with sends in flight in this process, and their limits.
    busy_workspaces as (
      select workspace_id, in_flight, max_in_flight
      from json_to_recordset(${JSON.stringify(slots.busy())}::text::json) as b (workspace_id uuid, in_flight int, max_in_flight int)
    ),
    -- Every workspace with something to send, found by one index step each.
    waiting_workspaces as (
      (select workspace_id from ratings where due_at is not null order by workspace_id limit 1)
      union all
      select (
        select r.workspace_id from ratings r
        where r.due_at is not null and r.workspace_id > w.workspace_id
        order by r.workspace_id
        limit 1
      )
      from waiting_workspaces w
      where w.workspace_id is not null
    ),
    -- Their oldest due rows.
    due_ratings as (
      select d.workspace_id, d.message_id, d.due_at, coalesce(b.max_in_flight, ${slots.maxPerWorkspace}::int) as max_in_flight,
        coalesce(b.in_flight, 0) + row_number() over (partition by d.workspace_id order by d.due_at, d.message_id) as round
      from waiting_workspaces w
      left join busy_workspaces b on b.workspace_id = w.workspace_id
      cross join lateral (
        select r.workspace_id, r.message_id, r.due_at from ratings r
        where r.workspace_id = w.workspace_id and r.due_at <= now()
        order by r.due_at, r.message_id
        limit ${maxRead}
      ) d
    ),
    -- Round by round, one row per workspace.
    chosen_ratings as (
      select workspace_id, message_id from due_ratings where round <= max_in_flight order by round, due_at limit ${limit}
    ),
    -- Without rows that another worker or an answer is changing.
    locked_ratings as (
      select r.workspace_id, r.message_id
      from ratings r
      join chosen_ratings c on c.workspace_id = r.workspace_id and c.message_id = r.message_id
      where r.due_at <= now()
      for update of r skip locked
    )
    update ratings r set due_at = ${after(sql, leaseMs)}, attempt_count = r.attempt_count + 1
    from locked_ratings l
    where r.workspace_id = l.workspace_id and r.message_id = l.message_id
    returning r.workspace_id, r.message_id, r.conversation_id, r.state, r.is_announced, r.thanks_id, r.attempt_count`
}

const after = (sql: Sql, ms: number): Fragment => sql`now() + make_interval(secs => ${ms / 1000})`

/** Extends the leases of rows that this process is sending for. */
export async function keepRatingLeases(sql: Sql, claimed: readonly ClaimedRating[], leaseMs: number): Promise<void> {
  await sql`
    update ratings r set due_at = ${after(sql, leaseMs)}
    from unnest(${claimed.map(({ workspace_id }) => workspace_id)}::uuid[],
      ${claimed.map(({ message_id }) => message_id)}::uuid[], ${claimed.map(({ state }) => state)}::text[])
      as i (workspace_id, message_id, state)
    where r.workspace_id = i.workspace_id and r.message_id = i.message_id and r.due_at is not null
      and (r.state = 'rated') = (i.state = 'rated')`
}

/**
 * In the transaction that stores the question, with its conversation locked: returns false if the customer or the team has changed the
 * conversation since, or the question is no longer to be sent.
 */
export async function markAsked(
  sql: Sql,
  { workspace_id: workspaceId, message_id: id }: ClaimedRating,
): Promise<boolean> {
  const asked = await sql`
    update ratings r set state = 'asked', asked_at = now(), updated_at = now()
    from episodes e, conversations v, contacts c, satisfaction_settings s
    where r.workspace_id = ${workspaceId} and r.message_id = ${id} and r.state = 'due'
      and e.workspace_id = r.workspace_id and e.id = r.episode_id and e.closed_at is not null
      and v.workspace_id = r.workspace_id and v.id = r.conversation_id
      and c.workspace_id = v.workspace_id and c.id = v.contact_id
      and s.workspace_id = r.workspace_id and s.is_on
      and ${isAskable(sql)}
    returning r.conversation_id`
  const [{ conversation_id: conversationId } = { conversation_id: undefined }] = asked
  if (conversationId === undefined) return false
  await sql`
    update conversations set rating_message_id = ${id}
    where workspace_id = ${workspaceId} and id = ${conversationId}`
  return true
}

/** Nothing is left of a question that was not sent: the episode may open again and close. */
export async function dropQuestion(
  sql: Sql,
  { workspace_id: workspaceId, message_id: id }: ClaimedRating,
): Promise<void> {
  await sql`delete from ratings where workspace_id = ${workspaceId} and message_id = ${id} and state = 'due'`
}

const sameStates = (state: ClaimedRating['state']): string[] => (state === 'rated' ? ['rated'] : ['due', 'asked'])

/** The message was sent, or is not to be sent again. An answer that came meanwhile is a job of its own. */
export async function settleRating(
  sql: Sql,
  { workspace_id: workspaceId, message_id: id, state }: ClaimedRating,
): Promise<void> {
  await sql`
    update ratings set due_at = null, error = null, updated_at = now()
    where workspace_id = ${workspaceId} and message_id = ${id} and state = any(${sameStates(state)}::text[])`
}

/** The question did not reach the customer. */
export async function failQuestion(
  sql: Sql,
  { workspace_id: workspaceId, message_id: id }: ClaimedRating,
  reason: string,
): Promise<void> {
  await sql`
    update ratings set state = 'failed', due_at = null, error = ${reason.replaceAll('\0', '').slice(0, 1_000).toWellFormed()},
      updated_at = now()
    where workspace_id = ${workspaceId} and message_id = ${id} and state in ('due', 'asked')`
}

/** Lets a worker claim the row again after `afterMs`. `isAttempt`: the claim counts. */
export async function releaseRating(
  sql: Sql,
  { workspace_id: workspaceId, message_id: id, state }: ClaimedRating,
  { afterMs, isAttempt }: { afterMs: number; isAttempt: boolean },
): Promise<void> {
  await sql`
    update ratings set due_at = ${after(sql, afterMs)}, attempt_count = attempt_count - ${isAttempt ? 0 : 1}::int
    where workspace_id = ${workspaceId} and message_id = ${id} and state = any(${sameStates(state)}::text[])
      and due_at is not null`
}

/** Writes the line in the thread, and queues the change that may start automations. Once, whatever is killed. */
export async function announceRating(
  sql: Sql,
  { workspace_id: workspaceId, message_id: id }: ClaimedRating,
): Promise<void> {
  const entryId = newId()
  await sql`
    with
    -- Nothing if another worker was first.
    announced_ratings as (
      update ratings set is_announced = true, thanks_id = coalesce(thanks_id, ${newId()}::uuid)
      where workspace_id = ${workspaceId} and message_id = ${id} and state = 'rated' and not is_announced
      returning workspace_id, message_id, conversation_id, contact_id, rating
    ),
    inserted_entries as (
      insert into timeline_entries (workspace_id, conversation_id, id, kind, details, created_at)
      select workspace_id, conversation_id, ${entryId}, 'rated', jsonb_build_object('by', 'customer', 'rating', rating),
        ${timeOfId(entryId)}
      from announced_ratings
    ),
    ${queueTriggers(sql, {
      kinds: ['rating'],
      workspaces: sql`announced_ratings`,
      from: sql`announced_ratings a`,
      workspaceId: sql`a.workspace_id`,
      event: sql`'rated'`,
      contactId: sql`a.contact_id`,
      conversationId: sql`a.conversation_id`,
      detail: sql`a.rating::text`,
    })}
    select message_id from announced_ratings`
}
