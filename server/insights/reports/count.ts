/**
 * Keeps the counters of reports.
 *
 * Triggers of `episodes`, of what an open episode has from its conversation, of `ratings` and of `target_clocks` insert the id of a changed episode into `report_changes`. The
 * loop takes these rows: it subtracts each episode as `counted_episodes` has it from the counters, adds it as it is now, and stores it. A read adds
 * the rows that the loop has not taken (`figures.ts`), so it is exact at any time. A repeated row changes nothing.
 *
 * When the time zone of a workspace changes, all its days change. The loop counts a new generation from `counted_episodes`, in chunks by id.
 * Changes of episodes that it contains already change both generations. Reports show the former time zone until it is complete.
 *
 * An advisory lock admits one process at a time, so no statement here waits for another row.
 */

import { bottom } from '../../lib/page.ts'
import type { Db, Sql } from '../../lib/postgres/db.ts'
import {
  bucketsOfEvent,
  changedEvents,
  changedFacts,
  countColumns,
  countedFacts,
  eventSums,
  factColumns,
  keyedEvents,
  storeFacts,
} from './facts.ts'

/** Episodes of a workspace per transaction. */
const chunkSize = 1_000
/** Changes per transaction, of all workspaces. */
const maxChanges = 5_000
/** A call ends after this many chunks, about 7 s, so that the loop can stop, and the past leaves time for other work. */
const maxChunks = 8
const maxDeleted = 10_000

/** Of an advisory lock: one process at a time counts. */
const countLock = 7_263_571

/** Counts what has changed. The next call continues where a long one ends. */
export async function countReports(db: Db): Promise<void> {
  for (const step of [countChanged, buildGeneration, deleteOldRows]) {
    for (let chunk = 0; chunk < maxChunks; chunk++) {
      const isMore = await db.begin(async (sql) => {
        const [lock] = await sql<{ is_held: boolean }[]>`select pg_try_advisory_xact_lock(${countLock}) as is_held`
        return lock?.is_held === true && step(sql)
      })
      if (!isMore) break
    }
  }
}

type ChangedEpisode = { workspace_id: string; episode_id: string }

/** The oldest episodes of each workspace: their events are on few days, so a chunk of past episodes changes few rows of the counters. */
async function countChanged(sql: Sql): Promise<boolean> {
  const changes = await sql<ChangedEpisode[]>`
    with recursive
    -- One step in the index per workspace.
    changed_workspaces as (
      (select workspace_id from report_changes order by workspace_id limit 1)
      union all
      select (
        select x.workspace_id from report_changes x where x.workspace_id > w.workspace_id order by x.workspace_id limit 1
      )
      from changed_workspaces w
      where w.workspace_id is not null
    )
    delete from report_changes where ctid = any(array(
      select x.ctid
      from changed_workspaces w
      cross join lateral (
        select c.ctid from report_changes c where c.workspace_id = w.workspace_id
        order by c.episode_id
        limit ${chunkSize}
      ) x
      limit ${maxChanges}
    ))
    returning workspace_id, episode_id`
  if (changes.length === 0) return false
  // A deleted workspace has no counters. The lock lets a deletion wait, so that it deletes what is counted here.
  const workspaces = await sql<{ id: string }[]>`
    select id from workspaces where id = any(${[...new Set(changes.map(({ workspace_id }) => workspace_id))]})
    order by id
    for key share`
  const ids = new Set(workspaces.map(({ id }) => id))
  const changed = changes.filter(({ workspace_id }) => ids.has(workspace_id))
  await sql`
    insert into report_states (workspace_id, time_zone) select id, time_zone from workspaces where id = any(${[...ids]})
    on conflict (workspace_id) do nothing`
  await sql`
    with
    changed_episodes as (
      select distinct x.workspace_id, x.episode_id
      from unnest(${changed.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${changed.map(({ episode_id }) => episode_id)}::uuid[]) as x (workspace_id, episode_id)
    ),
    ${changedFacts(sql)},
    ${storeFacts(sql)},
    -- For the generation that is read, and for the one that is being built if it contains the episode.
    facts as (
      select f.sign, g.generation, g.time_zone, ${factColumns(sql, 'f')}
      from changed_facts f
      join report_states s on s.workspace_id = f.workspace_id
      cross join lateral (
        values (s.generation, s.time_zone, true), (s.building_generation, s.building_time_zone, f.episode_id <= s.built_until)
      ) g (generation, time_zone, is_contained)
      where g.generation is not null and g.is_contained
    ),
    ${addFacts(sql)}`
  return changes.length >= chunkSize
}

/** The end of a statement that adds `facts` to the counters. */
const addFacts = (sql: Sql) => sql`
    ${changedEvents(sql)},
    ${keyedEvents(sql)},
    periods as (
      select k.sign, k.workspace_id, k.generation, k.family, k.event, k.local_at, p.period, p.start, k.key_1, k.key_2,
        k.is_reopened, k.replies, k.first_reply_s, k.closing_s, k.office_first_reply_s, k.office_closing_s, k.measures, k.buckets
      from keyed_events k
      cross join lateral (
        values ('day', k.local_at::date), ('month', date_trunc('month', k.local_at)::date)
      ) p (period, start)
    ),
    count_changes as (
      select k.workspace_id, k.generation, k.family, k.period, k.start, k.key_1, k.key_2, ${eventSums(sql)}
      from periods k
      where k.event in ('opened', 'first_reply', 'closed')
      group by 1, 2, 3, 4, 5, 6, 7
    ),
    added_counts as (
      insert into report_counts as c (workspace_id, generation, family, period, start, key_1, key_2, ${countColumns(sql)})
      select workspace_id, generation, family, period, start, key_1, key_2, ${countColumns(sql)}
      from count_changes
      on conflict (workspace_id, generation, family, period, start, key_1, key_2) do update set
        opened = c.opened + excluded.opened, reopened = c.reopened + excluded.reopened,
        first_replies = c.first_replies + excluded.first_replies, closed = c.closed + excluded.closed,
        replies = c.replies + excluded.replies, first_reply_s = c.first_reply_s + excluded.first_reply_s,
        closing_s = c.closing_s + excluded.closing_s,
        office_first_replies = c.office_first_replies + excluded.office_first_replies,
        office_first_reply_s = c.office_first_reply_s + excluded.office_first_reply_s,
        office_closings = c.office_closings + excluded.office_closings,
        office_closing_s = c.office_closing_s + excluded.office_closing_s
    ),
    -- Hours of the day are read with their weekday, so months do not have them.
    bucket_changes as (
      select k.workspace_id, k.generation, k.family, b.measure, k.period, k.start, k.key_1, k.key_2, b.bucket, sum(k.sign)::int as n
      from periods k
      cross join lateral ${bucketsOfEvent(sql)} b
      where k.period = 'day' or b.measure not like '%\\_hour'
      group by 1, 2, 3, 4, 5, 6, 7, 8, 9
      having sum(k.sign) <> 0
    ),
    -- Numbered, because sorting by a number takes a fifth of the time of sorting by all keys.
    changed_histograms as (
      select row_number() over () as number, workspace_id, generation, family, measure, period, start, key_1, key_2,
        array_agg(bucket) as buckets, array_agg(n) as counts
      from bucket_changes
      group by 2, 3, 4, 5, 6, 7, 8, 9
    ),
    -- With the buckets that they had.
    bucket_counts as (
      select number, bucket, sum(n)::int as n
      from (
        select x.number, b.bucket, b.n from changed_histograms x cross join lateral unnest(x.buckets, x.counts) b (bucket, n)
        union all
        select x.number, b.bucket, b.n
        from changed_histograms x
        -- offset 0 reads each row by its key: a join read the whole table for a few changes.
        cross join lateral (
          select h.buckets, h.counts
          from report_histograms h
          where h.workspace_id = x.workspace_id and h.generation = x.generation and h.family = x.family
            and h.measure = x.measure and h.period = x.period and h.start = x.start and h.key_1 = x.key_1 and h.key_2 = x.key_2
          offset 0
        ) h
        cross join lateral unnest(h.buckets, h.counts) b (bucket, n)
      ) both_counts
      group by 1, 2
    ),
    merged_histograms as (
      select number, coalesce(array_agg(bucket order by bucket) filter (where n <> 0), '{}') as buckets,
        coalesce(array_agg(n order by bucket) filter (where n <> 0), '{}') as counts
      from bucket_counts
      group by 1
    )
    insert into report_histograms (workspace_id, generation, family, measure, period, start, key_1, key_2, buckets, counts)
    select x.workspace_id, x.generation, x.family, x.measure, x.period, x.start, x.key_1, x.key_2, m.buckets, m.counts
    from changed_histograms x
    join merged_histograms m on m.number = x.number
    on conflict (workspace_id, generation, family, measure, period, start, key_1, key_2)
      do update set buckets = excluded.buckets, counts = excluded.counts`

type Building = { workspace_id: string; building_generation: number; building_time_zone: string; built_until: string }

/** Starts, continues or ends the generation for another time zone, of one workspace. */
async function buildGeneration(sql: Sql): Promise<boolean> {
  // The zone changed: a new generation from the first episode on, or none if it is again the one that is read.
  await sql`
    update report_states s set
      building_generation = case when w.time_zone <> s.time_zone then s.last_generation + 1 end,
      last_generation = s.last_generation + 1,
      building_time_zone = nullif(w.time_zone, s.time_zone), built_until = ${bottom}, has_old_rows = true
    from workspaces w
    where w.id = s.workspace_id and w.time_zone <> coalesce(s.building_time_zone, s.time_zone)`
  const [building] = await sql<Building[]>`
    select s.workspace_id, s.building_generation, s.building_time_zone, s.built_until
    from report_states s join workspaces w on w.id = s.workspace_id
    where s.building_generation is not null
    order by s.built_until, s.workspace_id
    limit 1
    for key share of w`
  if (!building) return false
  const { workspace_id, building_generation, building_time_zone, built_until } = building
  const [last] = await sql<{ id: string; count: number }[]>`
    select max(episode_id::text) as id, count(*)::int as count
    from (
      select episode_id from counted_episodes where workspace_id = ${workspace_id} and episode_id > ${built_until}
      order by episode_id
      limit ${chunkSize}
    ) chunk`
  if (last && last.count > 0) {
    await sql`
      with
      ${countedFacts(sql, workspace_id, built_until, chunkSize)},
      facts as (
        select sign, ${building_generation}::int as generation, ${building_time_zone} as time_zone, ${factColumns(sql)}
        from changed_facts
      ),
      ${addFacts(sql)}`
    await sql`update report_states set built_until = ${last.id} where workspace_id = ${workspace_id}`
  }
  if (last?.count === chunkSize) return true
  await sql`
    update report_states set generation = building_generation, time_zone = building_time_zone, building_generation = null,
      building_time_zone = null, built_until = null, has_old_rows = true
    where workspace_id = ${workspace_id}`
  return true
}

/** Deletes a chunk of the counters of earlier generations. */
async function deleteOldRows(sql: Sql): Promise<boolean> {
  const [state] = await sql<{ workspace_id: string; kept: number[] }[]>`
    select workspace_id, array_remove(array[generation, building_generation], null) as kept
    from report_states where has_old_rows limit 1`
  if (!state) return false
  const { workspace_id, kept } = state
  let count = 0
  for (const table of ['report_counts', 'report_histograms']) {
    const deleted = await sql`
      delete from ${sql(table)} where ctid = any(array(
        select ctid from ${sql(table)} where workspace_id = ${workspace_id} and generation <> all(${kept}) limit ${maxDeleted}
      )) and workspace_id = ${workspace_id}`
    count += deleted.count
  }
  if (count === 0) await sql`update report_states set has_old_rows = false where workspace_id = ${workspace_id}`
  return true
}
