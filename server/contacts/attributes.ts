/**
 * Custom attributes of a contact: named values of the workspace's own, such as a plan or a customer number.
 *
 * A change is merged into the stored attributes in one statement, so two members who change different attributes at the same
 * time both succeed.
 */
import { badRequest, notFound } from '../lib/errors.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { lengthOf } from '../lib/text.ts'
import { queueTriggers } from '../triggers/queue.ts'

type AttributeValue = string | number | boolean
export type Attributes = Record<string, AttributeValue>
/** Null removes the attribute. */
export type AttributeChanges = Record<string, AttributeValue | null>

export const maxAttributes = 50
export const maxAttributeLength = 500
export const namePattern = /^[a-z][a-z0-9_]{0,39}$/

/** Throws 400 for the first invalid name or value. */
export function requireAttributes(changes: Record<string, unknown>): AttributeChanges {
  const entries = Object.entries(changes)
  // A change may remove as many attributes as it adds.
  if (entries.length > 2 * maxAttributes) throw badRequest(`attributes: must have at most ${maxAttributes} entries`)
  return Object.fromEntries(
    entries.map(([name, value]) => {
      // An error starts with a path that a program can read, so other names are not part of it.
      const where = /^\w+$/.test(name) ? `attributes.${name.slice(0, 60)}` : 'attributes'
      if (!namePattern.test(name)) {
        throw badRequest(`${where}: a name has 1 to 40 characters of a-z, 0-9 and _, and begins with a letter`)
      }
      if (typeof value === 'string') return [name, requireValueText(where, value)]
      const isValid = value === null || typeof value === 'boolean' || Number.isFinite(value)
      if (!isValid) throw badRequest(`${where}: must be a text, a number, true, false or null`)
      return [name, value as number | boolean | null]
    }),
  )
}

function requireValueText(where: string, value: string): string {
  if (lengthOf(value) > maxAttributeLength) {
    throw badRequest(`${where}: must have at most ${maxAttributeLength} characters`)
  }
  if (value.includes('\0')) throw badRequest(`${where}: must not contain a null character`)
  return value
}

/** The attributes of a new contact. */
export const newAttributes = (changes: AttributeChanges): Attributes => mergeAttributes({}, changes)

/** Merges changes into attributes: null removes one. Throws 400 for too many. */
export function mergeAttributes(attributes: Attributes, changes: AttributeChanges): Attributes {
  const kept = Object.entries({ ...attributes, ...changes }).filter(([, value]) => value !== null)
  if (kept.length > maxAttributes) throw tooManyAttributes()
  return Object.fromEntries(kept) as Attributes
}

/**
 * Merges changes into a contact's attributes, in the caller's transaction. 404 when the contact does not exist. `depth`: of the
 * automations that cause it.
 */
export async function changeAttributes(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  changes: AttributeChanges,
  depth = 0,
): Promise<void> {
  const [changed] = await sql<{ count: number }[]>`
    with
    -- A statement sees the attributes as they were when it waited for the lock, so the lock comes first.
    locked_contact as (
      select c.workspace_id, c.id, c.attributes from contacts c
      where c.workspace_id = ${workspaceId} and c.id = ${contactId}
      for no key update
    ),
    changed_contact as (
      update contacts c set attributes = jsonb_strip_nulls(l.attributes || ${JSON.stringify(changes)}::text::jsonb),
        updated_at = clock_timestamp()
      from locked_contact l
      where c.workspace_id = l.workspace_id and c.id = l.id
      returning c.workspace_id, c.id, l.attributes as attributes_before, c.attributes
    ),
    ${queueChanged(sql, sql`changed_contact`, Object.keys(changes), depth)}
    select (select count(*)::int from jsonb_object_keys(c.attributes)) as count from changed_contact c`
  if (!changed) throw notFound('contact')
  if (changed.count > maxAttributes) throw tooManyAttributes()
}

/** Members of a `with` list: the changed attributes of contacts may start automations. `names`: those that may have changed. */
export const queueChanged = (sql: Sql, contacts: Fragment, names: readonly string[], depth = 0): Fragment =>
  queueTriggers(sql, {
    kinds: ['contact'],
    workspaces: contacts,
    from: sql`${contacts} n cross join unnest(${[...names]}::text[]) as a (name)`,
    where: sql`(n.attributes_before -> a.name) is distinct from (n.attributes -> a.name)`,
    workspaceId: sql`n.workspace_id`,
    event: sql`'attribute_changed'`,
    contactId: sql`n.id`,
    detail: sql`a.name`,
    depth,
  })

const tooManyAttributes = () => badRequest(`attributes: must have at most ${maxAttributes} entries`)
