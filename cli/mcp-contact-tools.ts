/** The tools of `parley mcp` for contacts and tags. */
import Type from 'typebox'
import { closedObject, defineTool, fetchPage, id, oneOf, page, type Tool } from './mcp-tools.ts'

export const contactReadTools: readonly Tool[] = [
  defineTool({
    name: 'search_contacts',
    title: 'Search contacts',
    operation: 'listContacts',
    description:
      'List contacts, newest first. Search by name, phone, email or company; filter by tag, channel, exact phone or exact email.',
    scope: 'contacts:read',
    input: closedObject({
      search: Type.Optional(Type.String()),
      phone: Type.Optional(Type.String({ description: 'Exactly this number, in any spelling.' })),
      email: Type.Optional(Type.String({ description: 'Exactly this address.' })),
      tag: Type.Optional(Type.String({ description: 'The name or id of a tag.' })),
      channel: Type.Optional(oneOf(['msgapp', 'social', 'web'])),
      ...page,
    }),
    run: ({ parley }, query) => fetchPage(parley.contacts.list(query)),
  }),
  defineTool({
    name: 'get_contact',
    title: 'Get a contact',
    operation: 'getContact',
    description: 'Get a contact.',
    scope: 'contacts:read',
    input: closedObject({ id: id('contact') }),
    run: async ({ parley }, { id }) => ({ data: await parley.contacts.get(id) }),
  }),
  defineTool({
    name: 'list_tags',
    title: 'List tags',
    operation: 'listTags',
    description: 'List all tags with the number of contacts of each.',
    scope: 'contacts:read',
    input: closedObject({ cursor: page.cursor }),
    run: ({ parley }, query) => fetchPage(parley.tags.list(query)),
  }),
]

const text = (description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], description }))
const tagNames = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

/** Tools that change something: they exist only with --allow-send. */
export const contactChangeTools: readonly Tool[] = [
  defineTool({
    name: 'update_contact',
    title: 'Change a contact',
    operation: 'updateContact',
    description: 'Change the fields of a contact that are present. The customer sees nothing.',
    scope: 'contacts:write',
    change: 'update',
    input: closedObject({
      id: id('contact'),
      name: text('Null clears it.'),
      email: text('Null clears it.'),
      company: text('Null clears it.'),
      add_tags: tagNames('Names of tags to add. Tags that do not exist are created.'),
      remove_tags: tagNames('Names of tags to remove.'),
      attributes: Type.Optional(
        Type.Unsafe<Record<string, string | number | boolean | null>>({
          type: 'object',
          additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
          description: 'Merged into the stored attributes; null removes one.',
        }),
      ),
      opted_out: Type.Optional(Type.Boolean({ description: 'True: receives no broadcasts.' })),
    }),
    run: async ({ parley }, { id, ...changes }) => ({ data: await parley.contacts.update(id, changes) }),
  }),
]
