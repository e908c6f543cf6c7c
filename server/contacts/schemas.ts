/** What callers send about contacts, and the results of batches. */
import { statusOf } from '../lib/errors.ts'
import { ForMembers, inDocument, NullableText, OneOf, TrimmedText, Type, Uuid } from '../lib/schema.ts'
import { maxAttributes } from './attributes.ts'
import { existsModes } from './change.ts'
import { contactLimits } from './contacts.ts'
import { attributesOf, channels, contactExample } from './resource.ts'
import { maxNames, maxTagLength, maxTags, TagSchema } from './tags.ts'

const textRule = 'White space at both ends is removed. An empty text is stored as null.'
const fields = {
  name: Type.Optional(NullableText({ maxLength: contactLimits.name, description: textRule })),
  email: Type.Optional(NullableText({ maxLength: contactLimits.email, description: textRule })),
  company: Type.Optional(NullableText({ maxLength: contactLimits.company, description: textRule })),
}
const TagNames = (description: string) =>
  Type.Array(TrimmedText(maxTagLength), {
    // A name may be repeated, so the route counts different names.
    maxItems: maxNames,
    ...inDocument({ maxItems: maxTags }),
    description: `Tag names, 1 to ${maxTagLength} characters each, at most ${maxTags}. ${description}`,
  })

const valueFields = {
  ...fields,
  tags: Type.Optional(TagNames('Tags that do not exist are created.')),
  attributes: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      ...attributesOf(['number', 'boolean', 'null'], 2 * maxAttributes),
      description: `Merged into the stored attributes; null removes one. A contact has at most ${maxAttributes}.`,
      examples: [{ plan: 'pro', trial_ends: null }],
    }),
  ),
  opted_out: Type.Optional(Type.Boolean({ description: 'Receives no broadcasts.' })),
}

export const NewContact = Type.Object(
  {
    phone: Type.String({
      description: 'A phone number. A number without a country code is in the default country of the workspace.',
    }),
    ...valueFields,
    if_exists: Type.Optional(
      OneOf(existsModes, {
        description:
          'For a number that is known: `keep` changes nothing, `update` applies the fields present. `keep` when absent.',
      }),
    ),
  },
  {
    title: 'NewContact',
    examples: [
      {
        ...{ phone: '+14155550100', name: 'Ada Lovelace', email: 'ada@example.com', tags: ['vip'] },
        ...{ attributes: { plan: 'pro' }, if_exists: 'update' },
      },
    ],
  },
)

export const ContactChanges = Type.Object(
  {
    ...valueFields,
    add_tags: Type.Optional(TagNames('Added to the tags of the contact. Not together with `tags`.')),
    remove_tags: Type.Optional(TagNames('Removed from the tags of the contact. Not together with `tags`.')),
    phone: Type.Optional(Type.String({ description: 'Cannot be changed. The current number is accepted.' })),
  },
  {
    title: 'ContactChanges',
    examples: [
      { company: 'Analytical Engines', add_tags: ['newsletter'], attributes: { plan: 'pro', trial_ends: null } },
    ],
  },
)

const maxBatch = 1_000
/** A thousand contacts with every field at its limit, in ASCII, have 36 MiB. */
export const batchBytes = 40 * 1024 * 1024

export const ContactBatch = Type.Object(
  {
    contacts: Type.Array(Type.Unknown(inDocument(NewContact)), {
      minItems: 1,
      maxItems: maxBatch,
      description: 'Bodies of `POST /contacts`.',
    }),
  },
  {
    title: 'ContactBatch',
    examples: [
      {
        contacts: [
          { phone: '+14155550100', name: 'Ada Lovelace', if_exists: 'update' },
          { phone: '12', name: 'No number' },
        ],
      },
    ],
  },
)

const BatchResult = Type.Object(
  {
    index: Type.Integer({ description: 'The position of the item, from 0.' }),
    id: Type.Optional(Uuid),
    created: Type.Optional(Type.Boolean({ description: 'False for a number that was known.' })),
    error: Type.Optional(
      Type.Object(
        { code: Type.String({ enum: Object.keys(statusOf) }), message: Type.String() },
        { description: 'Why the item was refused. `id` and `created` are absent.' },
      ),
    ),
  },
  {
    title: 'ContactBatchResult',
    ...inDocument({ oneOf: [{ required: ['id', 'created'] }, { required: ['error'] }] }),
    examples: [{ index: 0, id: contactExample.id, created: true }],
  },
)

export const BatchResults = Type.Array(BatchResult, {
  examples: [
    [
      { index: 0, id: contactExample.id, created: true },
      { index: 1, error: { code: 'bad_request', message: 'phone: not a phone number' } },
    ],
  ],
})

export const ContactMerge = Type.Object(
  { contact_id: Type.String({ format: 'uuid', description: 'The contact that is merged and then gone.' }) },
  { title: 'ContactMerge', examples: [{ contact_id: '0199c1d2-6b12-7d4e-9a01-5c6d7e8f9a0b' }] },
)

export const CountedTag = Type.Object(
  { ...TagSchema.properties, contact_count: Type.Integer({ description: 'How many contacts have the tag.' }) },
  { title: 'CountedTag', examples: [{ ...contactExample.tags[0], contact_count: 42 }] },
)

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
  opted_out: ForMembers(Type.Optional(OneOf(['true']))),
}

export const exactFilters = {
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
