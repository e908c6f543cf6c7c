/** `/segments`: named audiences and their members. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { namePattern } from '../contacts/attributes.ts'
import { ContactSchema, contactExample } from '../contacts/schemas.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import {
  Color,
  DataOf,
  DateTime,
  Deleted,
  IdParams,
  inDocument,
  ListOf,
  ListQuery,
  NullableText,
  OneOf,
  TrimmedText,
  type TSchema,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import type { SlowReads } from '../lib/slow-reads.ts'
import {
  anyAttribute,
  type Filter,
  type FilterFields,
  type FilterInput,
  groupField,
  matchModes,
  maxRules,
  maxTotalRules,
  maxValueLength,
} from './filter.ts'
import {
  addMembers,
  countMembers,
  createSegment,
  deleteSegment,
  kinds,
  listMembers,
  listSegments,
  maxSegmentName,
  removeMembers,
  requireSegment,
  updateSegment,
} from './segments.ts'

const tags = ['Segments']

/** The schemas of a filter over these fields, as callers send it and as it is stored. */
function filterSchemas(fields: FilterFields) {
  const known = Object.entries(fields).map(([field, ops]) => `\`${field}\` ${Object.keys(ops).join(', ')}`)
  const match = OneOf(matchModes)
  const rule = Type.Object(
    {
      field: Type.String({
        maxLength: 80,
        description: `Fields and their ops: ${known.join('; ')}.`,
        ...inDocument({
          anyOf: [
            { type: 'string', enum: Object.keys(fields).filter((field) => field !== anyAttribute) },
            { pattern: `^attributes\\.${namePattern.source.slice(1)}` },
          ],
        }),
      }),
      op: Type.String({
        maxLength: 80,
        description: 'One of the ops of the field.',
        ...inDocument({ enum: [...new Set(Object.values(fields).flatMap((ops) => Object.keys(ops)))] }),
      }),
      value: Type.Optional(
        Type.String({
          description:
            'Required except for `is_set` and `is_not_set`. Text is compared without regard to case. A tag is its id or name; a time is a date-time, or an age such as `30d` or `12h`.',
          ...inDocument({ maxLength: maxValueLength }),
        }),
      ),
    },
    { title: 'FilterRule' },
  )
  const rulesOf = <Schema extends TSchema>(item: Schema) => Type.Array(item, { minItems: 1, maxItems: maxRules })
  const ofGroup = { field: OneOf([groupField]), op: OneOf(matchModes, { description: 'The same as `match`.' }) }
  const group = Type.Object(
    {
      match: Type.Optional(match),
      field: Type.Optional(ofGroup.field),
      op: Type.Optional(ofGroup.op),
      value: Type.Optional(Type.String({ description: 'Ignored.' })),
      rules: rulesOf(rule),
    },
    {
      title: 'FilterGroup',
      description:
        'A group of rules that counts as one rule of the filter. It has `match`, or the `field` with the text `group` and an `op`.',
    },
  )
  const storedGroup = Type.Object(
    { match, ...ofGroup, value: Type.String({ description: 'Empty.' }), rules: rulesOf(rule) },
    { title: 'StoredFilterGroup', description: 'A group of rules that counts as one rule of the filter.' },
  )
  // One object for rules and groups: the validator reports faults of the form that was sent, and the serializer need not choose.
  const { field, op, value } = rule.properties
  const item = <Value>(required: readonly string[], forms: readonly TSchema[]) =>
    Type.Unsafe<Value>({
      type: 'object',
      properties: { field, op, value, match, rules: rulesOf(rule) },
      required,
      ...inDocument({ anyOf: forms, type: undefined, properties: undefined, required: undefined }),
    })
  const sent = item<FilterInput['rules'][number]>([], [rule, group])
  const stored = item<Filter['rules'][number]>(['field', 'op', 'value'], [rule, storedGroup])
  return {
    Filter: Type.Object(
      { match, rules: rulesOf(sent) },
      { title: 'Filter', description: `At most ${maxTotalRules} rules in total, with those of groups.` },
    ),
    StoredFilter: Type.Unsafe<Filter | null>({
      ...Type.Object({ match, rules: rulesOf(stored) }),
      title: 'StoredFilter',
      type: ['object', 'null'],
      description: 'Null for a static segment.',
    }),
  }
}

export const filterSchema = (fields: FilterFields) => filterSchemas(fields).Filter

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

export function createSchemas(fields: FilterFields) {
  const { Filter, StoredFilter } = filterSchemas(fields)
  const filter = Type.Optional(Filter)
  const name = TrimmedText(maxSegmentName, 'Unique in the workspace without regard to case.')
  const description = Type.Optional(NullableText({ maxLength: 1_000 }))
  const segment = {
    id: Uuid,
    name: Type.String(),
    description: NullableText(),
    color: Color,
    kind: OneOf(kinds),
    filter: StoredFilter,
    created_at: DateTime,
    updated_at: DateTime,
  }
  const kind = Type.Optional(OneOf(kinds, { description: '`static` when absent.' }))
  return {
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
export function dropStaticFilter({ body }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const { kind = 'static' } = (body ?? {}) as { kind?: unknown }
  if (kind === 'static' && typeof body === 'object' && body !== null) Reflect.deleteProperty(body, 'filter')
  done()
}

export const ContactIds = Type.Object(
  { contact_ids: Type.Array(Uuid, { minItems: 1, maxItems: 1_000 }) },
  { title: 'ContactIds', examples: [{ contact_ids: [contactExample.id] }] },
)
const memberChange = { segment_id: Uuid, requested: Type.Integer({ description: 'The number of ids in the request.' }) }
const memberChangeExample = { segment_id: segmentExample.id, requested: 1 }
export const AddedMembers = Type.Object(
  { ...memberChange, added: Type.Integer({ description: 'The number of contacts that were added.' }) },
  { examples: [{ ...memberChangeExample, added: 1 }] },
)
export const RemovedMembers = Type.Object(
  { ...memberChange, removed: Type.Integer({ description: 'The number of contacts that were removed.' }) },
  { examples: [{ ...memberChangeExample, removed: 1 }] },
)

export const SegmentsQuery = ListQuery({
  kind: Type.Optional(OneOf(kinds, { description: 'Only segments of this kind.' })),
})

export const segmentRoutes =
  ({ db, reads, slow, fields }: { db: Db; reads: Db; slow: SlowReads; fields: FilterFields }) =>
  async (app: App) => {
    const { Segment, CountedSegment, NewSegment, SegmentChanges } = createSchemas(fields)
    const read = { scope: 'contacts:read' }
    const write = { scope: 'contacts:write' }

    app.post(
      '/segments',
      {
        config: write,
        preValidation: dropStaticFilter,
        schema: {
          operationId: 'createSegment',
          summary: 'Create a segment',
          description: 'A dynamic segment requires a `filter`. A static segment ignores it.',
          tags,
          body: NewSegment,
          response: { 201: DataOf(CountedSegment) },
        },
      },
      async ({ caller: { workspaceId }, body }, reply) => {
        const segment = await createSegment(db, workspaceId, fields, body)
        reply.code(201)
        return { data: await slow(workspaceId, (sql) => countMembers(sql, workspaceId, fields, segment)) }
      },
    )
    app.get(
      '/segments',
      {
        config: { ...read, isShared: true },
        schema: {
          operationId: 'listSegments',
          summary: 'List segments',
          description: 'Newest first.',
          tags,
          querystring: SegmentsQuery,
          response: { 200: ListOf(Segment) },
        },
      },
      async ({ caller, query }) => listSegments(reads, caller.workspaceId, query, readPosition(query)),
    )
    app.get(
      '/segments/:id',
      {
        config: read,
        schema: {
          operationId: 'getSegment',
          summary: 'Read a segment',
          description: 'One segment, with the exact number of its members.',
          tags,
          params: IdParams,
          response: { 200: DataOf(CountedSegment) },
        },
      },
      async ({ caller: { workspaceId }, params }) => {
        const segment = await requireSegment(db, workspaceId, params.id)
        return { data: await slow(workspaceId, (sql) => countMembers(sql, workspaceId, fields, segment)) }
      },
    )
    app.patch(
      '/segments/:id',
      {
        config: write,
        schema: {
          operationId: 'updateSegment',
          summary: 'Change a segment',
          description: 'Only the fields present change. The kind cannot change.',
          tags,
          params: IdParams,
          body: SegmentChanges,
          response: { 200: DataOf(CountedSegment) },
        },
      },
      async ({ caller: { workspaceId }, params, body }) => {
        const segment = await updateSegment(db, workspaceId, fields, params.id, body)
        return { data: await slow(workspaceId, (sql) => countMembers(sql, workspaceId, fields, segment)) }
      },
    )
    app.delete(
      '/segments/:id',
      {
        config: write,
        schema: {
          operationId: 'deleteSegment',
          summary: 'Delete a segment',
          description: 'Deletes the segment. Its contacts stay.',
          tags,
          params: IdParams,
          response: { 200: DataOf(Deleted) },
        },
      },
      async ({ caller, params }) => {
        await deleteSegment(db, caller.workspaceId, params.id)
        return { data: { id: params.id.toLowerCase(), deleted: true } }
      },
    )
    app.get(
      '/segments/:id/contacts',
      {
        config: { ...read, isShared: true },
        schema: {
          operationId: 'listSegmentContacts',
          summary: 'List the contacts of a segment',
          description: 'Newest contact first. A dynamic segment is computed on this read.',
          tags,
          params: IdParams,
          querystring: ListQuery({}),
          response: { 200: ListOf(ContactSchema) },
        },
      },
      async ({ caller: { workspaceId }, params, query }) =>
        slow(workspaceId, (sql) => listMembers(sql, workspaceId, fields, params.id, readPosition(query))),
    )
    app.post(
      '/segments/:id/contacts',
      {
        config: write,
        schema: {
          operationId: 'addSegmentContacts',
          summary: 'Add contacts to a static segment',
          description:
            'Ids of existing members and unknown ids are ignored: compare `added` with `requested`. Returns 400 for a dynamic segment.',
          tags,
          params: IdParams,
          body: ContactIds,
          response: { 200: DataOf(AddedMembers) },
        },
      },
      async ({ caller, params, body }) => {
        const added = await addMembers(db, caller.workspaceId, params.id, body.contact_ids)
        return { data: { segment_id: params.id.toLowerCase(), requested: body.contact_ids.length, added } }
      },
    )
    app.delete(
      '/segments/:id/contacts',
      {
        config: write,
        schema: {
          operationId: 'removeSegmentContacts',
          summary: 'Remove contacts from a static segment',
          description: 'Ids that are not members are ignored. Returns 400 for a dynamic segment.',
          tags,
          params: IdParams,
          body: ContactIds,
          response: { 200: DataOf(RemovedMembers) },
        },
      },
      async ({ caller, params, body }) => {
        const removed = await removeMembers(db, caller.workspaceId, params.id, body.contact_ids)
        return { data: { segment_id: params.id.toLowerCase(), requested: body.contact_ids.length, removed } }
      },
    )
  }
