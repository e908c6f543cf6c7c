/**
 * The report of satisfaction, and the questions and ratings behind its figures.
 *
 * A question counts on the day on which it was sent, and a rating on the day on which it came. Both count for the member who replied last
 * before the question, and for the team, the connection and the labels of the episode. The response rate is that of the questions of the
 * period: `answered` of `asked`.
 */
import { contactName } from '../../contacts/contact-name.ts'
import { type Page, type Position, toPage } from '../../lib/page.ts'
import { type Db, type Fragment, plannedPerCall, type Sql } from '../../lib/postgres/db.ts'
import { type Reader, visibleTo } from '../../teams/visibility.ts'
import { isInPeriod, keysOf, memberNameOf } from './episodes.ts'
import { isAsked, type KeyName, teamOf } from './facts.ts'
import { addUncounted, type FoundTallies, readTallies } from './figures.ts'
import { headOf, nameRows, startsOf } from './report.ts'
import { type ReportQuery, type ReportRequest, readRequest, withRow } from './request.ts'
import type { ReportRating, SatisfactionReport, satisfactionRows } from './resource.ts'

export type SatisfactionQuery = ReportQuery & { by?: (typeof satisfactionRows)[number] | undefined }

export const ratingFigures = ['asked', 'answered', 'ratings'] as const
export type RatingQuery = SatisfactionQuery & {
  figure: (typeof ratingFigures)[number]
  row?: string | undefined
  rating?: (typeof ratings)[number] | undefined
}

export const ratings = ['1', '2', '3', '4', '5'] as const

export async function readSatisfaction(db: Db, caller: Reader, query: SatisfactionQuery): Promise<SatisfactionReport> {
  const { workspaceId } = caller
  return db.begin('isolation level repeatable read read only', async (sql) => {
    const requested = requestedBy(query)
    const request = await addUncounted(sql, workspaceId, await readRequest(sql, caller, requested, query))
    const { period, previous, interval } = request
    const both = { current: period, previous }
    const read = (spans: Parameters<typeof readTallies>[3], grouping: Parameters<typeof readTallies>[4]) =>
      readTallies(sql, workspaceId, request, spans, grouping, ['question', 'rating'])
    const totals = await read(both, undefined)
    const series = await read({ current: period }, { interval, from: period.from })
    const rows = await read(both, { rows: requested.rows })
    return {
      ...{ name: requested.name, by: requested.rows, ...headOf(request) },
      totals: figuresOf(totals.of, 'current'),
      previous: { from_day: previous.from, to_day: previous.to, ...figuresOf(totals.of, 'previous') },
      intervals: startsOf(period, interval).map((start) => ({ start, ...figuresOf(series.of, 'current', start) })),
      rows: (await nameRows(sql, workspaceId, requested.rows, rows.groups)).map(({ key, ...row }) => ({
        ...row,
        ...figuresOf(rows.of, 'current', key),
        previous: figuresOf(rows.of, 'previous', key),
      })),
    }
  }) as Promise<SatisfactionReport>
}

const requestedBy = ({ by = 'member' }: SatisfactionQuery) => ({ name: 'satisfaction', rows: by }) as const

function figuresOf(of: FoundTallies, span: string, group = '') {
  const answered = of(span, group, 'question', 1)
  const byRating = ratings.map((rating) => of(span, group, 'rating', Number(rating)))
  const count = byRating.reduce((sum, n) => sum + n, 0)
  const total = byRating.reduce((sum, n, i) => sum + n * (i + 1), 0)
  return {
    ...{ asked: of(span, group, 'question', 0) + answered, answered, ratings: count, by_rating: byRating },
    mean_rating: count > 0 ? Math.round((total / count) * 100) / 100 : null,
  }
}

/** In the order of the questions, the newest first. */
export async function listReportRatings(
  sql: Sql,
  caller: Reader,
  query: RatingQuery,
  { limit, before }: Position,
): Promise<Page<ReportRating>> {
  const requested = requestedBy(query)
  const request = await readRequest(sql, caller, requested, withRow(requested, query))
  const rows = await sql<ReportRating[]>`
    select r.message_id as id, r.episode_id, r.conversation_id, v.channel, ${contactName(sql)} as contact,
      (select n.name from teams n where n.workspace_id = e.workspace_id and n.id = ${teamOf(sql)}) as team,
      ${memberNameOf(sql, sql`r.member_id`)} as member, r.asked_at, r.rating, r.rated_at, r.comment
    from ratings r
    join episodes e on e.workspace_id = r.workspace_id and e.id = r.episode_id
    join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where r.workspace_id = ${caller.workspaceId} and r.message_id < ${before}
      and ${plannedPerCall(sql, conditionOf(sql, request, query))} and ${visibleTo(sql, caller)}
    order by r.message_id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
}

function conditionOf(sql: Sql, request: ReportRequest<KeyName>, { figure, rating }: RatingQuery): Fragment {
  const at = figure === 'ratings' ? sql`r.rated_at` : sql`r.asked_at`
  const isAnswered = figure === 'answered' ? sql`and r.rating is not null` : sql``
  const hasRating = rating === undefined ? sql`` : sql`and r.rating = ${Number(rating)}`
  return sql`${isAsked(sql)} ${isAnswered} ${hasRating} and ${isInPeriod(sql, request, at)}
    and ${keysOf(sql, request, sql`r.member_id`)}`
}
