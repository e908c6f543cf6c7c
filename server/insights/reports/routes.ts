/** `/reports/{name}`, its table as CSV, and the episodes behind its figures. */
import { roles } from '../../accounts/members.ts'
import { type Row, row } from '../../accounts/table.ts'
import { badRequest } from '../../lib/errors.ts'
import { readPosition } from '../../lib/page.ts'
import type { Db } from '../../lib/postgres/db.ts'
import type { SlowReads } from '../../lib/postgres/slow-reads.ts'
import { ListQuery, OneOf, Type } from '../../lib/schema.ts'
import { writeReport } from './csv.ts'
import { figures, listReportEpisodes } from './episodes.ts'
import { readReport } from './report.ts'
import { intervals, maxDays, reportNames } from './request.ts'
import { ReportEpisodeSchema, ReportSchema } from './resource.ts'

const Id = (what: string) =>
  Type.Optional(
    Type.String({ maxLength: 40, description: `Only the episodes of this ${what}; \`none\`: those without one.` }),
  )

const parameters = {
  from_day: Type.Optional(
    Type.String({
      maxLength: 20,
      description: 'The first day, in the time zone of the workspace; 29 days before `to_day` when absent.',
    }),
  ),
  to_day: Type.Optional(
    Type.String({ maxLength: 20, description: `The last day, included; today when absent. At most ${maxDays} days.` }),
  ),
  interval: Type.Optional(OneOf(intervals, { description: 'Of `intervals`: `day` when absent.' })),
  office_hours: Type.Optional(OneOf(['true', 'false'], { description: '`true`: times count office hours only.' })),
  team_id: Id('team'),
  connection_id: Id('connection'),
  member_id: Id('member'),
  label_id: Id('label'),
}
const query = Type.Object(parameters)
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
    run: async ({ caller, params: { name }, query: asked }, reply) => {
      const report = await readReport(db, caller, name, asked)
      reply.headers({
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': `attachment; filename="${name}-${report.from_day}-${report.to_day}.csv"`,
        'x-content-type-options': 'nosniff',
      })
      return reply.send(writeReport(report))
    },
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
      row: Type.Optional(
        Type.String({ maxLength: 40, description: 'The `id` of the row; `none` for that without one.' }),
      ),
      weekday: Type.Optional(Type.String({ maxLength: 1, description: 'Only of this weekday: `0` is Monday.' })),
      hour: Type.Optional(Type.String({ maxLength: 2, description: 'Only of this hour of the day.' })),
    }),
    list: ReportEpisodeSchema,
    run: ({ caller, params: { name }, query: asked }) => {
      requireWhole('weekday', asked.weekday, 6)
      requireWhole('hour', asked.hour, 23)
      return slow(caller.workspaceId, (sql) => listReportEpisodes(sql, caller, name, asked, readPosition(asked)), {
        field: 'from_day',
        text: 'choose a shorter period',
      })
    },
  }),
]

function requireWhole(field: string, text: string | undefined, most: number): void {
  if (text !== undefined && !(/^\d{1,2}$/.test(text) && Number(text) <= most))
    throw badRequest(`${field}: must be a number, 0 to ${most}`)
}
