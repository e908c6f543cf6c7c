/**
 * The report of targets, and the outcomes behind its figures.
 *
 * An episode has at most one outcome of each target and kind. A miss counts on the day on which the time ran out, and a met one on the day of
 * the reply or of the closing.
 */
import { type ClockKind, clockKinds } from '../../automation/definition.ts'
import { contactName } from '../../contacts/contact-name.ts'
import { type Page, type Position, toPage } from '../../lib/page.ts'
import { type Db, type Fragment, isoTime, plannedPerCall, type Sql } from '../../lib/postgres/db.ts'
import { type Reader, visibleTo } from '../../teams/visibility.ts'
import { isInPeriod, keysOf, memberNameOf } from './episodes.ts'
import { isDecided, outcomeAt } from './facts.ts'
import { addUncounted, type FoundTallies, readTallies } from './figures.ts'
import { headOf, nameRows, startsOf } from './report.ts'
import { type ReportQuery, type ReportRequest, readRequest, withRow } from './request.ts'
import type { ReportOutcomes, TargetsReport, targetRows } from './resource.ts'

export const outcomes = ['met', 'missed'] as const
export type TargetQuery = ReportQuery & { by?: (typeof targetRows)[number] | undefined }
export type OutcomeQuery = TargetQuery & {
  figure: (typeof outcomes)[number]
  kind?: ClockKind | undefined
  row?: string | undefined
}

const requestedBy = ({ by = 'target' }: TargetQuery) => ({ name: 'targets', rows: by }) as const

export async function readTargets(db: Db, caller: Reader, query: TargetQuery): Promise<TargetsReport> {
  const { workspaceId } = caller
  const requested = requestedBy(query)
  return db.begin('isolation level repeatable read read only', async (sql) => {
    const request = await addUncounted(sql, workspaceId, await readRequest(sql, caller, requested, query))
    const { period, previous, interval } = request
    const both = { current: period, previous }
    const measures = clockKinds.map((kind) => `target_${kind}`)
    const totals = await readTallies(sql, workspaceId, request, both, undefined, measures)
    const byInterval = { interval, from: period.from }
    const series = await readTallies(sql, workspaceId, request, { current: period }, byInterval, measures)
    const rows = await readTallies(sql, workspaceId, request, both, { rows: requested.rows }, measures)
    const deleted = new Set(
      (
        await sql<{ id: string }[]>`
          select id from targets where workspace_id = ${workspaceId} and id = any(${rows.groups}) and deleted_at is not null`
      ).map(({ id }) => id),
    )
    return {
      ...{ name: requested.name, by: requested.rows, ...headOf(request) },
      totals: figuresOf(totals.of, 'current'),
      previous: { from_day: previous.from, to_day: previous.to, ...figuresOf(totals.of, 'previous') },
      intervals: startsOf(period, interval).map((start) => ({ start, ...figuresOf(series.of, 'current', start) })),
      rows: (await nameRows(sql, workspaceId, requested.rows, rows.groups)).map(({ key, ...row }) => ({
        ...{ ...row, is_deleted: deleted.has(key) },
        ...figuresOf(rows.of, 'current', key),
        previous: figuresOf(rows.of, 'previous', key),
      })),
    }
  }) as Promise<TargetsReport>
}

function figuresOf(of: FoundTallies, span: string, group = '') {
  const figureOf = (kind: ClockKind) => ({
    met: of(span, group, `target_${kind}`, 1),
    missed: of(span, group, `target_${kind}`, 0),
  })
  return { first_reply: figureOf('first_reply'), next_reply: figureOf('next_reply'), closing: figureOf('closing') }
}

/** The episodes with these outcomes, the newest first. */
export async function listReportOutcomes(
  sql: Sql,
  caller: Reader,
  query: OutcomeQuery,
  { limit, before }: Position,
): Promise<Page<ReportOutcomes>> {
  const { workspaceId } = caller
  const requested = requestedBy(query)
  const request = await readRequest(sql, caller, requested, withRow(requested, query))
  const rows = await sql<ReportOutcomes[]>`
    with
    -- The outcomes of the figure, by episode. While no target is on, clocks do not follow the episode that ends them.
    -- Materialized: as a part of the join it could run once per conversation.
    found_outcomes as materialized (
      select k.episode_id, json_agg(json_build_object(
          'target_id', k.target_id, 'target', n.name, 'kind', k.kind, 'outcome', k.outcome,
          'at', ${isoTime(sql, outcomeAt(sql))}, 'due_at', ${isoTime(sql, sql`coalesce(k.breached_at, k.due_at)`)},
          'ended_at', ${isoTime(sql, sql`coalesce(k.ended_at, case when k.kind = 'first_reply' then e.first_reply_at end, e.closed_at)`)},
          'team', (select t.name from teams t where t.workspace_id = k.workspace_id and t.id = k.team_id),
          'member', ${memberNameOf(sql, sql`k.member_id`)}
        ) order by k.kind, k.target_id) as outcomes
      from target_clocks k
      join episodes e on e.workspace_id = k.workspace_id and e.id = k.episode_id
      join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
      left join targets n on n.workspace_id = k.workspace_id and n.id = k.target_id
      where k.workspace_id = ${workspaceId} and k.episode_id < ${before}
        and ${plannedPerCall(sql, conditionOf(sql, request, query))} and ${keysOf(sql, request, sql`k.member_id`, sql`k.team_id`)}
        and ${visibleTo(sql, caller)}
      group by k.episode_id
      order by k.episode_id desc
      limit ${limit + 1}
    )
    select e.id, e.conversation_id, v.channel, ${contactName(sql)} as contact,
      e.opened_at, e.closed_at, o.outcomes
    from found_outcomes o
    join episodes e on e.workspace_id = ${workspaceId} and e.id = o.episode_id
    join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    order by e.id desc`
  return toPage(rows, limit)
}

/** The time is that of the outcome, so that the period is found by an index. */
function conditionOf(sql: Sql, request: ReportRequest, { figure, kind }: OutcomeQuery): Fragment {
  const at = figure === 'missed' ? sql`k.breached_at` : sql`k.ended_at`
  const ofKind = kind === undefined ? sql`` : sql`and k.kind = ${kind}`
  const { target } = request.filters
  const ofTarget = target === undefined ? sql`` : sql`and k.target_id = ${target}`
  return sql`k.outcome = ${figure} and ${isDecided(sql)} ${ofKind} ${ofTarget} and ${isInPeriod(sql, request, at)}`
}
