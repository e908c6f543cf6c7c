/** What a caller asks of a report: the period, the interval and the filters, checked. */
import { badRequest, forbidden } from '../../lib/errors.ts'
import { isUuid } from '../../lib/id.ts'
import { requireRow, type Sql } from '../../lib/postgres/db.ts'
import { type Reader, restrictionOf } from '../../teams/visibility.ts'
import { type Dimension, dimensions, getFamily, hasHours, type KeyName, keyNames, noKey } from './facts.ts'

export const reportNames = ['overview', 'members', 'teams', 'labels', 'connections', 'busy_hours'] as const
export type ReportName = (typeof reportNames)[number]

export const intervals = ['day', 'week', 'month'] as const
export type Interval = (typeof intervals)[number]

/** Those with figures of their own (`satisfaction.ts`, `targets.ts`, `availability.ts`). */
type OtherReportName = 'satisfaction' | 'targets' | 'availability'

/** By what a report of episodes has rows. */
export const rowsOf: Readonly<Partial<Record<ReportName, Dimension>>> = {
  members: 'member',
  teams: 'team',
  labels: 'label',
  connections: 'connection',
}

export type ReportQuery = {
  from_day?: string | undefined
  to_day?: string | undefined
  interval?: Interval | undefined
  office_hours?: 'true' | 'false' | undefined
  team_id?: string | undefined
  connection_id?: string | undefined
  member_id?: string | undefined
  label_id?: string | undefined
  target_id?: string | undefined
}

/** Days, both included. */
export type Period = { from: string; to: string }

export type Filters = Partial<Record<KeyName, string>>

/** A report, and by what it has rows. */
type Requested<Rows extends KeyName | undefined = KeyName | undefined> = {
  name: ReportName | OtherReportName
  rows: Rows
}

export type ReportRequest<Rows extends KeyName | undefined = KeyName | undefined> = Requested<Rows> & {
  period: Period
  previous: Period
  interval: Interval
  isInOfficeHours: boolean
  /** Ids, or `noKey`. */
  filters: Filters
  state: ReportState
}

type ReportState = {
  generation: number
  /** Of the counted days. */
  time_zone: string
  /** Today in this zone. */
  today: string
  /** The time zone of the workspace is another one. */
  is_rebuilding: boolean
  /** Changes are not counted yet. */
  has_uncounted: boolean
  /** So many that a read does not add them. */
  is_behind: boolean
}

const dayMs = 86_400_000
export const maxDays = 366
const defaultDays = 30
/** A read adds at most so many changes that the loop has not counted. Only the first start after an upgrade has more. */
const maxUncounted = 10_000

/**
 * The only place that says whose figures a caller gets. A member who does not see all conversations gets their own: every report has a filter by the
 * member, and a report that cannot have it is refused.
 */
function restrict(caller: Reader, requested: Requested, filters: Filters): Filters {
  const restriction = restrictionOf(caller)
  if (!restriction) return filters
  const own = { ...filters, member: restriction.member.id }
  if ((filters.member ?? own.member) !== own.member || familyOf(requested, own) === undefined)
    throw forbidden('you see only your own figures')
  return own
}

/** The family of counters that has the rows of a report under these filters. */
export function familyOf({ name, rows }: Requested, filters: Filters): string | undefined {
  // Outcomes are counted with their target only.
  const own = name === 'targets' ? 'target' : rows
  const family = getFamily(keyNames.filter((each) => each === own || each === rows || filters[each] !== undefined))
  return name === 'busy_hours' && family !== undefined && !hasHours(family) ? undefined : family
}

/** The row of a figure is one more filter. */
export function withRow({ name, rows }: Requested, query: ReportQuery & { row?: string | undefined }): ReportQuery {
  if (query.row === undefined) return query
  if (rows === undefined) throw badRequest(`row: the report ${name} has no rows`)
  if (query.row !== 'none' && !isUuid(query.row)) throw badRequest('row: must be an id or none')
  return { ...query, [`${rows}_id`]: query.row }
}

export async function readRequest<Rows extends KeyName | undefined>(
  sql: Sql,
  caller: Reader,
  requested: Requested<Rows>,
  query: ReportQuery,
): Promise<ReportRequest<Rows>> {
  const { name, rows } = requested
  const state = await readState(sql, caller.workspaceId)
  const to = query.to_day === undefined ? state.today : readDay('to_day', query.to_day)
  const from = query.from_day === undefined ? addDays(to, 1 - defaultDays) : readDay('from_day', query.from_day)
  const count = (Date.parse(to) - Date.parse(from)) / dayMs + 1
  if (count < 1) throw badRequest('to_day: must not be before from_day')
  if (count > maxDays) throw badRequest(`to_day: a report has at most ${maxDays} days`)
  const asked: Filters = {}
  for (const dimension of filtersOf(name)) {
    const field = `${dimension}_id` as const
    const value = query[field]
    if (value === undefined) continue
    if (value !== 'none' && !isUuid(value)) throw badRequest(`${field}: must be an id or none`)
    asked[dimension] = value === 'none' ? noKey : value
  }
  const filters = restrict(caller, requested, asked)
  if (familyOf(requested, filters) === undefined) {
    const fields = dimensions.filter((each) => filters[each] !== undefined && each !== rows)
    const by = name === 'targets' || name === 'satisfaction' ? ` by ${rows}` : ''
    throw badRequest(`${fields.at(-1)}_id: the report ${name}${by} cannot be filtered by ${fields.join(' and ')}`)
  }
  return {
    ...{ name, rows, filters, state },
    period: { from, to },
    previous: { from: addDays(from, -count), to: addDays(from, -1) },
    interval: query.interval ?? 'day',
    isInOfficeHours: query.office_hours === 'true',
  }
}

/** The filters that a report has. Like other unknown parameters, the others are ignored. */
const filtersOf = (name: Requested['name']): readonly KeyName[] =>
  name === 'targets' ? keyNames : name === 'availability' ? ['team', 'member'] : dimensions

async function readState(sql: Sql, workspaceId: string): Promise<ReportState> {
  const [state] = await sql<ReportState[]>`
    select coalesce(s.generation, 1) as generation, coalesce(s.time_zone, w.time_zone) as time_zone,
      (now() at time zone coalesce(s.time_zone, w.time_zone))::date::text as today,
      s.building_generation is not null or w.time_zone <> coalesce(s.time_zone, w.time_zone) as is_rebuilding,
      x.count > 0 as has_uncounted, x.count > ${maxUncounted} as is_behind
    from workspaces w
    left join report_states s on s.workspace_id = w.id
    cross join lateral (
      select count(*) as count from (
        select from report_changes x where x.workspace_id = ${workspaceId} limit ${maxUncounted + 1}
      ) uncounted
    ) x
    where w.id = ${workspaceId}`
  return requireRow(state, 'the workspace')
}

export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10)

function readDay(field: string, text: string): string {
  const ms = /^(19[7-9]|20\d)\d-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text)
    throw badRequest(`${field}: must be a day such as 2026-01-31`)
  return text
}
