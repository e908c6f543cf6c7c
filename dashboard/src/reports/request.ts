/** What a report asks the service for: the period, the interval and the filters, all from the URL. */
import { useSearch } from 'wouter'
import { navigate } from 'wouter/use-browser-location'
import { useCall } from '../lib/api.ts'
import { useSeesAll } from '../lib/session.tsx'
import { reportWords } from '../words/reports.ts'

const { controls: text } = reportWords

export type ReportKey = keyof typeof reportWords.names

const dimensions = ['team', 'connection', 'member', 'label'] as const
export type Dimension = (typeof dimensions)[number]
export type FilterName = Dimension | 'target'
type Filters = Partial<Record<FilterName, string>>

/** By what a report has rows. */
export const rowsOf = { members: 'member', teams: 'team', labels: 'label', connections: 'connection' } as const
export type KeyedReport = keyof typeof rowsOf

export const periods = ['7', '30', '90', 'this_month', 'last_month', 'own'] as const
export type Period = (typeof periods)[number]
export const intervals = ['day', 'week', 'month'] as const
export type Interval = (typeof intervals)[number]

const usual: Period = '30'
const maxDays = 366
/** A longer period has a point per week by default. */
const maxDaily = 92
const dayMs = 86_400_000
/** The time zone of a workspace seldom changes. */
const zoneMs = 60_000

/** The parameters that the reports share. A link to another report keeps them. */
const filterNames = ['target', ...dimensions] as const
const shared = ['period', 'from', 'to', 'interval', 'office', ...filterNames]
export const noFilters = Object.fromEntries(filterNames.map((name) => [name, '']))

/** Sets parameters of the URL. An empty value removes one. */
export function setSearch(changes: Record<string, string>): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value)
    else query.delete(name)
  }
  navigate(location.pathname + searchOf(query), { replace: true })
}

const searchOf = (query: URLSearchParams): string => (query.size > 0 ? `?${query}` : '')

/** The search of a link to another report: the same period and filters, with these changes. */
export function useSharedSearch(): (changes?: Filters) => string {
  const current = new URLSearchParams(useSearch())
  return (changes = {}) => {
    const kept = shared.flatMap((name) => {
      const value = changes[name as FilterName] ?? current.get(name)
      return value ? [[name, value]] : []
    })
    return searchOf(new URLSearchParams(kept))
  }
}

export type ReportRequest = ReturnType<typeof useReportRequest>

export function useReportRequest(report: ReportKey) {
  const search = new URLSearchParams(useSearch())
  const zone = useCall('GET /workspace', {}, { staleMs: zoneMs }).data?.time_zone
  const isRestricted = !useSeesAll()
  const period = readPeriod(search)
  const days = daysOf(period, search, zone)
  const count = days ? countDays(days) : Number(usual)
  const fault = count < 1 ? text.reversed : count > maxDays ? text.tooLong(maxDays) : undefined
  const interval = intervals.find((each) => each === search.get('interval')) ?? (count > maxDaily ? 'week' : 'day')
  const by = dimensions.find((each) => each === search.get('by'))
  const rows = report === 'satisfaction' ? (by ?? 'member') : report === 'targets' ? by : rowsOf[report as KeyedReport]
  const filters = readFilters({ report, rows, isRestricted }, search)
  const filterQuery: { [Name in FilterName as `${Name}_id`]?: string } = Object.fromEntries(
    Object.entries(filters).map(([name, id]) => [`${name}_id`, id]),
  )
  const isInOfficeHours = hasOfficeHours(report) && search.get('office') === 'true'
  const query = {
    ...(days ? { from_day: days.from, to_day: days.to } : {}),
    ...(hasIntervals(report) ? { interval } : {}),
    ...(isInOfficeHours ? { office_hours: 'true' as const } : {}),
    ...filterQuery,
    ...(by && (report === 'satisfaction' || report === 'targets') ? { by } : {}),
  }
  return {
    ...{ period, days, fault, interval, filters, filterQuery, isInOfficeHours, isRestricted, query },
    isReady: fault === undefined && (days !== undefined || period === usual),
    offered: listOffered({ report, rows, isRestricted }),
    /** Whether the filter can be added to those that are set. */
    canAdd: (name: FilterName) => isAllowed({ report, rows, isRestricted }, { ...filters, [name]: 'any' }),
  }
}

export const hasIntervals = (report: ReportKey): boolean => !(report in rowsOf) && report !== 'busy_hours'
export const hasOfficeHours = (report: ReportKey): boolean => report === 'overview' || report in rowsOf

/** `rows`: by what it has rows. `isRestricted`: the member sees own figures in any case, as if there were a filter. */
type Shape = { report: ReportKey; rows: Dimension | undefined; isRestricted: boolean }

const listOffered = (shape: Shape): readonly FilterName[] =>
  filterNames.filter((name) => isAllowed(shape, { [name]: 'any' }) && !(shape.isRestricted && name === 'member'))

/**
 * Which combinations the service counts: by one of the dimensions, or by two of them, but not by members and labels. Hours and targets are
 * counted by one.
 */
function isAllowed({ report, rows, isRestricted }: Shape, filters: Filters): boolean {
  if (filters.target && report !== 'targets') return false
  const keys = new Set(dimensions.filter((name) => filters[name] || (isRestricted && name === 'member')))
  if (report === 'availability') return !keys.has('connection') && !keys.has('label')
  if (rows) keys.add(rows)
  if (report === 'busy_hours' || report === 'targets') return keys.size <= 1
  return keys.size <= 1 || (keys.size === 2 && !(keys.has('member') && keys.has('label')))
}

/** The filters of the URL that the report can have. */
function readFilters(shape: Shape, search: URLSearchParams): Filters {
  const found: Filters = {}
  for (const name of listOffered(shape)) {
    const id = search.get(name)
    if (id && isAllowed(shape, { ...found, [name]: id })) found[name] = id
  }
  return found
}

function readPeriod(search: URLSearchParams): Period {
  const period = periods.find((each) => each === search.get('period')) ?? usual
  return period === 'own' && !(search.get('from') && search.get('to')) ? usual : period
}

type Days = { from: string; to: string }

/** The days of a period. Undefined while the time zone is not known; the service then uses the last 30 days. */
function daysOf(period: Period, search: URLSearchParams, zone: string | undefined): Days | undefined {
  if (period === 'own') return { from: search.get('from') ?? '', to: search.get('to') ?? '' }
  if (zone === undefined) return undefined
  const today = todayIn(zone)
  const first = `${today.slice(0, 7)}-01`
  if (period === 'this_month') return { from: first, to: today }
  if (period === 'last_month') {
    const to = addDays(first, -1)
    return { from: `${to.slice(0, 7)}-01`, to }
  }
  return { from: addDays(today, 1 - Number(period)), to: today }
}

const todayIn = (timeZone: string): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format()

export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10)

const countDays = ({ from, to }: Days): number => (Date.parse(to) - Date.parse(from)) / dayMs + 1
