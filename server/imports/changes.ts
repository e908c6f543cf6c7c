/** What imports changed, as far as other changes of a contact concern it: erasing and merging. */
import type { Fragment, Sql } from '../lib/postgres/db.ts'

/** The imports of a workspace that can still be undone, or whose undo has a list. They are few, so no index by contact is needed. */
const withChanges = (sql: Sql, workspaceId: string): Fragment => sql`array(
  select i.id from contact_imports i where i.workspace_id = ${workspaceId} and i.has_changes
)`

/** Deletes what is stored about an erased contact. Call it after the contact is deleted: an import that changes it ends before. */
export async function deleteChangesOf(sql: Sql, workspaceId: string, contactId: string): Promise<void> {
  await sql`
    delete from contact_import_changes
    where workspace_id = ${workspaceId} and contact_id = ${contactId} and import_id = any(${withChanges(sql, workspaceId)})`
}

/** A merged contact stays in another one. An undo lists that one, without the values of the merged one. */
export async function giveChanges(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    insert into contact_import_changes (workspace_id, import_id, contact_id, after_at, kept)
    select ch.workspace_id, ch.import_id, ${toId}, ch.after_at, 'merged'
    from contact_import_changes ch
    where ch.workspace_id = ${workspaceId} and ch.contact_id = ${fromId}
      and ch.import_id = any(${withChanges(sql, workspaceId)})
    on conflict do nothing`
  await deleteChangesOf(sql, workspaceId, fromId)
}

/** After an undo has restored contacts that nothing else has touched: for imports before it, nothing has touched them either. */
export async function moveEarlierChanges(
  sql: Sql,
  workspaceId: string,
  importId: string,
  contactIds: readonly string[],
): Promise<void> {
  if (contactIds.length === 0) return
  await sql`
    update contact_import_changes o set after_at = c.updated_at
    from contact_import_changes ch
    join contacts c on c.workspace_id = ch.workspace_id and c.id = ch.contact_id
    where ch.workspace_id = ${workspaceId} and ch.import_id = ${importId} and ch.contact_id = any(${[...contactIds]}::uuid[])
      and o.workspace_id = ${workspaceId} and o.contact_id = ch.contact_id and o.import_id <> ${importId}
      and o.import_id = any(${withChanges(sql, workspaceId)}) and o.after_at = ch.before_at`
}
