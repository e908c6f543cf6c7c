/**
 * Imports contacts from a file.
 *
 * A row with a new number creates a contact, like `POST /contacts`, with its event. A row with a known number changes the
 * fields that have a value and adds tags; an empty cell changes nothing. Texts are trimmed. If a number occurs twice, the
 * later row changes the contact of the earlier one. So every row is `created`, `updated`, `unchanged` or `failed`.
 *
 * The outcome of a chunk is planned in memory, against the stored contacts and the earlier rows. A dry run only plans, so it
 * has the same counts as the run. A chunk is one transaction. After an interruption whole chunks are imported, and importing
 * the file again finds them unchanged, unless two of its rows contradict each other. If another caller creates or erases one
 * of the contacts meanwhile, the chunk is planned again.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type Db, requireRow, type Sql, withRetries } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import { type ImportedPerson, type ImportFile, type ImportRow, type TextField, textFields } from './import-file.ts'
import { createPeople } from './people.ts'
import { recordCreated } from './resource.ts'
import { addTags, maxTags, resolveTags } from './tags.ts'

export type ImportContext = {
  workspaceId: string
  file: ImportFile
  isDryRun: boolean
  /** Called after contacts were created, and possibly webhook deliveries. */
  onCreated: () => void
}

type ImportFailure = { line: number; reason: string; text: string }

export type ImportResult = {
  dry_run: boolean
  total: number
  created: number
  updated: number
  unchanged: number
  failed: number
  ignored_columns: string[]
  failures: ImportFailure[]
}

export type ImportProgress = { done: number; total: number }

const chunkSize = 1_000
const maxFailures = 1_000

/** Yields the progress, and returns the result. */
export async function* importContacts(db: Db, context: ImportContext): AsyncGenerator<ImportProgress, ImportResult> {
  const { workspaceId, file, isDryRun, onCreated } = context
  const { rows, ignored_columns } = file
  const total = rows.length
  const result: ImportResult = {
    ...{ dry_run: isDryRun, total, created: 0, updated: 0, unchanged: 0, failed: 0 },
    ...{ ignored_columns, failures: [] },
  }
  let known: KnownPeople = { keys: new Map(), people: new Map() }
  yield { done: 0, total }
  for (let done = 0; done < total; done += chunkSize) {
    const chunk = rows.slice(done, done + chunkSize)
    const plan = await withRetries(async () => {
      for (let triesLeft = 5; triesLeft > 0; triesLeft--) {
        await readKnown(db, workspaceId, chunk, known)
        const plan = planChunk(chunk, known)
        if (isDryRun || (await writePlan(db, workspaceId, plan))) return plan
        known = { keys: new Map(), people: new Map() }
      }
      throw new Error('other callers kept changing the same contacts; import the file again')
    })
    for (const [identity, key] of plan.keys) known.keys.set(identity, key)
    for (const [key, { after }] of plan.people) known.people.set(key, after)
    result.created += plan.created.length
    result.updated += plan.updated
    result.unchanged += plan.unchanged
    result.failed += plan.failures.length
    result.failures.push(...plan.failures.slice(0, maxFailures - result.failures.length))
    if (plan.created.length > 0 && !isDryRun) onCreated()
    yield { done: Math.min(done + chunkSize, total), total }
    await yieldToEventLoop()
  }
  return result
}

/** A contact before or after a row is applied. */
type Person = Record<TextField, string | null> & {
  /** Null until the contact is created. */
  id: string | null
  tags: ReadonlySet<string>
}

const noPerson: Person = { id: null, name: null, email: null, company: null, tags: new Set() }

/** Contacts by key: the id of a stored contact, or the identity of one that this file creates. */
type KnownPeople = { keys: Map<string, string>; people: Map<string, Person> }

type PersonDraft = { before: Person; after: Person }

type ImportPlan = {
  created: ImportedPerson[]
  updated: number
  unchanged: number
  failures: ImportFailure[]
  keys: Map<string, string>
  people: Map<string, PersonDraft>
  tagNames: Map<string, string>
}

/** Reads the contacts of the rows that are not in `known` yet. */
async function readKnown(sql: Sql, workspaceId: string, rows: readonly ImportRow[], known: KnownPeople): Promise<void> {
  const identities = new Set<string>()
  for (const row of rows) {
    if ('person' in row && !known.keys.has(row.person.identity)) identities.add(row.person.identity)
  }
  if (identities.size === 0) return
  const found = await sql<({ identity: string; id: string; tag_keys: string[] } & Record<TextField, string | null>)[]>`
    select i.external_id as identity, c.id, c.name, c.email, c.company, array(
        select t.name_key from contact_tags ct join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
        where ct.workspace_id = ${workspaceId} and ct.contact_id = c.id
      ) as tag_keys
    from contact_identities i join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
    where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = any(${[...identities]}::text[])`
  for (const { identity, tag_keys, ...person } of found) {
    known.keys.set(identity, person.id)
    // A contact with two numbers is one entry, with the changes of rows that have the other number.
    if (!known.people.has(person.id)) known.people.set(person.id, { ...person, tags: new Set(tag_keys) })
  }
}

/** Plans the outcome of the rows. Pure. */
function planChunk(rows: readonly ImportRow[], known: KnownPeople): ImportPlan {
  const plan: ImportPlan = {
    ...{ created: [], updated: 0, unchanged: 0, failures: [] },
    ...{ keys: new Map(), people: new Map(), tagNames: new Map() },
  }
  for (const row of rows) {
    const { line, text } = row
    if ('fault' in row) {
      plan.failures.push({ line, reason: row.fault, text })
      continue
    }
    const { person } = row
    const key = known.keys.get(person.identity) ?? plan.keys.get(person.identity)
    const current = key === undefined ? undefined : (plan.people.get(key)?.after ?? known.people.get(key))
    if (key === undefined || !current) {
      const after = merge(noPerson, person)
      // The contact is created with the texts of this row; the tags are added afterwards.
      plan.created.push(person)
      plan.keys.set(person.identity, person.identity)
      plan.people.set(person.identity, { before: { ...after, tags: noPerson.tags }, after })
    } else {
      const after = merge(current, person)
      if (after.tags.size > Math.max(maxTags, current.tags.size)) {
        plan.failures.push({ line, reason: `tags: the contact would have more than ${maxTags}`, text })
        continue
      }
      if (after === current) plan.unchanged++
      else plan.updated++
      plan.people.set(key, { before: plan.people.get(key)?.before ?? current, after })
    }
    for (const [tag, name] of person.tags) if (!plan.tagNames.has(tag)) plan.tagNames.set(tag, name)
  }
  return plan
}

/** Applies a row to a contact. Returns the same object when nothing changes. */
function merge(current: Person, { texts, tags }: ImportedPerson): Person {
  const changed = textFields.filter((field) => {
    const text = texts[field]
    return text !== undefined && text !== current[field]?.trim()
  })
  const added = [...tags.keys()].filter((tag) => !current.tags.has(tag))
  if (changed.length === 0 && added.length === 0) return current
  const after: Person = { ...current, tags: added.length === 0 ? current.tags : new Set([...current.tags, ...added]) }
  for (const field of changed) after[field] = texts[field] ?? null
  return after
}

/** Writes the plan. Returns false, and writes nothing, when another caller created or erased one of the contacts meanwhile. */
async function writePlan(db: Db, workspaceId: string, plan: ImportPlan): Promise<boolean> {
  const drafts = [...plan.people].filter(([, { before, after }]) => after !== before)
  if (drafts.length === 0) return true
  const ids = new Map<string, string>()
  const isWritten = await db
    .begin(async (sql) => {
      // Tags are locked before contacts, as everywhere.
      await resolveTags(sql, workspaceId, plan.tagNames)
      if (plan.created.length > 0) {
        const people = plan.created.map(({ phone, texts }) => ({
          ...{ workspace_id: workspaceId, channel: 'msgapp' as const, phone, user_id: null },
          ...texts,
        }))
        const created = await createPeople(sql, people, { emits: false })
        if (created.length < plan.created.length) throw new ConflictError()
        for (const { external_id, contact_id } of created) ids.set(external_id, contact_id)
      }
      const changes = drafts.flatMap(([key, { before, after }]) => {
        const id = requireRow(after.id ?? ids.get(key), 'the imported contact')
        const texts = textFields.filter((field) => after[field] !== before[field])
        const tags = [...after.tags].filter((tag) => !before.tags.has(tag))
        return texts.length + tags.length > 0 ? [{ id, after, texts, tags, isNew: after.id === null }] : []
      })
      const updates = changes.filter(({ texts, isNew }) => texts.length > 0 || !isNew)
      if (updates.length > 0) await updateContacts(sql, workspaceId, updates)
      const tagged = changes.flatMap(({ id, tags }) => tags.map((key) => ({ contact_id: id, key })))
      if (tagged.length > 0) await addTags(sql, workspaceId, tagged)
      // Last, because the events show the tags.
      if (ids.size > 0) await recordCreated(sql, workspaceId, [...ids.values()])
      return true
    })
    .catch((error: unknown) => {
      if (error instanceof ConflictError) return false
      throw error
    })
  for (const [identity, id] of ids) {
    const draft = plan.people.get(identity)
    if (draft) plan.people.set(identity, { ...draft, after: { ...draft.after, id } })
  }
  return isWritten
}

class ConflictError extends Error {}

type ContactUpdate = { id: string; after: Person; texts: readonly TextField[] }

/** Changes the named texts and `updated_at`. The row locks also protect the tags until the transaction ends. */
async function updateContacts(sql: Sql, workspaceId: string, updates: readonly ContactUpdate[]): Promise<void> {
  const rows = updates.map(({ id, after, texts }) => {
    const row: Record<string, string | null> = { id }
    for (const field of texts) {
      const text = after[field]
      row[field] = text
      row[`${field}_key`] = text === null ? null : fold(text)
    }
    return row
  })
  const updated = await sql`
    with input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        id uuid, name text, name_key text, email text, email_key text, company text, company_key text
      )
    ),
    -- Sorted, so that two imports cannot deadlock (lock order: ARCHITECTURE.md).
    locked_contacts as (
      select c.id from contacts c
      where c.workspace_id = ${workspaceId} and c.id in (select id from input)
      order by c.id
      for no key update
    )
    update contacts c set
      name = coalesce(g.name, c.name), name_key = coalesce(g.name_key, c.name_key),
      email = coalesce(g.email, c.email), email_key = coalesce(g.email_key, c.email_key),
      typed_email_key = case when c.typed_email_key = coalesce(g.email_key, c.email_key) then c.typed_email_key end,
      company = coalesce(g.company, c.company), company_key = coalesce(g.company_key, c.company_key),
      updated_at = clock_timestamp()
    from input g join locked_contacts using (id)
    where c.workspace_id = ${workspaceId} and c.id = g.id`
  if (updated.count < updates.length) throw new ConflictError()
}
