/**
 * The members' routes of contacts and tags: list, create, change, and opt out of broadcasts. Owners and admins may also
 * import, export and erase contacts.
 */

import { Readable } from 'node:stream'
import { nameFields } from '../accounts/audit.ts'
import { managers } from '../accounts/members.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, Deleted, IdParams, ListOf, ListQuery, OneOf, type Static, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { resolveContact, updateContact } from './change.ts'
import { type ContactFilters, countContacts, listContacts, matchesFilters, requireContact } from './contacts.ts'
import { writeContacts } from './export.ts'
import { importDashboard } from './import-dashboard.ts'
import { ContactView } from './member-view.ts'
import { contactPanelDashboard } from './panel-dashboard.ts'
import { type ContactRoutesOptions, eraseMs } from './routes.ts'
import { ContactChanges, contactFilters, NewContact, TagSchema } from './schemas.ts'
import { deleteTag, listTags, renameTag } from './tags.ts'

const describeChanges = (_: unknown, body: Static<typeof ContactChanges>) =>
  nameFields(body, 'phone', 'name', 'email', 'company', 'tags', 'add_tags', 'remove_tags', 'attributes', 'opted_out')

const filters = { ...contactFilters, opted_out: Type.Optional(OneOf(['true'])) }

const TagView = Type.Object({
  ...TagSchema.properties,
  contact_count: Type.Integer({ description: 'Counted up to 10,000.' }),
  has_more_contacts: Type.Boolean(),
})

/** A limit for the download of a million lines over a slow connection. */
const downloadMs = 30 * 60_000

export type ContactDashboardOptions = ContactRoutesOptions & {
  /** Condition on contact `c`: it is in this segment. Throws 404 when the segment does not exist. */
  inSegment: (sql: Sql, workspaceId: string, segmentId: string) => Promise<{ name: string; condition: Fragment }>
  /** Replaces references to the old name of a tag with its id, in the same transaction. */
  onTagRenamed: (sql: Sql, workspaceId: string, tag: { id: string; key_before: string }) => Promise<void>
}

export const contactDashboard = (options: ContactDashboardOptions) => async (app: App) => {
  const { db, slow, signals, eraseContact, inSegment } = options
  app.register(importDashboard(options))
  app.register(contactPanelDashboard(options))
  app.get(
    '/contacts',
    { schema: { querystring: ListQuery(filters), response: { 200: ListOf(ContactView) } } },
    async ({ session: { workspaceId }, query }) => {
      const filters = toFilters(query)
      const list = (sql: Sql) => listContacts(sql, workspaceId, filters, readPosition(query))
      return Object.values(filters).some((value) => value) ? slow(workspaceId, list) : list(db)
    },
  )
  app.post(
    '/contacts',
    {
      // An existing contact is returned with 200.
      config: { audit: { action: 'contact.created', when: (_, statusCode) => statusCode === 201 } },
      schema: { body: NewContact, response: { 200: DataOf(ContactView), 201: DataOf(ContactView) } },
    },
    async ({ session: { workspaceId, defaultCountry }, body }, reply) => {
      const { contact, created } = await resolveContact(db, workspaceId, defaultCountry, body, { by: 'member' })
      if (created) signals.deliveriesQueued()
      return reply.code(created ? 201 : 200).send({ data: contact })
    },
  )
  app.get(
    '/contacts.csv',
    {
      config: {
        members: managers,
        audit: {
          action: 'contacts.exported',
          summary: ({ count, segment }: ExportSummary) => [segment, `${count} contacts`].filter(Boolean).join(': '),
        },
      },
      handlerTimeout: downloadMs,
      schema: { querystring: Type.Object({ ...filters, segment_id: Type.Optional(Type.String({ maxLength: 200 })) }) },
    },
    async (request, reply) => {
      const { session, query } = request
      const { workspaceId } = session
      const filtered = matchesFilters(db, workspaceId, toFilters(query))
      const { segment_id: segmentId } = query
      const segment = segmentId === undefined ? undefined : await inSegment(db, workspaceId, segmentId)
      const condition = segment ? db`${filtered} and ${segment.condition}` : filtered
      // The audit log cannot read a streamed response.
      const count = await slow(workspaceId, (sql) => countContacts(sql, workspaceId, condition))
      const summary: ExportSummary = { count, segment: segment?.name }
      request.handlerResult = { data: summary }
      reply.headers({
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="contacts.csv"',
        'x-content-type-options': 'nosniff',
      })
      return reply.send(Readable.from(writeContacts(slow, workspaceId, condition), { objectMode: false }))
    },
  )
  app.get(
    '/contacts/:id',
    { schema: { params: IdParams, response: { 200: DataOf(ContactView) } } },
    async ({ session, params }) => ({ data: await requireContact(db, session.workspaceId, params.id) }),
  )
  app.patch(
    '/contacts/:id',
    {
      config: { audit: { action: 'contact.changed', summary: describeChanges } },
      schema: { params: IdParams, body: ContactChanges, response: { 200: DataOf(ContactView) } },
    },
    async ({ session: { workspaceId, defaultCountry }, params, body }) => {
      return { data: await updateContact(db, workspaceId, defaultCountry, params.id, body, 'member') }
    },
  )
  app.delete(
    '/contacts/:id',
    {
      config: { members: managers, audit: 'contact.erased' },
      handlerTimeout: eraseMs,
      schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
    },
    async ({ session: { workspaceId }, params }) => {
      await eraseContact(workspaceId, params.id)
      signals.inboxChanged(workspaceId)
      return { data: { id: params.id.toLowerCase(), deleted: true } }
    },
  )
  app.get(
    '/tags',
    { schema: { response: { 200: DataOf(Type.Array(TagView)) } } },
    async ({ session: { workspaceId } }) => ({
      data: await slow(workspaceId, (sql) => listTags(sql, workspaceId)),
    }),
  )
  app.patch(
    '/tags/:id',
    {
      config: { audit: { action: 'tag.renamed', summary: (_: unknown, { name }: { name: string }) => name } },
      schema: { params: IdParams, body: Type.Object({ name: Type.String() }), response: { 200: DataOf(TagView) } },
    },
    async ({ session: { workspaceId }, params, body }) => {
      const data = await db.begin(async (sql) => {
        const renamed = await renameTag(sql, workspaceId, params.id, body.name)
        await options.onTagRenamed(sql, workspaceId, renamed)
        return renamed
      })
      return { data }
    },
  )
  app.delete(
    '/tags/:id',
    {
      config: { audit: { action: 'tag.deleted', summary: ({ name }: { name: string }) => name } },
      schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
    },
    async ({ session: { workspaceId }, params }) => {
      const name = await deleteTag(db, workspaceId, params.id)
      return { data: { id: params.id.toLowerCase(), deleted: true, name } }
    },
  )
}

/** The summary for the audit log. */
type ExportSummary = { count: number; segment: string | undefined }

type FilterQuery = Pick<ContactFilters, 'search' | 'tag' | 'channel'> & { opted_out?: 'true' }

const toFilters = ({ search, tag, channel, opted_out }: FilterQuery): ContactFilters => ({
  ...{ search, tag, channel },
  isOptedOut: opted_out === 'true',
})
