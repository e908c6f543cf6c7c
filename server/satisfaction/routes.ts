/** `/satisfaction`: how the workspace asks for ratings. `/contacts/{id}/ratings`: those of a contact. */
import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { IdParams, ListQuery, Type } from '../lib/schema.ts'
import { listRatings, RatingSchema } from './ratings.ts'
import { changeSettings, readSettings, SettingsSchema } from './settings.ts'

export const satisfactionTable = (db: Db): readonly Row[] => [
  row({
    call: 'GET /satisfaction',
    members: roles,
    data: SettingsSchema,
    run: ({ caller }) => readSettings(db, caller.workspaceId),
  }),
  row({
    call: 'PATCH /satisfaction',
    members: managers,
    audit: {
      action: 'satisfaction.changed',
      summary: (_: unknown, body: object) => Object.keys(body).join(', '),
    },
    body: Type.Partial(SettingsSchema),
    data: SettingsSchema,
    run: ({ caller, body }) => changeSettings(db, caller.workspaceId, body),
  }),
  row({
    call: 'GET /contacts/:id/ratings',
    members: roles,
    params: IdParams,
    query: ListQuery({}),
    list: RatingSchema,
    run: ({ caller, params, query }) => listRatings(db, caller, params.id, readPosition(query)),
  }),
]
