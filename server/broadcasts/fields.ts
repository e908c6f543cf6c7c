/** The attributes of contacts that a template value can contain. */
import type { Sql } from '../lib/postgres/db.ts'

/** The newest contacts have the attributes that are in use. So a million contacts take no longer than 1,000. */
const sampleSize = 1_000
const maxNames = 50

/** The names, most frequent first. */
export async function listAttributes(sql: Sql, workspaceId: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select a.name
    from (
      select attributes from contacts where workspace_id = ${workspaceId} order by id desc limit ${sampleSize}
    ) c
    cross join lateral jsonb_object_keys(c.attributes) as a (name)
    group by a.name
    order by count(*) desc, a.name
    limit ${maxNames}`
  return rows.map(({ name }) => name)
}
