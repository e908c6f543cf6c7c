/**
 * Contacts that are probably the same person as a given one. The rule is conservative: the same e-mail address, the same phone
 * number (a contact without one has the number that the channel named together with its user id), or the same name together with the same
 * company. An address that only a visitor of the web chat typed does not count:
 * a stranger who types the address of a customer would be offered as that customer.
 */

import { top } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import { listContactsWhere, matches, requireContact } from './contacts.ts'
import type { Contact } from './resource.ts'

export const duplicateReasons = ['email', 'phone', 'name_and_company'] as const
export type Duplicate = { contact: Contact; reason: (typeof duplicateReasons)[number] }

const maxDuplicates = 3

/** At most three, the strongest reasons first. 404 when the workspace does not have the contact. */
export async function listDuplicates(sql: Sql, workspaceId: string, id: string): Promise<Duplicate[]> {
  const contact = await requireContact(sql, workspaceId, id)
  const { email, name, company } = contact
  const duplicates: Duplicate[] = []
  const add = async (reason: Duplicate['reason'], condition: Fragment) => {
    const known = [contact.id, ...duplicates.map((duplicate) => duplicate.contact.id)]
    const limit = maxDuplicates - duplicates.length
    if (limit === 0) return
    const others = sql`${condition} and c.id <> all(${known}::uuid[])`
    const { data } = await listContactsWhere(sql, workspaceId, others, { limit, before: top })
    duplicates.push(...data.slice(0, limit).map((other) => ({ contact: other, reason })))
  }
  const numbers = await listNumbers(sql, workspaceId, contact.id)
  for (const number of [...new Set([...numbers, ...(contact.phone ? [contact.phone] : [])])]) {
    await add('phone', sql`${matches(sql, number)} and c.phone = ${number}`)
  }
  await add('phone', isReportedWith(sql, workspaceId, contact.id))
  // The search index finds the few candidates.
  if (email && !(await isEmailTyped(sql, workspaceId, contact.id))) {
    await add(
      'email',
      sql`${matches(sql, email)} and c.email_key = ${fold(email)} and c.typed_email_key is distinct from c.email_key`,
    )
  }
  if (name && company) {
    await add(
      'name_and_company',
      sql`${matches(sql, name)} and c.name_key = ${fold(name)} and c.company_key = ${fold(company)}`,
    )
  }
  return duplicates
}

/** Whether only a visitor of the web chat gave the e-mail address. */
async function isEmailTyped(sql: Sql, workspaceId: string, contactId: string): Promise<boolean> {
  const [row] = await sql`
    select from contacts where workspace_id = ${workspaceId} and id = ${contactId} and typed_email_key = email_key`
  return row !== undefined
}

/** The phone numbers by which the primary channel knows the contact. */
async function listNumbers(sql: Sql, workspaceId: string, contactId: string): Promise<string[]> {
  const rows = await sql<{ external_id: string }[]>`
    select external_id from contact_identities
    where workspace_id = ${workspaceId} and contact_id = ${contactId} and channel = 'msgapp' and external_id like '+%'
    order by external_id
    limit 10`
  return rows.map(({ external_id }) => external_id)
}

/** Condition on contact `c`: the channel named its number together with a user id of this contact, or the other way round. */
const isReportedWith = (sql: Sql, workspaceId: string, contactId: string): Fragment => sql`c.id in (
  select n.contact_id from contact_identities u
  join contact_identities n
    on n.workspace_id = u.workspace_id and n.channel = u.channel and n.external_id = u.reported_number
  where u.workspace_id = ${workspaceId} and u.contact_id = ${contactId} and u.channel = 'msgapp'
    and u.reported_number is not null
  union all
  select u.contact_id from contact_identities n
  join contact_identities u on u.workspace_id = n.workspace_id and u.channel = n.channel and u.reported_number = n.external_id
  where n.workspace_id = ${workspaceId} and n.contact_id = ${contactId} and n.channel = 'msgapp'
)`
