/** The episodes behind a figure. */
import type { ReactNode } from 'react'
import { Badge } from '../../../ui/display.tsx'
import { type ItemOf, usePages } from '../lib/api.ts'
import { formatNumber } from '../lib/time.ts'
import type { Column } from '../ui/table.tsx'
import { reportWords } from '../words/reports.ts'
import { hourFields, nameOfSlot } from './busy-hours.tsx'
import { ContactLink, None, RowsDrawer } from './drawer.tsx'
import { formatSeconds } from './duration.ts'
import type { EpisodeFigures, EpisodeReport } from './episodes.ts'
import { describeSpan } from './header.tsx'
import type { Opened } from './opened.ts'
import { describeInterval, endOfInterval } from './plot.tsx'
import type { KeyedReport, ReportRequest } from './request.ts'
import type { FormatTime } from './zone.ts'

const { list: text, figures: names } = reportWords

type Figure = keyof typeof names
type Episode = ItemOf<'GET /reports/{name}/episodes'>

type Props = { report: EpisodeReport; request: ReportRequest; opened: Opened; onUpdate: () => unknown }

export function EpisodeDrawer({ report, request, opened, onUpdate }: Props) {
  const figure = (Object.keys(names) as Figure[]).find((each) => each === opened.show) ?? 'opened'
  const { row, start, weekday, hour } = opened
  const { filterQuery, isInOfficeHours, isRestricted } = request
  const starts = report.intervals.map((each) => each.start)
  const [from, to] = start ? [start, endOfInterval(start, starts, report.to_day)] : [report.from_day, report.to_day]
  const pages = usePages(
    'GET /reports/{name}/episodes',
    {
      params: { name: report.name },
      query: {
        ...{ from_day: from, to_day: to, figure, limit: 50 },
        ...(isInOfficeHours ? { office_hours: 'true' } : {}),
        ...filterQuery,
        ...(row ? { row } : {}),
        ...(weekday ? { weekday } : {}),
        ...(hour ? { hour } : {}),
      },
    },
    { isStill: true },
  )
  const figures = figuresOf(report, opened)
  const expected = countOf(report, figures, figure, opened)
  const isReplies = figure === 'replies'
  const loaded = isReplies ? pages.items.reduce((sum, { replies }) => sum + replies, 0) : pages.items.length
  const scope =
    figure === 'waiting_now'
      ? text.now
      : weekday || hour
        ? `${nameOfSlot(opened)} · ${describeSpan(from, to)}`
        : start
          ? describeInterval(start, report.interval)
          : describeSpan(from, to)
  return (
    <RowsDrawer<Episode>
      title={text.title(names[figure], row ? nameOfRow(report, row) : undefined)}
      scope={scope}
      summary={summaryOf(figures, figure, expected)}
      timeZone={report.time_zone}
      pages={pages}
      columnsWith={columnsWith}
      keyOf={({ id }) => id}
      counted={{ loaded, expected, name: isReplies ? text.replies : text.count }}
      isRestricted={isRestricted}
      onUpdate={onUpdate}
    />
  )
}

/** The part of the report that has the figure. */
function figuresOf(report: EpisodeReport, { row, start }: Opened): EpisodeFigures & { waiting_now?: number } {
  if (row) return report.rows.find(({ id }) => (id ?? 'none') === row) ?? { ...report.totals, ...nothing }
  return (start && report.intervals.find((each) => each.start === start)) || report.totals
}

const noSpread = { count: 0, median_seconds: null, p90_seconds: null, mean_seconds: null }
const nothing = {
  ...{ opened: 0, closed: 0, reopened: 0, replies: 0, waiting_now: 0 },
  ...{ first_reply: noSpread, closing: noSpread },
}

function countOf(
  report: EpisodeReport,
  figures: ReturnType<typeof figuresOf>,
  figure: Figure,
  { weekday, hour }: Opened,
): number {
  if (report.name === 'busy_hours' && figure in hourFields) {
    const field = hourFields[figure as keyof typeof hourFields]
    return report.hours
      .filter((each) => (!weekday || each.weekday === Number(weekday)) && (!hour || each.hour === Number(hour)))
      .reduce((sum, each) => sum + each[field], 0)
  }
  if (figure === 'waiting_now') return figures.waiting_now ?? 0
  return figure === 'first_reply' || figure === 'closing' ? figures[figure].count : figures[figure]
}

function summaryOf(figures: EpisodeFigures, figure: Figure, count: number): string {
  if (figure === 'replies') return text.replies(count)
  if (figure !== 'first_reply' && figure !== 'closing') return text.count(count)
  const { count: ofSpread, median_seconds, p90_seconds } = figures[figure]
  const counted = figure === 'first_reply' ? text.withReply(count) : text.withClosing(count)
  // Of an hour of the week only the count is known.
  return median_seconds === null || p90_seconds === null || ofSpread !== count
    ? counted
    : `${counted}: ${text.median(formatSeconds(median_seconds), formatSeconds(p90_seconds))}`
}

function nameOfRow({ name, rows }: EpisodeReport, row: string): string {
  const found = rows.find(({ id }) => (id ?? 'none') === row)
  const { without, gone } = reportWords.rows
  return row === 'none' ? without[name as KeyedReport] : (found?.name ?? gone[name as KeyedReport])
}

const columnsWith = (formatTime: FormatTime): Column<Episode>[] => [
  { label: text.contact, cell: (item) => <ContactLink item={item} /> },
  { label: text.team, cell: ({ team }) => team ?? <None /> },
  { label: text.member, cell: ({ member }) => member ?? <None /> },
  {
    label: text.opened,
    cell: ({ opened_at, opened_by, is_reopened }) => (
      <Two first={<time dateTime={opened_at}>{formatTime(opened_at)}</time>}>
        {is_reopened ? <Badge>{text.reopened}</Badge> : opened_by === 'member' && text.openedByMember}
      </Two>
    ),
  },
  {
    label: text.firstReply,
    cell: ({ first_reply_at, first_reply_seconds, first_reply_by }) =>
      first_reply_at === null ? (
        <None text={text.noReply} />
      ) : (
        <Two
          first={
            <time dateTime={first_reply_at} title={formatTime(first_reply_at)}>
              {first_reply_seconds === null
                ? formatTime(first_reply_at)
                : text.after(formatSeconds(first_reply_seconds))}
            </time>
          }
        >
          {first_reply_by && text.by(first_reply_by)}
        </Two>
      ),
  },
  {
    label: text.closed,
    cell: ({ closed_at, closed_by, closing_seconds }) =>
      closed_at === null ? (
        <None text={text.stillOpen} />
      ) : (
        <Two
          first={
            <time dateTime={closed_at} title={formatTime(closed_at)}>
              {closing_seconds === null ? formatTime(closed_at) : text.after(formatSeconds(closing_seconds))}
            </time>
          }
        >
          {text.closedBy[closed_by as keyof typeof text.closedBy]}
        </Two>
      ),
  },
  {
    label: text.replyCount,
    className: 'end',
    cell: ({ replies }) => <span className="numeric">{formatNumber(replies)}</span>,
  },
]

const Two = ({ first, children }: { first: ReactNode; children: ReactNode }) => (
  <span className="reports-two">
    {first}
    {children && <small className="soft">{children}</small>}
  </span>
)
