/** `/reports/{name}`, its table as CSV, and the rows behind its figures. */
import type { FastifyReply } from 'fastify'
import { roles } from '../../accounts/members.ts'
import { type Row, row } from '../../accounts/table.ts'
import { clockKinds } from '../../automation/definition.ts'
import { badRequest } from '../../lib/errors.ts'
import { readPosition } from '../../lib/page.ts'
import type { Db } from '../../lib/postgres/db.ts'
import type { SlowReads } from '../../lib/postgres/slow-reads.ts'
import { inDocument, ListQuery, OneOf, Type } from '../../lib/schema.ts'
import { availabilities } from '../../teams/availability.ts'
import { listReportSpans, readAvailabilityReport } from './availability.ts'
import { writeAvailability, writeReport, writeSatisfaction, writeTargets } from './csv.ts'
import { figures, listReportEpisodes } from './episodes.ts'
import { readReport } from './report.ts'
import { intervals, maxDays, reportNames } from './request.ts'
import {
  AvailabilityReportSchema,
  ReportEpisodeSchema,
  ReportOutcomesSchema,
  ReportRatingSchema,
  ReportSchema,
  ReportSpanSchema,
  SatisfactionReportSchema,
  satisfactionRows,
  TargetsReportSchema,
  targetRows,
} from './resource.ts'
import { listReportRatings, ratingFigures, ratings, readSatisfaction } from './satisfaction.ts'
import { listReportOutcomes, outcomes, readTargets } from './targets.ts'

/** Checked by `request.ts`, whose errors name the choices. */
const Id = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 40,
      description,
      ...inDocument({
        anyOf: [{ type: 'string', format: 'uuid' }, { const: 'none' }],
        type: undefined,
        maxLength: undefined,
      }),
    }),
  )
const KeyOf = (what: string) => Id(`Only the episodes of this ${what}; \`none\`: those without one.`)
const Day = (description: string) =>
  Type.Optional(Type.String({ maxLength: 20, description, ...inDocument({ format: 'date', maxLength: undefined }) }))

const parameters = {
  from_day: Day('The first day, in the time zone of the workspace; 29 days before `to_day` when absent.'),
  to_day: Day(`The last day, included; today when absent. At most ${maxDays} days.`),
  interval: Type.Optional(OneOf(intervals, { description: 'Of `intervals`: `day` when absent.' })),
  office_hours: Type.Optional(OneOf(['true', 'false'], { description: '`true`: times count office hours only.' })),
  team_id: KeyOf('team'),
  connection_id: KeyOf('connection'),
  member_id: KeyOf('member'),
  label_id: KeyOf('label'),
}
const query = Type.Object(parameters)
const { office_hours: _, ...parametersOfRatings } = parameters
const satisfactionParameters = {
  ...parametersOfRatings,
  by: Type.Optional(OneOf(satisfactionRows, { description: 'What the rows are: `member` when absent.' })),
}
const targetParameters = {
  ...parametersOfRatings,
  target_id: Id('Only the outcomes of this target.'),
  by: Type.Optional(OneOf(targetRows, { description: 'What the rows are: `target` when absent.' })),
}
const availabilityParameters = {
  ...{ from_day: parameters.from_day, to_day: parameters.to_day, interval: parameters.interval },
  team_id: Id('Only the members who are in this team now; `none`: in no team.'),
  member_id: Id('Only this member.'),
}
const rowParameter = Type.Optional(
  Type.String({ maxLength: 40, description: 'The `id` of the row; `none` for that without one.' }),
)
const shorter = { field: 'from_day', text: 'choose a shorter period' }
const params = Type.Object({ name: OneOf(reportNames, { description: 'Which report.' }) })

export const reportTable = (db: Db, slow: SlowReads): readonly Row[] => [
  row({
    call: 'GET /reports/:name',
    operation: 'getReport',
    summary: 'Get a report',
    description:
      'The figures of a period, compared with as many days before. Reports with rows can be filtered by team or connection; `overview` and `busy_hours` by any one field, `overview` also by team or connection together with one more.',
    scope: 'conversations:read',
    members: roles,
    params,
    query,
    data: ReportSchema,
    run: ({ caller, params: { name }, query: asked }) => readReport(db, caller, name, asked),
  }),
  row({
    call: 'GET /reports/:name/table.csv',
    members: roles,
    audit: { action: 'report.exported' },
    params,
    query,
    run: async ({ caller, params: { name }, query: asked }, reply) =>
      sendTable(reply, await readReport(db, caller, name, asked), writeReport),
  }),
  row({
    call: 'GET /reports/:name/episodes',
    members: roles,
    params,
    query: ListQuery({
      ...parameters,
      figure: OneOf(figures, {
        description: 'A count of the episodes is the figure; for `replies` a sum of their `replies`.',
      }),
      row: rowParameter,
      weekday: Type.Optional(Type.String({ maxLength: 1, description: 'Only of this weekday: `0` is Monday.' })),
      hour: Type.Optional(Type.String({ maxLength: 2, description: 'Only of this hour of the day.' })),
    }),
    list: ReportEpisodeSchema,
    run: ({ caller, params: { name }, query: asked }) => {
      requireWhole('weekday', asked.weekday, 6)
      requireWhole('hour', asked.hour, 23)
      return slow(
        caller.workspaceId,
        (sql) => listReportEpisodes(sql, caller, name, asked, readPosition(asked)),
        shorter,
      )
    },
  }),
  row({
    call: 'GET /reports/satisfaction',
    operation: 'getSatisfactionReport',
    summary: 'Get the report of satisfaction',
    description:
      'Questions about satisfaction and their ratings, with rows by member, team, connection or label. The rows can be filtered by team or by connection, and those of a dimension by one of their own.',
    scope: 'conversations:read',
    members: roles,
    query: Type.Object(satisfactionParameters),
    data: SatisfactionReportSchema,
    run: ({ caller, query: asked }) => readSatisfaction(db, caller, asked),
  }),
  row({
    call: 'GET /reports/satisfaction/table.csv',
    members: roles,
    audit: { action: 'report.exported' },
    query: Type.Object(satisfactionParameters),
    run: async ({ caller, query: asked }, reply) =>
      sendTable(reply, await readSatisfaction(db, caller, asked), writeSatisfaction),
  }),
  row({
    call: 'GET /reports/satisfaction/ratings',
    members: roles,
    query: ListQuery({
      ...satisfactionParameters,
      figure: OneOf(ratingFigures, { description: 'A count of the rows is the figure.' }),
      rating: Type.Optional(OneOf(ratings, { description: 'Only this rating: for `by_rating`.' })),
      row: rowParameter,
    }),
    list: ReportRatingSchema,
    run: ({ caller, query: asked }) =>
      slow(caller.workspaceId, (sql) => listReportRatings(sql, caller, asked, readPosition(asked)), shorter),
  }),
  row({
    call: 'GET /reports/targets',
    operation: 'getTargetsReport',
    summary: 'Get the report of targets',
    description:
      'The outcomes of service level targets, with rows by target, member, team, connection or label. Rows by target can be filtered by target and by one more field, the others by target and by one of their own.',
    scope: 'conversations:read',
    members: roles,
    query: Type.Object(targetParameters),
    data: TargetsReportSchema,
    run: ({ caller, query: asked }) => readTargets(db, caller, asked),
  }),
  row({
    call: 'GET /reports/targets/table.csv',
    members: roles,
    audit: { action: 'report.exported' },
    query: Type.Object(targetParameters),
    run: async ({ caller, query: asked }, reply) =>
      sendTable(reply, await readTargets(db, caller, asked), writeTargets),
  }),
  row({
    call: 'GET /reports/targets/outcomes',
    members: roles,
    query: ListQuery({
      ...targetParameters,
      figure: OneOf(outcomes, { description: 'The sum of the lengths of `outcomes` is the figure.' }),
      kind: Type.Optional(OneOf(clockKinds)),
      row: rowParameter,
    }),
    list: ReportOutcomesSchema,
    run: ({ caller, query: asked }) =>
      slow(caller.workspaceId, (sql) => listReportOutcomes(sql, caller, asked, readPosition(asked)), shorter),
  }),
  row({
    call: 'GET /reports/availability',
    operation: 'getAvailabilityReport',
    summary: 'Get the report of availability',
    description: 'How long members were available, away and offline, up to now.',
    scope: 'conversations:read',
    members: roles,
    query: Type.Object(availabilityParameters),
    data: AvailabilityReportSchema,
    run: ({ caller, query: asked }) => readAvailabilityReport(db, caller, asked),
  }),
  row({
    call: 'GET /reports/availability/table.csv',
    members: roles,
    audit: { action: 'report.exported' },
    query: Type.Object(availabilityParameters),
    run: async ({ caller, query: asked }, reply) =>
      sendTable(reply, await readAvailabilityReport(db, caller, asked), writeAvailability),
  }),
  row({
    call: 'GET /reports/availability/spans',
    members: roles,
    query: ListQuery({
      ...availabilityParameters,
      figure: OneOf(availabilities, { description: 'The sum of `seconds` is the figure.' }),
      row: rowParameter,
    }),
    list: ReportSpanSchema,
    run: ({ caller, query: asked }) =>
      slow(caller.workspaceId, (sql) => listReportSpans(sql, caller, asked, readPosition(asked)), shorter),
  }),
]

function sendTable<Report extends { name: string; from_day: string; to_day: string }>(
  reply: FastifyReply,
  report: Report,
  write: (report: Report) => string,
) {
  reply.headers({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${report.name}-${report.from_day}-${report.to_day}.csv"`,
    'x-content-type-options': 'nosniff',
  })
  return reply.send(write(report))
}

function requireWhole(field: string, text: string | undefined, most: number): void {
  if (text !== undefined && !(/^\d{1,2}$/.test(text) && Number(text) <= most))
    throw badRequest(`${field}: must be a number, 0 to ${most}`)
}
