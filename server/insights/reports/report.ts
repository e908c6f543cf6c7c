/** One report: totals, intervals, rows and hours of one moment. */
import { memberName } from '../../accounts/members.ts'
import type { Db, Fragment, Sql } from '../../lib/postgres/db.ts'
import type { Reader } from '../../teams/visibility.ts'
import { type Dimension, type KeyName, noKey } from './facts.ts'
import { addUncounted, type Figures, type HourFigures, noFigures, readFigures, readHours } from './figures.ts'
import {
  addDays,
  type Filters,
  type Interval,
  type Period,
  type ReportName,
  type ReportQuery,
  type ReportRequest,
  readRequest,
  rowsOf,
} from './request.ts'
import { isWaiting, waitingKey, withFilters } from './waiting.ts'

type ReportRow = Figures & {
  id: string | null
  name: string | null
  color: string | null
  previous: Figures
  waiting_now: number
}

export type Report = {
  name: ReportName
  from_day: string
  to_day: string
  time_zone: string
  interval: Interval
  office_hours: boolean
  is_rebuilding: boolean
  is_complete: boolean
  totals: Figures & { waiting_now: number }
  previous: Figures & { from_day: string; to_day: string }
  intervals: (Figures & { start: string })[]
  rows: ReportRow[]
  hours: HourFigures[]
}

export async function readReport(db: Db, caller: Reader, name: ReportName, query: ReportQuery): Promise<Report> {
  const { workspaceId } = caller
  return db.begin('isolation level repeatable read read only', async (sql) => {
    const rows = rowsOf[name]
    const request = await addUncounted(sql, workspaceId, await readRequest(sql, caller, { name, rows }, query))
    const { period, previous, interval, isInOfficeHours, filters } = request
    const both = { current: period, previous }
    const totals = await readFigures(sql, workspaceId, request, both, undefined)
    const series = await readFigures(sql, workspaceId, request, { current: period }, { interval, from: period.from })
    return {
      ...headOf(request),
      name,
      office_hours: isInOfficeHours,
      totals: { ...totals.of('current'), waiting_now: await countWaiting(sql, workspaceId, filters) },
      previous: { from_day: previous.from, to_day: previous.to, ...totals.of('previous') },
      intervals: startsOf(period, interval).map((start) => ({ start, ...series.of('current', start) })),
      rows: rows
        ? await readRows(sql, workspaceId, rows, filters, await readFigures(sql, workspaceId, request, both, { rows }))
        : [],
      hours: name === 'busy_hours' ? await readHours(sql, workspaceId, request) : [],
    }
  }) as Promise<Report>
}

/** What all reports say of their period. */
export const headOf = ({ period, interval, state }: ReportRequest) => ({
  ...{ from_day: period.from, to_day: period.to, interval, time_zone: state.time_zone },
  is_rebuilding: state.is_rebuilding,
  is_complete: !state.is_behind,
})

/** The first days of the intervals of a period. Weeks begin on Monday; the first interval may be shorter. */
export function startsOf({ from, to }: Period, interval: Interval): string[] {
  const starts: string[] = []
  for (let day = from; day <= to; day = addDays(day, 1)) {
    const isStart = interval === 'day' || (interval === 'week' ? new Date(day).getUTCDay() === 1 : day.endsWith('-01'))
    if (isStart || day === from) starts.push(day)
  }
  return starts
}

type Found = Awaited<ReturnType<typeof readFigures>>

/** Every key with a figure in one of the periods or with a waiting customer, by name; what has no key is last. */
async function readRows(
  sql: Sql,
  workspaceId: string,
  rows: Dimension,
  filters: Filters,
  { of, groups }: Found,
): Promise<ReportRow[]> {
  const waiting = await sql<{ key: string; count: number }[]>`
    select ${waitingKey(sql, rows)} as key, count(*)::int as count
    from conversations v
    ${rows === 'label' ? sql`left join conversation_labels cl on cl.workspace_id = v.workspace_id and cl.conversation_id = v.id` : sql``}
    where v.workspace_id = ${workspaceId} and ${isWaiting(sql)} and ${withFilters(sql, filters, rows)}
    group by 1`
  const counts = new Map(waiting.map(({ key, count }) => [key, count]))
  const ids = [...new Set([...groups, ...counts.keys()])]
  return (await nameRows(sql, workspaceId, rows, ids)).map(({ key, ...row }) => ({
    ...row,
    ...of('current', key),
    previous: groups.includes(key) ? of('previous', key) : noFigures,
    waiting_now: counts.get(key) ?? 0,
  }))
}

type NamedRow = { key: string; id: string | null; name: string | null; color: string | null }

/** The rows with these keys, by name; what has no key is last. */
export async function nameRows(
  sql: Sql,
  workspaceId: string,
  rows: KeyName,
  keys: readonly string[],
): Promise<NamedRow[]> {
  const names = await sql<{ id: string; name: string; color: string | null }[]>`
    ${namesOf(sql, rows)} where n.workspace_id = ${workspaceId} and n.id = any(${[...keys]})`
  const nameOf = new Map(names.map((each) => [each.id, each]))
  return keys
    .map((key) => ({
      key,
      id: key === noKey ? null : key,
      name: nameOf.get(key)?.name ?? null,
      color: nameOf.get(key)?.color ?? null,
    }))
    .toSorted(compareRows)
}

/** By name, those without a name and then those without an id at the end. */
const compareRows = (one: NamedRow, other: NamedRow): number =>
  Number(one.id === null) - Number(other.id === null) ||
  Number(one.name === null) - Number(other.name === null) ||
  (one.name ?? '').localeCompare(other.name ?? '') ||
  (one.key < other.key ? -1 : 1)

const namesOf = (sql: Sql, rows: KeyName): Fragment =>
  ({
    member: sql`select n.id, ${memberName(sql, sql`n`)} as name, null as color from members n`,
    team: sql`select n.id, n.name, n.color from teams n`,
    label: sql`select n.id, n.name, n.color from labels n`,
    connection: sql`select n.id, n.name, null as color from channel_connections n`,
    target: sql`select n.id, n.name, null as color from targets n`,
  })[rows]

async function countWaiting(sql: Sql, workspaceId: string, filters: Filters): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from conversations v
    where v.workspace_id = ${workspaceId} and ${isWaiting(sql)} and ${withFilters(sql, filters)}`
  return row?.count ?? 0
}
