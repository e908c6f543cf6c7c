/**
 * How a workspace is doing: messages by day, what became of those sent, how
 * soon customers were answered, what is open, whether webhooks arrive.
 *
 * Everything is read from counters that are kept, and what is counted here is
 * counted up to a limit: so it opens in the same time at any size.
 */
import { type ChannelName, channels } from '../contacts/contacts.ts'
import { isUnassigned } from '../conversations/inbox.ts'
import { nowMs } from '../lib/clock.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { type Funnel, sumOutcomes } from '../messages/outcomes.ts'
import type { Provider } from '../webhooks/endpoints.ts'

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

const maxConversations = 10_000
const maxWaiting = 1_000
const dayMs = 86_400_000

/** Of the last `count` days, today among them (UTC). */
export async function readOverview(sql: Sql, workspaceId: string, count: number): Promise<Overview> {
  const now = nowMs()
  const days = Array.from({ length: count }, (_, i) =>
    new Date(now - (count - 1 - i) * dayMs).toISOString().slice(0, 10),
  )
  const firstDay = days[0] ?? ''
  const [open_conversations, unassigned_conversations, counted, funnel, webhooks] = await Promise.all([
    countOpen(sql, workspaceId, sql`true`),
    countOpen(sql, workspaceId, isUnassigned(sql)),
    listDays(sql, workspaceId, firstDay),
    sumOutcomes(sql, workspaceId, firstDay),
    listEndpointHealth(sql, workspaceId),
  ])
  return {
    days: days.map((day) => toDay(day, counted)),
    funnel,
    responses: toResponses(days, counted),
    open_conversations,
    unassigned_conversations,
    webhooks,
  }
}

type Counted = Traffic & {
  day: string
  channel: ChannelName
  answers: number
  answer_seconds: number
  within_five_minutes: number
  within_one_hour: number
  within_one_day: number
}

async function listDays(sql: Sql, workspaceId: string, firstDay: string): Promise<Counted[]> {
  return sql<Counted[]>`
    select day::text as day, channel, inbound, outbound, answers, answer_seconds::float8 as answer_seconds,
      within_five_minutes, within_one_hour, within_one_day
    from message_days
    where workspace_id = ${workspaceId} and day >= ${firstDay}::text::date`
}

function toDay(day: string, counted: readonly Counted[]): OverviewDay {
  const on = (channel: ChannelName): Traffic => {
    const { inbound = 0, outbound = 0 } = counted.find((one) => one.day === day && one.channel === channel) ?? {}
    return { inbound, outbound }
  }
  const [msgapp, social, web] = channels.map(on) as [Traffic, Traffic, Traffic]
  return { day, msgapp, social, web }
}

function toResponses(days: readonly string[], counted: readonly Counted[]): Overview['responses'] {
  const sum = (rows: readonly Counted[], field: Exclude<keyof Counted, 'day' | 'channel'>) =>
    rows.reduce((total, row) => total + row[field], 0)
  const average = (rows: readonly Counted[]) => {
    const count = sum(rows, 'answers')
    return { count, average_seconds: count === 0 ? null : Math.round(sum(rows, 'answer_seconds') / count) }
  }
  return {
    ...average(counted),
    within: {
      five_minutes: sum(counted, 'within_five_minutes'),
      one_hour: sum(counted, 'within_one_hour'),
      one_day: sum(counted, 'within_one_day'),
    },
    days: days.map((day) => ({ day, ...average(counted.filter((one) => one.day === day)) })),
  }
}

/** Open ones that meet a condition on conversation `v`. */
async function countOpen(sql: Sql, workspaceId: string, condition: Fragment): Promise<number> {
  const [counted] = await sql<{ count: number }[]>`
    select count(*)::int as count from (
      select from conversations v
      where v.workspace_id = ${workspaceId} and v.status = 'open' and ${condition}
      limit ${maxConversations}
    ) v`
  return counted?.count ?? 0
}

/** Every endpoint, newest first, and how much waits for it. */
async function listEndpointHealth(sql: Sql, workspaceId: string): Promise<EndpointHealth[]> {
  return sql<EndpointHealth[]>`
    select e.id, e.url, e.provider, e.is_active, e.failure_count, e.last_delivery_at, e.last_attempt_at,
      e.last_attempt_http_status, e.last_attempt_error, (
      select count(*)::int from (
        select from webhook_deliveries d
        where d.workspace_id = e.workspace_id and d.endpoint_id = e.id
        limit ${maxWaiting}
      ) d
    ) as waiting_count
    from webhook_endpoints e
    where e.workspace_id = ${workspaceId}
    order by e.id desc`
}
