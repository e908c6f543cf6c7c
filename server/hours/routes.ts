/** `/schedules` for members: office hours. Every member sees them; owners and admins change them. */
import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { readTimeZone } from '../accounts/workspaces.ts'
import { nowMs } from '../lib/clock.ts'
import type { Db } from '../lib/postgres/db.ts'
import { Deleted, IdParams, Type, Uuid } from '../lib/schema.ts'
import { readHolidayFile } from './icalendar.ts'
import {
  createSchedule,
  deleteSchedule,
  HolidaySchema,
  listSchedules,
  maxHolidays,
  maxPeriods,
  PeriodSchema,
  ScheduleSchema,
  updateSchedule,
} from './schedules.ts'

const name = Type.String({ maxLength: 200 })
const time_zone = Type.String({ maxLength: 80 })
const periods = Type.Array(PeriodSchema, { maxItems: maxPeriods })
const holidays = Type.Array(HolidaySchema, { maxItems: maxHolidays })
const ids = Type.Array(Uuid, { maxItems: 1_000 })
const uses = {
  is_default: Type.Optional(Type.Boolean()),
  team_ids: Type.Optional(ids),
  connection_ids: Type.Optional(ids),
}

const NewSchedule = Type.Object({ name, time_zone, periods, holidays: Type.Optional(holidays), ...uses })
const ScheduleChanges = Type.Object({
  name: Type.Optional(name),
  time_zone: Type.Optional(time_zone),
  periods: Type.Optional(periods),
  holidays: Type.Optional(holidays),
  ...uses,
})

/** A file has up to four bytes per character, and JSON escapes some. */
const fileBytes = 8 * 1024 * 1024
const HolidayFile = Type.Object({
  text: Type.String({ description: 'An iCalendar file.' }),
  time_zone: Type.String({ maxLength: 80, description: 'Where a time in UTC is a date.' }),
})
const FoundHolidays = Type.Object({
  holidays: Type.Array(
    Type.Object({
      ...HolidaySchema.properties,
      times: Type.Array(Type.String(), {
        description: 'Local times of events that do not fill the day, such as `14:00–16:00`. Empty: a whole day.',
      }),
    }),
  ),
  skipped_count: Type.Integer({ description: 'Events that are too long, or repeat otherwise than every year.' }),
})

const nameOf = (schedule: { name: string }) => schedule.name

export const scheduleTable = (db: Db): readonly Row[] => [
  row({
    call: 'GET /schedules',
    members: roles,
    data: Type.Array(ScheduleSchema),
    run: ({ caller }) => listSchedules(db, caller.workspaceId),
  }),
  row({
    call: 'POST /schedules',
    members: managers,
    audit: { action: 'schedule.created', summary: nameOf },
    body: NewSchedule,
    data: ScheduleSchema,
    status: 201,
    run: ({ caller, body: { holidays = [], ...body } }) =>
      createSchedule(db, caller.workspaceId, { ...body, holidays }),
  }),
  row({
    call: 'POST /schedules/holidays',
    members: managers,
    isQuiet: true,
    audit: false,
    bodyLimit: fileBytes,
    body: HolidayFile,
    data: FoundHolidays,
    run: async ({ body: { text, time_zone } }) =>
      readHolidayFile(text, { timeZone: await readTimeZone(db, time_zone), nowMs: nowMs() }),
  }),
  row({
    call: 'PATCH /schedules/:id',
    members: managers,
    audit: { action: 'schedule.changed', summary: nameOf },
    params: IdParams,
    body: ScheduleChanges,
    data: ScheduleSchema,
    run: ({ caller, params, body }) => updateSchedule(db, caller.workspaceId, params.id, body),
  }),
  row({
    call: 'DELETE /schedules/:id',
    members: managers,
    audit: { action: 'schedule.deleted', summary: nameOf },
    params: IdParams,
    data: Deleted,
    run: async ({ caller, params }) => {
      const deleted = await deleteSchedule(db, caller.workspaceId, params.id)
      return { ...deleted, deleted: true }
    },
  }),
]
