/**
 * The members' routes of segments: all operations of the public API, and a preview of a filter before it is saved. Every
 * member may call them.
 */
import { ContactView } from '../contacts/member-view.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, Deleted, IdParams, ListOf, ListQuery, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import type { SlowReads } from '../lib/slow-reads.ts'
import { describeFields, type FilterFields, valueKinds } from './filter.ts'
import {
  AddedMembers,
  ContactIds,
  createSchemas,
  dropStaticFilter,
  filterSchema,
  RemovedMembers,
  SegmentsQuery,
} from './routes.ts'
import {
  addMembers,
  countMembers,
  createSegment,
  deleteSegment,
  listMembers,
  listSegments,
  previewFilter,
  removeMembers,
  requireSegment,
  updateSegment,
} from './segments.ts'

const FieldView = Type.Object({
  field: Type.String(),
  ops: Type.Array(
    Type.Object({
      op: Type.String(),
      value: Type.Unsafe<(typeof valueKinds)[number] | null>({ type: ['string', 'null'], enum: [...valueKinds, null] }),
    }),
  ),
})

const nameOf = ({ name }: { name: string }) => name
const nameAndCount = ({ name, added, removed }: { name: string; added?: number; removed?: number }) =>
  `${name}: ${added ?? removed} contacts`

export const segmentDashboard = (db: Db, slow: SlowReads, fields: FilterFields) => async (app: App) => {
  const { Segment, CountedSegment, NewSegment, SegmentChanges } = createSchemas(fields)

  app.get('/segments/fields', { schema: { response: { 200: DataOf(Type.Array(FieldView)) } } }, async () => ({
    data: describeFields(fields),
  }))
  app.post(
    '/segments/count',
    {
      config: { audit: false, isQuiet: true },
      schema: {
        body: Type.Object({ filter: filterSchema(fields) }),
        response: { 200: DataOf(Type.Object({ count: Type.Integer(), sample: Type.Array(ContactView) })) },
      },
    },
    async ({ session: { workspaceId }, body }) => ({
      data: await slow(workspaceId, (sql) => previewFilter(sql, workspaceId, fields, body.filter)),
    }),
  )
  app.get(
    '/segments',
    { schema: { querystring: SegmentsQuery, response: { 200: ListOf(Segment) } } },
    async ({ session, query }) => listSegments(db, session.workspaceId, query, readPosition(query)),
  )
  app.post(
    '/segments',
    {
      config: { audit: { action: 'segment.created', summary: nameOf } },
      preValidation: dropStaticFilter,
      schema: { body: NewSegment, response: { 201: DataOf(CountedSegment) } },
    },
    async ({ session: { workspaceId }, body }, reply) => {
      const segment = await createSegment(db, workspaceId, fields, body)
      reply.code(201)
      return { data: await slow(workspaceId, (sql) => countMembers(sql, workspaceId, fields, segment)) }
    },
  )
  app.get(
    '/segments/:id',
    { schema: { params: IdParams, response: { 200: DataOf(CountedSegment) } } },
    async ({ session: { workspaceId }, params }) => {
      const segment = await requireSegment(db, workspaceId, params.id)
      return { data: await slow(workspaceId, (sql) => countMembers(sql, workspaceId, fields, segment)) }
    },
  )
  app.patch(
    '/segments/:id',
    {
      config: { audit: { action: 'segment.changed', summary: nameOf } },
      schema: { params: IdParams, body: SegmentChanges, response: { 200: DataOf(CountedSegment) } },
    },
    async ({ session: { workspaceId }, params, body }) => {
      const segment = await updateSegment(db, workspaceId, fields, params.id, body)
      return { data: await slow(workspaceId, (sql) => countMembers(sql, workspaceId, fields, segment)) }
    },
  )
  app.delete(
    '/segments/:id',
    {
      config: { audit: { action: 'segment.deleted', summary: nameOf } },
      schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
    },
    async ({ session, params }) => {
      const name = await deleteSegment(db, session.workspaceId, params.id)
      return { data: { id: params.id.toLowerCase(), deleted: true, name } }
    },
  )
  app.get(
    '/segments/:id/contacts',
    { schema: { params: IdParams, querystring: ListQuery({}), response: { 200: ListOf(ContactView) } } },
    async ({ session: { workspaceId }, params, query }) =>
      slow(workspaceId, (sql) => listMembers(sql, workspaceId, fields, params.id, readPosition(query))),
  )
  app.post(
    '/segments/:id/contacts',
    {
      config: { audit: { action: 'segment.contacts_added', summary: nameAndCount } },
      schema: { params: IdParams, body: ContactIds, response: { 200: DataOf(AddedMembers) } },
    },
    async ({ session, params, body }) => {
      const { workspaceId } = session
      const added = await addMembers(db, workspaceId, params.id, body.contact_ids)
      const { id, name } = await requireSegment(db, workspaceId, params.id)
      return { data: { segment_id: id, requested: body.contact_ids.length, added, name } }
    },
  )
  app.delete(
    '/segments/:id/contacts',
    {
      config: { audit: { action: 'segment.contacts_removed', summary: nameAndCount } },
      schema: { params: IdParams, body: ContactIds, response: { 200: DataOf(RemovedMembers) } },
    },
    async ({ session, params, body }) => {
      const { workspaceId } = session
      const removed = await removeMembers(db, workspaceId, params.id, body.contact_ids)
      const { id, name } = await requireSegment(db, workspaceId, params.id)
      return { data: { segment_id: id, requested: body.contact_ids.length, removed, name } }
    },
  )
}
