/**
 * Deletes a workspace with everything in it, for the operator. It may run while the service serves this workspace and others.
 *
 * Keys, sessions and connections go first, so the workspace can neither be called nor send. The row of the workspace is last: after
 * an interruption the same command continues.
 */
import type { Db } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { deleteFilesOf } from './delete-files.ts'
import { deleteTenantRows } from './tenant-rows.ts'

type DeletedWorkspace = { deleted_rows: number; deleted_files: number }

export async function deleteWorkspace(
  db: Db,
  workspaceId: string,
  store: Pick<Store, 'delete'>,
): Promise<DeletedWorkspace> {
  await db`delete from api_keys where workspace_id = ${workspaceId}`
  await db`delete from sessions where workspace_id = ${workspaceId}`
  await db`delete from channel_connections where workspace_id = ${workspaceId}`
  const deleted_files = await deleteFilesOf(db, store, workspaceId)
  const rows = await deleteTenantRows(db, workspaceId)
  await db`delete from workspaces where id = ${workspaceId}`
  // The request log and others have no reference to the workspace, so a request that was in flight can write after the first pass.
  return { deleted_rows: rows + (await deleteTenantRows(db, workspaceId)), deleted_files }
}
