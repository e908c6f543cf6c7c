/** The customers of the conversations and contacts that the audit log refers to by id. It has none of their data itself. */
import type { Sql } from '../lib/postgres/db.ts'

/** The current names by the id of the conversation or contact. Those that are gone, and other ids, are missing. */
export async function nameSubjects(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; name: string }[]>`
    select s.id, coalesce(c.name, c.phone, c.social_username, c.username, c.email) as name
    from (
      select id, contact_id from conversations where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])
      union all
      select id, id from contacts where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])
    ) s
    join contacts c on c.workspace_id = ${workspaceId} and c.id = s.contact_id
    where coalesce(c.name, c.phone, c.social_username, c.username, c.email) is not null`
  return new Map(rows.map(({ id, name }) => [id, name]))
}
