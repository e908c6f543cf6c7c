/**
 * Contacts: the people a workspace talks to.
 *
 * A contact is found by an identity on a channel (`contact_identities`), never by a part of a phone number. Texts that are
 * compared without regard to case are also stored folded (`…_key`), and together in `search`.
 */
import { type ChangePosition, changedAt, changedUs, isChangedAfter, listChanges } from '../lib/changes.ts'
import { type Db, type Fragment, requireRow, type Sql } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, toPage, top } from '../lib/page.ts'
import { escapeLike, fold, lengthOf, textOrNull } from '../lib/text.ts'
import { type Attributes, changeAttributes, requireAttributes } from './attributes.ts'
import { type deciders, setOptOut } from './opt-out.ts'
import { identityOfPhone, requirePhone } from './phone.ts'
import { contactColumns, contactRowColumns, emitCreated, type Flat, recordCreated, toContacts } from './resource.ts'
import { readTagNames, replaceTags, resolveTags, type Tag } from './tags.ts'

export const channels = ['msgapp', 'social', 'web'] as const
export type ChannelName = (typeof channels)[number]

/** The longest texts of a contact, in characters. */
export const contactLimits = { name: 500, email: 320, company: 500 } as const

export type Contact = {
  id: string
  phone: string | null
  social_username: string | null
  channels: ChannelName[]
  name: string | null
  email: string | null
  company: string | null
  avatar_url: string | null
  tags: Tag[]
  created_at: string
  updated_at: string
  /** Custom fields; only members see them. */
  attributes: Attributes
  /** The time of opting out of broadcasts; only members see it. */
  opted_out_at: string | null
  opted_out_by: (typeof deciders)[number] | null
}

export type ContactFilters = {
  search?: string | undefined
  /** The exact number, in E.164. */
  phone?: string | undefined
  /** The exact address, without regard to case. */
  email?: string | undefined
  /** A tag's id or name. */
  tag?: string | undefined
  channel?: ChannelName | undefined
  /** Only contacts that opted out of broadcasts. */
  isOptedOut?: boolean | undefined
}

export async function listContacts(
  sql: Sql,
  workspaceId: string,
  filters: ContactFilters,
  position: Position,
): Promise<Page<Contact>> {
  return listContactsWhere(sql, workspaceId, matchesFilters(sql, workspaceId, filters), position)
}

/** Condition on contact `c`: it matches all filters. */
export function matchesFilters(sql: Sql, workspaceId: string, filters: ContactFilters): Fragment {
  const conditions: Fragment[] = []
  if (filters.search) conditions.push(matches(sql, filters.search))
  if (filters.phone) conditions.push(hasPhone(sql, workspaceId, filters.phone))
  if (filters.email) conditions.push(hasEmail(sql, filters.email))
  if (filters.tag) conditions.push(hasTag(sql, workspaceId, filters.tag))
  if (filters.channel) conditions.push(hasChannel(sql, filters.channel))
  if (filters.isOptedOut) conditions.push(sql`c.opted_out_at is not null`)
  return conditions.reduce((one, other) => sql`${one} and ${other}`, sql`true`)
}

/** One page of the contacts that match the filters and changed after a position, oldest change first. */
export async function listChangedContacts(
  sql: Sql,
  workspaceId: string,
  filters: ContactFilters,
  position: ChangePosition,
): Promise<Page<Contact>> {
  return listChanges(sql, position, async () => {
    const rows = await sql<Flat<Contact & { changed_us: number }>[]>`
        select ${contactRowColumns(sql)}, ${changedUs(sql, sql`c.updated_at`)}
        from contacts c
        where c.workspace_id = ${workspaceId} and ${isChangedAfter(sql, sql`c.updated_at`, sql`c.id`, position)}
          and ${matchesFilters(sql, workspaceId, filters)}
        order by c.updated_at, c.id
        limit ${position.limit + 1}`
    return toContacts<Contact & { changed_us: number }>(sql, workspaceId, rows)
  })
}

/** One page of the contacts `c` that meet a condition, newest first. */
export async function listContactsWhere(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
  { limit, before }: Position,
): Promise<Page<Contact>> {
  const rows = await sql<Flat<Contact>[]>`
    select ${contactRowColumns(sql)}
    from contacts c
    where c.workspace_id = ${workspaceId} and c.id < ${before} and ${condition}
    order by c.id desc
    limit ${limit + 1}`
  return toPage(await toContacts<Contact>(sql, workspaceId, rows), limit)
}

/** All contacts `c` that meet a condition, newest first, in chunks. No connection is held between two chunks. */
export async function* readContactChunks(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
  chunkSize: number,
): AsyncGenerator<Contact[]> {
  let before = top
  for (;;) {
    const { data } = await listContactsWhere(sql, workspaceId, condition, { limit: chunkSize, before })
    const last = data.at(-1)
    if (!last) return
    yield data
    before = last.id
  }
}

export async function countContacts(sql: Sql, workspaceId: string, condition: Fragment): Promise<number> {
  const [counted] = await sql<{ count: number }[]>`
    select count(*)::int as count from contacts c where c.workspace_id = ${workspaceId} and ${condition}`
  return counted?.count ?? 0
}

export async function requireContact(sql: Sql, workspaceId: string, id: string): Promise<Contact> {
  const [contact] = isUuid(id)
    ? await sql<Contact[]>`
        select ${memberColumns(sql)} from contacts c where c.workspace_id = ${workspaceId} and c.id = ${id}`
    : []
  if (!contact) throw notFound('contact')
  return contact
}

export type NewContact = {
  phone: string
  name?: string | null | undefined
  email?: string | null | undefined
  company?: string | null | undefined
  tags?: readonly string[] | undefined
}

/** The treatment of a contact that exists already. */
export const existsModes = ['keep', 'update'] as const
export type ExistsMode = (typeof existsModes)[number]

/** Finds the contact with this number, or creates it. `update` applies the fields present to a contact it finds. */
export async function resolveContact(
  db: Db,
  workspaceId: string,
  defaultCountry: string,
  input: NewContact,
  ifExists: ExistsMode = 'keep',
): Promise<{ contact: Contact; created: boolean }> {
  const phone = requirePhone(input.phone, defaultCountry, 'phone')
  const tagNames = readTagNames(input.tags ?? [])
  const identity = identityOfPhone(phone)
  const existing = await getContactByIdentity(db, workspaceId, 'msgapp', identity)
  const created = !existing && (await createContact(db, workspaceId, phone, input, tagNames))
  const contact = requireRow(
    existing ?? (await getContactByIdentity(db, workspaceId, 'msgapp', identity)),
    'the new contact',
  )
  if (created || ifExists === 'keep') return { contact, created }
  const { name, email, company, tags } = input
  const changes = { name, email, company, tags }
  return { contact: await updateContact(db, workspaceId, defaultCountry, contact.id, changes), created }
}

/** Returns false if another caller created a contact with this number first. */
async function createContact(
  db: Db,
  workspaceId: string,
  phone: string,
  input: NewContact,
  tagNames: Map<string, string>,
): Promise<boolean> {
  const identity = identityOfPhone(phone)
  const id = newId()
  // The identity is unique: of two callers with the same new number, one creates the contact.
  const insert = async (sql: Sql, { emits }: { emits: boolean }): Promise<boolean> => {
    const inserted = await sql`
      with inserted_identity as (
        insert into contact_identities (workspace_id, channel, external_id, contact_id)
        values (${workspaceId}, 'msgapp', ${identity}, ${id})
        on conflict do nothing
        returning contact_id
      ),
      inserted_contact as (
        insert into contacts (workspace_id, id, phone, name, name_key, email, email_key, company, company_key, created_at, updated_at)
        select ${workspaceId}, contact_id, ${phone}, ${textOrNull(input.name)}, ${keyOf(input.name)}, ${textOrNull(input.email)},
          ${keyOf(input.email)}, ${textOrNull(input.company)}, ${keyOf(input.company)}, ${timeOfId(id)},
          ${changedAt(sql, sql`${timeOfId(id)}`)}
        from inserted_identity
        returning workspace_id, id, phone, social_username, name, email, company, avatar_url, created_at, updated_at,
          'msgapp' as channel
      )${emits ? sql`, ${emitCreated(sql, sql`inserted_contact`)}` : sql``}
      select id from inserted_contact`
    return inserted.length > 0
  }
  // Only tags need a transaction. The event contains them, so it is recorded last.
  if (tagNames.size === 0) return insert(db, { emits: true })
  return db.begin(async (sql) => {
    const isCreated = await insert(sql, { emits: false })
    if (isCreated) {
      await replaceTags(sql, workspaceId, id, await resolveTags(sql, workspaceId, tagNames))
      await recordCreated(sql, workspaceId, [id])
    }
    return isCreated
  })
}

export type ContactChanges = {
  phone?: string | undefined
  name?: string | null | undefined
  email?: string | null | undefined
  company?: string | null | undefined
  tags?: readonly string[] | undefined
}

/** Changes that only members may make: the public API ignores fields of these names, like any unknown field. */
export type MemberChanges = { optedOut?: boolean | undefined; attributes?: Record<string, unknown> | undefined }

/** Changes the fields that are present. `tags` replaces all tags; `attributes` are merged, and null removes one. */
export async function updateContact(
  db: Db,
  workspaceId: string,
  defaultCountry: string,
  id: string,
  changes: ContactChanges,
  { optedOut, attributes: input }: MemberChanges = {},
): Promise<Contact> {
  const attributes = input && requireAttributes(input)
  const tagNames = changes.tags && readTagNames(changes.tags)
  const columns: Record<string, string | null> = {}
  for (const field of ['name', 'email', 'company'] as const) {
    if (changes[field] === undefined) continue
    columns[field] = textOrNull(changes[field])
    columns[`${field}_key`] = keyOf(changes[field])
  }
  const phone = changes.phone === undefined ? undefined : requirePhone(changes.phone, defaultCountry, 'phone')
  if (!isUuid(id)) throw notFound('contact')
  if (phone && phone !== (await requireContact(db, workspaceId, id)).phone) throw badRequest('phone: cannot be changed')
  const hasColumns = Object.keys(columns).length > 0
  if (hasColumns || tagNames || attributes || optedOut !== undefined) {
    await db.begin(async (sql) => {
      const columnChanges = Object.entries(columns).reduce(
        (list, [name, value]) => sql`${list}, ${sql(name)} = ${value}`,
        sql``,
      )
      // The lock on this row serializes callers that replace the tags of the same contact.
      const changed = await sql`
        update contacts set updated_at = clock_timestamp()${columnChanges}
        where workspace_id = ${workspaceId} and id = ${id}
        returning id`
      if (changed.length === 0) throw notFound('contact')
      if (tagNames) await replaceTags(sql, workspaceId, id, await resolveTags(sql, workspaceId, tagNames))
      if (attributes) await changeAttributes(sql, workspaceId, id, attributes)
      if (optedOut !== undefined) await setOptOut(sql, workspaceId, id, optedOut)
    })
  }
  return requireContact(db, workspaceId, id)
}

/** Deletes a contact with its identities, tags and memberships. Returns false when it does not exist. */
export async function deleteContact(sql: Sql, workspaceId: string, id: string): Promise<boolean> {
  const deleted = await sql`delete from contacts where workspace_id = ${workspaceId} and id = ${id} returning id`
  return deleted.length > 0
}

/** Condition on contact `c`: it has the tag with this id or name. */
export function hasTag(sql: Sql, workspaceId: string, tag: string): Fragment {
  // The ids of the tags are an array, so that the planner reads only their rows of the index.
  return sql`
    exists (
      select from contact_tags ct
      where ct.workspace_id = c.workspace_id and ct.contact_id = c.id and ct.tag_id = any(array(
        select t.id from tags t
        where t.workspace_id = ${workspaceId}
          and (t.name_key = ${fold(tag.trim())} or t.id = ${isUuid(tag) ? tag : null}::uuid)
      ))
    )`
}

/** Condition on contact `c`: it can be reached on this channel. */
export function hasChannel(sql: Sql, channel: string): Fragment {
  return sql`
    exists (
      select from contact_identities i
      where i.workspace_id = c.workspace_id and i.contact_id = c.id and i.channel = ${channel}
    )`
}

async function getContactByIdentity(
  sql: Sql,
  workspaceId: string,
  channel: ChannelName,
  externalId: string,
): Promise<Contact | undefined> {
  const [contact] = await sql<Contact[]>`
    select ${memberColumns(sql)}
    from contact_identities i
    join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
    where i.workspace_id = ${workspaceId} and i.channel = ${channel} and i.external_id = ${externalId}`
  return contact
}

/** The fields of contact `c` that members see. The public API shows those of its schema. */
const memberColumns = (sql: Sql): Fragment => sql`${contactColumns(sql)}, c.attributes, c.opted_out_at, c.opted_out_by`

/** Condition on contact `c`: this is its number, in any equivalent spelling. */
function hasPhone(sql: Sql, workspaceId: string, phone: string): Fragment {
  return sql`c.id = (
    select i.contact_id from contact_identities i
    where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = ${identityOfPhone(phone)}
  )`
}

/** Condition on contact `c`: this is its e-mail address. The search index finds the few candidates. */
function hasEmail(sql: Sql, email: string): Fragment {
  return sql`${matches(sql, email)} and c.email_key = ${fold(email)}`
}

/**
 * Condition on contact `c`: one of its texts contains this. One or two characters would match nearly all contacts, so they
 * match beginnings only. A phone number is found as people write it, with spaces, brackets and hyphens.
 */
export function matches(sql: Sql, search: string): Fragment {
  const text = fold(search).replaceAll('\n', ' ')
  if (lengthOf(search) < 3) return sql`c.search like ${`%\n${escapeLike(text)}%`}`
  const number = text.replace(/[\s()./-]/g, '')
  if (/^\+?\d{3,}$/.test(number)) {
    return number === text
      ? containsNumber(sql, number)
      : sql`(${contains(sql, text)} or ${containsNumber(sql, number)})`
  }
  return contains(sql, text)
}

const contains = (sql: Sql, text: string): Fragment => sql`c.search like ${`%${escapeLike(text)}%`}`

/**
 * Groups of three digits are in every number, and the index weighs each group of a long number: 16 ms at a million contacts.
 * The last five digits alone leave a handful of rows to check, in 1 ms.
 */
function containsNumber(sql: Sql, number: string): Fragment {
  const digits = /^\+?\d+(\d{5})$/.exec(number)?.[1]
  if (!digits) return contains(sql, number)
  return sql`(c.search like ${`%${digits}%`} and strpos(c.search, ${number}) > 0)`
}

const keyOf = (text: string | null | undefined): string | null => (text?.trim() ? fold(text) : null)
