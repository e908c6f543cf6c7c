/** What imports leave behind for a while: files, rejected rows, what the undo needs. */
import type { Db } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { removeImport } from './imports.ts'
import { deleteRejects } from './rejects.ts'

type SweepContext = { db: Db; store: Pick<Store, 'delete'> }

/** Deletes the file of an import that has ended. */
export async function deleteFileOf({ db, store }: SweepContext, workspaceId: string, id: string): Promise<void> {
  const [ended] = await db<{ id: string }[]>`
    select id from contact_imports
    where workspace_id = ${workspaceId} and id = ${id} and has_file and ended_at is not null`
  if (!ended) return
  await store.delete(id)
  await db`update contact_imports set has_file = false where workspace_id = ${workspaceId} and id = ${id}`
}

/** Imports that were not started are kept for this time, and rejected rows after the end of an import. */
const keptDays = 7
/** No upload takes this long. */
const uploadHours = 1
/** As long as the audit log. */
const listedDays = 400
/** Of a workspace. */
const maxListed = 1_000
/** Changed and rejected rows of a workspace: about 3 GB. Above it, the oldest imports can no longer be undone. */
const maxKeptRows = 10_000_000

const batchSize = 5_000
const maxImports = 100

/** Deletes what has expired or exceeds the limits of a workspace, for all workspaces. */
export async function sweepImports(context: SweepContext, limits = { maxListed, maxKeptRows }): Promise<void> {
  const { db } = context
  const abandoned = await db<{ workspace_id: string; id: string }[]>`
    select workspace_id, id from contact_imports
    where started_at is null and (state = 'uploading' and created_at < now() - make_interval(hours => ${uploadHours})
      or state in ('uploaded', 'checked', 'failed') and created_at < now() - make_interval(days => ${keptDays}))
    limit ${maxImports}`
  for (const { workspace_id, id } of abandoned) await removeImport(context, workspace_id, id)
  const withFile = await db<{ workspace_id: string; id: string }[]>`
    select workspace_id, id from contact_imports where has_file and ended_at is not null limit ${maxImports}`
  for (const { workspace_id, id } of withFile) await deleteFileOf(context, workspace_id, id)
  const expired = await db<{ workspace_id: string; id: string }[]>`
    select workspace_id, id
    from (
      select workspace_id, id, state, changes_until, sum(
          (result->>'created')::bigint + (result->>'changed')::bigint + (result->>'rejected')::bigint
        ) over (partition by workspace_id order by id desc) as kept_rows
      from contact_imports
      where has_changes
    ) i
    where state in ('done', 'failed', 'canceled', 'undone') and (changes_until < now() or kept_rows > ${limits.maxKeptRows})
    limit ${maxImports}`
  for (const { workspace_id, id } of expired) await deleteChanges(db, workspace_id, id)
  await db`
    delete from contact_imports i
    using (
      select workspace_id, id, row_number() over (partition by workspace_id order by id desc) as position from contact_imports
    ) o
    where i.workspace_id = o.workspace_id and i.id = o.id and not i.has_changes and not i.has_file
      and (i.created_at < now() - make_interval(days => ${listedDays}) or o.position > ${limits.maxListed})`
}

/** Deletes what the undo needed, and the rejected rows. */
async function deleteChanges(db: Db, workspaceId: string, id: string): Promise<void> {
  // First, so that no undo starts with a part of them.
  const closed = await db`
    update contact_imports set changes_until = least(changes_until, now())
    where workspace_id = ${workspaceId} and id = ${id} and state in ('done', 'failed', 'canceled', 'undone')`
  if (closed.count === 0) return
  for (let isMore = true; isMore; ) {
    const deleted = await db`
      delete from contact_import_changes where workspace_id = ${workspaceId} and import_id = ${id} and ctid = any(array(
        select ctid from contact_import_changes where workspace_id = ${workspaceId} and import_id = ${id} limit ${batchSize}
      ))`
    isMore = deleted.count === batchSize
  }
  await deleteRejects(db, workspaceId, id)
  await db`update contact_imports set has_changes = false where workspace_id = ${workspaceId} and id = ${id}`
}
