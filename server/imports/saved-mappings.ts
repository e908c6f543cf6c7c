/** Mappings that members saved. One is offered when a file has the same names of columns. */
import type { Sql } from '../lib/postgres/db.ts'
import { headerKeyOf } from './file.ts'
import type { Target } from './mapping.ts'

const maxMappings = 100

/** Stores the mapping for files with this header. The oldest ones above the limit are deleted. */
export async function saveMapping(
  sql: Sql,
  workspaceId: string,
  header: readonly string[],
  mapping: readonly Target[],
): Promise<void> {
  await sql`
    insert into contact_import_mappings (workspace_id, header_key, mapping)
    values (${workspaceId}, ${headerKeyOf(header)}, ${JSON.stringify(mapping)}::text::jsonb)
    on conflict (workspace_id, header_key) do update set mapping = excluded.mapping, saved_at = now()`
  await sql`
    delete from contact_import_mappings where workspace_id = ${workspaceId} and header_key in (
      select header_key from contact_import_mappings where workspace_id = ${workspaceId}
      order by saved_at desc
      offset ${maxMappings}
    )`
}

export async function getSavedMapping(
  sql: Sql,
  workspaceId: string,
  header: readonly string[],
): Promise<Target[] | undefined> {
  const [saved] = await sql<{ mapping: Target[] }[]>`
    select mapping from contact_import_mappings
    where workspace_id = ${workspaceId} and header_key = ${headerKeyOf(header)}`
  return saved?.mapping
}
