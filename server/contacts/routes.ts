/** `/contacts`: find or create (one or many), list and search, read, change, merge, erase. `/tags`: list. */
import type { onRequestHookHandler } from 'fastify'
import type { Signals } from '../accounts/signals.ts'
import { readChangePosition, updatedAfterFilter } from '../lib/changes.ts'
import type { Db, Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import type { FairQueue } from '../lib/fair-queue.ts'
import { readItem } from '../lib/items.ts'
import { readPosition } from '../lib/page.ts'
import { CursorQuery, DataOf, Deleted, IdParams, ListOf, ListQuery } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import type { SlowReads } from '../lib/slow-reads.ts'
import { resolveContacts } from './batch.ts'
import { resolveContact, updateContact } from './change.ts'
import { listChangedContacts, listPublicContacts, requireContact } from './contacts.ts'
import { requirePhone } from './phone.ts'
import {
  BatchResults,
  batchBytes,
  ContactBatch,
  ContactChanges,
  ContactMerge,
  ContactSchema,
  CountedTag,
  contactFilters,
  exactFilters,
  NewContact,
} from './schemas.ts'
import { listTagPage } from './tags.ts'

const tags = ['Contacts']

/** A contact with 100,000 messages is erased in about ten seconds on a fast disk. */
export const eraseMs = 10 * 60_000
/** A contact with 100,000 messages was merged in 20 s on two busy cores. */
export const mergeMs = 5 * 60_000

export type ContactRoutesOptions = {
  db: Db
  slow: SlowReads
  signals: Signals
  /** Erases a contact with everything about it, in all rooms. Throws 404 when it does not exist. */
  eraseContact: (workspaceId: string, id: string) => Promise<void>
  /** Moves everything of the contact `otherId` to the contact `id`, in all rooms, and deletes it. */
  mergeContacts: (workspaceId: string, id: string, otherId: string) => Promise<void>
}

/** All filters but `phone`, which takes one step in an index. */
const searchFilters = ['search', 'email', 'tag', 'channel'] as const

export const contactRoutes = (options: ContactRoutesOptions & { reads: Db; bulk: FairQueue }) => async (app: App) => {
  const { db, reads, slow, bulk, signals, eraseContact, mergeContacts } = options
  app.post(
    '/contacts',
    {
      config: { scope: 'contacts:write' },
      schema: {
        operationId: 'createContact',
        summary: 'Find or create a contact',
        description:
          'Returns 201 for a new number. Returns 200 for a known number: the contact unchanged, or with the fields present applied (`if_exists: "update"`).',
        tags,
        body: NewContact,
        response: {
          200: DataOf(ContactSchema, 'The number was known.'),
          201: DataOf(ContactSchema, 'Created.'),
        },
      },
    },
    async ({ caller, body }, reply) => {
      const { contact, created } = await resolveContact(db, caller.workspaceId, caller.defaultCountry, body, {
        ifExists: body.if_exists,
        by: 'api',
      })
      if (created) signals.deliveriesQueued()
      return reply.code(created ? 201 : 200).send({ data: contact })
    },
  )
  app.post(
    '/contacts/batch',
    {
      config: { scope: 'contacts:write' },
      bodyLimit: batchBytes,
      onRequest: limitBatches(),
      schema: {
        operationId: 'createContacts',
        summary: 'Find or create many contacts',
        description:
          'Up to 1,000 bodies of `POST /contacts`, with the effect of single requests in this order. An invalid item is refused alone: its result has an `error`. Counts as one request. The eleventh batch at the same time gets 429. An item that changes nothing leaves `updated_at` as it is.',
        tags,
        body: ContactBatch,
        response: { 200: DataOf(BatchResults) },
      },
    },
    async (request) => {
      const { workspaceId, defaultCountry } = request.caller
      const readInput = (input: unknown) => readItem(request, NewContact, input)
      const data = await bulk(workspaceId, () =>
        resolveContacts(db, workspaceId, defaultCountry, request.body.contacts, readInput),
      )
      if (data.some((result) => 'created' in result && result.created)) signals.deliveriesQueued()
      return { data }
    },
  )
  app.get(
    '/contacts',
    {
      config: { scope: 'contacts:read', isShared: true },
      schema: {
        operationId: 'listContacts',
        summary: 'List contacts',
        description: 'Newest first. With `updated_after`, oldest change first.',
        tags,
        querystring: ListQuery({ ...contactFilters, ...exactFilters, ...updatedAfterFilter('contacts') }),
        response: { 200: ListOf(ContactSchema) },
      },
    },
    async ({ caller: { workspaceId, defaultCountry }, query }) => {
      const phone = query.phone === undefined ? undefined : requirePhone(query.phone, defaultCountry, 'phone')
      const filters = { ...query, phone }
      const changes = readChangePosition(query)
      const list = (sql: Sql) =>
        changes
          ? listChangedContacts(sql, workspaceId, filters, changes)
          : listPublicContacts(sql, workspaceId, filters, readPosition(query))
      if (searchFilters.some((name) => query[name] !== undefined)) return slow(workspaceId, list)
      return list(changes || phone ? db : reads)
    },
  )
  app.get(
    '/contacts/:id',
    {
      config: { scope: 'contacts:read' },
      schema: {
        operationId: 'getContact',
        summary: 'Read a contact',
        description: 'One contact, with its tags and the channels on which it can be reached.',
        tags,
        params: IdParams,
        response: { 200: DataOf(ContactSchema) },
      },
    },
    async ({ caller, params }) => ({ data: await requireContact(reads, caller.workspaceId, params.id) }),
  )
  app.patch(
    '/contacts/:id',
    {
      config: { scope: 'contacts:write' },
      schema: {
        operationId: 'updateContact',
        summary: 'Change a contact',
        description:
          'Only the fields present change. `tags` replaces the tags with exactly this list; `add_tags` and `remove_tags` keep the others, also when several callers change them at the same time.',
        tags,
        params: IdParams,
        body: ContactChanges,
        response: { 200: DataOf(ContactSchema) },
      },
    },
    async ({ caller, params, body }) => ({
      data: await updateContact(db, caller.workspaceId, caller.defaultCountry, params.id, body, 'api'),
    }),
  )
  app.delete(
    '/contacts/:id',
    {
      config: { scope: 'contacts:erase' },
      handlerTimeout: eraseMs,
      schema: {
        operationId: 'deleteContact',
        summary: 'Erase a contact',
        description:
          'Erases the person with everything about them: identities, tags, notes, conversations, messages and files. This cannot be undone.',
        tags,
        params: IdParams,
        response: { 200: DataOf(Deleted) },
      },
    },
    async ({ caller: { workspaceId }, params }) => {
      await eraseContact(workspaceId, params.id)
      signals.inboxChanged(workspaceId)
      return { data: { id: params.id.toLowerCase(), deleted: true as const } }
    },
  )
  app.post(
    '/contacts/:id/merge',
    {
      config: { scope: 'contacts:erase' },
      handlerTimeout: mergeMs,
      schema: {
        operationId: 'mergeContacts',
        summary: 'Merge two contacts',
        description:
          'Moves conversations, messages, tags, identities and attributes of the other contact here and deletes it. The values of this contact win. This cannot be undone.',
        tags,
        params: IdParams,
        body: ContactMerge,
        response: { 200: DataOf(ContactSchema) },
      },
    },
    async ({ caller: { workspaceId }, params, body }) => {
      await mergeContacts(workspaceId, params.id, body.contact_id)
      return { data: await requireContact(db, workspaceId, params.id) }
    },
  )
  app.get(
    '/tags',
    {
      config: { scope: 'contacts:read', isShared: true, hasEtag: true },
      schema: {
        operationId: 'listTags',
        summary: 'List tags',
        description: 'All tags by name, with the number of contacts. A page has up to 1,000.',
        tags,
        querystring: CursorQuery,
        response: { 200: ListOf(CountedTag) },
      },
    },
    async ({ caller: { workspaceId }, query }) =>
      slow(workspaceId, (sql) => listTagPage(sql, workspaceId, readPosition(query))),
  )
}

const maxBatchesInFlight = 10

/** Refuses further batches of a workspace before their bodies are read: two run at a time, and each body may take 40 MiB. */
function limitBatches(): onRequestHookHandler {
  const inFlight = new Map<string, number>()
  return ({ caller: { workspaceId } }, reply, done) => {
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
