/**
 * The episodes behind a figure of a report: a count of them, or of their replies, is the figure.
 *
 * A member who does not see all conversations gets those that the member sees now; they can be fewer.
 *
 * They are read from the episodes themselves, not from the counters, by an index on the time that the figure counts by. The order is that of the ids:
 * the newest first.
 */
import { memberName } from '../../accounts/members.ts'
import { contactName } from '../../contacts/contact-name.ts'
import { allOf } from '../../conversations/inbox-plan.ts'
import { type Page, type Position, toPage } from '../../lib/page.ts'
import { type Fragment, plannedPerCall, type Sql } from '../../lib/postgres/db.ts'
import { type Reader, visibleTo } from '../../teams/visibility.ts'
import {
  closingSeconds,
  type Dimension,
  dimensions,
  firstReplyAt,
  firstReplySeconds,
  labelsOf,
  memberOf,
  noKey,
  officeClosingSeconds,
  officeFirstReplySeconds,
  teamOf,
} from './facts.ts'
import { type ReportName, type ReportQuery, type ReportRequest, readRequest, rowsOf, withRow } from './request.ts'
import type { ReportEpisode } from './resource.ts'
import { isWaiting } from './waiting.ts'

export const figures = ['opened', 'reopened', 'first_reply', 'closed', 'closing', 'replies', 'waiting_now'] as const
type Figure = (typeof figures)[number]

export type EpisodeQuery = ReportQuery & {
  figure: Figure
  /** The id of the row, or `none`. */
  row?: string | undefined
  weekday?: string | undefined
  hour?: string | undefined
}

export async function listReportEpisodes(
  sql: Sql,
  caller: Reader,
  name: ReportName,
  query: EpisodeQuery,
  { limit, before }: Position,
): Promise<Page<ReportEpisode>> {
  const { workspaceId } = caller
  const requested = { name, rows: rowsOf[name] }
  const request = await readRequest(sql, caller, requested, withRow(requested, query))
  const condition = plannedPerCall(sql, conditionOf(sql, request, query))
  const [firstReply, closing] = request.isInOfficeHours
    ? [officeFirstReplySeconds(sql), officeClosingSeconds(sql)]
    : [firstReplySeconds(sql), sql`case when e.closed_at is not null then ${closingSeconds(sql)} end`]
  const rows = await sql<ReportEpisode[]>`
    select e.id, e.conversation_id, v.channel, ${contactName(sql)} as contact, e.opened_at, e.opened_by,
      e.reopened_from is not null as is_reopened, ${firstReplyAt(sql)} as first_reply_at, ${firstReply} as first_reply_seconds,
      ${memberNameOf(sql, sql`e.first_reply_by`)} as first_reply_by, e.closed_at, e.closed_by, ${closing} as closing_seconds,
      case when e.closed_at is null then v.episode_replies else e.replies end as replies,
      (select n.name from teams n where n.workspace_id = e.workspace_id and n.id = ${teamOf(sql)}) as team,
      ${memberNameOf(sql, memberOf(sql))} as member
    from episodes e
    join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where e.workspace_id = ${workspaceId} and e.id < ${before} and ${condition} and ${visibleTo(sql, caller)}
    order by e.id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
}

export const memberNameOf = (sql: Sql, id: Fragment): Fragment => sql`(
        select ${memberName(sql, sql`n`)} from members n where n.workspace_id = e.workspace_id and n.id = ${id}
      )`

function conditionOf(sql: Sql, request: ReportRequest, query: EpisodeQuery): Fragment {
  const { figure } = query
  if (figure === 'waiting_now')
    return sql`${isWaiting(sql)} and v.episode_id = e.id and ${keysOf(sql, request, sql`v.assigned_agent_id`)}`
  const { isInOfficeHours } = request
  const opened = sql`e.opened_at`
  const closed = sql`e.closed_at`
  const byFigure: Record<Exclude<Figure, 'waiting_now'>, { at: Fragment; only: Fragment }> = {
    opened: { at: opened, only: sql`true` },
    reopened: { at: opened, only: sql`e.reopened_from is not null` },
    first_reply: {
      at: sql`e.first_reply_at`,
      only: sql`e.opened_by = 'customer' ${isInOfficeHours ? sql`and e.office_first_reply_s is not null` : sql``}`,
    },
    closed: { at: closed, only: sql`true` },
    closing: { at: closed, only: isInOfficeHours ? sql`e.office_closing_s is not null` : sql`true` },
    replies: { at: closed, only: sql`e.replies > 0` },
  }
  const { at, only } = byFigure[figure]
  const member = figure === 'first_reply' ? sql`e.first_reply_by` : memberOf(sql)
  return sql`${only} and ${isInPeriod(sql, request, at)} and ${keysOf(sql, request, member)} and ${isAtHour(sql, request, at, query)}`
}

/** The first two conditions are for the index: the days of a zone are at most a day away from their dates in UTC. */
export const isInPeriod = (sql: Sql, { period: { from, to }, state }: ReportRequest, at: Fragment): Fragment => sql`
  ${at} >= ${from}::text::timestamptz - interval '1 day' and ${at} < ${to}::text::timestamptz + interval '2 days'
  and (${at} at time zone ${state.time_zone})::date between ${from}::text::date and ${to}::text::date`

function isAtHour(sql: Sql, { state }: ReportRequest, at: Fragment, { weekday, hour }: EpisodeQuery): Fragment {
  const local = sql`${at} at time zone ${state.time_zone}`
  const onWeekday = weekday === undefined ? sql`` : sql`and extract(isodow from ${local}) = ${Number(weekday) + 1}`
  const inHour = hour === undefined ? sql`` : sql`and extract(hour from ${local}) = ${Number(hour)}`
  return sql`true ${onWeekday} ${inHour}`
}

/** The filters as conditions on episode `e` of conversation `v`; `member` and `team` are those of the figure. */
export function keysOf(sql: Sql, { filters }: ReportRequest, member: Fragment, team = teamOf(sql)): Fragment {
  const keys: Record<Exclude<Dimension, 'label'>, Fragment> = {
    ...{ team, connection: sql`e.connection_id`, member },
  }
  const conditions = dimensions.flatMap((dimension) => {
    const id = filters[dimension]
    if (id === undefined) return []
    if (dimension !== 'label') return [sql`coalesce(${keys[dimension]}, ${noKey}) = ${id}::uuid`]
    return [id === noKey ? sql`cardinality(${labelsOf(sql)}) = 0` : sql`${id}::uuid = any(${labelsOf(sql)})`]
  })
  return allOf(sql, conditions)
}
