/** `/contacts`: find or create, list and search, read, change. */
import type { Signals } from '../accounts/signals.ts'
import { readChangePosition, updatedAfterFilter } from '../lib/changes.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import { Color, DataOf, DateTime, IdParams, ListOf, ListQuery, NullableText, OneOf, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import {
  channels,
  contactLimits,
  existsModes,
  listChangedContacts,
  listContacts,
  requireContact,
  resolveContact,
  updateContact,
} from './contacts.ts'
import { requirePhone } from './phone.ts'

const tags = ['Contacts']

export const TagSchema = Type.Object({ id: Uuid, name: Type.String(), color: Color }, { title: 'Tag' })

/** Shared by the examples of all resources that refer to a contact. */
export const contactExample = {
  id: '0199c1d2-6b10-7c3a-9d52-3b6f0e8c4a17',
  phone: '+14155550100',
  social_username: null,
  channels: ['msgapp'],
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  company: 'Analytical Engines',
  avatar_url: null,
  tags: [{ id: '0199c1d2-6b11-7aa0-8c41-90d1f2a3b4c5', name: 'vip', color: '#5442dc' }],
  created_at: '2026-01-05T09:30:00.000Z',
  updated_at: '2026-01-05T09:30:00.000Z',
}

export const ContactSchema = Type.Object(
  {
    id: Uuid,
    phone: NullableText({ pattern: '^\\+[1-9]\\d{1,14}$', description: 'E.164. Null for a contact without a number.' }),
    social_username: NullableText(),
    channels: Type.Array(OneOf(channels), { description: 'The channels on which the contact can be reached.' }),
    name: NullableText(),
    email: NullableText(),
    company: NullableText(),
    avatar_url: NullableText({ format: 'uri' }),
    tags: Type.Array(TagSchema),
    created_at: DateTime,
    updated_at: DateTime,
  },
  { title: 'Contact', examples: [contactExample] },
)

const fields = {
  name: Type.Optional(NullableText({ maxLength: contactLimits.name, description: 'An empty text is stored as null.' })),
  email: Type.Optional(
    NullableText({ maxLength: contactLimits.email, description: 'An empty text is stored as null.' }),
  ),
  company: Type.Optional(
    NullableText({ maxLength: contactLimits.company, description: 'An empty text is stored as null.' }),
  ),
}
const TagNames = Type.Array(Type.String(), {
  maxItems: 1_000,
  description: 'Tag names, 1 to 80 characters each, at most 100. Tags that do not exist are created.',
})

export const NewContact = Type.Object(
  {
    phone: Type.String({
      description: 'A phone number. A number without a country code is in the default country of the workspace.',
    }),
    ...fields,
    tags: Type.Optional(TagNames),
    if_exists: Type.Optional(
      OneOf(existsModes, {
        description:
          'For a number that is known: `keep` changes nothing, `update` applies the fields present. `keep` when absent.',
      }),
    ),
  },
  {
    title: 'NewContact',
    examples: [{ phone: '+14155550100', name: 'Ada Lovelace', email: 'ada@example.com', tags: ['vip'] }],
  },
)

export const changeFields = {
  ...fields,
  tags: Type.Optional(TagNames),
  phone: Type.Optional(Type.String({ description: 'Cannot be changed. The current number is accepted.' })),
}
const ContactChanges = Type.Object(changeFields, {
  title: 'ContactChanges',
  examples: [{ company: 'Analytical Engines', tags: ['vip', 'newsletter'] }],
})

export const contactFilters = {
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'Part of a name, phone number, e-mail address or company, without regard to case. One or two characters match beginnings only.',
    }),
  ),
  tag: Type.Optional(Type.String({ maxLength: 200, description: 'A tag, by id or name.' })),
  channel: Type.Optional(OneOf(channels, { description: 'Reachable on this channel.' })),
}

const exactFilters = {
  phone: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Exactly this phone number, in any spelling; the default country applies without a country code.',
    }),
  ),
  email: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: contactLimits.email,
      description: 'Exactly this e-mail address, without regard to case.',
    }),
  ),
}

/** A filter needs a plan for its value, which `reads` does not make. */
const isFiltered = (query: object): boolean =>
  [...Object.keys(contactFilters), ...Object.keys(exactFilters)].some((name) => name in query)

export const contactRoutes =
  ({ db, reads, signals }: { db: Db; reads: Db; signals: Signals }) =>
  async (app: App) => {
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
        const { contact, created } = await resolveContact(
          db,
          caller.workspaceId,
          caller.defaultCountry,
          body,
          body.if_exists,
        )
        if (created) signals.deliveriesQueued()
        return reply.code(created ? 201 : 200).send({ data: contact })
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
        return changes
          ? listChangedContacts(db, workspaceId, filters, changes)
          : listContacts(isFiltered(query) ? db : reads, workspaceId, filters, readPosition(query))
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
          description: 'Only the fields present change. `tags` replaces the tags with exactly this list.',
          tags,
          params: IdParams,
          body: ContactChanges,
          response: { 200: DataOf(ContactSchema) },
        },
      },
      async ({ caller, params, body }) => ({
        data: await updateContact(db, caller.workspaceId, caller.defaultCountry, params.id, body),
      }),
    )
  }
