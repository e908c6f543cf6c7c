/**
 * Tags: names a workspace gives to its contacts.
 *
 * A name is unique without regard to case; whoever wrote it first decides the
 * spelling. A tag is made by its first use.
 */
import type { Sql } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { colorOf, fold, lengthOf } from '../lib/text.ts'

const maxTags = 100
const maxNameLength = 80

/** Names as they may be stored: trimmed, each once, in the order given; keyed by their folded form. */
export function readTagNames(names: readonly string[]): Map<string, string> {
  const byKey = new Map<string, string>()
  names.forEach((given, i) => {
    const name = given.trim()
    if (name === '') throw badRequest(`tags[${i}]: must not be blank`)
    if (lengthOf(name) > maxNameLength) throw badRequest(`tags[${i}]: must have at most ${maxNameLength} characters`)
    const key = fold(name)
    if (!byKey.has(key)) byKey.set(key, name)
  })
  if (byKey.size > maxTags) throw badRequest(`tags: must have at most ${maxTags} different names`)
  return byKey
}

/** The ids of these tags, making those the workspace lacks. */
export async function resolveTags(sql: Sql, workspaceId: string, byKey: Map<string, string>): Promise<string[]> {
  if (byKey.size === 0) return []
  const tags = [...byKey].map(([key, name]) => ({ key, name, id: newId(), color: colorOf(key) }))
  const keys = tags.map(({ key }) => key)
  await sql`
    insert into tags (workspace_id, id, name, name_key, color, created_at)
    select ${workspaceId}, id, name, key, color, created_at
    from unnest(
      ${tags.map(({ id }) => id)}::uuid[], ${tags.map(({ name }) => name)}::text[], ${keys}::text[],
      ${tags.map(({ color }) => color)}::text[], ${tags.map(({ id }) => timeOfId(id))}::timestamptz[]
    ) as given (id, name, key, color, created_at)
    where not exists (select from tags t where t.workspace_id = ${workspaceId} and t.name_key = given.key)
    -- So that two callers who make the same tags never lock each other out.
    order by key collate "C"
    on conflict (workspace_id, name_key) do nothing`
  const rows = await sql<{ id: string }[]>`
    select id from tags where workspace_id = ${workspaceId} and name_key = any(${keys}::text[])`
  return rows.map(({ id }) => id)
}

/** Give a contact exactly these tags. */
export async function replaceTags(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  tagIds: readonly string[],
): Promise<void> {
  await sql`
    delete from contact_tags
    where workspace_id = ${workspaceId} and contact_id = ${contactId} and tag_id <> all(${[...tagIds]}::uuid[])`
  await sql`
    insert into contact_tags (workspace_id, contact_id, tag_id)
    select ${workspaceId}, ${contactId}, tag_id from unnest(${[...tagIds]}::uuid[]) as given (tag_id)
    on conflict do nothing`
}
