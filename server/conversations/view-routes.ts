/** `/labels` and `/views` for members: the labels of conversations, and saved views of the inbox. */

import { managers, roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { maxTagLength } from '../contacts/tags.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { Deleted, IdParams, type Static, TrimmedText, Type, Uuid } from '../lib/schema.ts'
import { restrictionOf } from '../teams/visibility.ts'
import { countVisibleLabels, createSidebarCounter } from './counts.ts'
import { inboxFilters, readInboxQuery } from './inbox-query.ts'
import { countLabels, deleteLabel, LabelSchema, listLabels, resolveLabel, updateLabel } from './labels.ts'
import { createView, deleteView, listViews, updateView } from './views.ts'

const Name = TrimmedText(maxTagLength)
const HexColor = Type.String({ pattern: '^#[0-9a-f]{6}$' })

const LabelCount = Type.Object({
  id: Uuid,
  conversation_count: Type.Integer({ description: 'At most 10,000: there may be more.' }),
})

const Filters = Type.Object(inboxFilters, { additionalProperties: false })
const View = Type.Object({
  id: Uuid,
  name: Type.String(),
  is_shared: Type.Boolean(),
  filters: Type.Object(inboxFilters),
})
const NewView = Type.Object({ name: Name, is_shared: Type.Optional(Type.Boolean()), filters: Filters })
const ViewChanges = Type.Partial(NewView)

const nameOf = ({ name }: { name: string }) => name
const describeView = ({ name, is_shared }: Static<typeof View>) => `${name}, ${is_shared ? 'shared' : 'private'}`

export const labelTable = (db: Db): readonly Row[] => [
  row({
    call: 'GET /labels',
    members: roles,
    data: Type.Array(LabelSchema),
    run: ({ caller }) => listLabels(db, caller.workspaceId),
  }),
  // A call of its own: menus of labels need no counts.
  row({
    call: 'GET /labels/counts',
    members: roles,
    data: Type.Array(LabelCount),
    run: ({ caller }) => {
      const restricted = restrictionOf(caller)
      return restricted ? countVisibleLabels(db, restricted) : countLabels(db, caller.workspaceId)
    },
  }),
  row({
    call: 'POST /labels',
    members: writers,
    audit: { action: 'label.created', summary: nameOf, when: (_, statusCode) => statusCode === 201 },
    body: Type.Object({ name: Name, color: Type.Optional(HexColor) }),
    data: LabelSchema,
    status: { 200: 'Done.', 201: 'Done.' },
    run: async ({ caller, body }, reply) => {
      const { label, created } = await resolveLabel(db, caller.workspaceId, body.name, body.color)
      return reply.code(created ? 201 : 200).send({ data: label })
    },
  }),
  row({
    call: 'PATCH /labels/:id',
    members: writers,
    audit: { action: 'label.changed', summary: nameOf },
    params: IdParams,
    body: Type.Object({ name: Type.Optional(Name), color: Type.Optional(HexColor) }),
    data: LabelSchema,
    run: ({ caller, params, body }) => updateLabel(db, caller.workspaceId, params.id, body),
  }),
  row({
    call: 'DELETE /labels/:id',
    members: managers,
    audit: { action: 'label.deleted', summary: nameOf },
    params: IdParams,
    data: Deleted,
    run: ({ caller, params }) => deleteLabel(db, caller.workspaceId, params.id),
  }),
]

const CountOf = Type.Object({ id: Uuid, count: Type.Integer() })
const SidebarCountsSchema = Type.Object({
  labels: Type.Array(CountOf, { description: 'Open conversations of each label that has some.' }),
  members: Type.Array(CountOf, { description: 'Open conversations of each member who has some.' }),
  teams: Type.Array(CountOf, { description: 'Open conversations of each team that has some.' }),
  queues: Type.Array(CountOf, { description: 'Open conversations without a member, of each team that has some.' }),
  has_more: Type.Boolean({ description: 'There are so many open conversations that not all were counted.' }),
  views: Type.Array(Type.Object({ ...CountOf.properties, has_more: Type.Boolean() }), {
    description: 'Conversations of the first views, except those with a search.',
  }),
})

export function viewTable(db: Db, slow: SlowReads): readonly Row[] {
  const countSidebar = createSidebarCounter(db, slow)
  return [
    row({
      call: 'GET /inbox/counts',
      members: roles,
      data: SidebarCountsSchema,
      run: ({ caller }) => countSidebar(caller),
    }),
    row({
      call: 'GET /views',
      members: roles,
      data: Type.Array(View),
      run: ({ caller }) => listViews(db, caller.workspaceId, caller.member.id),
    }),
    row({
      call: 'POST /views',
      members: writers,
      audit: { action: 'view.created', summary: describeView },
      body: NewView,
      data: View,
      status: 201,
      run: async ({ caller, body: { name, is_shared = false, filters } }) => {
        readInboxQuery(caller, filters)
        return createView(db, caller.workspaceId, caller.member.id, { name, is_shared, filters })
      },
    }),
    row({
      call: 'PATCH /views/:id',
      members: writers,
      audit: { action: 'view.changed', summary: describeView },
      params: IdParams,
      body: ViewChanges,
      data: View,
      run: async ({ caller, params, body }) => {
        if (body.filters) readInboxQuery(caller, body.filters)
        return updateView(db, caller.workspaceId, caller.member.id, params.id, body)
      },
    }),
    row({
      call: 'DELETE /views/:id',
      members: writers,
      audit: { action: 'view.deleted', summary: nameOf },
      params: IdParams,
      data: Deleted,
      run: async ({ caller, params }) => {
        const name = await deleteView(db, caller.workspaceId, caller.member.id, params.id)
        return { id: params.id.toLowerCase(), deleted: true, name }
      },
    }),
  ]
}
