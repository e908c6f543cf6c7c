/** The contacts that rows of a file refer to, by number. */
import { type Sql, takeRows } from '../lib/postgres/db.ts'
import type { StoredContact } from './plan.ts'

/** The ids of the contacts that have one of these numbers, by number. */
export async function readIdentities(
  sql: Sql,
  workspaceId: string,
  identities: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql<{ external_id: string; contact_id: string }[]>`
    select external_id, contact_id from contact_identities
    where workspace_id = ${workspaceId} and channel = 'msgapp' and external_id = any(${[...identities]}::text[])`
  return new Map(takeRows(rows).map(({ external_id, contact_id }) => [external_id, contact_id]))
}

/** The contacts that have one of these numbers, by number. Two numbers of one contact lead to the same object. */
export async function readContacts(
  sql: Sql,
  workspaceId: string,
  identities: readonly string[],
): Promise<Map<string, StoredContact>> {
  if (identities.length === 0) return new Map()
  const rows = await sql<
    (Omit<StoredContact, 'tags' | 'hasMoreNumbers'> & {
      identity: string
      tag_keys: string[]
      has_more_numbers: boolean
    })[]
  >`
    select i.external_id as identity, c.id, c.name, c.email, c.company, c.typed_email_key, c.attributes, c.opted_out_by,
      c.opted_out_at::text as opted_out_at, c.opt_out_decided_at::text as opt_out_decided_at, array(
        select t.name_key from contact_tags ct join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
        where ct.workspace_id = ${workspaceId} and ct.contact_id = c.id
      ) as tag_keys, exists (
        select from contact_identities o
        where o.workspace_id = ${workspaceId} and o.contact_id = c.id and o.channel = 'msgapp'
          and o.external_id <> i.external_id and o.external_id like '+%'
      ) as has_more_numbers
    from contact_identities i join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
    where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = any(${[...identities]}::text[])`
  const byId = new Map<string, StoredContact>()
  return new Map(
    takeRows(rows).map(({ identity, tag_keys, has_more_numbers, ...contact }) => {
      const known = byId.get(contact.id) ?? { ...contact, tags: new Set(tag_keys), hasMoreNumbers: has_more_numbers }
      byId.set(contact.id, known)
      return [identity, known]
    }),
  )
}
