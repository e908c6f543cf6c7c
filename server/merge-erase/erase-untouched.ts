/**
 * Erases the contacts that an import created and that nothing has touched since, in bulk.
 *
 * Such a contact has no conversation, no note, no place in a segment or a broadcast, and one identity. So nothing else of it is left to
 * erase, and one statement deletes as many as a chunk has. The locks stop a conversation, a note or an identity that is being
 * added: it waits and then finds no contact.
 */
import { blockFilling } from '../broadcasts/erase.ts'
import type { EraseUntouched } from '../imports/undo.ts'

/** Why a contact stays: `changed`, or the name of what refers to it. */
export const eraseUntouched: EraseUntouched = async (sql, workspaceId, importId, contactIds) => {
  const ids = [...contactIds]
  await blockFilling(sql, workspaceId)
  await sql`
    select c.id from contacts c
    where c.workspace_id = ${workspaceId} and c.id = any(${ids}::uuid[])
    order by c.id
    for update`
  // A report may name the number of a contact together with the user id of another one, without a lock of the contact.
  await sql`
    select i.external_id from contact_identities i
    where i.workspace_id = ${workspaceId} and i.contact_id = any(${ids}::uuid[])
    order by i.channel, i.external_id
    for update`
  // After the locks, so that it sees what other transactions have added.
  const rows = await sql<{ id: string; reason: string | null }[]>`
    select c.id, case
        when exists (
          select from conversations v where v.workspace_id = ${workspaceId} and v.contact_id = c.id
        ) then 'conversation'
        when exists (
          select from contact_notes n where n.workspace_id = ${workspaceId} and n.contact_id = c.id
        ) then 'note'
        when exists (
          select from segment_members s where s.workspace_id = ${workspaceId} and s.contact_id = c.id
        ) then 'segment'
        when exists (
          select from broadcast_recipients r
          where r.workspace_id = ${workspaceId} and r.message_id is null and r.contact_id is not null and r.contact_id = c.id
        ) or exists (
          select from contact_identities i
          join broadcast_recipients r on r.workspace_id = i.workspace_id and r.identity = i.external_id
          where i.workspace_id = ${workspaceId} and i.contact_id = c.id and i.channel = 'msgapp'
            and r.message_id is null and r.identity is not null
        ) then 'broadcast'
        when exists (
          select from contact_merges g where g.workspace_id = ${workspaceId} and (g.from_id = c.id or g.to_id = c.id)
        ) then 'merge'
        when (
          select count(*) from contact_identities i where i.workspace_id = ${workspaceId} and i.contact_id = c.id
        ) > 1 or exists (
          select from contact_identities i
          join contact_identities o on o.workspace_id = i.workspace_id and o.channel = i.channel and o.reported_number = i.external_id
          where i.workspace_id = ${workspaceId} and i.contact_id = c.id and o.contact_id <> c.id
        ) then 'identity'
        when c.updated_at <> ch.after_at then 'changed'
      end as reason
    from contact_import_changes ch join contacts c on c.workspace_id = ch.workspace_id and c.id = ch.contact_id
    where ch.workspace_id = ${workspaceId} and ch.import_id = ${importId} and ch.contact_id = any(${ids}::uuid[])`
  const untouched = rows.flatMap(({ id, reason }) => (reason === null ? [id] : []))
  await sql`delete from contacts where workspace_id = ${workspaceId} and id = any(${untouched}::uuid[])`
  return new Map(rows.flatMap(({ id, reason }) => (reason === null ? [] : [[id, reason]])))
}
