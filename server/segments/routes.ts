/** `/segments`: named audiences and their members. Members can also try a filter before they save it. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AnyCaller } from '../accounts/callers.ts'
import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { ContactSchema, contactExample } from '../contacts/resource.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { Deleted, IdParams, ListQuery, NullableText, OneOf, TrimmedText, Type, Uuid } from '../lib/schema.ts'
import { describeFields, type FilterFields } from './filter.ts'
import { createFilterSchemas, FieldsSchema } from './filter-schema.ts'
import { kinds, type Segment, segmentFields } from './resource.ts'
import {
  addMembers,
  countMembers,
  createSegment,
  deleteSegment,
  listMembers,
  listSegments,
  maxSegmentName,
  previewFilter,
  removeMembers,
  requireSegment,
  updateSegment,
} from './segments.ts'

const filterExample = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'vip' }] }
const segmentExample = {
  id: '0199c1d2-7c20-7d41-a6b2-5e8f90a1b2c3',
  name: 'Regulars',
  description: 'Ordered at least twice this year',
  color: '#0f8b8d',
  kind: 'dynamic',
  filter: filterExample,
  created_at: '2026-01-06T10:00:00.000Z',
  updated_at: '2026-01-06T10:00:00.000Z',
}
const newSegmentExample = {
  ...{ name: segmentExample.name, description: segmentExample.description },
  ...{ kind: segmentExample.kind, filter: filterExample },
}

function createSchemas(fields: FilterFields) {
  const { Filter, StoredFilter } = createFilterSchemas(fields)
  const filter = Type.Optional(Filter)
  const name = TrimmedText(maxSegmentName, 'Unique in the workspace without regard to case.')
  const description = Type.Optional(NullableText({ maxLength: 1_000 }))
  const segment = { ...segmentFields, filter: StoredFilter }
  const kind = Type.Optional(OneOf(kinds, { description: '`static` when absent.' }))
  return {
    Filter,
    Segment: Type.Object(segment, { title: 'Segment', examples: [segmentExample] }),
    CountedSegment: Type.Object(
      { ...segment, member_count: Type.Integer({ description: 'The exact number of members now.' }) },
      { title: 'CountedSegment', examples: [{ ...segmentExample, member_count: 42 }] },
    ),
    NewSegment: Type.Object(
      { name, description, kind, filter },
      {
        title: 'NewSegment',
        examples: [newSegmentExample],
      },
    ),
    SegmentChanges: Type.Object(
      { name: Type.Optional(name), description, filter },
      {
        title: 'SegmentChanges',
        examples: [{ name: 'Best regulars' }],
      },
    ),
  }
}

/** Removes the filter of a static segment, which has none, before validation. */
function dropStaticFilter({ body }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const { kind = 'static' } = (body ?? {}) as { kind?: unknown }
  if (kind === 'static' && typeof body === 'object' && body !== null) Reflect.deleteProperty(body, 'filter')
  done()
}

const ContactIds = Type.Object(
  { contact_ids: Type.Array(Uuid, { minItems: 1, maxItems: 1_000 }) },
  { title: 'ContactIds', examples: [{ contact_ids: [contactExample.id] }] },
)
const memberChange = { segment_id: Uuid, requested: Type.Integer({ description: 'The number of ids in the request.' }) }
const memberChangeExample = { segment_id: segmentExample.id, requested: 1 }
const AddedMembers = Type.Object(
  { ...memberChange, added: Type.Integer({ description: 'The number of contacts that were added.' }) },
  { examples: [{ ...memberChangeExample, added: 1 }] },
)
const RemovedMembers = Type.Object(
  { ...memberChange, removed: Type.Integer({ description: 'The number of contacts that were removed.' }) },
  { examples: [{ ...memberChangeExample, removed: 1 }] },
)

const SegmentsQuery = ListQuery({
  kind: Type.Optional(OneOf(kinds, { description: 'Only segments of this kind.' })),
})

/** What the editor of a filter offers. */
const nameOf = ({ name }: { name: string }) => name
const nameAndCount = ({ name, added, removed }: { name: string; added?: number; removed?: number }) =>
  `${name}: ${added ?? removed} contacts`

type SegmentsOptions = { db: Db; reads: Db; slow: SlowReads; fields: FilterFields }

export function segmentTable({ db, reads, slow, fields }: SegmentsOptions): readonly Row[] {
  const { Filter, Segment, CountedSegment, NewSegment, SegmentChanges } = createSchemas(fields)
  const count = ({ workspaceId }: AnyCaller, segment: Segment) =>
    slow(workspaceId, (sql) => countMembers(sql, workspaceId, fields, segment))
  return [
    row({
      call: 'POST /segments',
      operation: 'createSegment',
      summary: 'Create a segment',
      description: 'A dynamic segment requires a `filter`. A static segment ignores it.',
      scope: 'contacts:write',
      members: writers,
      audit: { action: 'segment.created', summary: nameOf },
      preValidation: dropStaticFilter,
      body: NewSegment,
      data: CountedSegment,
      status: 201,
      run: async ({ caller, body }) => count(caller, await createSegment(db, caller.workspaceId, fields, body)),
    }),
    row({
      call: 'GET /segments',
      operation: 'listSegments',
      summary: 'List segments',
      description: 'Newest first.',
      scope: 'contacts:read',
      members: roles,
      isShared: true,
      query: SegmentsQuery,
      list: Segment,
      run: ({ caller, query }) => listSegments(reads, caller.workspaceId, query, readPosition(query)),
    }),
    row({
      call: 'GET /segments/:id',
      operation: 'getSegment',
      summary: 'Read a segment',
      description: 'One segment, with the exact number of its members.',
      scope: 'contacts:read',
      members: roles,
      params: IdParams,
      data: CountedSegment,
      run: async ({ caller, params }) => count(caller, await requireSegment(db, caller.workspaceId, params.id)),
    }),
    row({
      call: 'PATCH /segments/:id',
      operation: 'updateSegment',
      summary: 'Change a segment',
      description: 'Only the fields present change. The kind cannot change.',
      scope: 'contacts:write',
      members: writers,
      audit: { action: 'segment.changed', summary: nameOf },
      params: IdParams,
      body: SegmentChanges,
      data: CountedSegment,
      run: async ({ caller, params, body }) =>
        count(caller, await updateSegment(db, caller.workspaceId, fields, params.id, body)),
    }),
    row({
      call: 'DELETE /segments/:id',
      operation: 'deleteSegment',
      summary: 'Delete a segment',
      description: 'Deletes the segment. Its contacts stay.',
      scope: 'contacts:write',
      members: writers,
      audit: { action: 'segment.deleted', summary: nameOf },
      params: IdParams,
      data: Deleted,
      run: ({ caller, params }) => deleteSegment(db, caller.workspaceId, params.id),
    }),
    row({
      call: 'GET /segments/:id/contacts',
      operation: 'listSegmentContacts',
      summary: 'List the contacts of a segment',
      description: 'Newest contact first. A dynamic segment is computed on this read.',
      scope: 'contacts:read',
      members: roles,
      isShared: true,
      params: IdParams,
      query: ListQuery({}),
      list: ContactSchema,
      run: ({ caller: { workspaceId }, params, query }) =>
        slow(workspaceId, (sql) => listMembers(sql, workspaceId, fields, params.id, readPosition(query))),
    }),
    row({
      call: 'POST /segments/:id/contacts',
      operation: 'addSegmentContacts',
      summary: 'Add contacts to a static segment',
      description:
        'Ids of existing members and unknown ids are ignored: compare `added` with `requested`. Returns 400 for a dynamic segment.',
      scope: 'contacts:write',
      members: writers,
      audit: { action: 'segment.contacts_added', summary: nameAndCount },
      params: IdParams,
      body: ContactIds,
      data: AddedMembers,
      run: ({ caller, params, body }) => addMembers(db, caller.workspaceId, params.id, body.contact_ids),
    }),
    row({
      call: 'DELETE /segments/:id/contacts',
      operation: 'removeSegmentContacts',
      summary: 'Remove contacts from a static segment',
      description: 'Ids that are not members are ignored. Returns 400 for a dynamic segment.',
      scope: 'contacts:write',
      members: writers,
      audit: { action: 'segment.contacts_removed', summary: nameAndCount },
      params: IdParams,
      body: ContactIds,
      data: RemovedMembers,
      run: ({ caller, params, body }) => removeMembers(db, caller.workspaceId, params.id, body.contact_ids),
    }),
    row({
      call: 'GET /segments/fields',
      members: roles,
      data: FieldsSchema,
      run: async () => describeFields(fields),
    }),
    row({
      call: 'POST /segments/count',
      members: writers,
      audit: false,
      isQuiet: true,
      body: Type.Object({ filter: Filter }),
      data: Type.Object({ count: Type.Integer(), sample: Type.Array(ContactSchema) }),
      run: ({ caller: { workspaceId }, body }) =>
        slow(workspaceId, (sql) => previewFilter(sql, workspaceId, fields, body.filter)),
    }),
  ]
}
