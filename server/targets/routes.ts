/** `/targets` for members: service level targets. Every member sees them; owners and admins change them. */
import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { Deleted, IdParams, type Static, Type } from '../lib/schema.ts'
import { describeFields } from '../segments/filter.ts'
import { FieldsSchema } from '../segments/filter-schema.ts'
import { visibleTo } from '../teams/visibility.ts'
import { PreviewSchema, previewTarget } from './preview.ts'
import {
  createTarget,
  deleteTarget,
  FilterSchema,
  listTargets,
  maxMinutes,
  maxTargets,
  TargetSchema,
  targetFields,
  updateTarget,
} from './targets.ts'

const Minutes = Type.Optional(
  Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 1,
    maximum: maxMinutes,
    description: 'Null: none.',
  }),
)
const fields = {
  is_active: Type.Optional(Type.Boolean()),
  is_office_time: Type.Optional(Type.Boolean()),
  conditions: Type.Optional(FilterSchema),
  first_reply_minutes: Minutes,
  next_reply_minutes: Minutes,
  closing_minutes: Minutes,
}
const name = Type.String({ maxLength: 200 })
const NewTarget = Type.Object({ name, ...fields })
const TargetChanges = Type.Object({
  name: Type.Optional(name),
  ...fields,
  position: Type.Optional(Type.Integer({ minimum: 0, maximum: maxTargets })),
})
const Previewed = Type.Object({ id: Type.Optional(Type.String({ maxLength: 40 })), ...fields })

const nameOf = (target: { name: string }) => target.name

/** With the defaults of the fields that are absent. */
function readBody({
  conditions = null,
  is_active = true,
  is_office_time = false,
  ...rest
}: Omit<Static<typeof NewTarget>, 'name'>) {
  const { first_reply_minutes = null, next_reply_minutes = null, closing_minutes = null } = rest
  return { conditions, is_active, is_office_time, first_reply_minutes, next_reply_minutes, closing_minutes }
}

export const targetTable = (db: Db, slow: SlowReads): readonly Row[] => [
  row({
    call: 'GET /targets',
    members: roles,
    data: Type.Array(TargetSchema),
    run: ({ caller }) => listTargets(db, caller.workspaceId),
  }),
  row({
    call: 'GET /targets/fields',
    members: roles,
    data: FieldsSchema,
    run: async () => describeFields(targetFields),
  }),
  row({
    call: 'POST /targets',
    members: managers,
    audit: { action: 'target.created', summary: nameOf },
    body: NewTarget,
    data: TargetSchema,
    status: 201,
    run: ({ caller, body }) => createTarget(db, caller.workspaceId, { name: body.name, ...readBody(body) }),
  }),
  row({
    call: 'PATCH /targets/:id',
    members: managers,
    audit: { action: 'target.changed', summary: nameOf },
    params: IdParams,
    body: TargetChanges,
    data: TargetSchema,
    run: ({ caller, params, body }) => updateTarget(db, caller.workspaceId, params.id, body),
  }),
  row({
    call: 'DELETE /targets/:id',
    members: managers,
    audit: { action: 'target.deleted', summary: nameOf },
    params: IdParams,
    data: Deleted,
    run: async ({ caller, params }) => {
      const name = await deleteTarget(db, caller.workspaceId, params.id)
      return { id: params.id.toLowerCase(), deleted: true, name }
    },
  }),
  row({
    call: 'POST /targets/preview',
    members: managers,
    audit: false,
    isQuiet: true,
    body: Previewed,
    data: PreviewSchema,
    run: ({ caller, body: { id, ...body } }) =>
      slow(
        caller.workspaceId,
        (sql) =>
          previewTarget(sql, caller.workspaceId, { id, name: 'Preview', ...readBody(body) }, visibleTo(sql, caller)),
        {
          ...{ field: 'conditions', text: 'use fewer or simpler rules' },
        },
      ),
  }),
]
