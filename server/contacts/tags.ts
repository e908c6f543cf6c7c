/**
 * Tags: names a workspace gives to its contacts.
 *
 * A name is unique without regard to case; whoever wrote it first decides the
 * spelling. A tag is made by its first use, and stays until somebody deletes it.
 */
import { type Db, isDuplicate, type Sql } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { colorOf, fold, lengthOf } from '../lib/text.ts'

export const maxTags = 100
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

/** Give contacts tags that are there, besides those they have. */
export async function addTags(
  sql: Sql,
  workspaceId: string,
  additions: readonly { contact_id: string; key: string }[],
): Promise<void> {
  await sql`
    insert into contact_tags (workspace_id, contact_id, tag_id)
    select t.workspace_id, g.contact_id, t.id
    from json_to_recordset(${JSON.stringify(additions)}::text::json) as g (contact_id uuid, key text)
    join tags t on t.workspace_id = ${workspaceId} and t.name_key = g.key
    order by g.contact_id, t.id
    -- One that is deleted meanwhile is nobody's.
    for key share of t
    on conflict do nothing`
}

export type CountedTag = {
  id: string
  name: string
  color: string
  /** Counted up to `maxCounted`. */
  contact_count: number
  has_more_contacts: boolean
}

const maxListed = 1_000
/** Ten thousand entries of the index are read in a millisecond; a page of tags is not to read millions. */
const maxCounted = 10_000

/** The first thousand by name, with how many contacts have each. */
export async function listTags(sql: Sql, workspaceId: string): Promise<CountedTag[]> {
  return sql<CountedTag[]>`
    select t.id, t.name, t.color, least(n.count, ${maxCounted})::int as contact_count,
      n.count > ${maxCounted} as has_more_contacts
    from (
      select id, name, name_key, color from tags
      where workspace_id = ${workspaceId} order by name_key limit ${maxListed}
    ) t
    cross join lateral (
      select count(*) as count from (
        select from contact_tags ct
        where ct.workspace_id = ${workspaceId} and ct.tag_id = t.id
        limit ${maxCounted + 1}
      ) few
    ) n
    order by t.name_key`
}

/** With the words by which it was known until now. */
export type Renamed = CountedTag & { key_before: string }

/** Another name for a tag. Only the case or the spelling may change as well. */
export async function renameTag(sql: Sql, workspaceId: string, id: string, given: string): Promise<Renamed> {
  const name = given.trim()
  if (name === '') throw badRequest('name: must not be blank')
  if (lengthOf(name) > maxNameLength) throw badRequest(`name: must have at most ${maxNameLength} characters`)
  if (!isUuid(id)) throw notFound('tag')
  try {
    const [tag] = await sql<Renamed[]>`
      with before as (
        select id, name_key from tags where workspace_id = ${workspaceId} and id = ${id} for no key update
      ),
      renamed as (
        update tags t set name = ${name}, name_key = ${fold(name)}
        from before b
        where t.workspace_id = ${workspaceId} and t.id = b.id
        returning t.id, t.name, t.color, b.name_key as key_before
      )
      select r.id, r.name, r.color, r.key_before, least(n.count, ${maxCounted})::int as contact_count,
        n.count > ${maxCounted} as has_more_contacts
      from renamed r
      cross join (
        select count(*) as count from (
          select from contact_tags ct
          where ct.workspace_id = ${workspaceId} and ct.tag_id = ${id}
          limit ${maxCounted + 1}
        ) few
      ) n`
    if (!tag) throw notFound('tag')
    return tag
  } catch (error) {
    if (isDuplicate(error, 'tags_name_unique')) throw badRequest('name: already used by another tag')
    throw error
  }
}

/** So many contacts lose it at a time: no statement takes long, however many there are. */
const chunkSize = 5_000

/** Removes a tag from all contacts, then deletes it. Returns its name. */
export async function deleteTag(db: Db, workspaceId: string, id: string): Promise<string> {
  for (let isMore = isUuid(id); isMore; ) {
    // By their place on disk, whatever the statistics say: as a list of contacts it took a minute where there were none.
    const taken = await db`
      delete from contact_tags where workspace_id = ${workspaceId} and tag_id = ${id} and ctid = any(array(
        select ct.ctid from contact_tags ct
        where ct.workspace_id = ${workspaceId} and ct.tag_id = ${id}
        limit ${chunkSize}
      ))`
    isMore = taken.count === chunkSize
  }
  const [deleted] = isUuid(id)
    ? await db<{ name: string }[]>`delete from tags where workspace_id = ${workspaceId} and id = ${id} returning name`
    : []
  if (!deleted) throw notFound('tag')
  return deleted.name
}
