/**
 * Imports a chunk of rows: one transaction writes contacts, tags, events, what the undo needs, the rejected rows, and the new position
 * of the import. So after a crash another worker continues with the next row.
 *
 * Numbers are looked up before the transaction. In it, tags are locked before contacts (lock order: ARCHITECTURE.md), and the contacts that
 * exist are read again after they are locked. If another caller has created, erased or merged one of the contacts meanwhile, the
 * chunk is planned again.
 *
 * No statement joins two of its own lists: a cached plan expects ten rows of an array and would compare each row with all others.
 */
import type { TextField } from '../contacts/contacts.ts'
import { newOptOut } from '../contacts/opt-out.ts'
import { recordCreated } from '../contacts/resource.ts'
import { resolveTags } from '../contacts/tags.ts'
import type { CsvChunk } from '../lib/csv-reader.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { changedAt } from '../lib/postgres/changes.ts'
import { booleanTexts, type Db, isDuplicate, requireRow, type Sql, withRetries } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import { hasSubscribers } from '../webhooks/emit.ts'
import { type ImportJob, moveOn } from './jobs.ts'
import { readContacts, readIdentities } from './known.ts'
import { type ContactChange, planChunk, type StoredContact } from './plan.ts'
import { saveRejects } from './rejects.ts'
import { addPlan, type ImportResult } from './results.ts'
import type { ImportedPerson, ReadRows } from './rows.ts'

type WrittenChunk = { result: ImportResult; hasCreated: boolean; hasEvents: boolean }

type ChunkInput = { chunk: CsvChunk; rows: ReadRows; rowsDone: number; result: ImportResult; leaseMs: number }

/** Throws `LostLease`, with nothing written, when the import was canceled or another worker has it. */
export function writeChunk(db: Db, job: ImportJob, input: ChunkInput): Promise<WrittenChunk> {
  return withRetries(async () => {
    for (let triesLeft = 5; triesLeft > 0; triesLeft--) {
      const written = await tryChunk(db, job, input)
      if (written) return written
    }
    throw new Error('other callers kept changing the same contacts')
  })
}

/** Another caller created, erased or merged one of the contacts. */
class ConflictError extends Error {}

/** Undefined, with nothing written, after a conflict. */
async function tryChunk(db: Db, job: ImportJob, input: ChunkInput): Promise<WrittenChunk | undefined> {
  const { workspaceId, options } = job
  const { chunk, rows, rowsDone, leaseMs } = input
  const { people, faults } = rows
  const identities = people.map(({ identity }) => identity)
  const known = people.length === 0 ? new Map<string, string>() : await readIdentities(db, workspaceId, identities)
  return db
    .begin(async (sql): Promise<WrittenChunk> => {
      const tagIds = await resolveTagsOf(sql, job, rows, known)
      const contacts = options.update === 'never' ? toUnread(known) : await lockContacts(sql, workspaceId, known)
      const plan = planChunk(people, faults, contacts, options.update)
      await updateContacts(sql, job, plan.changes, tagIds)
      await addTags(sql, workspaceId, tagsOf(plan.changes, tagIds))
      const created = await createContacts(sql, job, plan.created, tagIds)
      // After the tags, because the events show them.
      const hasEvents = created.length > 0 && (await hasSubscribers(sql, workspaceId, 'contact.created'))
      if (hasEvents) await recordCreated(sql, workspaceId, created, { starts: false })
      const replaces = (job.checked?.rejected ?? 0) > 0
      await saveRejects(sql, job, { chunk, faults: plan.faults, replaces })
      const result = addPlan(input.result, plan)
      await moveOn(sql, job, { next: chunk.end, rowsDone, result }, leaseMs)
      return { result, hasCreated: created.length > 0, hasEvents }
    })
    .catch((error: unknown) => {
      if (error instanceof ConflictError || isDuplicate(error, 'contact_identities_pkey')) return undefined
      throw error
    }) as Promise<WrittenChunk | undefined>
}

/** The ids of the tags that rows of the chunk add, by folded name. */
async function resolveTagsOf(
  sql: Sql,
  { workspaceId, options }: ImportJob,
  { people, tagNames }: ReadRows,
  known: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const { identity, tags } of people) {
    if (options.update === 'never' && known.has(identity)) continue
    for (const key of tags) if (!names.has(key)) names.set(key, tagNames.get(key) ?? key)
  }
  const tags = await resolveTags(sql, workspaceId, names)
  return new Map([...tags].map(([key, tag]) => [key, tag.id]))
}

/** Contacts that are not changed need not be read: only that they exist counts. */
function toUnread(known: ReadonlyMap<string, string>): Map<string, StoredContact> {
  const contact = {
    name: null,
    email: null,
    company: null,
    typed_email_key: null,
    attributes: {},
    hasMoreNumbers: false,
  }
  const decision = { opted_out_at: null, opted_out_by: null, opt_out_decided_at: null }
  const tags = new Set<string>()
  return new Map([...known].map(([identity, id]) => [identity, { id, ...contact, ...decision, tags }]))
}

/** Locks the contacts of these numbers, and reads them after that: a statement that waited for a lock does not see later tags. */
async function lockContacts(
  sql: Sql,
  workspaceId: string,
  known: ReadonlyMap<string, string>,
): Promise<Map<string, StoredContact>> {
  if (known.size === 0) return new Map()
  const ids = new Set(known.values())
  const locked = await sql`
    select c.id from contacts c
    where c.workspace_id = ${workspaceId} and c.id = any(${[...ids]}::uuid[])
    order by c.id
    for no key update`
  if (locked.length < ids.size) throw new ConflictError()
  const contacts = await readContacts(sql, workspaceId, [...known.keys()])
  for (const [identity, contactId] of known) {
    if (contacts.get(identity)?.id !== contactId) throw new ConflictError()
  }
  return contacts
}

/**
 * Creates contacts with their identities and tags. Returns their ids. A number that another caller has created meanwhile fails the
 * statement: `on conflict` would search each index twice, for a case that is rare.
 */
async function createContacts(
  sql: Sql,
  { workspaceId, id: importId, mapping }: ImportJob,
  people: readonly ImportedPerson[],
  tagIds: ReadonlyMap<string, string>,
): Promise<string[]> {
  if (people.length === 0) return []
  const ids = people.map(() => newId())
  const tagged = tagsOf(
    people.map(({ tags }, i) => ({ id: ids[i] ?? '', tags })),
    tagIds,
  )
  const textsOf = (field: TextField) => {
    // A column that the file does not have is null in all rows.
    if (!mapping.some(({ to }) => to === field)) return { texts: null, keys: null }
    const texts = people.map((person) => person[field] ?? null)
    return { texts, keys: texts.map((text) => text && fold(text)) }
  }
  const [name, email, company] = [textsOf('name'), textsOf('email'), textsOf('company')]
  const has = (to: 'attribute' | 'opted_out') => mapping.some((target) => target.to === to)
  const attributes = has('attribute')
    ? people.map((person) =>
        person.attributes.length > 0 ? JSON.stringify(Object.fromEntries(person.attributes)) : null,
      )
    : null
  const optedOut = has('opted_out') ? booleanTexts(people.map((person) => person.optedOut ?? null)) : null
  await sql`
    with
    -- The people of the file, one per row.
    input as (
      select *
      from unnest(${ids}::uuid[], ${people.map(({ identity }) => identity)}::text[], ${people.map(({ phone }) => phone)}::text[],
        ${name.texts}::text[], ${name.keys}::text[], ${email.texts}::text[], ${email.keys}::text[],
        ${company.texts}::text[], ${company.keys}::text[], ${attributes}::text[], ${optedOut}::text[]::boolean[],
        ${ids.map(timeOfId)}::timestamptz[])
        as i (id, external_id, phone, name, name_key, email, email_key, company, company_key, attributes, opted_out, created_at)
    ),
    -- Sorted, so that two callers that create the same contacts cannot deadlock.
    inserted_identities as (
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      select ${workspaceId}, 'msgapp', external_id, id from input order by external_id
    ),
    -- Their contacts, in the order of the primary key.
    inserted_contacts as (
      insert into contacts (workspace_id, id, phone, name, name_key, email, email_key, company, company_key, attributes,
        opted_out_at, opted_out_by, opt_out_decided_at, created_at, updated_at)
      select ${workspaceId}, id, phone, name, name_key, email, email_key, company, company_key,
        coalesce(attributes::jsonb, '{}'), ${newOptOut(sql, sql`opted_out`, 'member')}, created_at,
        ${changedAt(sql, sql`created_at`)}
      from input
      order by id
      returning id, updated_at
    ),
    -- What the undo needs.
    inserted_changes as (
      insert into contact_import_changes (workspace_id, import_id, contact_id, after_at)
      select ${workspaceId}, ${importId}, id, updated_at from inserted_contacts
    )
    insert into contact_tags (workspace_id, contact_id, tag_id)
    select ${workspaceId}, t.contact_id, t.tag_id
    from unnest(${tagged.contactIds}::uuid[], ${tagged.tagIds}::uuid[]) as t (contact_id, tag_id)`
  return ids
}

/** Changes the fields that a change has, and stores what the undo needs. The contacts are locked. */
async function updateContacts(
  sql: Sql,
  { workspaceId, id: importId }: ImportJob,
  changes: readonly ContactChange[],
  tagIds: ReadonlyMap<string, string>,
): Promise<void> {
  if (changes.length === 0) return
  // By id, because a tag may be renamed before the undo.
  const afterOf = ({ after, tags }: ContactChange) => ({
    ...after,
    ...Object.fromEntries(tags.map((key) => [`tags.${tagIds.get(key)}`, true])),
  })
  const textsOf = (field: TextField) => {
    const texts = changes.map(({ texts }) => texts[field] ?? null)
    return { texts, keys: texts.map((text) => text && fold(text)) }
  }
  const [name, email, company] = [textsOf('name'), textsOf('email'), textsOf('company')]
  const attributes = changes.map((change) =>
    Object.keys(change.attributes).length > 0 ? JSON.stringify(change.attributes) : null,
  )
  const updated = await sql`
    with
    -- One row per contact; null for a field that does not change.
    input as (
      select *
      from unnest(${changes.map(({ id }) => id)}::uuid[], ${name.texts}::text[], ${name.keys}::text[], ${email.texts}::text[],
        ${email.keys}::text[], ${company.texts}::text[], ${company.keys}::text[], ${attributes}::text[],
        ${booleanTexts(changes.map(({ optedOut }) => optedOut ?? null))}::text[]::boolean[],
        ${changes.map(({ before }) => JSON.stringify(before))}::text[],
        ${changes.map((change) => JSON.stringify(afterOf(change)))}::text[])
        as g (id, name, name_key, email, email_key, company, company_key, attributes, opted_out, before, after)
    ),
    -- The contacts, with the time of their last change before the import.
    updated_contacts as (
      update contacts c set
        name = coalesce(g.name, c.name), name_key = coalesce(g.name_key, c.name_key),
        email = coalesce(g.email, c.email), email_key = coalesce(g.email_key, c.email_key),
        typed_email_key = case when g.email_key is null or c.typed_email_key = g.email_key then c.typed_email_key end,
        company = coalesce(g.company, c.company), company_key = coalesce(g.company_key, c.company_key),
        attributes = coalesce(c.attributes || g.attributes::jsonb, c.attributes),
        opted_out_at = case when g.opted_out is null then c.opted_out_at when g.opted_out then now() end,
        opted_out_by = case when g.opted_out is null then c.opted_out_by when g.opted_out then 'member' end,
        opt_out_decided_at = case when g.opted_out is null then c.opt_out_decided_at else date_trunc('second', now()) end,
        updated_at = clock_timestamp()
      from input g join contacts o on o.workspace_id = ${workspaceId} and o.id = g.id
      where c.workspace_id = ${workspaceId} and c.id = g.id
      returning c.id, c.updated_at, c.opt_out_decided_at, c.opted_out_at, o.updated_at as before_at, g.opted_out, g.before, g.after
    )
    -- What the undo needs. A contact with two numbers may have changed before: its first values count.
    insert into contact_import_changes as ch (workspace_id, import_id, contact_id, before, after, before_at, after_at)
    select ${workspaceId}, ${importId}, u.id, u.before::jsonb,
      case when u.opted_out is null then u.after::jsonb
        else u.after::jsonb || jsonb_build_object('opted_out_at', u.opted_out_at, 'opt_out_decided_at', u.opt_out_decided_at) end,
      u.before_at, u.updated_at
    from updated_contacts u
    order by u.id
    on conflict (workspace_id, import_id, contact_id) do update set
      before = excluded.before || ch.before, after = ch.after || excluded.after, after_at = excluded.after_at`
  if (updated.count < changes.length) throw new ConflictError()
}

type TaggedContacts = { contactIds: string[]; tagIds: string[] }

/** Pairs of a contact and a tag. `tagIds`: by folded name. */
function tagsOf(
  contacts: readonly { id: string; tags: readonly string[] }[],
  tagIds: ReadonlyMap<string, string>,
): TaggedContacts {
  const tagged: TaggedContacts = { contactIds: [], tagIds: [] }
  for (const { id, tags } of contacts) {
    for (const key of tags) {
      tagged.contactIds.push(id)
      tagged.tagIds.push(requireRow(tagIds.get(key), 'the tag of an imported contact'))
    }
  }
  return tagged
}

/** Adds tags to contacts that exist. Another caller may add the same one. */
async function addTags(sql: Sql, workspaceId: string, { contactIds, tagIds }: TaggedContacts): Promise<void> {
  if (contactIds.length === 0) return
  await sql`
    insert into contact_tags (workspace_id, contact_id, tag_id)
    select ${workspaceId}, t.contact_id, t.tag_id
    from unnest(${contactIds}::uuid[], ${tagIds}::uuid[]) as t (contact_id, tag_id)
    order by t.contact_id, t.tag_id
    on conflict do nothing`
}
