/**
 * Undoes an import, in chunks of contacts: those that it created and that nothing has touched since are erased, and changed fields get
 * their earlier values unless they changed again. What stays keeps its row, with the reason, for the list.
 *
 * A chunk is one transaction with the new position, so after a crash another worker continues with the next contact. Erasing concerns
 * tables of many modules, so it is passed in.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Times } from '../../common/times.ts'
import { type TextField, textFields } from '../contacts/contacts.ts'
import { bottom } from '../lib/page.ts'
import { booleanTexts, type Db, type Sql, withRetries } from '../lib/postgres/db.ts'
import { foldOrNull } from '../lib/text.ts'
import { moveEarlierChanges } from './changes.ts'
import { endUndo, type ImportJob, moveUndo } from './jobs.ts'
import type { FieldValues } from './plan.ts'
import type { AttributeValue } from './rows.ts'

/**
 * Erases the contacts that an import created and that nothing has touched since, in the caller's transaction. Returns why the others
 * stay, by their ids.
 */
export type EraseUntouched = (
  sql: Sql,
  workspaceId: string,
  importId: string,
  contactIds: readonly string[],
) => Promise<Map<string, string>>

type UndoContext = {
  db: Db
  times: Times['imports']
  eraseUntouched: EraseUntouched
  isStopped: () => boolean
  onChunk: () => void
}

/** Contacts per transaction. No broadcast of the workspace is filled meanwhile. */
const chunkSize = 1_000

/** Returns false when it was stopped before the end. */
export async function undoImport(context: UndoContext, job: ImportJob): Promise<boolean> {
  const { db, times, isStopped, onChunk } = context
  let undoneTo = job.undoneTo ?? bottom
  for (;;) {
    if (isStopped()) return false
    const last = await withRetries(() => db.begin((sql) => undoChunk(sql, context, job, undoneTo)))
    if (last === undefined) break
    undoneTo = last
    onChunk()
    await sleep(times.pauseMs)
  }
  await endUndo(db, job)
  return true
}

type ChangeRow = {
  contact_id: string
  is_created: boolean
  before: FieldValues | null
  after: FieldValues | null
  after_at: string
  kept: string | null
}

/** Returns the last contact of the chunk; undefined when there is none. */
async function undoChunk(
  sql: Sql,
  { eraseUntouched, times }: UndoContext,
  job: ImportJob,
  undoneTo: string,
): Promise<string | undefined> {
  const { workspaceId, id } = job
  const rows = await sql<ChangeRow[]>`
    select contact_id, before is null as is_created, before, after, after_at::text as after_at, kept
    from contact_import_changes
    where workspace_id = ${workspaceId} and import_id = ${id} and contact_id > ${undoneTo}
    order by contact_id
    limit ${chunkSize}`
  const last = rows.at(-1)
  if (!last) return undefined
  const createdIds = rows.flatMap((row) => (row.is_created && row.kept === null ? [row.contact_id] : []))
  const changed = rows.filter((row) => !row.is_created && row.kept === null)
  const touched =
    createdIds.length > 0 ? await eraseUntouched(sql, workspaceId, id, createdIds) : new Map<string, string>()
  const { keptFields, untouchedIds } = await restoreContacts(sql, workspaceId, changed)
  const kept = new Map([...touched, ...keptFields])
  const restoredIds = changed.map(({ contact_id }) => contact_id).filter((contactId) => !kept.has(contactId))
  await moveEarlierChanges(sql, workspaceId, id, untouchedIds)
  await sql`
    update contact_import_changes ch set kept = k.reason, before = null, after = null
    from unnest(${[...kept.keys()]}::uuid[], ${[...kept.values()]}::text[]) as k (contact_id, reason)
    where ch.workspace_id = ${workspaceId} and ch.import_id = ${id} and ch.contact_id = k.contact_id`
  const doneIds = [...createdIds, ...restoredIds].filter((contactId) => !kept.has(contactId))
  await sql`
    delete from contact_import_changes
    where workspace_id = ${workspaceId} and import_id = ${id} and contact_id = any(${doneIds}::uuid[])`
  const counts = {
    erased: createdIds.length - touched.size,
    restored: restoredIds.length,
    kept: kept.size + rows.filter((row) => row.kept !== null).length,
  }
  await moveUndo(sql, job, { undoneTo: last.contact_id, counts, leaseMs: times.leaseMs })
  return last.contact_id
}

type CurrentContact = {
  id: string
  name: string | null
  email: string | null
  company: string | null
  attributes: Record<string, AttributeValue>
  /** The decision about broadcasts is still that of the import. */
  is_same_decision: boolean
  /** Nothing of the contact has changed since the import. */
  is_untouched: boolean
  /** The tags that the contact has now. */
  tag_ids: string[]
}

/** Restores the fields that are still as the import left them. `keptFields`: the other ones, as reasons by the contacts' ids. */
async function restoreContacts(
  sql: Sql,
  workspaceId: string,
  rows: readonly ChangeRow[],
): Promise<{ keptFields: Map<string, string>; untouchedIds: string[] }> {
  if (rows.length === 0) return { keptFields: new Map(), untouchedIds: [] }
  const ids = rows.map(({ contact_id }) => contact_id)
  const afters = rows.map(({ after }) => after ?? {})
  await sql`
    select c.id from contacts c
    where c.workspace_id = ${workspaceId} and c.id = any(${ids}::uuid[])
    order by c.id
    for no key update`
  // After the lock, so that it sees the tags that other transactions have written.
  const contacts = await sql<CurrentContact[]>`
    select c.id, c.name, c.email, c.company, c.attributes,
      c.opted_out_at is not distinct from g.opted_out_at and c.opt_out_decided_at is not distinct from g.decided_at
        as is_same_decision,
      c.updated_at = g.after_at as is_untouched,
      array(
        select ct.tag_id from contact_tags ct where ct.workspace_id = ${workspaceId} and ct.contact_id = c.id
      ) as tag_ids
    from unnest(${ids}::uuid[], ${afters.map((after) => textOf(after.opted_out_at))}::timestamptz[],
      ${afters.map((after) => textOf(after.opt_out_decided_at))}::timestamptz[],
      ${rows.map(({ after_at }) => after_at)}::timestamptz[]) as g (id, opted_out_at, decided_at, after_at)
    join contacts c on c.workspace_id = ${workspaceId} and c.id = g.id`
  const byId = new Map(contacts.map((contact) => [contact.id, contact]))
  const restores: Restore[] = []
  const kept = new Map<string, string>()
  for (const { contact_id, before, after } of rows) {
    const contact = byId.get(contact_id)
    if (!contact) continue
    const { restore, keptFields } = planRestore(contact, before ?? {}, after ?? {})
    restores.push(restore)
    if (keptFields.length > 0) kept.set(contact_id, `fields:${keptFields.join(',')}`)
  }
  await writeRestores(sql, workspaceId, restores)
  return { keptFields: kept, untouchedIds: contacts.flatMap(({ id, is_untouched }) => (is_untouched ? [id] : [])) }
}

const textOf = (value: FieldValues[string] | undefined): string | null => (typeof value === 'string' ? value : null)

type Restore = {
  id: string
  texts: Partial<Record<TextField, string | null>>
  typedEmailKey: string | null
  /** All attributes; null when none is restored. */
  attributes: Record<string, AttributeValue> | null
  optOut: { at: string | null; by: string | null; decidedAt: string | null } | undefined
  /** The ids of the tags to remove. */
  tags: string[]
}

/** What to restore of a contact, and the names of the fields that changed again. Pure. */
export function planRestore(
  contact: Omit<CurrentContact, 'is_untouched'>,
  before: FieldValues,
  after: FieldValues,
): { restore: Restore; keptFields: string[] } {
  const restore: Restore = {
    ...{ id: contact.id, texts: {}, typedEmailKey: null, attributes: null, optOut: undefined, tags: [] },
  }
  const keptFields: string[] = []
  for (const [field, value] of Object.entries(after)) {
    const [kind = '', ...rest] = field.split('.')
    const name = rest.join('.')
    if (kind === 'attributes') {
      const current = restore.attributes ?? contact.attributes
      if (!Object.hasOwn(current, name) || current[name] !== value) {
        keptFields.push(field)
        continue
      }
      const { [name]: _, ...others } = current
      const earlier = before[field] ?? null
      restore.attributes = earlier === null ? others : { ...others, [name]: earlier }
    } else if (kind === 'tags') {
      if (contact.tag_ids.includes(name)) restore.tags.push(name)
    } else if (field === 'opted_out') {
      const [at, by, decidedAt] = [before.opted_out_at, before.opted_out_by, before.opt_out_decided_at].map(textOf)
      if (contact.is_same_decision) restore.optOut = { at: at ?? null, by: by ?? null, decidedAt: decidedAt ?? null }
      else keptFields.push(field)
    } else if (isTextField(field)) {
      if (contact[field] === value) restore.texts[field] = textOf(before[field])
      else keptFields.push(field)
    }
  }
  if (restore.texts.email !== undefined) restore.typedEmailKey = textOf(before.typed_email_key)
  return { restore, keptFields }
}

const isTextField = (name: string): name is TextField => textFields.some((field) => field === name)

async function writeRestores(sql: Sql, workspaceId: string, restores: readonly Restore[]): Promise<void> {
  const isChanged = ({ texts, attributes, optOut, tags }: Restore) =>
    Object.keys(texts).length > 0 || attributes !== null || optOut !== undefined || tags.length > 0
  const changed = restores.filter(isChanged)
  if (changed.length === 0) return
  const textsOf = (field: TextField) => {
    const texts = changed.map((restore) => restore.texts[field] ?? null)
    const has = booleanTexts(changed.map((restore) => restore.texts[field] !== undefined))
    return { has, texts, keys: texts.map(foldOrNull) }
  }
  const [name, email, company] = [textsOf('name'), textsOf('email'), textsOf('company')]
  await sql`
    update contacts c set
      name = case when g.has_name then g.name else c.name end,
      name_key = case when g.has_name then g.name_key else c.name_key end,
      email = case when g.has_email then g.email else c.email end,
      email_key = case when g.has_email then g.email_key else c.email_key end,
      typed_email_key = case when g.has_email then g.typed_email_key else c.typed_email_key end,
      company = case when g.has_company then g.company else c.company end,
      company_key = case when g.has_company then g.company_key else c.company_key end,
      attributes = coalesce(g.attributes::jsonb, c.attributes),
      opted_out_at = case when g.has_opt_out then g.opted_out_at else c.opted_out_at end,
      opted_out_by = case when g.has_opt_out then g.opted_out_by else c.opted_out_by end,
      opt_out_decided_at = case when g.has_opt_out then g.decided_at else c.opt_out_decided_at end,
      updated_at = clock_timestamp()
    from unnest(${changed.map(({ id }) => id)}::uuid[],
      ${name.has}::text[]::boolean[], ${name.texts}::text[], ${name.keys}::text[],
      ${email.has}::text[]::boolean[], ${email.texts}::text[], ${email.keys}::text[],
      ${changed.map(({ typedEmailKey }) => typedEmailKey)}::text[],
      ${company.has}::text[]::boolean[], ${company.texts}::text[], ${company.keys}::text[],
      ${changed.map(({ attributes }) => attributes && JSON.stringify(attributes))}::text[],
      ${booleanTexts(changed.map(({ optOut }) => optOut !== undefined))}::text[]::boolean[],
      ${changed.map(({ optOut }) => optOut?.at ?? null)}::timestamptz[],
      ${changed.map(({ optOut }) => optOut?.by ?? null)}::text[],
      ${changed.map(({ optOut }) => optOut?.decidedAt ?? null)}::timestamptz[])
      as g (id, has_name, name, name_key, has_email, email, email_key, typed_email_key, has_company, company, company_key,
        attributes, has_opt_out, opted_out_at, opted_out_by, decided_at)
    where c.workspace_id = ${workspaceId} and c.id = g.id`
  const tagged = changed.flatMap(({ id, tags }) => tags.map((tagId) => ({ id, tagId })))
  if (tagged.length === 0) return
  await sql`
    delete from contact_tags ct
    using unnest(${tagged.map(({ id }) => id)}::uuid[], ${tagged.map(({ tagId }) => tagId)}::uuid[]) as g (contact_id, tag_id)
    where ct.workspace_id = ${workspaceId} and ct.contact_id = g.contact_id and ct.tag_id = g.tag_id`
}
