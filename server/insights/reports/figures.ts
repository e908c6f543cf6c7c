/**
 * Reads figures of reports from the counters, and adds what the loop has not counted yet. Whole months are read from their own rows, so a year
 * costs little more than a month: a report over a million episodes takes less than 300 ms.
 */
import { allOf } from '../../conversations/inbox-plan.ts'
import type { Fragment, Sql } from '../../lib/postgres/db.ts'
import { createHistogram, type Histogram } from './buckets.ts'
import {
  bucketsOfEvent,
  changedEvents,
  changedFacts,
  countColumns,
  eventColumns,
  eventSums,
  factColumns,
  type KeyName,
  keyedEvents,
  keyNames,
} from './facts.ts'
import { addDays, familyOf, type Interval, type Period, type ReportRequest } from './request.ts'

type Spread = {
  count: number
  median_seconds: number | null
  p90_seconds: number | null
  mean_seconds: number | null
}
export type Figures = {
  opened: number
  reopened: number
  closed: number
  replies: number
  first_reply: Spread
  closing: Spread
}

const noSpread: Spread = { count: 0, median_seconds: null, p90_seconds: null, mean_seconds: null }
export const noFigures: Figures = {
  opened: 0,
  reopened: 0,
  closed: 0,
  replies: 0,
  first_reply: noSpread,
  closing: noSpread,
}

/**
 * With the events of changes that are not counted yet, as JSON: reading them once costs less than a part of each statement of a report. Undefined if
 * there are none, as most of the time: a statement without them is planned in half the time.
 */
export type CountedRequest<Rows extends KeyName | undefined = KeyName | undefined> = ReportRequest<Rows> & {
  uncounted: string | undefined
}

export async function addUncounted<Rows extends KeyName | undefined>(
  sql: Sql,
  workspaceId: string,
  request: ReportRequest<Rows>,
): Promise<CountedRequest<Rows>> {
  const { state } = request
  if (!state.has_uncounted || state.is_behind) return { ...request, uncounted: undefined }
  const [row] = await sql<{ events: string | null }[]>`
    with
    changed_episodes as (
      select distinct x.workspace_id, x.episode_id from report_changes x where x.workspace_id = ${workspaceId}
    ),
    ${changedFacts(sql)},
    facts as (
      select sign, 0 as generation, ${state.time_zone} as time_zone, ${factColumns(sql)} from changed_facts
    ),
    ${changedEvents(sql)}
    select json_agg(e)::text as events from events e`
  return { ...request, uncounted: row?.events ?? undefined }
}

/** Named periods that one statement reads. */
type Spans = Readonly<Record<string, Period>>

/** By what the figures of a span are grouped: by the key of the rows, by interval, or not at all. */
export type Grouping = { rows: KeyName } | { interval: Interval; from: string } | undefined

/** The figures of each group, by span and group: `current 2026-01-01`. */
export type FoundFigures = (span: string, group?: string) => Figures

export async function readFigures(
  sql: Sql,
  workspaceId: string,
  request: CountedRequest,
  spans: Spans,
  grouping: Grouping,
): Promise<{ of: FoundFigures; groups: string[] }> {
  const parts = createParts(sql, workspaceId, request, spans, grouping)
  const { isInOfficeHours } = request
  const [counts, histograms] = await Promise.all([
    readCounts(sql, parts),
    readHistograms(sql, parts, isInOfficeHours ? ['office_first_reply', 'office_closing'] : ['first_reply', 'closing']),
  ])
  const found = new Map<string, Figures>()
  for (const row of counts) {
    const spreadOf = (measure: 'first_reply' | 'closing', count: number, sum: number): Spread => {
      const histogram = histograms.get(keyOf(row.span, row.group, isInOfficeHours ? `office_${measure}` : measure))
      return {
        count,
        median_seconds: histogram?.secondsAt(0.5) ?? null,
        p90_seconds: histogram?.secondsAt(0.9) ?? null,
        mean_seconds: count > 0 ? Math.round((sum / count) * 10) / 10 : null,
      }
    }
    found.set(keyOf(row.span, row.group), {
      ...{ opened: row.opened, reopened: row.reopened, closed: row.closed, replies: row.replies },
      first_reply: isInOfficeHours
        ? spreadOf('first_reply', row.office_first_replies, row.office_first_reply_s)
        : spreadOf('first_reply', row.first_replies, row.first_reply_s),
      closing: isInOfficeHours
        ? spreadOf('closing', row.office_closings, row.office_closing_s)
        : spreadOf('closing', row.closed, row.closing_s),
    })
  }
  return {
    of: (span, group = '') => found.get(keyOf(span, group)) ?? noFigures,
    groups: [...new Set(counts.map(({ group }) => group))],
  }
}

export type HourFigures = { weekday: number; hour: number; opened: number; first_replies: number; closed: number }

/** Weekday 0 is Monday. Hours without an event are absent. */
export async function readHours(sql: Sql, workspaceId: string, request: CountedRequest): Promise<HourFigures[]> {
  const parts = createParts(sql, workspaceId, request, { current: request.period }, undefined, true)
  return sql<HourFigures[]>`
    with
    ${parts.uncounted}
    hours as (
      select h.start as day, h.measure, b.bucket, b.n
      from ${parts.segments}
      join report_histograms h on ${parts.isCounted(sql`h`)} and h.measure in ('opened_hour', 'first_reply_hour', 'closed_hour')
      cross join lateral unnest(h.buckets, h.counts) b (bucket, n)
      ${parts.withUncounted(sql`
      select k.local_at::date, b.measure, b.bucket, k.sign
      from keyed_events k
      join ${parts.days} on k.local_at::date between s.from_day and s.to_day
      cross join lateral ${bucketsOfEvent(sql)} b
      where b.measure like '%\\_hour' and ${parts.hasKeys(sql`k`)}`)}
    )
    select extract(isodow from day)::int - 1 as weekday, bucket as hour,
      coalesce(sum(n) filter (where measure = 'opened_hour'), 0)::int as opened,
      coalesce(sum(n) filter (where measure = 'first_reply_hour'), 0)::int as first_replies,
      coalesce(sum(n) filter (where measure = 'closed_hour'), 0)::int as closed
    from hours
    group by 1, 2
    having bool_or(n <> 0)
    order by 1, 2`
}

type Parts = {
  /** CTEs up to `keyed_events`, of changes that are not counted yet. Empty if there are none. */
  uncounted: Fragment
  /** Adds the rows of a query on `keyed_events`, if there are such changes. */
  withUncounted: (query: Fragment) => Fragment
  /** Rows of a period and its days, of each span. */
  segments: Fragment
  /** The days of each span. */
  days: Fragment
  /** The row of counters is of the workspace, of the family, of segment `s` and of the filtered keys. */
  isCounted: (row: Fragment) => Fragment
  hasKeys: (row: Fragment) => Fragment
  /** The group of a row with `start`, `key_1` and `key_2`. */
  group: Fragment
}

/** What the statements of a report have in common. */
function createParts(
  sql: Sql,
  workspaceId: string,
  request: CountedRequest,
  spans: Spans,
  grouping: Grouping,
  isByDay = false,
): Parts {
  const { name, filters, state, uncounted } = request
  const rows = grouping && 'rows' in grouping ? grouping.rows : undefined
  // Only the rows of a report need counters by their key: totals and intervals are read without it, which are fewer rows.
  const family = familyOf({ name, rows }, filters) ?? familyOf(request, filters)
  if (family === undefined) throw new Error(`no counters of ${name} by ${Object.keys(filters).join()}`)
  const by = family === 'all' ? [] : keyNames.filter((each) => family.split('_').includes(each))
  const keyColumns = [sql`key_1`, sql`key_2`]
  const columnOf = (dimension: KeyName): Fragment => keyColumns[by.indexOf(dimension)] ?? sql`key_1`
  const hasKeys = (row: Fragment): Fragment => {
    const conditions = by.flatMap((dimension) => {
      const id = filters[dimension]
      return id === undefined ? [] : [sql`${row}.${columnOf(dimension)} = ${id}::uuid`]
    })
    return allOf(sql, conditions)
  }
  const segments = Object.entries(spans).flatMap(([span, period]) =>
    (isByDay || (grouping && 'interval' in grouping && grouping.interval !== 'month')
      ? [{ period: 'day', ...period }]
      : segmentsOf(period)
    ).map((segment) => ({ span, ...segment })),
  )
  const entries = Object.entries(spans)
  return {
    uncounted:
      uncounted === undefined
        ? sql``
        : sql`
    events as (select * from jsonb_to_recordset(${uncounted}::text::jsonb) as e (${eventColumns(sql)})),
    ${keyedEvents(sql, [family])},`,
    withUncounted: (query) => (uncounted === undefined ? sql`` : sql`union all ${query}`),
    segments: sql`unnest(
        ${segments.map(({ span }) => span)}::text[], ${segments.map(({ period }) => period)}::text[],
        ${segments.map(({ from }) => from)}::text[]::date[], ${segments.map(({ to }) => to)}::text[]::date[]
      ) s (span, period, from_day, to_day)`,
    days: sql`unnest(
        ${entries.map(([span]) => span)}::text[], ${entries.map(([, { from }]) => from)}::text[]::date[],
        ${entries.map(([, { to }]) => to)}::text[]::date[]
      ) s (span, from_day, to_day)`,
    isCounted: (row) => sql`${row}.workspace_id = ${workspaceId} and ${row}.generation = ${state.generation}
        and ${row}.family = ${family} and ${row}.period = s.period and ${row}.start between s.from_day and s.to_day
        and ${hasKeys(row)}`,
    hasKeys,
    group: rows
      ? sql`${columnOf(rows)}::text`
      : grouping && 'interval' in grouping
        ? sql`greatest(date_trunc(${grouping.interval}, start::timestamp)::date, ${grouping.from}::text::date)::text`
        : sql`''`,
  }
}

type Counts = Record<
  'opened' | 'reopened' | 'first_replies' | 'closed' | 'replies' | 'first_reply_s' | 'closing_s',
  number
> &
  Record<'office_first_replies' | 'office_first_reply_s' | 'office_closings' | 'office_closing_s', number>

async function readCounts(sql: Sql, parts: Parts): Promise<({ span: string; group: string } & Counts)[]> {
  return sql<({ span: string; group: string } & Counts)[]>`
    with
    ${parts.uncounted}
    all_counts as (
      select s.span, c.start, c.key_1, c.key_2, ${countColumns(sql)}
      from ${parts.segments}
      join report_counts c on ${parts.isCounted(sql`c`)}
      ${parts.withUncounted(sql`
      select s.span, k.local_at::date, k.key_1, k.key_2, ${eventSums(sql)}
      from keyed_events k
      join ${parts.days} on k.local_at::date between s.from_day and s.to_day
      where ${parts.hasKeys(sql`k`)}
      group by 1, 2, 3, 4`)}
    )
    select span, ${parts.group} as "group", sum(opened)::int as opened, sum(reopened)::int as reopened,
      sum(first_replies)::int as first_replies, sum(closed)::int as closed, sum(replies)::int as replies,
      sum(first_reply_s)::float8 as first_reply_s, sum(closing_s)::float8 as closing_s,
      sum(office_first_replies)::int as office_first_replies, sum(office_first_reply_s)::float8 as office_first_reply_s,
      sum(office_closings)::int as office_closings, sum(office_closing_s)::float8 as office_closing_s
    from all_counts
    group by 1, 2
    having sum(opened) <> 0 or sum(first_replies) <> 0 or sum(closed) <> 0`
}

type Buckets = { span: string; group: string; measure: string; buckets: string; counts: string }

/**
 * The histograms of these measures, by span, group and measure. They are added here: a year of days has 80,000 buckets, which the database
 * adds in 600 ms, and this in 10. The database only joins their texts, because a row costs more than its buckets.
 */
async function readHistograms(sql: Sql, parts: Parts, measures: readonly string[]): Promise<Map<string, Histogram>> {
  const rows = await sql<Buckets[]>`
    with
    ${parts.uncounted}
    all_buckets as (
      select s.span, h.measure, h.start, h.key_1, h.key_2, h.buckets::text as buckets, h.counts::text as counts
      from ${parts.segments}
      join report_histograms h on ${parts.isCounted(sql`h`)} and h.measure = any(${[...measures]}) and h.buckets <> '{}'
      ${parts.withUncounted(sql`
      select s.span, b.measure, k.local_at::date, k.key_1, k.key_2, array[b.bucket]::text, array[k.sign]::text
      from keyed_events k
      join ${parts.days} on k.local_at::date between s.from_day and s.to_day
      cross join lateral ${bucketsOfEvent(sql)} b
      where b.measure = any(${[...measures]}) and ${parts.hasKeys(sql`k`)}`)}
    )
    select span, ${parts.group} as "group", measure, string_agg(buckets, '') as buckets, string_agg(counts, '') as counts
    from all_buckets
    group by 1, 2, 3`
  const found = new Map<string, Histogram>()
  for (const { span, group, measure, buckets, counts } of rows) {
    const histogram = createHistogram()
    histogram.add(readArrays(buckets), readArrays(counts))
    found.set(keyOf(span, group, measure), histogram)
  }
  return found
}

const keyOf = (...parts: readonly string[]): string => parts.join(' ')

/** The numbers of arrays as PostgreSQL writes them, one after the other: `{1,2}{3}`. */
const readArrays = (text: string): number[] => JSON.parse(`[${text.slice(1, -1).replaceAll('}{', ',')}]`)

/** How many events of a measure are in each bucket, by span and group. */
export type FoundTallies = (span: string, group: string, measure: string, bucket: number) => number

export async function readTallies(
  sql: Sql,
  workspaceId: string,
  request: CountedRequest,
  spans: Spans,
  grouping: Grouping,
  measures: readonly string[],
): Promise<{ of: FoundTallies; groups: string[] }> {
  const parts = createParts(sql, workspaceId, request, spans, grouping)
  const found = await readHistograms(sql, parts, measures)
  return {
    of: (span, group, measure, bucket) => found.get(keyOf(span, group, measure))?.count(bucket) ?? 0,
    groups: [...new Set([...found].flatMap(([key, each]) => (each.total() > 0 ? [key.split(' ')[1] ?? ''] : [])))],
  }
}

/** The whole months of a period, and the days before and after them. */
function segmentsOf({ from, to }: Period): ({ period: 'day' | 'month' } & Period)[] {
  const firstMonth = from.endsWith('-01') ? from : startOfNextMonth(from)
  const endOfMonths = startOfNextMonth(to) === addDays(to, 1) ? addDays(to, 1) : `${to.slice(0, 8)}01`
  if (firstMonth >= endOfMonths) return [{ period: 'day', from, to }]
  const all = [
    { period: 'day' as const, from, to: addDays(firstMonth, -1) },
    { period: 'month' as const, from: firstMonth, to: addDays(endOfMonths, -1) },
    { period: 'day' as const, from: endOfMonths, to },
  ]
  return all.filter((segment) => segment.from <= segment.to)
}

function startOfNextMonth(day: string): string {
  const date = new Date(day)
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)).toISOString().slice(0, 10)
}
