/**
 * Many people at once, from a file.
 *
 * A row whose number nobody has makes a contact, as `POST /contacts` does, with
 * its event. One whose number is known changes what its cells say and adds its
 * tags; an empty cell leaves what is there. Blanks around a text are no part of
 * it. Of a number that is there twice, the later row changes what the earlier
 * one made. So every row is `created`, `updated`, `unchanged` or `failed`.
 *
 * What comes of the rows is decided in memory, a chunk at a time, against what
 * was read and what the rows before them have changed. A dry run does just that
 * and writes nothing, so it counts as the run will. A chunk is one transaction:
 * whoever stops in between has imported whole chunks, and the same file again
 * finds them unchanged, unless two of its rows contradict each other. When
 * others change the same people meanwhile, the chunk is decided anew.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Db, requireRow, type Sql, withRetries } from '../lib/db.ts'
import { fold } from '../lib/text.ts'
import { type GivenPerson, type ImportFile, type ImportRow, type TextField, textFields } from './import-file.ts'
import { makePeople } from './people.ts'
import { recordCreated } from './resource.ts'
import { addTags, maxTags, resolveTags } from './tags.ts'

export type Importing = {
  workspaceId: string
  file: ImportFile
  isDryRun: boolean
  /** Contacts were made, and with them perhaps deliveries. */
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

/** Yields how far it has got, and returns what came of it. */
export async function* importContacts(db: Db, importing: Importing): AsyncGenerator<ImportProgress, ImportResult> {
  const { workspaceId, file, isDryRun, onCreated } = importing
  const { rows, ignored_columns } = file
  const total = rows.length
  const result: ImportResult = {
    ...{ dry_run: isDryRun, total, created: 0, updated: 0, unchanged: 0, failed: 0 },
    ...{ ignored_columns, failures: [] },
  }
  let known: Known = { keys: new Map(), people: new Map() }
  yield { done: 0, total }
  for (let done = 0; done < total; done += chunkSize) {
    const chunk = rows.slice(done, done + chunkSize)
    const plan = await withRetries(async () => {
      for (let triesLeft = 5; triesLeft > 0; triesLeft--) {
        await readKnown(db, workspaceId, chunk, known)
        const plan = decide(chunk, known)
        if (isDryRun || (await write(db, workspaceId, plan))) return plan
        known = { keys: new Map(), people: new Map() }
      }
      throw new Error('the same contacts were changed by others again and again')
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
    await nextTurn()
  }
  return result
}

/** A contact as it is, or will be. */
type Person = Record<TextField, string | null> & {
  /** Null: nobody wrote it yet. */
  id: string | null
  tags: ReadonlySet<string>
}

/** People by a key of their own: the contact's id, or the number of somebody this file makes. */
type Known = { keys: Map<string, string>; people: Map<string, Person> }

type Draft = { before: Person; after: Person }

type Plan = {
  created: GivenPerson[]
  updated: number
  unchanged: number
  failures: ImportFailure[]
  keys: Map<string, string>
  people: Map<string, Draft>
  tagNames: Map<string, string>
}

/** Read those of the rows' people that are not known yet. */
async function readKnown(sql: Sql, workspaceId: string, rows: readonly ImportRow[], known: Known): Promise<void> {
  const asked = new Set<string>()
  for (const row of rows) {
    if ('person' in row && !known.keys.has(row.person.identity)) asked.add(row.person.identity)
  }
  if (asked.size === 0) return
  const found = await sql<({ identity: string; id: string; tag_keys: string[] } & Record<TextField, string | null>)[]>`
    select i.external_id as identity, c.id, c.name, c.email, c.company, array(
        select t.name_key from contact_tags ct join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
        where ct.workspace_id = ${workspaceId} and ct.contact_id = c.id
      ) as tag_keys
    from contact_identities i join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
    where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = any(${[...asked]}::text[])`
  for (const { identity, tag_keys, ...person } of found) {
    known.keys.set(identity, person.id)
    // Somebody with two numbers is one person, with what the rows of the other number made of them.
    if (!known.people.has(person.id)) known.people.set(person.id, { ...person, tags: new Set(tag_keys) })
  }
}

/** What is to become of the rows. Pure. */
function decide(rows: readonly ImportRow[], known: Known): Plan {
  const plan: Plan = {
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
    const now = key === undefined ? undefined : (plan.people.get(key)?.after ?? known.people.get(key))
    if (key === undefined || !now) {
      const after = merge({ id: null, name: null, email: null, company: null, tags: new Set() }, person)
      // Made with what this row says; only the tags are to be added.
      plan.created.push(person)
      plan.keys.set(person.identity, person.identity)
      plan.people.set(person.identity, { before: { ...after, tags: new Set() }, after })
    } else {
      const after = merge(now, person)
      if (after.tags.size > Math.max(maxTags, now.tags.size)) {
        plan.failures.push({ line, reason: `tags: the contact would have more than ${maxTags}`, text })
        continue
      }
      if (after === now) plan.unchanged++
      else plan.updated++
      plan.people.set(key, { before: plan.people.get(key)?.before ?? now, after })
    }
    for (const [tag, name] of person.tags) if (!plan.tagNames.has(tag)) plan.tagNames.set(tag, name)
  }
  return plan
}

/** The person with what a row says; the very same one when that is nothing new. */
function merge(now: Person, { texts, tags }: GivenPerson): Person {
  const changed = textFields.filter((field) => {
    const text = texts[field]
    return text !== undefined && text !== now[field]?.trim()
  })
  const added = [...tags.keys()].filter((tag) => !now.tags.has(tag))
  if (changed.length === 0 && added.length === 0) return now
  const after: Person = { ...now, tags: added.length === 0 ? now.tags : new Set([...now.tags, ...added]) }
  for (const field of changed) after[field] = texts[field] ?? null
  return after
}

/** Write it all; false: nothing was written, as somebody was made or erased by others meanwhile. */
async function write(db: Db, workspaceId: string, plan: Plan): Promise<boolean> {
  const drafts = [...plan.people].filter(([, { before, after }]) => after !== before)
  if (drafts.length === 0) return true
  const ids = new Map<string, string>()
  const isWritten = await db
    .begin(async (sql) => {
      if (plan.created.length > 0) {
        const people = plan.created.map(({ phone, texts }) => ({
          ...{ workspace_id: workspaceId, channel: 'msgapp' as const, phone, user_id: null },
          ...texts,
        }))
        const made = await makePeople(sql, people, { emits: false })
        if (made.length < plan.created.length) throw new Overtaken()
        for (const { external_id, contact_id } of made) ids.set(external_id, contact_id)
      }
      const changes = drafts.flatMap(([key, { before, after }]) => {
        const id = requireRow(after.id ?? ids.get(key), 'the imported contact')
        const texts = textFields.filter((field) => after[field] !== before[field])
        const tags = [...after.tags].filter((tag) => !before.tags.has(tag))
        return texts.length + tags.length > 0 ? [{ id, after, texts, tags, isMade: after.id === null }] : []
      })
      const updates = changes.filter(({ texts, isMade }) => texts.length > 0 || !isMade)
      if (updates.length > 0) await update(sql, workspaceId, updates)
      const tagged = changes.flatMap(({ id, tags }) => tags.map((key) => ({ contact_id: id, key })))
      if (tagged.length > 0) {
        await resolveTags(sql, workspaceId, plan.tagNames)
        await addTags(sql, workspaceId, tagged)
      }
      // Last, because the events show the tags.
      if (ids.size > 0) await recordCreated(sql, workspaceId, [...ids.values()])
      return true
    })
    .catch((error: unknown) => {
      if (error instanceof Overtaken) return false
      throw error
    })
  for (const [identity, id] of ids) {
    const draft = plan.people.get(identity)
    if (draft) plan.people.set(identity, { ...draft, after: { ...draft.after, id } })
  }
  return isWritten
}

class Overtaken extends Error {}

type Update = { id: string; after: Person; texts: readonly TextField[] }

/** Change the texts named, and note that something changed. The rows are held until the end, or their tags might go astray. */
async function update(sql: Sql, workspaceId: string, updates: readonly Update[]): Promise<void> {
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
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        id uuid, name text, name_key text, email text, email_key text, company text, company_key text
      )
    ),
    -- In order, so that two that change the same people take turns.
    locked as (
      select c.id from contacts c
      where c.workspace_id = ${workspaceId} and c.id in (select id from given)
      order by c.id
      for no key update
    )
    update contacts c set
      name = coalesce(g.name, c.name), name_key = coalesce(g.name_key, c.name_key),
      email = coalesce(g.email, c.email), email_key = coalesce(g.email_key, c.email_key),
      company = coalesce(g.company, c.company), company_key = coalesce(g.company_key, c.company_key),
      updated_at = now()
    from given g join locked using (id)
    where c.workspace_id = ${workspaceId} and c.id = g.id`
  if (updated.count < updates.length) throw new Overtaken()
}
