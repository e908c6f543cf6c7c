/**
 * The overview of a workspace: messages per day, delivery outcomes, response times, open conversations, webhook health.
 *
 * Days are those of the workspace's time zone. Only the outcomes are counted by the day in UTC: every status report changes them, and
 * finer counters would cost each of them more.
 *
 * It reads counters that other statements maintain, and counts queued deliveries up to a limit. So it takes the same time at any
 * size.
 */
import { requireTimeZone } from '../accounts/workspaces.ts'
import { type ChannelName, channels } from '../contacts/resource.ts'
import { readInboxCounts } from '../conversations/inbox-counts.ts'
import { nowMs } from '../lib/clock.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type Funnel, sumOutcomes } from '../messages/outcomes.ts'
import type { Provider } from '../webhooks/resource.ts'

type Traffic = { inbound: number; outbound: number }
type ChannelTraffic = Record<ChannelName, Traffic>
type OverviewDay = { day: string } & ChannelTraffic
type OverviewHour = { hour: number } & ChannelTraffic
type Average = { count: number; average_seconds: number | null }

export type Overview = {
  time_zone: string
  days: OverviewDay[]
  /** The hours of the day, if it is only one. */
  hours: OverviewHour[]
  /** Of all messages. Null: there are none. */
  first_day: string | null
  funnel: Funnel
  responses: Average & {
    within: { five_minutes: number; one_hour: number; one_day: number }
    days: ({ day: string } & Average)[]
  }
  /** As many days before. Null: the workspace has no messages of its first day. */
  previous: (Traffic & { funnel: Funnel; responses: Average }) | null
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
const dayMs = 86_400_000

/** The last `count` days, including today, in the time zone of the workspace. */
export async function readOverview(sql: Sql, workspaceId: string, count: number): Promise<Overview> {
  const timeZone = await requireTimeZone(sql, workspaceId)
  const today = dayIn(timeZone, nowMs())
  const days = Array.from({ length: count }, (_, i) => addDays(today, i - count + 1))
  const firstDay = days[0] ?? today
  const before = { first: addDays(firstDay, -count), last: addDays(firstDay, -1) }
  const [conversations, counters, first_day, hours, funnel, funnelBefore, webhooks] = await Promise.all([
    readInboxCounts(sql, workspaceId),
    listDays(sql, workspaceId, timeZone, before.first),
    getFirstDay(sql, workspaceId, timeZone),
    count === 1 ? listHours(sql, workspaceId, timeZone, today) : [],
    sumOutcomes(sql, workspaceId, firstDay, today),
    sumOutcomes(sql, workspaceId, before.first, before.last),
    listEndpointHealth(sql, workspaceId),
  ])
  const [current, previous] = [
    counters.filter(({ day }) => day >= firstDay),
    counters.filter(({ day }) => day < firstDay),
  ]
  const isComparable = first_day !== null && first_day <= before.first
  return {
    time_zone: timeZone,
    days: days.map((day) => ({ day, ...byChannel(current.filter((one) => one.day === day)) })),
    hours:
      count === 1 ? hoursOfDay.map((hour) => ({ hour, ...byChannel(hours.filter((one) => one.hour === hour)) })) : [],
    first_day,
    funnel,
    responses: toResponses(days, current),
    previous: isComparable
      ? {
          inbound: sumOf(previous, 'inbound'),
          outbound: sumOf(previous, 'outbound'),
          funnel: funnelBefore,
          responses: averageOf(previous),
        }
      : null,
    ...conversations,
    webhooks,
  }
}

const hoursOfDay = Array.from({ length: 24 }, (_, hour) => hour)

/** The date of a time in a zone, as `2026-01-31`. */
const dayIn = (timeZone: string, ms: number): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(ms)

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

async function listDays(sql: Sql, workspaceId: string, timeZone: string, firstDay: string): Promise<DayCounters[]> {
  return sql<DayCounters[]>`
    select (at at time zone ${timeZone})::date::text as day, channel, sum(inbound)::int as inbound, sum(outbound)::int as outbound,
      sum(answers)::int as answers, sum(answer_seconds)::float8 as answer_seconds,
      sum(within_five_minutes)::int as within_five_minutes, sum(within_one_hour)::int as within_one_hour,
      sum(within_one_day)::int as within_one_day
    from message_periods
    where workspace_id = ${workspaceId} and at >= ${firstDay}::text::timestamp at time zone ${timeZone}
    group by 1, 2`
}

async function listHours(
  sql: Sql,
  workspaceId: string,
  timeZone: string,
  day: string,
): Promise<(ChannelCounters & { hour: number })[]> {
  return sql<(ChannelCounters & { hour: number })[]>`
    select extract(hour from at at time zone ${timeZone})::int as hour, channel, sum(inbound)::int as inbound,
      sum(outbound)::int as outbound
    from message_periods
    where workspace_id = ${workspaceId} and at >= ${day}::text::timestamp at time zone ${timeZone}
    group by 1, 2`
}

/** The day of the first message. It is in UTC if it is older than the periods, where it does not matter. */
async function getFirstDay(sql: Sql, workspaceId: string, timeZone: string): Promise<string | null> {
  const [first] = await sql<{ day: string | null }[]>`
    select coalesce(
      (select min(day) from message_days where workspace_id = ${workspaceId} and day < now() - interval '190 days'),
      (select (min(at) at time zone ${timeZone})::date from message_periods where workspace_id = ${workspaceId})
    )::text as day`
  return first?.day ?? null
}

function byChannel(counters: readonly ChannelCounters[]): ChannelTraffic {
  const on = (channel: ChannelName): Traffic => {
    const { inbound = 0, outbound = 0 } = counters.find((one) => one.channel === channel) ?? {}
    return { inbound, outbound }
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
