/**
 * Finds or creates many contacts at once: `POST /contacts/batch`.
 *
 * The items have the effect of single requests in their order: of two items with the same new number the first creates the contact
 * and the second finds it. An invalid item fails alone. The others are one transaction with a fixed number of statements.
 *
 * Locks: tags, then new identities in their order, then contacts in the order of their ids, so two batches wait for each other
 * instead of deadlocking. A contact that is erased or merged meanwhile makes the transaction start again.
 */
import { ApiError, type ErrorCode } from '../lib/errors.ts'
import { type Db, type Sql, withRetries } from '../lib/postgres/db.ts'
import { foldOrNull, textOrNull } from '../lib/text.ts'
import {
  type AttributeChanges,
  type Attributes,
  mergeAttributes,
  queueChanged,
  requireAttributes,
} from './attributes.ts'
import type { ExistsMode, NewContact } from './change.ts'
import { type TextField, textFields } from './contacts.ts'
import { createPeople } from './people.ts'
import { identityOfPhone, requirePhone } from './phone.ts'
import { recordCreated } from './resource.ts'
import { addTags, dropTags, readTagNames, resolveTags } from './tags.ts'

export type BatchInput = NewContact & { if_exists?: ExistsMode | undefined }

export type BatchResult =
  | { index: number; id: string; created: boolean }
  | { index: number; error: { code: ErrorCode; message: string } }

/** A valid item. A field that is undefined changes nothing. */
type BatchItem = {
  index: number
  identity: string
  phone: string
  texts: Partial<Record<TextField, string | null>>
  tags: Map<string, string> | undefined
  attributes: AttributeChanges
  optedOut: boolean | undefined
  isUpdate: boolean
}

/** The fields of a contact, stored or planned. */
type ContactState = Record<TextField, string | null> & {
  attributes: Attributes
  opted_out: boolean
  tags: ReadonlySet<string>
}

const noState: ContactState = {
  ...{ name: null, email: null, company: null, attributes: {}, opted_out: false },
  tags: new Set(),
}

/** `readInput` validates one item, and throws 400. Results are in the order of the items. */
export async function resolveContacts(
  db: Db,
  workspaceId: string,
  defaultCountry: string,
  inputs: readonly unknown[],
  readInput: (input: unknown) => BatchInput,
): Promise<BatchResult[]> {
  const results: BatchResult[] = []
  const items: BatchItem[] = []
  inputs.forEach((input, index) => {
    const refuse = (error: ApiError) => {
      results[index] = { index, error: { code: error.code, message: error.message } }
    }
    refusing(refuse, () => items.push(readBatchItem(readInput(input), index, defaultCountry)))
  })
  const outcome = await withRetries(async () => {
    for (let triesLeft = 10; triesLeft > 0; triesLeft--) {
      const outcome = await runBatch(db, workspaceId, items)
      if (outcome) return outcome
    }
    throw new Error('other callers kept erasing the same contacts')
  })
  for (const result of outcome) results[result.index] = result
  return results
}

/** Calls `refuse` with a caller's mistake. Any other error is thrown. */
function refusing(refuse: (error: ApiError) => void, run: () => void): void {
  try {
    run()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    refuse(error)
  }
}

function readBatchItem(input: BatchInput, index: number, defaultCountry: string): BatchItem {
  const phone = requirePhone(input.phone, defaultCountry, 'phone')
  const attributes = requireAttributes(input.attributes ?? {})
  // As for a single contact: the attributes alone must be within the limit.
  mergeAttributes({}, attributes)
  const texts: BatchItem['texts'] = {}
  for (const field of textFields) if (input[field] !== undefined) texts[field] = textOrNull(input[field])
  return {
    ...{ index, phone, identity: identityOfPhone(phone), texts, attributes },
    tags: input.tags && readTagNames(input.tags),
    optedOut: input.opted_out,
    isUpdate: input.if_exists === 'update',
  }
}

/** Runs the batch in one transaction. Undefined, with nothing written, when a contact was erased or merged meanwhile. */
async function runBatch(db: Db, workspaceId: string, items: readonly BatchItem[]): Promise<BatchResult[] | undefined> {
  const known = await readIdentities(db, workspaceId, [...new Set(items.map(({ identity }) => identity))])
  const isNew = ({ identity }: BatchItem) => !known.has(identity)
  const drafts = planNew(items.filter(isNew))
  const hasUpdates = items.some((item) => item.isUpdate && !isNew(item))
  if (drafts.size === 0 && !hasUpdates) {
    return items.map(({ index, identity }) => ({ index, id: known.get(identity) ?? '', created: false }))
  }
  const applied = items.filter((item) => isNew(item) || item.isUpdate)
  const tagNames = new Map(applied.flatMap(({ tags }) => [...(tags ?? [])]).reverse())
  return db
    .begin(async (sql) => {
      await resolveTags(sql, workspaceId, tagNames)
      const created = await createDrafts(sql, workspaceId, drafts)
      const ids = new Map([...known, ...created])
      // Another caller has created these meanwhile, and its transaction is committed.
      const missed = [...drafts.keys()].filter((identity) => !created.has(identity))
      for (const [identity, id] of await readIdentities(sql, workspaceId, missed)) ids.set(identity, id)
      const results = await updateExisting(sql, workspaceId, items, ids, created)
      // Last, because the events show the tags.
      if (created.size > 0) await recordCreated(sql, workspaceId, [...created.values()], { starts: true })
      return results
    })
    .catch((error: unknown) => {
      if (error instanceof ContactGone) return undefined
      throw error
    }) as Promise<BatchResult[] | undefined>
}

class ContactGone extends Error {}

async function readIdentities(
  sql: Sql,
  workspaceId: string,
  identities: readonly string[],
): Promise<Map<string, string>> {
  if (identities.length === 0) return new Map()
  const rows = await sql<{ external_id: string; contact_id: string }[]>`
    select external_id, contact_id from contact_identities
    where workspace_id = ${workspaceId} and channel = 'msgapp' and external_id = any(${[...identities]}::text[])`
  return new Map(rows.map(({ external_id, contact_id }) => [external_id, contact_id]))
}

type ContactDraft = { phone: string; state: ContactState }

/** The contacts to create: the first item of a number, with the later items that update it. */
function planNew(items: readonly BatchItem[]): Map<string, ContactDraft> {
  const drafts = new Map<string, ContactDraft>()
  for (const item of items) {
    const draft = drafts.get(item.identity)
    if (!draft) drafts.set(item.identity, { phone: item.phone, state: applyItem(noState, item) })
    else if (item.isUpdate) {
      // An item that exceeds a limit is refused after the contact is created.
      refusing(
        () => {},
        () => Object.assign(draft, { state: applyItem(draft.state, item) }),
      )
    }
  }
  return drafts
}

/** Throws 400 for too many attributes. */
function applyItem(state: ContactState, { texts, tags, attributes, optedOut }: BatchItem): ContactState {
  return {
    ...state,
    ...texts,
    attributes: mergeAttributes(state.attributes, attributes),
    opted_out: optedOut ?? state.opted_out,
    tags: tags ? new Set(tags.keys()) : state.tags,
  }
}

/** Creates contacts with their tags. Returns the ids by identity, of those that no other caller created first. */
async function createDrafts(
  sql: Sql,
  workspaceId: string,
  drafts: ReadonlyMap<string, ContactDraft>,
): Promise<Map<string, string>> {
  if (drafts.size === 0) return new Map()
  const people = [...drafts.values()].map(({ phone, state: { tags: _, ...fields } }) => ({
    ...{ workspace_id: workspaceId, channel: 'msgapp' as const, phone, user_id: null },
    ...fields,
  }))
  const rows = await createPeople(sql, people, { emits: false })
  const created = new Map(rows.map(({ external_id, contact_id }) => [external_id, contact_id]))
  const tagged = [...created].flatMap(([identity, contact_id]) =>
    [...(drafts.get(identity)?.state.tags ?? [])].map((key) => ({ contact_id, key })),
  )
  if (tagged.length > 0) await addTags(sql, workspaceId, tagged)
  return created
}

type ContactUpdate = { id: string; before: ContactState; after: ContactState }

/** Applies the items with `update` to contacts that exist, and returns the result of every item. */
async function updateExisting(
  sql: Sql,
  workspaceId: string,
  items: readonly BatchItem[],
  ids: ReadonlyMap<string, string>,
  created: ReadonlyMap<string, string>,
): Promise<BatchResult[]> {
  const isExisting = ({ identity }: BatchItem) => !created.has(identity)
  const targets = new Set(
    items.filter((item) => item.isUpdate && isExisting(item)).map((item) => ids.get(item.identity)),
  )
  if (targets.has(undefined)) throw new ContactGone()
  const updates = await lockContacts(sql, workspaceId, [...targets] as string[])
  // Contacts that this batch created have the fields of all their items. Their states are computed again for the limits.
  const states = new Map<string, ContactState>()
  const results = items.map((item): BatchResult => {
    const { index, identity } = item
    const id = ids.get(identity)
    if (id === undefined) throw new ContactGone()
    const isFirst = created.has(identity) && !states.has(id)
    const update = updates.get(id)
    let result: BatchResult = { index, id, created: isFirst }
    refusing(
      ({ code, message }) => {
        result = { index, error: { code, message } }
      },
      () => {
        if (isFirst) states.set(id, applyItem(noState, item))
        else if (item.isUpdate && update) update.after = applyItem(update.after, item)
        else if (item.isUpdate) states.set(id, applyItem(states.get(id) ?? noState, item))
      },
    )
    return result
  })
  await writeUpdates(sql, workspaceId, [...updates.values()].filter(isChanged))
  return results
}

/** Locks contacts in the order of their ids and reads their fields. */
async function lockContacts(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, ContactUpdate>> {
  if (ids.length === 0) return new Map()
  const locked = await sql`
    select c.id from contacts c
    where c.workspace_id = ${workspaceId} and c.id = any(${[...ids]}::uuid[])
    order by c.id
    for no key update`
  if (locked.length < ids.length) throw new ContactGone()
  // A statement of its own: it sees the tags that a transaction wrote before it released the lock.
  const rows = await sql<(Omit<ContactState, 'tags'> & { id: string; tag_keys: string[] })[]>`
    select c.id, c.name, c.email, c.company, c.attributes, c.opted_out_at is not null as opted_out, array(
        select t.name_key from contact_tags ct join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
        where ct.workspace_id = ${workspaceId} and ct.contact_id = c.id
      ) as tag_keys
    from contacts c
    where c.workspace_id = ${workspaceId} and c.id = any(${[...ids]}::uuid[])`
  return new Map(
    rows.map(({ id, tag_keys, ...fields }) => {
      const state = { ...fields, tags: new Set(tag_keys) }
      return [id, { id, before: state, after: state }]
    }),
  )
}

/** An item that changes nothing leaves `updated_at` as it is, so a synchronisation does not answer itself. */
function isChanged({ before, after }: ContactUpdate): boolean {
  return (
    textFields.some((field) => before[field] !== after[field]) ||
    before.opted_out !== after.opted_out ||
    !isSameSet(before.tags, after.tags) ||
    !isSameRecord(before.attributes, after.attributes)
  )
}

const isSameSet = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.symmetricDifference(other).size === 0

function isSameRecord(one: Attributes, other: Attributes): boolean {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}

async function writeUpdates(sql: Sql, workspaceId: string, updates: readonly ContactUpdate[]): Promise<void> {
  if (updates.length === 0) return
  const rows = updates.map(({ id, before, after: { tags: _, ...fields } }) => ({
    ...{ id, ...fields, attributes_before: before.attributes },
    name_key: foldOrNull(fields.name),
    email_key: foldOrNull(fields.email),
    company_key: foldOrNull(fields.company),
  }))
  const isDecided = sql`g.opted_out <> (c.opted_out_at is not null)`
  const names = new Set(
    updates.flatMap(({ before, after }) => [before, after].flatMap(({ attributes }) => Object.keys(attributes))),
  )
  await sql`
    with
    input as (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        id uuid, name text, name_key text, email text, email_key text, company text, company_key text, attributes jsonb,
        attributes_before jsonb, opted_out boolean
      )
    ),
    changed_contacts as (
    update contacts c set
      name = g.name, name_key = g.name_key, email = g.email, email_key = g.email_key,
      typed_email_key = case when c.typed_email_key = g.email_key then c.typed_email_key end,
      company = g.company, company_key = g.company_key, attributes = g.attributes,
      opted_out_at = case when ${isDecided} then case when g.opted_out then now() end else c.opted_out_at end,
      opted_out_by = case when ${isDecided} then case when g.opted_out then 'api' end else c.opted_out_by end,
      opt_out_decided_at = case when ${isDecided} then date_trunc('second', now()) else c.opt_out_decided_at end,
      updated_at = clock_timestamp()
    from input g
    where c.workspace_id = ${workspaceId} and c.id = g.id
    returning c.workspace_id, c.id, g.attributes_before, c.attributes
    ),
    ${queueChanged(sql, sql`changed_contacts`, [...names])}
    select 1`
  const difference = (one: ContactState, other: ContactState) => [...one.tags.difference(other.tags)]
  const pairs = (id: string, keys: readonly string[]) => keys.map((key) => ({ contact_id: id, key }))
  const dropped = updates.flatMap(({ id, before, after }) => pairs(id, difference(before, after)))
  const added = updates.flatMap(({ id, before, after }) => pairs(id, difference(after, before)))
  if (dropped.length > 0) await dropTags(sql, workspaceId, dropped)
  if (added.length > 0) await addTags(sql, workspaceId, added)
}
