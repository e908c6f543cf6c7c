/**
 * Deletes all files of a workspace from the store. Their rows stay, so an interrupted deletion can be repeated: in the other order
 * a file could remain without a row that refers to it.
 */
import type { Sql } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'

const concurrentDeletes = 8
const chunkSize = 200

/** Returns the number of files. */
export async function deleteFilesOf(sql: Sql, store: Pick<Store, 'delete'>, workspaceId: string): Promise<number> {
  let count = 0
  let last: string | undefined
  for (;;) {
    const files = await sql<{ id: string }[]>`
      select id from (
        (select id from media where workspace_id = ${workspaceId} ${isAfter(sql, last)} order by id limit ${chunkSize})
        union all
        (select id from uploads where workspace_id = ${workspaceId} ${isAfter(sql, last)} order by id limit ${chunkSize})
        union all
        (
          select id from contact_imports
          where workspace_id = ${workspaceId} and has_file ${isAfter(sql, last)}
          order by id limit ${chunkSize}
        )
      ) files
      order by id limit ${chunkSize}`
    for (let i = 0; i < files.length; i += concurrentDeletes) {
      await Promise.all(files.slice(i, i + concurrentDeletes).map(({ id }) => store.delete(id)))
    }
    count += files.length
    last = files.at(-1)?.id
    if (last === undefined) return count
  }
}

const isAfter = (sql: Sql, id: string | undefined) => (id === undefined ? sql`` : sql`and id > ${id}`)
