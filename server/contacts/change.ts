/**
 * Creates and changes single contacts.
 *
 * Concurrent changes of a contact wait for its row lock, so tags and attributes are added and removed atomically. Tags are resolved
 * before the contact is locked (lock order: ARCHITECTURE.md).
 */
import { ApiError, badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { changedAt } from '../lib/postgres/changes.ts'
import { type Db, type Sql, withRetries } from '../lib/postgres/db.ts'
import { foldOrNull, textOrNull } from '../lib/text.ts'
import { type Attributes, changeAttributes, newAttributes, requireAttributes } from './attributes.ts'
import { getContactByIdentity, requireContact } from './contacts.ts'
import { newOptOut, type Setter, setOptOut } from './opt-out.ts'
import { identityOfPhone, requirePhone } from './phone.ts'
import { type Contact, emitCreated, memberContact, queueCreated, recordCreated } from './resource.ts'
import { addTags, dropTags, readTagNames, replaceTags, requireFewTags, resolveTags } from './tags.ts'

type ContactFields = {
  name?: string | null | undefined
  email?: string | null | undefined
  company?: string | null | undefined
  tags?: readonly string[] | undefined
  attributes?: Record<string, unknown> | undefined
  opted_out?: boolean | undefined
}

export type NewContact = ContactFields & { phone: string }

/** The treatment of a contact that exists already. */
export const existsModes = ['keep', 'update'] as const
export type ExistsMode = (typeof existsModes)[number]

/** Finds the contact with this number, or creates it. `update` applies the fields present to a contact it finds. */
export async function resolveContact(
  db: Db,
  workspaceId: string,
  defaultCountry: string,
  input: NewContact,
  { ifExists = 'keep', by }: { ifExists?: ExistsMode | undefined; by: Setter },
): Promise<{ contact: Contact; created: boolean }> {
  const phone = requirePhone(input.phone, defaultCountry, 'phone')
  const tagNames = readTagNames(input.tags ?? [])
  const attributes = newAttributes(requireAttributes(input.attributes ?? {}))
  const identity = identityOfPhone(phone)
  const find = () => getContactByIdentity(db, workspaceId, 'msgapp', identity)
  // Each round that ends without a contact means that another caller erased or merged it meanwhile.
  for (let triesLeft = 5; triesLeft > 0; triesLeft--) {
    const existing = await find()
    const created = !existing && (await createContact(db, workspaceId, { ...input, phone, tagNames, attributes, by }))
    const contact = existing ?? (await find())
    if (contact && (created || ifExists === 'keep')) return { contact, created }
    const { phone: _, ...changes } = input
    const updated = contact && (await tryUpdate(db, workspaceId, defaultCountry, contact.id, changes, by))
    if (updated) return { contact: updated, created }
  }
  throw new Error('other callers kept erasing the contact')
}

/** Undefined when the contact does not exist any more. */
async function tryUpdate(...args: Parameters<typeof updateContact>): Promise<Contact | undefined> {
  return updateContact(...args).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'not_found') return undefined
    throw error
  })
}

type ContactDraft = Pick<NewContact, 'phone' | 'name' | 'email' | 'company' | 'opted_out'> & {
  attributes: Attributes
  by: Setter
  tagNames: Map<string, string>
}

/** Returns false if another caller created a contact with this number first. */
async function createContact(db: Db, workspaceId: string, draft: ContactDraft): Promise<boolean> {
  const { phone, name, email, company, tagNames } = draft
  const id = newId()
  // The identity is unique: of two callers with the same new number, one creates the contact.
  const insert = async (sql: Sql, { emits }: { emits: boolean }): Promise<boolean> => {
    const inserted = await sql`
      with
      -- The identity, unless a contact has it.
      inserted_identity as (
        insert into contact_identities (workspace_id, channel, external_id, contact_id)
        values (${workspaceId}, 'msgapp', ${identityOfPhone(phone)}, ${id})
        on conflict do nothing
        returning contact_id
      ),
      -- Its contact.
      inserted_contact as (
        insert into contacts as c (workspace_id, id, phone, name, name_key, email, email_key, company, company_key, attributes,
          opted_out_at, opted_out_by, opt_out_decided_at, created_at, updated_at)
        select ${workspaceId}, contact_id, ${phone}, ${textOrNull(name)}, ${keyOf(name)}, ${textOrNull(email)},
          ${keyOf(email)}, ${textOrNull(company)}, ${keyOf(company)}, ${JSON.stringify(draft.attributes)}::text::jsonb,
          ${newOptOut(sql, sql`${draft.opted_out ?? false}::boolean`, draft.by)}, ${timeOfId(id)},
          ${changedAt(sql, sql`${timeOfId(id)}`)}
        from inserted_identity
        returning c.workspace_id, ${memberContact.storedColumns(sql)}, 'msgapp' as channel
      )${emits ? sql`, ${queueCreated(sql, 'inserted_contact')}, ${emitCreated(sql, 'inserted_contact')}` : sql``}
      select id from inserted_contact`
    return inserted.length > 0
  }
  // Only tags need a transaction. The event contains them, so it is recorded last.
  if (tagNames.size === 0) return insert(db, { emits: true })
  const createTagged = async (sql: Sql): Promise<boolean> => {
    await resolveTags(sql, workspaceId, tagNames)
    if (!(await insert(sql, { emits: false }))) throw new LostRace()
    await replaceTags(sql, workspaceId, id, [...tagNames.keys()])
    await recordCreated(sql, workspaceId, [id], { starts: true })
    return true
  }
  return withRetries(() => db.begin(createTagged) as Promise<boolean>).catch((error: unknown) => {
    if (error instanceof LostRace) return false
    throw error
  })
}

/** Another caller created the contact: the tags of this one are rolled back. */
class LostRace extends Error {}

export type ContactChanges = ContactFields & {
  phone?: string | undefined
  add_tags?: readonly string[] | undefined
  remove_tags?: readonly string[] | undefined
}

/**
 * Changes the fields that are present. `tags` replaces all tags; `attributes` are merged, and null removes one. `by` decides about
 * broadcasts.
 */
export async function updateContact(
  db: Db,
  workspaceId: string,
  defaultCountry: string,
  id: string,
  changes: ContactChanges,
  by: Setter,
): Promise<Contact> {
  const attributes = changes.attributes && requireAttributes(changes.attributes)
  const tags = readTagChanges(changes)
  const columns: Record<string, string | null> = {}
  for (const field of ['name', 'email', 'company'] as const) {
    if (changes[field] === undefined) continue
    columns[field] = textOrNull(changes[field])
    columns[`${field}_key`] = keyOf(changes[field])
  }
  const { opted_out: optedOut } = changes
  const phone = changes.phone === undefined ? undefined : requirePhone(changes.phone, defaultCountry, 'phone')
  if (!isUuid(id)) throw notFound('contact')
  if (phone && phone !== (await requireContact(db, workspaceId, id)).phone) throw badRequest('phone: cannot be changed')
  const update = async (sql: Sql): Promise<void> => {
    await resolveTags(sql, workspaceId, tags.replaced ?? tags.added)
    // The address that a visitor typed is kept only while it is the contact's.
    const { email_key: emailKey } = columns
    const columnChanges = Object.entries(columns).reduce(
      (list, [name, value]) => sql`${list}, ${sql(name)} = ${value}`,
      emailKey === undefined
        ? sql``
        : sql`, typed_email_key = case when typed_email_key = ${emailKey} then typed_email_key end`,
    )
    // The lock on this row serializes callers that change the tags of the same contact.
    const changed = await sql`
      update contacts set updated_at = clock_timestamp()${columnChanges}
      where workspace_id = ${workspaceId} and id = ${id}
      returning id`
    if (changed.length === 0) throw notFound('contact')
    if (tags.replaced) await replaceTags(sql, workspaceId, id, [...tags.replaced.keys()])
    const toTagged = (names: Map<string, string>) => [...names.keys()].map((key) => ({ contact_id: id, key }))
    if (tags.removed.size > 0) await dropTags(sql, workspaceId, toTagged(tags.removed))
    if (tags.added.size > 0) {
      await addTags(sql, workspaceId, toTagged(tags.added))
      await requireFewTags(sql, workspaceId, [id])
    }
    if (attributes) await changeAttributes(sql, workspaceId, id, attributes)
    if (optedOut !== undefined) await setOptOut(sql, workspaceId, id, optedOut, by)
  }
  const hasChanges = Object.keys(columns).length > 0 || tags.isPresent || attributes || optedOut !== undefined
  if (hasChanges) await withRetries(() => db.begin(update))
  return requireContact(db, workspaceId, id)
}

/** Adds and removes tags of many contacts at once. Contacts that do not exist are ignored. Returns the ids of the others. */
export async function tagContacts(
  db: Db,
  workspaceId: string,
  ids: readonly string[],
  changes: Pick<ContactChanges, 'add_tags' | 'remove_tags'>,
): Promise<string[]> {
  const { added, removed } = readTagChanges(changes)
  const change = async (sql: Sql): Promise<string[]> => {
    await resolveTags(sql, workspaceId, added)
    const locked = await sql<{ id: string }[]>`
      select id from contacts where workspace_id = ${workspaceId} and id = any(${[...ids]}::uuid[])
      order by id
      for no key update`
    const lockedIds = locked.map(({ id }) => id)
    const pairs = (keys: Iterable<string>) =>
      [...keys].flatMap((key) => lockedIds.map((contact_id) => ({ contact_id, key })))
    await dropTags(sql, workspaceId, pairs(removed.keys()))
    await addTags(sql, workspaceId, pairs(added.keys()))
    if (added.size > 0) await requireFewTags(sql, workspaceId, lockedIds)
    await sql`
      update contacts set updated_at = clock_timestamp()
      where workspace_id = ${workspaceId} and id = any(${lockedIds}::uuid[])`
    return lockedIds
  }
  return withRetries(() => db.begin(change) as Promise<string[]>)
}

function readTagChanges({ tags, add_tags, remove_tags }: ContactChanges) {
  if (tags && (add_tags || remove_tags)) throw badRequest('tags: not together with add_tags or remove_tags')
  const added = readTagNames(add_tags ?? [], 'add_tags')
  const removed = readTagNames(remove_tags ?? [], 'remove_tags')
  const both = [...removed.keys()].find((key) => added.has(key))
  if (both !== undefined) throw badRequest(`remove_tags: ${removed.get(both)} is also in add_tags`)
  const isPresent = tags !== undefined || add_tags !== undefined || remove_tags !== undefined
  return { replaced: tags && readTagNames(tags), added, removed, isPresent }
}

const keyOf = (text: string | null | undefined): string | null => foldOrNull(textOrNull(text))
