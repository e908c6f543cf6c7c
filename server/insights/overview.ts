/**
 * The overview of a workspace: messages per day, delivery outcomes, response times, open conversations, webhook health.
 *
 * Days are those of the workspace's time zone. Only the outcomes are counted by the day in UTC: every status report changes them, and
 * finer counters would cost each of them more. So they are those of all days in UTC that the period touches.
 *
 * It reads counters that other statements maintain, and counts queued deliveries up to a limit. So its time does not depend on the
 * number of messages: a day has at most 96 rows per connection.
 *
 * With a connection, everything but the webhooks is that of this connection. Release 0.1.0 did not count by connection, so these figures
 * begin on the day after the last one that it counted.
 */
import { type ChannelName, channels } from '../contacts/resource.ts'
import { readInboxCounts } from '../conversations/inbox-counts.ts'
import { type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'
import { type Funnel, sumOutcomes, sumOutcomesOf } from '../messages/outcomes.ts'
import type { Provider } from '../webhooks/resource.ts'
import { countedPeriods, countedPeriodsOf } from './periods.ts'

type Traffic = { inbound: number; outbound: number }
type ChannelTraffic = Record<ChannelName, Traffic>
type OverviewDay = { day: string } & ChannelTraffic
type OverviewHour = { at: string } & ChannelTraffic
type Average = { count: number; average_seconds: number | null }

export type Overview = {
  time_zone: string
  days: OverviewDay[]
  /** The hours of the day, if it is only one. A day on which the clocks change has 23 or 25. */
  hours: OverviewHour[]
  /** Of all messages. Null: there are none. */
  first_day: string | null
  funnel: Funnel
  /** Of the funnel of a connection, if it has no data of the first days. */
  funnel_since: string | null
  responses: Average & {
    within: { five_minutes: number; one_hour: number; one_day: number }
    days: ({ day: string } & Average)[]
  }
  /** As many days before, until the same time of day. Null: the workspace has no messages of its first day. */
  previous: (Traffic & { responses: Average }) | null
  open_conversations: number
  unassigned_conversations: number
  webhooks: EndpointHealth[]
}

type EndpointHealth = {
  id: string
  url: string
  provider: Provider
  is_active: boolean
  failure_count: number
  last_delivery_at: string | null
  last_attempt_at: string | null
  last_attempt_http_status: number | null
  last_attempt_error: string | null
  waiting_count: number
}

const maxQueued = 1_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The last `count` days, including today, in the time zone of the workspace: of all connections, or of one. */
export async function readOverview(
  sql: Sql,
  workspaceId: string,
  count: number,
  connectionId?: string,
): Promise<Overview> {
  const range = await readRange(sql, workspaceId, count)
  const isAll = connectionId === undefined
  const periods = isAll
    ? countedPeriods(sql, workspaceId)
    : countedPeriodsOf(sql, workspaceId, connectionId, range.connections_since)
  const funnelDay = range.since.slice(0, 10)
  const days = Array.from({ length: count }, (_, i) => addDays(range.today, i - count + 1))
  const firstDay = addDays(range.today, 1 - count)
  const [conversations, counters, first_day, hours, { since: funnel_since, ...funnel }, webhooks] = await Promise.all([
    readInboxCounts(sql, workspaceId, connectionId),
    listDays(sql, periods, range),
    isAll ? getFirstDay(sql, workspaceId, range.time_zone) : getFirstDayOf(sql, periods, range.time_zone),
    count === 1 ? listHours(sql, periods, range) : [],
    isAll
      ? { ...(await sumOutcomes(sql, workspaceId, funnelDay)), since: null }
      : sumOutcomesOf(sql, workspaceId, connectionId, funnelDay),
    isAll ? listEndpointHealth(sql, workspaceId) : [],
  ])
  const current = counters.filter(({ day }) => day >= firstDay)
  const previous = counters.filter(({ day }) => day < firstDay)
  const isComparable = first_day !== null && first_day <= addDays(firstDay, -count)
  return {
    time_zone: range.time_zone,
    days: days.map((day) => ({ day, ...byChannel(current.filter((one) => one.day === day)) })),
    hours,
    first_day,
    funnel,
    funnel_since,
    responses: toResponses(days, current),
    previous: isComparable
      ? {
          inbound: sumOf(previous, 'inbound'),
          outbound: sumOf(previous, 'outbound'),
          responses: averageOf(previous),
        }
      : null,
    ...conversations,
    webhooks,
  }
}

type Range = {
  time_zone: string
  today: string
  /** From midnight before the first day to midnight after today. */
  since: string
  until: string
  /** The period before. */
  before_since: string
  before_until: string
  /** When counting by connection began. Null: it always did. */
  connections_since: string | null
}

async function readRange(sql: Sql, workspaceId: string, count: number): Promise<Range> {
  const [range] = await sql<Range[]>`
    select time_zone, today::text as today,
      (today - ${count - 1}::int)::timestamp at time zone time_zone as since,
      (today + 1)::timestamp at time zone time_zone as until,
      (today - ${2 * count - 1}::int)::timestamp at time zone time_zone as before_since,
      ((now() at time zone time_zone) - make_interval(days => ${count}::int)) at time zone time_zone as before_until,
      -- The first midnight after the last day (UTC) that release 0.1.0 counted.
      (
        select ((((max(day) + 1)::timestamp at time zone 'utc' at time zone time_zone) + interval '1 day -1 microsecond')::date)::timestamp
          at time zone time_zone
        from message_days where workspace_id = ${workspaceId}
      ) as connections_since
    from (
      select time_zone, (now() at time zone time_zone)::date as today from workspaces where id = ${workspaceId}
    ) w`
  return requireRow(range, 'the workspace')
}

const addDays = (day: string, count: number): string =>
  new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10)

type ChannelCounters = Traffic & { channel: ChannelName }
type DayCounters = ChannelCounters & {
  day: string
  answers: number
  answer_seconds: number
  within_five_minutes: number
  within_one_hour: number
  within_one_day: number
}

async function listDays(
  sql: Sql,
  periods: Fragment,
  { time_zone, since, before_since, before_until }: Range,
): Promise<DayCounters[]> {
  return sql<DayCounters[]>`
    select (p.at at time zone ${time_zone})::date::text as day, p.channel, sum(p.inbound)::int as inbound,
      sum(p.outbound)::int as outbound, sum(p.answers)::int as answers, sum(p.answer_seconds)::float8 as answer_seconds,
      sum(p.within_five_minutes)::int as within_five_minutes, sum(p.within_one_hour)::int as within_one_hour,
      sum(p.within_one_day)::int as within_one_day
    from ${periods} p
    where p.at >= ${before_since} and (p.at >= ${since} or p.at < ${before_until})
    group by 1, 2`
}

async function listHours(sql: Sql, periods: Fragment, { since, until }: Range): Promise<OverviewHour[]> {
  const counters = await sql<(ChannelCounters & { at: string })[]>`
    select p.at, p.channel, p.inbound, p.outbound
    from ${periods} p
    where p.at >= ${since}`
  return toHours(since, until, counters)
}

/** Adds up the counters by the hours between two times. */
export function toHours(
  since: string,
  until: string,
  counters: readonly (ChannelCounters & { at: string })[],
): OverviewHour[] {
  const sinceMs = Date.parse(since)
  const hourOf = (at: string) => Math.floor((Date.parse(at) - sinceMs) / hourMs)
  return Array.from({ length: Math.ceil((Date.parse(until) - sinceMs) / hourMs) }, (_, hour) => ({
    at: new Date(sinceMs + hour * hourMs).toISOString(),
    ...byChannel(counters.filter(({ at }) => hourOf(at) === hour)),
  }))
}

/** The day of the first message. */
async function getFirstDay(sql: Sql, workspaceId: string, timeZone: string): Promise<string | null> {
  const [first] = await sql<{ day: string | null }[]>`
    select (least(
      (select min(at) from message_periods where workspace_id = ${workspaceId}),
      ((select min(day) from message_days where workspace_id = ${workspaceId}) + time '12:00') at time zone 'utc'
    ) at time zone ${timeZone})::date::text as day`
  return first?.day ?? null
}

async function getFirstDayOf(sql: Sql, periods: Fragment, timeZone: string): Promise<string | null> {
  const [first] = await sql<{ day: string | null }[]>`
    select (min(p.at) at time zone ${timeZone})::date::text as day from ${periods} p`
  return first?.day ?? null
}

function byChannel(counters: readonly ChannelCounters[]): ChannelTraffic {
  const on = (name: ChannelName): Traffic => {
    const own = counters.filter(({ channel }) => channel === name)
    const sum = (direction: keyof Traffic) => own.reduce((total, row) => total + row[direction], 0)
    return { inbound: sum('inbound'), outbound: sum('outbound') }
  }
  const [msgapp, social, web] = channels.map(on) as [Traffic, Traffic, Traffic]
  return { msgapp, social, web }
}

const sumOf = (rows: readonly DayCounters[], field: Exclude<keyof DayCounters, 'day' | 'channel'>): number =>
  rows.reduce((total, row) => total + row[field], 0)

function averageOf(rows: readonly DayCounters[]): Average {
  const count = sumOf(rows, 'answers')
  return { count, average_seconds: count === 0 ? null : Math.round(sumOf(rows, 'answer_seconds') / count) }
}

function toResponses(days: readonly string[], counters: readonly DayCounters[]): Overview['responses'] {
  return {
    ...averageOf(counters),
    within: {
      five_minutes: sumOf(counters, 'within_five_minutes'),
      one_hour: sumOf(counters, 'within_one_hour'),
      one_day: sumOf(counters, 'within_one_day'),
    },
    days: days.map((day) => ({ day, ...averageOf(counters.filter((one) => one.day === day)) })),
  }
}

/** Every endpoint, newest first, with the number of its queued deliveries. */
async function listEndpointHealth(sql: Sql, workspaceId: string): Promise<EndpointHealth[]> {
  return sql<EndpointHealth[]>`
    select e.id, e.url, e.provider, e.is_active, e.failure_count, e.last_delivery_at, e.last_attempt_at,
      e.last_attempt_http_status, e.last_attempt_error, (
      select count(*)::int from (
        select from webhook_deliveries d
        where d.workspace_id = e.workspace_id and d.endpoint_id = e.id
        limit ${maxQueued}
      ) d
    ) as waiting_count
    from webhook_endpoints e
    where e.workspace_id = ${workspaceId}
    order by e.id desc`
}
