/**
 * The overview of a workspace: messages per day, delivery outcomes, response times, open conversations, webhook health.
 *
 * It reads counters that other statements maintain, and counts queued deliveries up to a limit. So it takes the same time at any
 * size.
 */
import { type ChannelName, channels } from '../contacts/resource.ts'
import { readInboxCounts } from '../conversations/inbox-counts.ts'
import { nowMs } from '../lib/clock.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type Funnel, sumOutcomes } from '../messages/outcomes.ts'
import type { Provider } from '../webhooks/resource.ts'

type Traffic = { inbound: number; outbound: number }
type OverviewDay = { day: string } & Record<ChannelName, Traffic>
type AnswerDay = { day: string; count: number; average_seconds: number | null }

export type Overview = {
  days: OverviewDay[]
  funnel: Funnel
  responses: {
    count: number
    average_seconds: number | null
    within: { five_minutes: number; one_hour: number; one_day: number }
    days: AnswerDay[]
  }
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

/** The last `count` days, including today (UTC). */
export async function readOverview(sql: Sql, workspaceId: string, count: number): Promise<Overview> {
  const now = nowMs()
  const days = Array.from({ length: count }, (_, i) =>
    new Date(now - (count - 1 - i) * dayMs).toISOString().slice(0, 10),
  )
  const firstDay = days[0] ?? ''
  const [conversations, counters, funnel, webhooks] = await Promise.all([
    readInboxCounts(sql, workspaceId),
    listDays(sql, workspaceId, firstDay),
    sumOutcomes(sql, workspaceId, firstDay),
    listEndpointHealth(sql, workspaceId),
  ])
  return {
    days: days.map((day) => toDay(day, counters)),
    funnel,
    responses: toResponses(days, counters),
    ...conversations,
    webhooks,
  }
}

type DayCounters = Traffic & {
  day: string
  channel: ChannelName
  answers: number
  answer_seconds: number
  within_five_minutes: number
  within_one_hour: number
  within_one_day: number
}

async function listDays(sql: Sql, workspaceId: string, firstDay: string): Promise<DayCounters[]> {
  return sql<DayCounters[]>`
    select day::text as day, channel, inbound, outbound, answers, answer_seconds::float8 as answer_seconds,
      within_five_minutes, within_one_hour, within_one_day
    from message_days
    where workspace_id = ${workspaceId} and day >= ${firstDay}::text::date`
}

function toDay(day: string, counters: readonly DayCounters[]): OverviewDay {
  const on = (channel: ChannelName): Traffic => {
    const { inbound = 0, outbound = 0 } = counters.find((one) => one.day === day && one.channel === channel) ?? {}
    return { inbound, outbound }
  }
  const [msgapp, social, web] = channels.map(on) as [Traffic, Traffic, Traffic]
  return { day, msgapp, social, web }
}

function toResponses(days: readonly string[], counters: readonly DayCounters[]): Overview['responses'] {
  const sum = (rows: readonly DayCounters[], field: Exclude<keyof DayCounters, 'day' | 'channel'>) =>
    rows.reduce((total, row) => total + row[field], 0)
  const average = (rows: readonly DayCounters[]) => {
    const count = sum(rows, 'answers')
    return { count, average_seconds: count === 0 ? null : Math.round(sum(rows, 'answer_seconds') / count) }
  }
  return {
    ...average(counters),
    within: {
      five_minutes: sum(counters, 'within_five_minutes'),
      one_hour: sum(counters, 'within_one_hour'),
      one_day: sum(counters, 'within_one_day'),
    },
    days: days.map((day) => ({ day, ...average(counters.filter((one) => one.day === day)) })),
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
