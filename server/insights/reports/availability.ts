/**
 * The report of availability, and the spans of time behind its figures.
 *
 * It reads the history of each member, which has few rows. A member is offline between the stored spans. All times are whole seconds, so the
 * figures are sums of the seconds of the rows: per day, per member and in total. The time of a member counts from the creation of the member up to
 * now. Viewers have no availability.
 */
import { memberName } from '../../accounts/members.ts'
import { allOf } from '../../conversations/inbox-plan.ts'
import { type Page, type Position, toPage } from '../../lib/page.ts'
import type { Db, Fragment, Sql } from '../../lib/postgres/db.ts'
import type { AvailabilityState } from '../../teams/availability.ts'
import type { Reader } from '../../teams/visibility.ts'
import { noKey } from './facts.ts'
import { headOf, nameRows, startsOf } from './report.ts'
import { type Period, type ReportQuery, type ReportRequest, readRequest, withRow } from './request.ts'
import type { AvailabilityReport, ReportSpan } from './resource.ts'

export type SpanQuery = ReportQuery & { figure: AvailabilityState; row?: string | undefined }

const requested = { name: 'availability', rows: 'member' } as const

export async function readAvailabilityReport(db: Db, caller: Reader, query: ReportQuery): Promise<AvailabilityReport> {
  const { workspaceId } = caller
  return db.begin('isolation level repeatable read read only', async (sql) => {
    const request = await readRequest(sql, caller, requested, query)
    const { period, previous, interval } = request
    const current = await readSeconds(sql, workspaceId, request, period)
    const before = await readSeconds(sql, workspaceId, request, previous)
    const members = await sql<{ id: string; state: AvailabilityState }[]>`
      select m.id, coalesce(a.state, 'offline') as state
      from members m
      left join member_availability a on a.workspace_id = m.workspace_id and a.member_id = m.id
      where ${isMember(sql, workspaceId, request)}`
    const ofInterval = Map.groupBy(current, ({ start }) => start)
    const [ofMember, ofMemberBefore] = [current, before].map((all) => Map.groupBy(all, ({ member_id }) => member_id))
    const stateOf = new Map(members.map(({ id, state }) => [id, state]))
    const named = await nameRows(sql, workspaceId, requested.rows, [...stateOf.keys()])
    const { is_complete: _, ...head } = headOf(request)
    return {
      ...{ name: requested.name, ...head },
      totals: figuresOf(current),
      previous: { from_day: previous.from, to_day: previous.to, ...figuresOf(before) },
      intervals: startsOf(period, interval).map((start) => ({
        start,
        ...figuresOf(ofInterval.get(start)),
      })),
      rows: named.map(({ key: id, name }) => ({
        ...{ id, name, state: stateOf.get(id) ?? 'offline' },
        ...figuresOf(ofMember?.get(id)),
        previous: figuresOf(ofMemberBefore?.get(id)),
      })),
    }
  }) as Promise<AvailabilityReport>
}

type Seconds = { member_id: string; start: string; state: AvailabilityState; seconds: number }

const figuresOf = (all: readonly Seconds[] = []) => {
  const secondsIn = (state: AvailabilityState) =>
    all.reduce((sum, each) => sum + (each.state === state ? each.seconds : 0), 0)
  return {
    available_seconds: secondsIn('available'),
    away_seconds: secondsIn('away'),
    offline_seconds: secondsIn('offline'),
  }
}

/** By member, interval and state. */
async function readSeconds(sql: Sql, workspaceId: string, request: ReportRequest, period: Period): Promise<Seconds[]> {
  const zone = request.state.time_zone
  return sql<Seconds[]>`
    with
    ${spansOf(sql, workspaceId, request, period)},
    -- Each span once for each day that it touches.
    days as (
      select s.member_id, s.state, d::date as day, extract(epoch from
          least(s.ended_at, (d + interval '1 day') at time zone ${zone}) - greatest(s.started_at, d at time zone ${zone})
        ) as seconds
      from spans s
      cross join lateral generate_series(
        date_trunc('day', s.started_at at time zone ${zone}),
        date_trunc('day', (s.ended_at - interval '1 second') at time zone ${zone}), interval '1 day'
      ) d
    )
    select member_id, greatest(date_trunc(${request.interval}, day::timestamp)::date, ${period.from}::text::date)::text as start,
      state, sum(seconds)::float8 as seconds
    from days
    group by 1, 2, 3`
}

/** The latest start first. */
export async function listReportSpans(
  sql: Sql,
  caller: Reader,
  query: SpanQuery,
  { limit, before }: Position,
): Promise<Page<ReportSpan>> {
  const { workspaceId } = caller
  const request = await readRequest(sql, caller, requested, withRow(requested, query))
  // The id of a span has its start, so that it is a position of the list.
  const rows = await sql<ReportSpan[]>`
    with
    ${spansOf(sql, workspaceId, request, request.period)},
    identified_spans as (
      select (lpad(to_hex(extract(epoch from s.started_at)::bigint), 16, '0') || right(replace(s.member_id::text, '-', ''), 16))::uuid
          as id, s.member_id, s.state, s.is_chosen, s.started_at, s.ended_at, s.is_current
      from spans s
      where s.state = ${query.figure}
    )
    select s.id, s.member_id, ${memberName(sql, sql`m`)} as member, s.state, s.is_chosen, s.started_at,
      case when not s.is_current then s.ended_at end as ended_at,
      extract(epoch from s.ended_at - s.started_at)::float8 as seconds
    from identified_spans s
    join members m on m.workspace_id = ${workspaceId} and m.id = s.member_id
    where s.id < ${before}
    order by s.id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
}

/** Condition on member `m`: it has availability, and passes the filters. */
function isMember(sql: Sql, workspaceId: string, { filters: { member, team } }: ReportRequest): Fragment {
  const teams = sql`select from team_members tm where tm.workspace_id = m.workspace_id and tm.member_id = m.id`
  return allOf(sql, [
    sql`m.workspace_id = ${workspaceId} and m.role <> 'viewer'`,
    ...(member === undefined ? [] : [sql`m.id = ${member}::uuid`]),
    ...(team === undefined
      ? []
      : [team === noKey ? sql`not exists (${teams})` : sql`exists (${teams} and tm.team_id = ${team}::uuid)`]),
  ])
}

/** CTEs up to `spans`: what each member was in the period, without a gap, cut to whole seconds of the period. */
const spansOf = (sql: Sql, workspaceId: string, request: ReportRequest, { from, to }: Period): Fragment => sql`
    -- Up to now.
    bounds as (
      select ${from}::text::timestamp at time zone ${request.state.time_zone} as starts_at,
        least((${to}::text::timestamp + interval '1 day') at time zone ${request.state.time_zone}, date_trunc('second', now())) as ends_at,
        (${to}::text::timestamp + interval '1 day') at time zone ${request.state.time_zone} > now() as has_now
    ),
    period_members as (
      select m.id, greatest(b.starts_at, date_trunc('second', m.created_at)) as starts_at, b.ends_at, b.has_now
      from members m cross join bounds b
      where ${isMember(sql, workspaceId, request)} and date_trunc('second', m.created_at) < b.ends_at and b.starts_at < b.ends_at
    ),
    -- The stored spans. They do not overlap, so only the last one before the period can reach into it.
    online_spans as (
      select m.id as member_id, s.state, s.is_chosen, greatest(date_trunc('second', s.started_at), m.starts_at) as started_at,
        least(date_trunc('second', coalesce(s.ended_at, m.ends_at)), m.ends_at) as ended_at,
        s.ended_at is null and m.has_now as is_current
      from period_members m
      cross join lateral (
        (
          select a.state, a.is_chosen, a.started_at, a.ended_at from availability_spans a
          where a.workspace_id = ${workspaceId} and a.member_id = m.id and a.started_at >= m.starts_at and a.started_at < m.ends_at
        )
        union all
        (
          select a.state, a.is_chosen, a.started_at, a.ended_at from availability_spans a
          where a.workspace_id = ${workspaceId} and a.member_id = m.id and a.started_at < m.starts_at
          order by a.started_at desc
          limit 1
        )
      ) s
    ),
    -- The end of the time before each span, and before the end of the period.
    edges as (
      select member_id, started_at, ended_at, false as is_end from online_spans where started_at < ended_at
      union all
      select id, ends_at, ends_at, true from period_members
    ),
    offline_spans as (
      select m.id as member_id, coalesce(x.last_ended_at, m.starts_at) as started_at, x.started_at as ended_at, x.is_end and m.has_now as is_current
      from (
        select member_id, started_at, is_end, lag(ended_at) over (partition by member_id order by started_at, is_end) as last_ended_at
        from edges
      ) x
      join period_members m on m.id = x.member_id
    ),
    spans as (
      select member_id, state, is_chosen, started_at, ended_at, is_current from online_spans where started_at < ended_at
      union all
      select member_id, 'offline', false, started_at, ended_at, is_current from offline_spans where started_at < ended_at
    )`
