/**
 * The rejected rows of an import, to download: each with its line, the reason and its cells.
 *
 * The rows of a chunk are stored as one text. The check writes them, and the import replaces those that differ: both read the same
 * chunks. They are deleted after seven days, because they have data of people who are not contacts.
 */
import { byteOrderMark, writeRow } from '../lib/csv.ts'
import type { CsvChunk } from '../lib/csv-reader.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { ImportJob } from './jobs.ts'
import type { Fault } from './rows.ts'

/**
 * Writes the rejected rows of a chunk, unless the worker has lost its lease: rows of another mapping, or of a deleted import, must not
 * appear. `replaces`: an earlier run may have rejected rows of it.
 */
export async function saveRejects(
  sql: Sql,
  { workspaceId, id: importId, lease }: Pick<ImportJob, 'workspaceId' | 'id' | 'lease'>,
  { chunk, faults, replaces }: { chunk: CsvChunk; faults: readonly Fault[]; replaces: boolean },
): Promise<void> {
  if (faults.length === 0 && !replaces) return
  const firstLine = chunk.lineOf(0)
  if (faults.length === 0) {
    await sql`
      delete from contact_import_rejects
      where workspace_id = ${workspaceId} and import_id = ${importId} and first_line = ${firstLine}`
    return
  }
  const rows = faults.map(({ index, reason }) => {
    const cells = Array.from({ length: chunk.cellCountOf(index) }, (_, column) => chunk.cell(index, column))
    return writeRow([chunk.lineOf(index), reason, ...cells])
  })
  await sql`
    insert into contact_import_rejects (workspace_id, import_id, first_line, rows)
    select i.workspace_id, i.id, ${firstLine}::int, ${rows.join('').replaceAll('\0', '\ufffd')}
    from contact_imports i
    where i.workspace_id = ${workspaceId} and i.id = ${importId} and i.lease = ${lease}
    -- A check with another mapping, and deleting the import, wait for this row.
    for no key update of i
    on conflict (workspace_id, import_id, first_line) do update set rows = excluded.rows
    where contact_import_rejects.rows <> excluded.rows`
}

/** Deletes the rejected rows of an import that have expired, or before it is checked again. */
export async function deleteRejects(sql: Sql, workspaceId: string, importId: string): Promise<void> {
  await sql`delete from contact_import_rejects where workspace_id = ${workspaceId} and import_id = ${importId}`
}

/** The rejected rows as CSV, one chunk whenever the reader can take it. */
export async function* writeRejects(
  sql: Sql,
  workspaceId: string,
  importId: string,
  header: readonly string[],
): AsyncGenerator<string> {
  yield byteOrderMark + writeRow(['line', 'reason', ...header])
  for (let after = 0; ; ) {
    const [chunk] = await sql<{ first_line: number; rows: string }[]>`
      select first_line, rows from contact_import_rejects
      where workspace_id = ${workspaceId} and import_id = ${importId} and first_line > ${after}
      order by first_line
      limit 1`
    if (!chunk) return
    yield chunk.rows
    after = chunk.first_line
  }
}
