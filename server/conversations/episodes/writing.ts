/**
 * Writing episodes: parts of the statements that change a conversation.
 *
 * `conversations.episode_id` is the open episode, and the counters beside it are those of the open episode. So a message in an open
 * episode changes no further row. A closed conversation has no open episode. The lock of the conversation guards its episodes
 * (lock order: ARCHITECTURE.md).
 */
import { isUuid } from '../../lib/id.ts'
import { type Fragment, type Sql, withoutEstimate } from '../../lib/postgres/db.ts'
import type { Actor } from '../timeline.ts'

export const openers = ['customer', 'member'] as const
export const closers = ['member', 'automation', 'api', 'silence', 'block'] as const

/** What closes an episode. */
export type Closing = { by: (typeof closers)[number]; byId: string | null }

export function closingOf(actor: Actor): Closing {
  if ('memberId' in actor) return { by: 'member', byId: actor.memberId }
  if ('keyId' in actor) return { by: 'api', byId: isUuid(actor.keyId) ? actor.keyId : null }
  // A policy assigns and closes nothing.
  if ('policy' in actor) return { by: 'automation', byId: null }
  return { by: actor.isSilence ? 'silence' : 'automation', byId: actor.runId }
}

/** Closed for at most this long, an episode counts as continued: by the next one, or because it is reopened. */
const sql24Hours = (sql: Sql): Fragment => sql`interval '24 hours'`

/**
 * The episode before one of conversation `l` that opens at `at`, if it closed less than 24 hours before. One that the statement sees as open
 * was closed by a transaction for whose lock it waited.
 */
const episodeBefore = (sql: Sql, at: Fragment): Fragment => sql`(
  select case when p.closed_at is null or p.closed_at > ${at} - ${sql24Hours(sql)} then p.id end
  from episodes p
  where p.workspace_id = l.workspace_id and p.conversation_id = l.id
  order by p.opened_at desc, p.id desc
  limit 1
)`

/** The team of conversation `v` in which an episode opens: that of its connection, unless it has one. */
export const teamOfOpening = (sql: Sql): Fragment => sql`coalesce(v.team_id, (
  select t.team_id from team_connections t
  where t.workspace_id = v.workspace_id and t.connection_id = v.connection_id
))`

/**
 * A member of a `with` list, named `opened_episodes`: opens the episodes of customers. `openings` has `workspace_id`, `conversation_id`, and `id`
 * and `at` of the first message; `locked_conversations l` has the columns of the conversation.
 */
export const openEpisodes = (sql: Sql, openings: Fragment): Fragment => sql`
  -- The episodes that these messages open. One of an assigned conversation is assigned from the start.
  opened_episodes as (
    insert into episodes (workspace_id, id, conversation_id, connection_id, opened_at, opened_by, first_assigned_at, reopened_from)
    select o.workspace_id, o.id, l.id, l.connection_id, o.at, 'customer', case when l.assigned_agent_id is not null then o.at end,
      ${episodeBefore(sql, sql`o.at`)}
    from ${openings} o
    join locked_conversations l on l.workspace_id = o.workspace_id and l.id = o.conversation_id
    where ${withoutEstimate(sql, sql`l.episode_id is null and l.blocked_at is null`)}
  )`

/**
 * A member of a `with` list, named `answered_episodes`: stores the first reply of an open episode, or opens one. `replies` has `workspace_id`,
 * `conversation_id`, and `id`, `at` and `member_id` of the first reply; `locked_conversations l` has the columns of the conversation.
 *
 * `on conflict` also finds an episode that another transaction opened while the statement waited for the lock: its snapshot does not have it.
 */
export const answerEpisodes = (sql: Sql, replies: Fragment): Fragment => sql`
  -- The first replies of open episodes, and the episodes that replies open.
  answered_episodes as (
    insert into episodes as e (workspace_id, id, conversation_id, connection_id, opened_at, opened_by, first_assigned_at,
      first_reply_at, first_reply_by, reopened_from)
    select r.workspace_id, coalesce(l.episode_id, r.id), l.id, l.connection_id, r.at, 'member',
      case when l.assigned_agent_id is not null then r.at end, r.at, r.member_id,
      case when l.episode_id is null then ${episodeBefore(sql, sql`r.at`)} end
    from ${replies} r
    join locked_conversations l on l.workspace_id = r.workspace_id and l.id = r.conversation_id
    where ${withoutEstimate(sql, sql`l.episode_replies = 0 and (l.episode_id is not null or l.status <> 'closed')`)}
    on conflict (workspace_id, id) do update set
      first_reply_at = greatest(excluded.first_reply_at, e.opened_at), first_reply_by = excluded.first_reply_by, updated_at = now()
    where e.first_reply_at is null
  )`

/** The labels of conversation `v`, as they are before the statement. */
const labelIds = (sql: Sql): Fragment => sql`array(
  select l.label_id from conversation_labels l
  where l.workspace_id = v.workspace_id and l.conversation_id = v.id
  order by l.label_id
)`

/**
 * A member of a `with` list, named `closed_episodes`: closes the episodes of conversations that the transaction has locked in an earlier
 * statement. `closings` has `workspace_id`, `id`, and the `assigned_agent_id` and `team_id` at the closing. The same statement sets `episode_id`
 * of these conversations to null and the counters to 0, or the trigger `close_episode` does it.
 */
export const closeEpisodes = (sql: Sql, closings: Fragment, { by, byId }: Closing): Fragment => sql`
  -- The open episodes of conversations that close, with what they were at the end.
  closed_episodes as (
    update episodes e set
      closed_at = greatest(clock_timestamp(), e.opened_at), closed_by = ${by}, closed_by_id = ${byId}::uuid,
      first_assigned_at = case
        when c.assigned_agent_id is not null then coalesce(e.first_assigned_at, clock_timestamp()) else e.first_assigned_at end,
      replies = v.episode_replies, customer_messages = v.episode_messages, team_id = c.team_id,
      member_id = c.assigned_agent_id, labels = ${labelIds(sql)}, updated_at = now()
    from ${closings} c
    join conversations v on v.workspace_id = c.workspace_id and v.id = c.id
    where e.workspace_id = v.workspace_id and e.id = v.episode_id
  )`

/**
 * A member of a `with` list, named `reopened_episodes` with `workspace_id`, `conversation_id`, `id`, `replies` and `customer_messages`: the last
 * episodes of conversations that are reopened without a message, if they closed less than 24 hours ago. `reopenings` has `workspace_id`, `id`
 * and `assigned_agent_id`. The same statement writes the result into the conversations, which the transaction has locked in an earlier one.
 */
export const reopenEpisodes = (sql: Sql, reopenings: Fragment): Fragment => sql`
  -- The last episodes of conversations that are reopened, if they have just closed.
  reopened_episodes as (
    update episodes e set
      closed_at = null, closed_by = null, closed_by_id = null, office_closing_s = null, updated_at = now(),
      first_assigned_at = case
        when l.assigned_agent_id is not null then coalesce(e.first_assigned_at, clock_timestamp()) else e.first_assigned_at end
    from (
      select r.workspace_id, r.assigned_agent_id, (
        select p.id from episodes p
        where p.workspace_id = v.workspace_id and p.conversation_id = v.id
        order by p.opened_at desc, p.id desc
        limit 1
      ) as episode_id
      from ${reopenings} r
      join conversations v on v.workspace_id = r.workspace_id and v.id = r.id
      where v.episode_id is null
    ) l
    where e.workspace_id = l.workspace_id and e.id = l.episode_id and e.closed_at > clock_timestamp() - ${sql24Hours(sql)}
    returning e.workspace_id, e.conversation_id, e.id, e.replies, e.customer_messages
  )`

/**
 * A member of a `with` list, named `assigned_episodes`: the first assignment of open episodes. `assignments` has `workspace_id` and `id` of
 * conversations that the transaction has locked in an earlier statement.
 */
export const assignEpisodes = (sql: Sql, assignments: Fragment): Fragment => sql`
  -- The open episodes that are assigned for the first time.
  assigned_episodes as (
    update episodes e set first_assigned_at = clock_timestamp(), updated_at = now()
    from ${assignments} a
    join conversations v on v.workspace_id = a.workspace_id and v.id = a.id
    where e.workspace_id = v.workspace_id and e.id = v.episode_id and e.first_assigned_at is null
  )`

/** Assignments of an update of conversation `v` that is left joined with `reopened_episodes r`: the open episode and its counters. */
export const episodeColumns = (sql: Sql, closes: Fragment): Fragment => sql`
  episode_id = case when ${closes} then null else coalesce(r.id, v.episode_id) end,
  episode_messages = case when ${closes} then 0 when r.id is not null then r.customer_messages else v.episode_messages end,
  episode_replies = case when ${closes} then 0 when r.id is not null then r.replies else v.episode_replies end`
