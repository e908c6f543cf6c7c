/** The contact: its schema with the SQL of its fields, and the event of its creation. */
import { type Fragment, jsonObject, type Sql, sharedFragment } from '../lib/postgres/db.ts'
import { Column, NoColumn, resource } from '../lib/resource.ts'
import {
  DateTime,
  ForMembers,
  inDocument,
  NullableDateTime,
  NullableText,
  OneOf,
  type Static,
  Type,
  toPublic,
  Uuid,
} from '../lib/schema.ts'
import { queueTriggers } from '../triggers/queue.ts'
import { emit } from '../webhooks/emit.ts'
import { type Attributes, maxAttributeLength, maxAttributes, namePattern } from './attributes.ts'
import { type Decider, deciders } from './opt-out.ts'
import { TagList } from './tags.ts'

export const channels = ['msgapp', 'social', 'web'] as const
export type ChannelName = (typeof channels)[number]

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
  attributes: { plan: 'pro', seats: 12 },
  opted_out: false,
  created_at: '2026-01-05T09:30:00.000Z',
  updated_at: '2026-01-05T09:30:00.000Z',
}

/** The keywords of attributes in the API document. The service checks them with messages of its own. */
export const attributesOf = (types: readonly ('number' | 'boolean' | 'null')[], maxProperties: number) =>
  inDocument({
    maxProperties,
    propertyNames: { pattern: namePattern.source },
    // Not a list of types: some generators of clients refuse it.
    additionalProperties: {
      anyOf: [{ type: 'string', maxLength: maxAttributeLength }, ...types.map((type) => ({ type }))],
    },
  })

const AttributesSchema = Type.Unsafe<Attributes>({
  type: 'object',
  additionalProperties: true,
  ...attributesOf(['number', 'boolean'], maxAttributes),
  description: `Fields of your own, at most ${maxAttributes}.`,
  examples: [contactExample.attributes],
})

const channelNames = (sql: Sql): Fragment => sql`array(
  select distinct i.channel from contact_identities i
  where i.workspace_id = c.workspace_id and i.contact_id = c.id
  order by i.channel
)`
const identityChannels = (sql: Sql): Fragment => sql`array_to_string(array(
  select i.channel from contact_identities i where i.workspace_id = c.workspace_id and i.contact_id = c.id
), ' ')`

const IdentitySchema = Type.Object(
  {
    channel: OneOf(channels),
    address: Type.String({ description: 'The phone number, the user id of the provider or the id of the visitor.' }),
    connection_id: NullableText({
      format: 'uuid',
      description:
        'The connection that knows a user id or visitor. Null for a phone number, which every number of the workspace can reach.',
    }),
    last_seen_at: NullableText({
      format: 'date-time',
      description: "The customer's last message or visit with this identity. Null if there is none.",
    }),
  },
  { title: 'Identity' },
)

export const ContactSchema = Type.Object(
  {
    id: Uuid,
    phone: NullableText({ pattern: '^\\+[1-9]\\d{1,14}$', description: 'E.164. Null for a contact without a number.' }),
    social_username: NullableText(),
    username: ForMembers(NullableText({ description: 'The username on the primary channel.' })),
    channels: Column(
      Type.Array(OneOf(channels), { description: 'The channels on which the contact can be reached.' }),
      channelNames,
      { text: identityChannels },
    ),
    name: NullableText(),
    email: NullableText(),
    company: NullableText(),
    avatar_url: NullableText({ format: 'uri' }),
    tags: TagList,
    attributes: AttributesSchema,
    opted_out: Column(
      Type.Boolean({ description: 'Receives no broadcasts.' }),
      (sql) => sql`c.opted_out_at is not null`,
    ),
    opted_out_at: ForMembers(NullableDateTime),
    opted_out_by: ForMembers(Type.Unsafe<Decider | null>({ type: ['string', 'null'], enum: [...deciders, null] })),
    created_at: DateTime,
    updated_at: DateTime,
    identities: NoColumn(
      Type.Optional(
        Type.Array(IdentitySchema, {
          description: 'How channels know the contact, the last seen first, at most 100. Only in `GET /contacts/{id}`.',
        }),
      ),
    ),
  },
  { title: 'Contact', examples: [contactExample] },
)

export type Contact = Static<typeof ContactSchema>

/** The fields of contact `c` that all callers see. */
export const publicContact = resource('c', toPublic(ContactSchema))
/** With those that only members see. */
export const memberContact = resource('c', ContactSchema)

/** A stored contact as JSON; null when it was erased. */
export const contactJson = (sql: Sql, workspaceId: Fragment, id: Fragment): Fragment => sql`(
  select ${publicContact.json(sql)} from contacts c where c.workspace_id = ${workspaceId} and c.id = ${id}
)`

/**
 * Members of a `with` list: `contact.created` for each row of the relation. It has the workspace, the stored columns, and the
 * `channel` that created the contact.
 */
export const emitCreated = sharedFragment((sql, relation) => {
  const created = sql.unsafe(relation)
  const keys = sql`c.id as contact_id, c.phone, c.name`
  const contact = sql`${publicContact.json(sql, { channels: sql`array[c.channel]` })} as contact`
  return emit(sql, {
    event: 'contact.created',
    workspaces: created,
    from: sql`${created} c`,
    order: sql`c.id`,
    workspaceId: sql`c.workspace_id`,
    occurredAt: sql`c.created_at`,
    data: sql`case when c.channel = 'social'
      then ${jsonObject(sql, sql`${keys}, c.social_username, ${contact}`)}
      else ${jsonObject(sql, sql`${keys}, ${contact}`)} end`,
  })
})

/** Members of a `with` list: the new contacts of the relation may start automations. */
export const queueCreated = (sql: Sql, relation: string): Fragment =>
  queueTriggers(sql, {
    kinds: ['contact'],
    workspaces: sql.unsafe(relation),
    from: sql`${sql.unsafe(relation)} c`,
    workspaceId: sql`c.workspace_id`,
    event: sql`'created'`,
    contactId: sql`c.id`,
  })

/**
 * Records `contact.created` for contacts of the primary channel. The transaction that created them without an event calls it
 * last, because the event contains the tags. `starts`: they may start automations.
 */
export async function recordCreated(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
  { starts }: { starts: boolean },
): Promise<void> {
  await sql`
    with created as (
      select c.workspace_id, ${memberContact.storedColumns(sql)}, 'msgapp' as channel
      from contacts c
      where c.workspace_id = ${workspaceId} and c.id = any(${[...ids]}::uuid[])
      order by c.id
    ),
    ${starts ? sql`${queueCreated(sql, 'created')},` : sql``}
    ${emitCreated(sql, 'created')}
    select 1`
}
