/**
 * `/contacts`: find or create (one or many), list and search, read, change, merge, erase, export. `/tags`. Over 400 lines because it has
 * all calls of both.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { nameFields } from '../accounts/audit.ts'
import type { AnyCaller } from '../accounts/callers.ts'
import { managers, roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { ApiError } from '../lib/errors.ts'
import type { FairQueue } from '../lib/fair-queue.ts'
import { readPosition } from '../lib/page.ts'
import { readChangePosition, updatedAfterFilter } from '../lib/postgres/changes.ts'
import type { Db, Fragment, Sql } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { CursorQuery, Deleted, ForMembers, IdParams, ListQuery, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { resolveContacts } from './batch.ts'
import { resolveContact, tagContacts, updateContact } from './change.ts'
import {
  type ContactFilters,
  countContacts,
  countUpToMax,
  listChangedContacts,
  listContacts,
  listPublicContacts,
  matchesFilters,
  maxCountedContacts,
  requireContact,
  requireContactWithIdentities,
} from './contacts.ts'
import { writeContacts } from './export.ts'
import { readItem } from './items.ts'
import { requirePhone } from './phone.ts'
import { ContactSchema } from './resource.ts'
import {
  BatchResults,
  batchBytes,
  ContactBatch,
  ContactChanges,
  ContactMerge,
  CountedTag,
  contactFilters,
  exactFilters,
  NewContact,
} from './schemas.ts'
import { contactSorts, listSortedContacts } from './sorted.ts'
import { deleteTag, listTagPage, listTags, maxTags, renameTag, TagSchema } from './tags.ts'

/** A contact with 100,000 messages is erased in about ten seconds on a fast disk. */
const eraseMs = 10 * 60_000
/** A contact with 100,000 messages was merged in 20 s on two busy cores. */
const mergeMs = 5 * 60_000

export type ContactOptions = {
  db: Db
  reads: Db
  slow: SlowReads
  bulk: FairQueue
  signals: Signals
  /** Erases a contact with everything about it, in all modules. Throws 404 when it does not exist. */
  eraseContact: (workspaceId: string, id: string) => Promise<void>
  /** Moves everything of the contact `otherId` to the contact `id`, in all modules, and deletes it. */
  mergeContacts: (workspaceId: string, id: string, otherId: string) => Promise<void>
  /** Refuses a member who does not see all conversations of these contacts. */
  requireMergeable: (sql: Sql, caller: AnyCaller, contactIds: readonly string[]) => Promise<void>
  /** Condition on contact `c`: it is in this segment. Throws 404 when the segment does not exist. */
  inSegment: (sql: Sql, workspaceId: string, segmentId: string) => Promise<{ name: string; condition: Fragment }>
  /** The expression of the identities of contact `c`, as JSON. */
  identityList: (sql: Sql) => Fragment
  /** Replaces references to the old name of a tag with its id, in the same transaction. */
  onTagRenamed: (sql: Sql, workspaceId: string, tag: { id: string; key_before: string }) => Promise<void>
}

/** All filters but `phone`, which takes one step in an index. */
const searchFilters = ['search', 'email', 'tag', 'channel', 'opted_out'] as const

const describeChanges = (_: unknown, body: Static<typeof ContactChanges>) =>
  nameFields(body, 'phone', 'name', 'email', 'company', 'tags', 'add_tags', 'remove_tags', 'attributes', 'opted_out')

/** The tags of the dashboard, all in one response. */
const TagView = Type.Object({
  ...TagSchema.properties,
  contact_count: Type.Integer({ description: 'Counted up to 10,000.' }),
  has_more_contacts: Type.Boolean(),
})

/** A limit for the download of a million lines over a slow connection. */
const downloadMs = 30 * 60_000

/** The summary for the audit log. */
type ExportSummary = { count: number; segment: string | undefined }

/** The audit log gets the summary: it cannot read a streamed response. */
function sendCsv(request: FastifyRequest, reply: FastifyReply, summary: ExportSummary, lines: AsyncIterable<string>) {
  request.handlerResult = { data: summary }
  reply.headers({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="contacts.csv"',
    'x-content-type-options': 'nosniff',
  })
  return reply.send(Readable.from(lines, { objectMode: false }))
}

/** Contacts that a member selected in a list. */
/** The contacts that a member selects. */
const maxSelected = 500
const ContactIds = Type.Array(Uuid, { minItems: 1, maxItems: maxSelected })
const ContactTagging = Type.Object({
  ids: ContactIds,
  add_tags: Type.Optional(Type.Array(Type.String(), { maxItems: maxTags })),
  remove_tags: Type.Optional(Type.Array(Type.String(), { maxItems: maxTags })),
})
const describeTagging = ({ count }: { count: number }, { add_tags, remove_tags }: Static<typeof ContactTagging>) =>
  [
    `${count} contacts`,
    add_tags?.length && `added ${add_tags.join(', ')}`,
    remove_tags?.length && `removed ${remove_tags.join(', ')}`,
  ]
    .filter(Boolean)
    .join('; ')

type FilterQuery = Pick<ContactFilters, 'search' | 'email' | 'tag' | 'channel'> & { phone?: string; opted_out?: 'true' }

const toFilters = (query: FilterQuery, defaultCountry: string): ContactFilters => ({
  ...query,
  phone: query.phone === undefined ? undefined : requirePhone(query.phone, defaultCountry, 'phone'),
  isOptedOut: query.opted_out === 'true',
})

export function contactTable(options: ContactOptions): readonly Row[] {
  const { db, reads, slow, bulk, signals, eraseContact, mergeContacts, inSegment, identityList, onTagRenamed } = options
  const announceCreated = () => {
    signals.deliveriesQueued()
    signals.changesQueued()
  }
  return [
    row({
      call: 'POST /contacts',
      operation: 'createContact',
      summary: 'Find or create a contact',
      description:
        'Returns 201 for a new number. Returns 200 for a known number: the contact unchanged, or with the fields present applied (`if_exists: "update"`).',
      scope: 'contacts:write',
      members: writers,
      audit: { action: 'contact.created', when: (_, statusCode) => statusCode === 201 },
      body: NewContact,
      data: ContactSchema,
      status: { 200: 'The number was known.', 201: 'Created.' },
      run: async ({ caller: { workspaceId, defaultCountry, member }, body }, reply) => {
        const { contact, created } = await resolveContact(db, workspaceId, defaultCountry, body, {
          ifExists: body.if_exists,
          by: member ? 'member' : 'api',
        })
        if (created) announceCreated()
        reply.code(created ? 201 : 200)
        return contact
      },
    }),
    row({
      call: 'POST /contacts/batch',
      operation: 'createContacts',
      summary: 'Find or create many contacts',
      description:
        'Up to 1,000 bodies of `POST /contacts`, with the effect of single requests in this order. An invalid item is refused alone: its result has an `error`. Counts as one request. The eleventh batch at the same time gets 429. An item that changes nothing leaves `updated_at` as it is.',
      scope: 'contacts:write',
      bodyLimit: batchBytes,
      onRequest: limitBatches(),
      body: ContactBatch,
      data: BatchResults,
      run: async (request) => {
        const { workspaceId, defaultCountry } = request.caller
        const readInput = (input: unknown) => readItem(request, NewContact, input)
        const results = await bulk(workspaceId, () =>
          resolveContacts(db, workspaceId, defaultCountry, request.body.contacts, readInput),
        )
        if (results.some((result) => 'created' in result && result.created)) announceCreated()
        return results
      },
    }),
    row({
      call: 'GET /contacts',
      operation: 'listContacts',
      summary: 'List contacts',
      description: 'Newest first. With `updated_after`, oldest change first.',
      scope: 'contacts:read',
      members: roles,
      isShared: true,
      query: ListQuery({
        ...contactFilters,
        ...exactFilters,
        ...updatedAfterFilter('contacts'),
        sort: ForMembers(Type.Optional(OneOf(contactSorts))),
      }),
      list: ContactSchema,
      run: async ({ caller: { workspaceId, defaultCountry, member }, query }) => {
        const filters = toFilters(query, defaultCountry)
        const changes = readChangePosition(query)
        const { sort } = query
        if (sort && !changes) {
          const position = { limit: readPosition(query).limit, cursor: query.cursor }
          return slow(workspaceId, (sql) => listSortedContacts(sql, workspaceId, filters, sort, position))
        }
        const listPage = member ? listContacts : listPublicContacts
        const list = (sql: Sql) =>
          changes
            ? listChangedContacts(sql, workspaceId, filters, changes)
            : listPage(sql, workspaceId, filters, readPosition(query))
        if (searchFilters.some((name) => query[name] !== undefined)) return slow(workspaceId, list)
        return list(changes || filters.phone ? db : reads)
      },
    }),
    row({
      call: 'GET /contacts/count',
      members: roles,
      query: Type.Object(contactFilters),
      data: Type.Object({
        count: Type.Integer({ description: `At most ${maxCountedContacts}, which means as many or more.` }),
        has_more: Type.Boolean(),
      }),
      run: async ({ caller: { workspaceId, defaultCountry }, query }) => {
        const count = await slow(workspaceId, (sql) =>
          countUpToMax(sql, workspaceId, matchesFilters(sql, workspaceId, toFilters(query, defaultCountry))),
        )
        return { count, has_more: count === maxCountedContacts }
      },
    }),
    row({
      call: 'POST /contacts/tags',
      members: writers,
      audit: { action: 'contacts.tagged', summary: describeTagging, subjects: ({ ids }: { ids: string[] }) => ids },
      body: ContactTagging,
      data: Type.Object({ count: Type.Integer({ description: 'Contacts that were found.' }) }),
      run: async ({ caller: { workspaceId }, body: { ids, ...changes } }) => {
        const found = await tagContacts(db, workspaceId, ids, changes)
        return { count: found.length, ids: found }
      },
    }),
    row({
      call: 'POST /contacts.csv',
      members: managers,
      audit: { action: 'contacts.exported', summary: ({ count }: ExportSummary) => `${count} contacts` },
      isQuiet: true,
      handlerTimeout: downloadMs,
      body: Type.Object({ ids: ContactIds }),
      run: async (request, reply) => {
        const { workspaceId } = request.caller
        const condition = db`c.id = any(${request.body.ids}::uuid[])`
        const count = await slow(workspaceId, (sql) => countContacts(sql, workspaceId, condition))
        return sendCsv(request, reply, { count, segment: undefined }, writeContacts(slow, workspaceId, condition))
      },
    }),
    row({
      call: 'GET /contacts.csv',
      members: managers,
      audit: {
        action: 'contacts.exported',
        summary: ({ count, segment }: ExportSummary) => [segment, `${count} contacts`].filter(Boolean).join(': '),
      },
      handlerTimeout: downloadMs,
      query: Type.Object({ ...contactFilters, segment_id: Type.Optional(Type.String({ maxLength: 200 })) }),
      run: async (request, reply) => {
        const { workspaceId, defaultCountry } = request.caller
        const { segment_id: segmentId, ...query } = request.query
        const filtered = matchesFilters(db, workspaceId, toFilters(query, defaultCountry))
        const segment = segmentId === undefined ? undefined : await inSegment(db, workspaceId, segmentId)
        const condition = segment ? db`${filtered} and ${segment.condition}` : filtered
        const count = await slow(workspaceId, (sql) => countContacts(sql, workspaceId, condition))
        const summary = { count, segment: segment?.name }
        return sendCsv(request, reply, summary, writeContacts(slow, workspaceId, condition))
      },
    }),
    row({
      call: 'GET /contacts/:id',
      operation: 'getContact',
      summary: 'Read a contact',
      description:
        'One contact, with its tags, the channels on which it can be reached, and the numbers and user ids by which they know it.',
      scope: 'contacts:read',
      members: roles,
      params: IdParams,
      data: ContactSchema,
      run: ({ caller, params }) => requireContactWithIdentities(reads, caller.workspaceId, params.id, identityList),
    }),
    row({
      call: 'PATCH /contacts/:id',
      operation: 'updateContact',
      summary: 'Change a contact',
      description:
        'Only the fields present change. `tags` replaces the tags with exactly this list; `add_tags` and `remove_tags` keep the others, also when several callers change them at the same time.',
      scope: 'contacts:write',
      members: writers,
      audit: { action: 'contact.changed', summary: describeChanges },
      params: IdParams,
      body: ContactChanges,
      data: ContactSchema,
      run: ({ caller: { workspaceId, defaultCountry, member }, params, body }) =>
        updateContact(db, workspaceId, defaultCountry, params.id, body, member ? 'member' : 'api'),
    }),
    row({
      call: 'DELETE /contacts/:id',
      operation: 'deleteContact',
      summary: 'Erase a contact',
      description:
        'Erases the person with everything about them: identities, tags, notes, conversations, messages and files. This cannot be undone.',
      scope: 'contacts:erase',
      members: managers,
      audit: 'contact.erased',
      handlerTimeout: eraseMs,
      params: IdParams,
      data: Deleted,
      run: async ({ caller: { workspaceId }, params }) => {
        await eraseContact(workspaceId, params.id)
        signals.inboxChanged(workspaceId)
        return { id: params.id.toLowerCase(), deleted: true }
      },
    }),
    row({
      call: 'POST /contacts/:id/merge',
      operation: 'mergeContacts',
      summary: 'Merge two contacts',
      description:
        'Moves conversations, messages, tags, identities and attributes of the other contact here and deletes it. The values of this contact win. This cannot be undone.',
      scope: 'contacts:erase',
      members: ['owner', 'admin', 'agent'],
      audit: {
        action: 'contact.merged',
        summary: (_: unknown, { contact_id }: { contact_id: string }) => contact_id.toLowerCase(),
      },
      handlerTimeout: mergeMs,
      params: IdParams,
      body: ContactMerge,
      data: ContactSchema,
      run: async ({ caller, params, body }) => {
        const { workspaceId } = caller
        await options.requireMergeable(db, caller, [params.id, body.contact_id])
        await mergeContacts(workspaceId, params.id, body.contact_id)
        return requireContact(db, workspaceId, params.id)
      },
    }),
    row({
      call: 'GET /tags',
      operation: 'listTags',
      summary: 'List tags',
      description: 'All tags by name, with the number of contacts. A page has up to 1,000.',
      scope: 'contacts:read',
      isShared: true,
      hasEtag: true,
      query: CursorQuery,
      list: CountedTag,
      run: ({ caller: { workspaceId }, query }) =>
        slow(workspaceId, (sql) => listTagPage(sql, workspaceId, readPosition(query))),
    }),
    row({
      call: 'GET /tags',
      members: roles,
      data: Type.Array(TagView),
      run: ({ caller: { workspaceId } }) => slow(workspaceId, (sql) => listTags(sql, workspaceId)),
    }),
    row({
      call: 'PATCH /tags/:id',
      members: writers,
      audit: { action: 'tag.renamed', summary: (_: unknown, { name }: { name: string }) => name },
      params: IdParams,
      body: Type.Object({ name: Type.String() }),
      data: TagView,
      run: ({ caller: { workspaceId }, params, body }) =>
        db.begin(async (sql) => {
          const renamed = await renameTag(sql, workspaceId, params.id, body.name)
          await onTagRenamed(sql, workspaceId, renamed)
          return renamed
        }),
    }),
    row({
      call: 'DELETE /tags/:id',
      members: writers,
      audit: { action: 'tag.deleted', summary: ({ name }: { name: string }) => name },
      params: IdParams,
      data: Deleted,
      run: ({ caller: { workspaceId }, params }) => deleteTag(db, workspaceId, params.id),
    }),
  ]
}

const maxBatchesInFlight = 10

/** Refuses further batches of a workspace before their bodies are read: two run at a time, and each body may take 40 MiB. */
function limitBatches(): onRequestHookHandler {
  const inFlight = new Map<string, number>()
  return ({ caller }, reply, done) => {
    const workspaceId = caller?.workspaceId ?? ''
    const count = inFlight.get(workspaceId) ?? 0
    if (count >= maxBatchesInFlight) {
      const message = `more than ${maxBatchesInFlight} batches at the same time; try again in 1 s`
      return done(new ApiError('rate_limited', message, { 'retry-after': '1' }))
    }
    inFlight.set(workspaceId, count + 1)
    reply.raw.once('close', () => {
      const left = (inFlight.get(workspaceId) ?? 1) - 1
      if (left > 0) inFlight.set(workspaceId, left)
      else inFlight.delete(workspaceId)
    })
    done()
  }
}
