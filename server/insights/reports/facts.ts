/**
 * What reports count of an episode, as parts of statements that count (`count.ts`) and that read (`figures.ts`).
 *
 * An episode has three events: it is opened, it has a first reply, it is closed. Each counts on its day in the workspace's time zone, for the
 * team, the connection, the member and the labels of the episode. While an episode is open, these are those of its conversation. The member of a
 * first reply is its author.
 *
 * More events have a bucket instead of a time: the question about satisfaction (1 with a rating, otherwise 0) and its rating, which count for the
 * member whom the rating is about, and the outcomes of targets (1 met, 0 missed), which count for the target, and for the member and the team
 * who had the conversation when the outcome was decided.
 */
import type { Fragment, Sql } from '../../lib/postgres/db.ts'
import { bucketOf } from './buckets.ts'

/** The key of what has no team, no member or no label. */
export const noKey = '00000000-0000-0000-0000-000000000000'

/** By what figures are counted. The keys of a family of two are in this order. */
export const dimensions = ['team', 'connection', 'member', 'label'] as const
export type Dimension = (typeof dimensions)[number]

/** Outcomes are counted by target, and by one dimension and target. */
export const keyNames = [...dimensions, 'target'] as const
export type KeyName = (typeof keyNames)[number]

const families = [
  ...['all', ...keyNames],
  ...['team_connection', 'team_member', 'team_label', 'connection_member', 'connection_label'],
  ...dimensions.map((dimension) => `${dimension}_target`),
]

/** The family that counts by these keys. Undefined: no family does. */
export function getFamily(by: readonly KeyName[]): string | undefined {
  const name = keyNames.filter((key) => by.includes(key)).join('_') || 'all'
  return families.find((family) => family === name)
}

/** Hours of the day are counted for the workspace and by one dimension. */
export const hasHours = (family: string): boolean => !family.includes('_')

const columnNames = [
  ...[
    'workspace_id',
    'episode_id',
    'connection_id',
    'team_id',
    'member_id',
    'labels',
    'is_reopened',
    'replies',
    'opened_at',
  ],
  ...[
    'first_reply_at',
    'first_reply_by',
    'closed_at',
    'first_reply_s',
    'closing_s',
    'office_first_reply_s',
    'office_closing_s',
  ],
  ...['asked_at', 'rated_at', 'rating', 'rating_member_id', 'outcomes'],
]

/** The columns of facts, of the table or query `of`. */
export const factColumns = (sql: Sql, of?: 'c' | 'f'): Fragment =>
  sql`${sql.unsafe(columnNames.map((name) => (of ? `${of}.${name}` : name)).join(', '))}`

const seconds = (sql: Sql, from: Fragment, to: Fragment): Fragment =>
  sql`greatest(0, floor(extract(epoch from ${to} - ${from})))::int`

/** The team, the member and the labels of episode `e` of conversation `v`. */
export const teamOf = (sql: Sql): Fragment => sql`case when e.closed_at is null then v.team_id else e.team_id end`
export const memberOf = (sql: Sql): Fragment =>
  sql`case when e.closed_at is null then v.assigned_agent_id else e.member_id end`
export const labelsOf = (sql: Sql): Fragment => sql`case when e.closed_at is null then array(
    select cl.label_id from conversation_labels cl
    where cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
    order by cl.label_id
  ) else e.labels end`
/** The times of episode `e`: null if there is none. A customer waits for the first reply only in an episode that the customer opened. */
export const firstReplyAt = (sql: Sql): Fragment => sql`case when e.opened_by = 'customer' then e.first_reply_at end`
export const firstReplySeconds = (sql: Sql): Fragment =>
  sql`case when e.opened_by = 'customer' then ${seconds(sql, sql`e.opened_at`, sql`e.first_reply_at`)} end`
export const closingSeconds = (sql: Sql): Fragment => seconds(sql, sql`e.opened_at`, sql`e.closed_at`)
export const officeFirstReplySeconds = (sql: Sql): Fragment =>
  sql`case when e.opened_by = 'customer' and e.first_reply_at is not null then e.office_first_reply_s end`
export const officeClosingSeconds = (sql: Sql): Fragment =>
  sql`case when e.closed_at is not null then e.office_closing_s end`

/** The question `r` was sent: one that did not reach the customer does not count. */
export const isAsked = (sql: Sql): Fragment => sql`r.state in ('asked', 'rated')`

/** The outcome of clock `k` is decided. While a customer waits again for a next reply, only a miss is. */
export const isDecided = (sql: Sql): Fragment => sql`k.outcome is not null and ${outcomeAt(sql)} is not null`
/** When the time of clock `k` ran out, or when the reply or the closing was in time. */
export const outcomeAt = (sql: Sql): Fragment => sql`coalesce(k.breached_at, k.ended_at)`

/** The episodes of `changed_episodes (workspace_id, episode_id)`: as they are, and as they are counted with the sign -1. */
export const changedFacts = (sql: Sql): Fragment => sql`
    -- The episodes that exist, as they are now. offset 0 keeps the order of the joins: on tables without statistics another one took 5 s.
    current_episodes as (
      select e.workspace_id, e.id as episode_id, e.connection_id, ${teamOf(sql)} as team_id, ${memberOf(sql)} as member_id,
        ${labelsOf(sql)} as labels, e.reopened_from is not null as is_reopened, e.replies, e.opened_at,
        ${firstReplyAt(sql)} as first_reply_at, e.first_reply_by, e.closed_at, ${firstReplySeconds(sql)} as first_reply_s,
        case when e.closed_at is not null then ${closingSeconds(sql)} end as closing_s,
        ${officeFirstReplySeconds(sql)} as office_first_reply_s, ${officeClosingSeconds(sql)} as office_closing_s,
        r.asked_at, r.rated_at, r.rating, r.member_id as rating_member_id, (
          select jsonb_agg(jsonb_build_object(
            'target_id', k.target_id, 'kind', k.kind, 'at', ${outcomeAt(sql)}, 'is_met', k.outcome = 'met',
            'member_id', k.member_id, 'team_id', k.team_id
          ))
          from target_clocks k
          where k.workspace_id = e.workspace_id and k.episode_id = e.id and ${isDecided(sql)}
        ) as outcomes
      from changed_episodes x
      cross join lateral (
        select e.workspace_id, e.id, e.conversation_id, e.connection_id, e.team_id, e.member_id, e.labels, e.reopened_from, e.replies,
          e.opened_at, e.opened_by, e.first_reply_at, e.first_reply_by, e.closed_at, e.office_first_reply_s, e.office_closing_s
        from episodes e
        where e.workspace_id = x.workspace_id and e.id = x.episode_id
        offset 0
      ) e
      cross join lateral (
        select v.workspace_id, v.id, v.team_id, v.assigned_agent_id from conversations v
        where v.workspace_id = e.workspace_id and v.id = e.conversation_id
        offset 0
      ) v
      left join lateral (
        select r.asked_at, r.rated_at, r.rating, r.member_id from ratings r
        where r.workspace_id = e.workspace_id and r.episode_id = e.id and ${isAsked(sql)}
        offset 0
      ) r on true
    ),
    -- What the counters change by.
    changed_facts as (
      select 1 as sign, ${factColumns(sql)} from current_episodes
      union all
      select -1, ${factColumns(sql, 'c')}
      from changed_episodes x
      cross join lateral (
        select ${factColumns(sql, 'c')} from counted_episodes c
        where c.workspace_id = x.workspace_id and c.episode_id = x.episode_id
        offset 0
      ) c
    )`

/** Statement parts that store `current_episodes` as counted. */
export const storeFacts = (sql: Sql): Fragment => sql`
    stored_episodes as (
      insert into counted_episodes as c (${factColumns(sql)})
      select ${factColumns(sql)} from current_episodes
      on conflict (workspace_id, episode_id) do update set
        connection_id = excluded.connection_id, team_id = excluded.team_id, member_id = excluded.member_id,
        labels = excluded.labels, is_reopened = excluded.is_reopened, replies = excluded.replies, opened_at = excluded.opened_at,
        first_reply_at = excluded.first_reply_at, first_reply_by = excluded.first_reply_by, closed_at = excluded.closed_at,
        first_reply_s = excluded.first_reply_s, closing_s = excluded.closing_s,
        office_first_reply_s = excluded.office_first_reply_s, office_closing_s = excluded.office_closing_s,
        asked_at = excluded.asked_at, rated_at = excluded.rated_at, rating = excluded.rating,
        rating_member_id = excluded.rating_member_id, outcomes = excluded.outcomes
    ),
    deleted_episodes as (
      delete from counted_episodes c using changed_episodes x
      where c.workspace_id = x.workspace_id and c.episode_id = x.episode_id
        and not exists (
          select from current_episodes e where e.workspace_id = x.workspace_id and e.episode_id = x.episode_id
        )
    )`

/** The counted episodes of a workspace behind `after`, in the order of their ids. */
export const countedFacts = (sql: Sql, workspaceId: string, after: string, count: number): Fragment => sql`
    changed_facts as (
      select 1 as sign, ${factColumns(sql)} from counted_episodes
      where workspace_id = ${workspaceId} and episode_id > ${after}
      order by episode_id
      limit ${count}
    )`

/** The events of `facts`, which are rows of `changed_facts` with a generation and its time zone. */
export const changedEvents = (sql: Sql): Fragment => sql`
    -- The events with their local hour, each with its own facts only: what a change leaves as it was has the sum 0, and equal events of an hour
    -- are one row.
    changed_events as (
      select sum(f.sign)::int as sign, f.workspace_id, f.generation, x.event, date_trunc('hour', x.at at time zone f.time_zone) as local_at,
        x.member_id, x.team_id, f.connection_id, f.labels, x.is_reopened, x.replies, x.first_reply_s, x.closing_s, x.office_first_reply_s,
        x.office_closing_s, x.target_id, x.bucket
      from facts f
      cross join lateral (
        select v.event, v.at, v.member_id, f.team_id, null::uuid as target_id, v.bucket, v.is_reopened, v.replies, v.first_reply_s, v.closing_s,
          v.office_first_reply_s, v.office_closing_s
        from (values
          ('opened', f.opened_at, f.member_id, null::int, f.is_reopened, null::int, null::int, null::int, null::int, null::int),
          ('first_reply', f.first_reply_at, f.first_reply_by, null, null, null, f.first_reply_s, null, f.office_first_reply_s, null),
          ('closed', f.closed_at, f.member_id, null, null, f.replies, null, f.closing_s, null, f.office_closing_s),
          ('question', f.asked_at, f.rating_member_id, (f.rating is not null)::int, null, null, null, null, null, null),
          ('rating', f.rated_at, f.rating_member_id, f.rating::int, null, null, null, null, null, null)
        ) v (event, at, member_id, bucket, is_reopened, replies, first_reply_s, closing_s, office_first_reply_s, office_closing_s)
        union all
        select 'target_' || o.kind, o.at, o.member_id, o.team_id, o.target_id, o.is_met::int, null, null, null, null, null, null
        from jsonb_to_recordset(f.outcomes) as o (
          target_id uuid, kind text, at timestamptz, is_met boolean, member_id uuid, team_id uuid
        )
      ) x
      where x.at is not null
      group by 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
      having sum(f.sign) <> 0
    ),
    -- With the bucket of each of their measures.
    events as (
      select e.sign, e.workspace_id, e.generation, e.event, e.local_at, e.member_id, e.team_id, e.connection_id, e.labels, e.is_reopened,
        e.replies, e.first_reply_s, e.closing_s, e.office_first_reply_s, e.office_closing_s, e.target_id, m.measures, m.buckets
      from changed_events e
      cross join lateral (select extract(hour from e.local_at)::int as hour) h
      cross join lateral (
        select
          case e.event
            when 'opened' then array['opened_hour']
            when 'first_reply' then array['first_reply_hour', 'first_reply', 'office_first_reply']
            when 'closed' then array['closed_hour', 'closing', 'office_closing']
            else array[e.event]
          end as measures,
          case e.event
            when 'opened' then array[h.hour]
            when 'first_reply'
              then array[h.hour, ${bucketOf(sql, sql`e.first_reply_s`)}, ${bucketOf(sql, sql`e.office_first_reply_s`)}]
            when 'closed' then array[h.hour, ${bucketOf(sql, sql`e.closing_s`)}, ${bucketOf(sql, sql`e.office_closing_s`)}]
            else array[e.bucket]
          end as buckets
      ) m
    )`

/** The columns of `events` when they are read from JSON. */
export const eventColumns = (sql: Sql): Fragment => sql`
  sign int, workspace_id uuid, generation int, event text, local_at timestamp, member_id uuid, team_id uuid, connection_id uuid, labels uuid[],
  is_reopened boolean, replies int, first_reply_s int, closing_s int, office_first_reply_s int, office_closing_s int, target_id uuid,
  measures text[], buckets int[]`

/** Each of the `events` once for each key of each of these families. */
export const keyedEvents = (sql: Sql, of: readonly string[] = families): Fragment => sql`
    keyed_events as (
      select e.sign, e.workspace_id, e.generation, e.event, e.local_at, e.is_reopened, e.replies, e.first_reply_s, e.closing_s,
        e.office_first_reply_s, e.office_closing_s, e.measures, e.buckets, k.family, coalesce(k.key_1, ${noKey}) as key_1,
        coalesce(k.key_2, ${noKey}) as key_2
      from events e
      cross join lateral (${sql.unsafe(of.map(keysOf).join(' union all '))}) k (family, key_1, key_2)
    )`

const keyColumns: Readonly<Record<string, string>> = {
  ...{ team: 'e.team_id', connection: 'e.connection_id', member: 'e.member_id', label: 'l.id', target: 'e.target_id' },
}

/** A statement with the keys that the event `e` has in a family. */
function keysOf(family: string): string {
  const [key_1, key_2] = keyNames.filter((name) => family.split('_').includes(name)).map((name) => keyColumns[name])
  return `
    select '${family}', ${key_1 ?? 'null::uuid'}, ${key_2 ?? 'null::uuid'}
    ${family.includes('label') ? `from unnest(case when e.labels = '{}' then '{${noKey}}' else e.labels end) l (id)` : ''}
    where e.target_id is ${family.includes('target') ? 'not null' : 'null'}`
}

/** The sums of `keyed_events k`, in the order of `countColumns`. */
export const eventSums = (sql: Sql): Fragment => sql`
  coalesce(sum(k.sign) filter (where k.event = 'opened'), 0)::int as opened,
  coalesce(sum(k.sign) filter (where k.event = 'opened' and k.is_reopened), 0)::int as reopened,
  coalesce(sum(k.sign) filter (where k.event = 'first_reply'), 0)::int as first_replies,
  coalesce(sum(k.sign) filter (where k.event = 'closed'), 0)::int as closed,
  coalesce(sum(k.sign * k.replies) filter (where k.event = 'closed'), 0)::int as replies,
  coalesce(sum(k.sign * k.first_reply_s::bigint) filter (where k.event = 'first_reply'), 0)::bigint as first_reply_s,
  coalesce(sum(k.sign * k.closing_s::bigint) filter (where k.event = 'closed'), 0)::bigint as closing_s,
  coalesce(sum(k.sign) filter (where k.event = 'first_reply' and k.office_first_reply_s is not null), 0)::int as office_first_replies,
  coalesce(sum(k.sign * k.office_first_reply_s::bigint) filter (where k.event = 'first_reply'), 0)::bigint as office_first_reply_s,
  coalesce(sum(k.sign) filter (where k.event = 'closed' and k.office_closing_s is not null), 0)::int as office_closings,
  coalesce(sum(k.sign * k.office_closing_s::bigint) filter (where k.event = 'closed'), 0)::bigint as office_closing_s`

export const countColumns = (sql: Sql): Fragment => sql`
  opened, reopened, first_replies, closed, replies, first_reply_s, closing_s, office_first_replies, office_first_reply_s, office_closings,
  office_closing_s`

/** The buckets that the event `k` of `keyed_events` is in: one per measure. */
export const bucketsOfEvent = (sql: Sql): Fragment => sql`(
        select m.measure, m.bucket
        from unnest(k.measures, k.buckets) m (measure, bucket)
        where m.bucket is not null and (m.measure not like '%\\_hour' or k.family not like '%\\_%')
      )`
