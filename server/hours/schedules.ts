/**
 * Schedules: the office hours of a workspace, its teams and its connections. One of them may be the default of the workspace.
 *
 * Changes of the schedules of a workspace run one after the other: they lock the row of the workspace.
 */
import { readName, readTimeZone } from '../accounts/workspaces.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Db, isDuplicate, type Sql } from '../lib/postgres/db.ts'
import { Column, resource } from '../lib/resource.ts'
import { DateTime, type Static, Type, Uuid } from '../lib/schema.ts'
import { fold, lengthOf } from '../lib/text.ts'
import { type Holiday, mergePeriods, type Period, type Schedule } from './hours.ts'

export const PeriodSchema = Type.Object({
  day: Type.Integer({ minimum: 0, maximum: 6, description: '0 is Monday.' }),
  from: Type.String({ description: 'Local time, `HH:MM`.' }),
  to: Type.String({ description: 'Local time, `HH:MM`, or `24:00`.' }),
})
export const HolidaySchema = Type.Object({
  date: Type.String({ description: 'Local date, `YYYY-MM-DD`.' }),
  name: Type.String(),
})

export const ScheduleSchema = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    time_zone: Type.String({ description: 'IANA name, such as `Europe/Berlin`.' }),
    periods: Type.Array(PeriodSchema),
    holidays: Type.Array(HolidaySchema),
    is_default: Column(
      Type.Boolean({ description: 'Of teams and connections without a schedule of their own.' }),
      (sql) => sql`exists (select from workspaces w where w.id = s.workspace_id and w.schedule_id = s.id)`,
    ),
    team_ids: Column(
      Type.Array(Uuid),
      (sql) => sql`array(
        select t.id from teams t where t.workspace_id = s.workspace_id and t.schedule_id = s.id order by t.id
      )`,
    ),
    connection_ids: Column(
      Type.Array(Uuid),
      (sql) => sql`array(
        select c.id from channel_connections c
        where c.workspace_id = s.workspace_id and c.schedule_id = s.id and c.disconnected_at is null order by c.id
      )`,
    ),
    created_at: DateTime,
    updated_at: DateTime,
  },
  { title: 'Schedule' },
)
type StoredSchedule = Static<typeof ScheduleSchema>

const { columns } = resource('s', ScheduleSchema)

type ScheduleInput = Schedule & { name: string } & Uses
type ScheduleChanges = { [Field in keyof ScheduleInput]?: ScheduleInput[Field] | undefined }

/** What uses a schedule. Absent: as it is. */
type Uses = {
  is_default?: boolean | undefined
  team_ids?: readonly string[] | undefined
  connection_ids?: readonly string[] | undefined
}

/** Of a workspace. */
const maxSchedules = 50
/** Of a week. */
export const maxPeriods = 140
export const maxHolidays = 1_000
const maxHolidayName = 100

/** By name. */
export async function listSchedules(sql: Sql, workspaceId: string): Promise<StoredSchedule[]> {
  return sql<StoredSchedule[]>`
    select ${columns(sql)} from schedules s where s.workspace_id = ${workspaceId} order by s.name_key limit ${maxSchedules}`
}

export async function createSchedule(db: Db, workspaceId: string, input: ScheduleInput): Promise<StoredSchedule> {
  const { periods, holidays, ...uses } = input
  const name = readName(input.name)
  const timeZone = await readTimeZone(db, input.time_zone)
  const hours = { periods: readPeriods(periods), holidays: readHolidays(holidays) }
  const id = newId()
  return db
    .begin(async (sql) => {
      await lockSchedules(sql, workspaceId)
      const [existing] = await sql<{ count: number }[]>`
        select count(*)::int as count from schedules where workspace_id = ${workspaceId}`
      if (existing && existing.count >= maxSchedules) throw badRequest(`there are ${maxSchedules} schedules already`)
      await sql`
        insert into schedules (workspace_id, id, name, name_key, time_zone, periods, holidays, created_at, updated_at)
        values (${workspaceId}, ${id}, ${name}, ${fold(name)}, ${timeZone}, ${sql.json(hours.periods)},
          ${sql.json(hours.holidays)}, ${timeOfId(id)}, ${timeOfId(id)})`
      await setUses(sql, workspaceId, id, uses)
      return requireSchedule(sql, workspaceId, id)
    })
    .catch(refuseDuplicate)
}

/** Changes the fields that are present. A list replaces the whole list. */
export async function updateSchedule(
  db: Db,
  workspaceId: string,
  id: string,
  changes: ScheduleChanges,
): Promise<StoredSchedule> {
  const { name, time_zone, periods, holidays } = changes
  const values = {
    ...(name === undefined ? {} : { name: readName(name), name_key: fold(readName(name)) }),
    ...(time_zone === undefined ? {} : { time_zone: await readTimeZone(db, time_zone) }),
    ...(periods === undefined ? {} : { periods: db.json(readPeriods(periods)) }),
    ...(holidays === undefined ? {} : { holidays: db.json(readHolidays(holidays)) }),
  }
  return db
    .begin(async (sql) => {
      await lockSchedules(sql, workspaceId)
      await requireSchedule(sql, workspaceId, id)
      await sql`
        update schedules set ${sql(values)}${Object.keys(values).length > 0 ? sql`,` : sql``} updated_at = now()
        where workspace_id = ${workspaceId} and id = ${id}`
      await setUses(sql, workspaceId, id, changes)
      return requireSchedule(sql, workspaceId, id)
    })
    .catch(refuseDuplicate)
}

/** What used it then has the next schedule in the order: that of the connection, or that of the workspace. */
export async function deleteSchedule(
  db: Db,
  workspaceId: string,
  id: string,
): Promise<Pick<StoredSchedule, 'id' | 'name'>> {
  return db.begin(async (sql) => {
    await lockSchedules(sql, workspaceId)
    const { name } = await requireSchedule(sql, workspaceId, id)
    await sql`delete from schedules where workspace_id = ${workspaceId} and id = ${id}`
    return { id, name }
  })
}

/** Whose office hours: those of a team come before those of a connection, and those before the default of the workspace. */
type HoursRef = { teamId?: string | null | undefined; connectionId?: string | null | undefined }

/** The office hours of a team or a connection; undefined: always open. */
export async function scheduleOf(sql: Sql, workspaceId: string, ref: HoursRef): Promise<Schedule | undefined> {
  const [schedule] = await sql<Schedule[]>`
    select s.time_zone, s.periods, s.holidays from schedules s
    where s.workspace_id = ${workspaceId} and s.id = coalesce(
      (select t.schedule_id from teams t where t.workspace_id = ${workspaceId} and t.id = ${ref.teamId ?? null}::uuid),
      (
        select c.schedule_id from channel_connections c
        where c.workspace_id = ${workspaceId} and c.id = ${ref.connectionId ?? null}::uuid and c.disconnected_at is null
      ),
      (select w.schedule_id from workspaces w where w.id = ${workspaceId})
    )`
  return schedule
}

/** Finds the office hours of many teams and connections of a workspace, from one read. */
export type ScheduleFinder = (ref: HoursRef) => Schedule | undefined

export async function readSchedules(sql: Sql, workspaceId: string): Promise<ScheduleFinder> {
  const schedules = await listSchedules(sql, workspaceId)
  const byUse = new Map(schedules.flatMap((one) => [...one.team_ids, ...one.connection_ids].map((id) => [id, one])))
  const standard = schedules.find(({ is_default }) => is_default)
  return ({ teamId, connectionId }) => byUse.get(teamId ?? '') ?? byUse.get(connectionId ?? '') ?? standard
}

async function lockSchedules(sql: Sql, workspaceId: string): Promise<void> {
  await sql`select from workspaces where id = ${workspaceId} for no key update`
}

async function requireSchedule(sql: Sql, workspaceId: string, id: string): Promise<StoredSchedule> {
  const [schedule] = await sql<StoredSchedule[]>`
    select ${columns(sql)} from schedules s
    where s.workspace_id = ${workspaceId} and s.id = ${isUuid(id) ? id : null}::uuid`
  if (!schedule) throw notFound('schedule')
  return schedule
}

/** Takes over the default, teams and connections, from another schedule if they have one, and releases those that are not listed. */
async function setUses(sql: Sql, workspaceId: string, id: string, uses: Uses): Promise<void> {
  const { is_default: isDefault, connection_ids: connectionIds, team_ids: teamIds } = uses
  if (isDefault !== undefined) {
    await sql`
      update workspaces set schedule_id = ${isDefault ? id : null}
      where id = ${workspaceId} and (schedule_id is not distinct from ${id}) <> ${isDefault}`
  }
  if (connectionIds) {
    const known = await sql<{ id: string }[]>`
      update channel_connections set schedule_id = case when id = any(${connectionIds}::uuid[]) then ${id}::uuid end
      where workspace_id = ${workspaceId} and disconnected_at is null
        and (schedule_id = ${id} or id = any(${connectionIds}::uuid[]))
      returning id`
    requireKnown('connection_ids', 'connection', connectionIds, known)
  }
  if (teamIds) {
    const known = await sql<{ id: string }[]>`
      update teams set schedule_id = case when id = any(${teamIds}::uuid[]) then ${id}::uuid end
      where workspace_id = ${workspaceId} and (schedule_id = ${id} or id = any(${teamIds}::uuid[]))
      returning id`
    requireKnown('team_ids', 'team', teamIds, known)
  }
}

function requireKnown(field: string, noun: string, ids: readonly string[], known: readonly { id: string }[]): void {
  for (const [i, id] of ids.entries()) {
    if (!known.some((one) => one.id === id.toLowerCase())) throw badRequest(`${field}[${i}]: no such ${noun}`)
  }
}

function readPeriods(periods: readonly Period[]): Period[] {
  for (const [i, { from, to }] of periods.entries()) {
    const field = `periods[${i}]`
    if (!isTime(from)) throw badRequest(`${field}.from: must be a time from 00:00 to 23:59`)
    if (!isTime(to) && to !== '24:00') throw badRequest(`${field}.to: must be a time from 00:01 to 24:00`)
    if (to <= from) {
      throw badRequest(
        `${field}: must end after it starts; for hours past midnight, end it at 24:00 and continue on the next day at 00:00`,
      )
    }
  }
  return mergePeriods(periods)
}

const isTime = (text: string): boolean => /^([01]\d|2[0-3]):[0-5]\d$/.test(text)

/** Sorted by date; of several with the same date the last one remains. */
function readHolidays(holidays: readonly Holiday[]): Holiday[] {
  const byDate = new Map<string, Holiday>()
  for (const [i, { date, name: input }] of holidays.entries()) {
    if (!isDate(date)) throw badRequest(`holidays[${i}].date: must be a date such as 2026-12-25`)
    const name = input.trim()
    if (lengthOf(name) > maxHolidayName) {
      throw badRequest(`holidays[${i}].name: must have at most ${maxHolidayName} characters`)
    }
    byDate.set(date, { date, name })
  }
  return [...byDate.values()].sort((a, b) => (a.date < b.date ? -1 : 1))
}

function isDate(text: string): boolean {
  const time = /^(19|20|21)\d\d-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

function refuseDuplicate(error: unknown): never {
  throw isDuplicate(error, 'schedules_name_unique') ? badRequest('name: already in use') : error
}
