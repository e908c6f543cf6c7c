/** `/requests`: the request log. All members may read it; only owners and admins see the bodies of calls that register webhook URLs. */

import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { DateTime, IdParams, ListQuery, NullableObject, NullableText, Type, Uuid } from '../lib/schema.ts'
import { isManager, roles } from './members.ts'
import { listRequests, requireRequest } from './requests.ts'
import { type Row, row } from './table.ts'

const RequestView = Type.Object({
  id: Type.String(),
  at: DateTime,
  key: Type.Unsafe<{ id: string; name: string; prefix: string } | null>({
    type: ['object', 'null'],
    properties: { id: Uuid, name: Type.String(), prefix: Type.String() },
    required: ['id', 'name', 'prefix'],
  }),
  method: Type.String(),
  path: Type.String(),
  status: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  duration_ms: Type.Integer(),
  request_id: Type.String(),
  error: Type.Unsafe<{ code: string; message: string } | null>({
    type: ['object', 'null'],
    properties: { code: Type.String(), message: Type.String() },
    required: ['code', 'message'],
  }),
})

const WholeRequest = Type.Object({
  ...RequestView.properties,
  body: NullableText(),
  response: NullableObject({
    headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
    body: NullableText(),
  }),
})

const Filters = {
  key_id: Type.Optional(Uuid),
  status: Type.Optional(Type.String({ pattern: '^(succeeded|failed|[1-5][0-9][0-9])$' })),
  path: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  request_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
}

export const requestTable = (db: Db, slow: SlowReads): readonly Row[] => [
  row({
    call: 'GET /requests',
    members: roles,
    needsAll: true,
    query: ListQuery(Filters),
    list: RequestView,
    run: ({ caller: { workspaceId }, query }) =>
      slow(workspaceId, (sql) => listRequests(sql, workspaceId, query, readPosition(query))),
  }),
  row({
    call: 'GET /requests/:id',
    members: roles,
    needsAll: true,
    params: IdParams,
    data: WholeRequest,
    run: async ({ caller, params }) => {
      const request = await requireRequest(db, caller.workspaceId, params.id)
      const isHidden = request.path.startsWith('/v1/webhooks') && !isManager(caller.member)
      return isHidden ? { ...request, body: null } : request
    },
  }),
]
