/**
 * Tags: labels that a workspace gives to its contacts.
 *
 * A name is unique without regard to case, in the spelling of its first use. The first use creates the tag, and it stays
 * until a member deletes it.
 */
import { type Db, type Fragment, isDuplicate, type Sql } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, toPage, top } from '../lib/page.ts'
import { colorOf, fold, lengthOf } from '../lib/text.ts'

export const maxTags = 100
/** Of a list of names, which may repeat some. */
export const maxNames = 10 * maxTags
/** Of a tag, a label, and a view of the inbox. */
export const maxTagLength = 80

/** Names as stored: trimmed, each once, in the order of the input, keyed by their folded form. `field` is for errors. */
export function readTagNames(names: readonly string[], field = 'tags', max = maxTags): Map<string, string> {
  const byKey = new Map<string, string>()
  names.forEach((input, i) => {
    const name = readTagName(input, `${field}[${i}]`)
    const key = fold(name)
    if (!byKey.has(key)) byKey.set(key, name)
  })
  if (byKey.size > max) throw badRequest(`${field}: must have at most ${max} different names`)
  return byKey
}

/** A name as stored: trimmed, 1 to 80 characters. `field` is for errors. */
export function readTagName(input: string, field: string): string {
  const name = input.trim()
  if (name === '') throw badRequest(`${field}: must not be blank`)
  if (lengthOf(name) > maxTagLength) throw badRequest(`${field}: must have at most ${maxTagLength} characters`)
  return name
}

/** The tags of contact `c` as JSON, by name. */
export const tagsJson = (sql: Sql): Fragment => sql`coalesce((
  select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by t.name_key)
  from contact_tags ct
  join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
  where ct.workspace_id = c.workspace_id and ct.contact_id = c.id
), '[]')`

/** The ids of the tags of contact `c`, separated by spaces. `readTagsOf` reads them. */
export const tagIds = (sql: Sql): Fragment => sql`array_to_string(array(
  select ct.tag_id from contact_tags ct where ct.workspace_id = c.workspace_id and ct.contact_id = c.id
), ' ')`

export type Tag = { id: string; name: string; color: string }

/** Reads tags by id, in the order of their names. For lists of `tagIds`. */
export const readTagsOf =
  (sql: Sql, workspaceId: string) =>
  (ids: string[]): Promise<readonly Tag[]> =>
    sql<Tag[]>`
    select id, name, color from tags where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])
    order by name_key`

/**
 * Returns the ids of these tags, and creates those that do not exist. They cannot be deleted until the transaction ends. Call it
 * before contacts are locked (lock order: ARCHITECTURE.md).
 */
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
    ) as i (id, name, key, color, created_at)
    where not exists (select from tags t where t.workspace_id = ${workspaceId} and t.name_key = i.key)
    -- Sorted, so that two callers that create the same tags cannot deadlock.
    order by key collate "C"
    on conflict (workspace_id, name_key) do nothing`
  const rows = await sql<{ id: string }[]>`
    select id from tags where workspace_id = ${workspaceId} and name_key = any(${keys}::text[])
    order by id
    for key share`
  return rows.map(({ id }) => id)
}

/** Gives a contact exactly these tags. */
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
    select ${workspaceId}, ${contactId}, tag_id from unnest(${[...tagIds]}::uuid[]) as i (tag_id)
    on conflict do nothing`
}

/** A contact and the folded name of a tag. */
type TaggedContact = { contact_id: string; key: string }

/** Removes tags from contacts. A tag that a contact does not have is ignored. */
export async function dropTags(sql: Sql, workspaceId: string, tagged: readonly TaggedContact[]): Promise<void> {
  await sql`
    delete from contact_tags ct
    using json_to_recordset(${JSON.stringify(tagged)}::text::json) as g (contact_id uuid, key text), tags t
    where t.workspace_id = ${workspaceId} and t.name_key = g.key
      and ct.workspace_id = ${workspaceId} and ct.contact_id = g.contact_id and ct.tag_id = t.id`
}

/** Throws 400 when a contact has too many tags. The caller's transaction then adds none. */
export async function requireFewTags(sql: Sql, workspaceId: string, contactId: string): Promise<void> {
  const [counted] = await sql<{ count: number }[]>`
    select count(*)::int as count from contact_tags where workspace_id = ${workspaceId} and contact_id = ${contactId}`
  if (counted && counted.count > maxTags) throw badRequest(`add_tags: the contact would have more than ${maxTags} tags`)
}

/** Adds tags to contacts. The transaction has resolved the tags before, so none of them is deleted meanwhile. */
export async function addTags(sql: Sql, workspaceId: string, tagged: readonly TaggedContact[]): Promise<void> {
  await sql`
    insert into contact_tags (workspace_id, contact_id, tag_id)
    select t.workspace_id, g.contact_id, t.id
    from json_to_recordset(${JSON.stringify(tagged)}::text::json) as g (contact_id uuid, key text)
    join tags t on t.workspace_id = ${workspaceId} and t.name_key = g.key
    order by g.contact_id, t.id
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
/** 10,000 entries of the index are read in a millisecond; a list of tags must not read millions. */
const maxCounted = 10_000

/** The first 1,000 by name, with the number of contacts of each. */
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
      ) counted
    ) n
    order by t.name_key`
}

/**
 * A page of up to 1,000 tags by name, with exact counts. A million tagged contacts are counted in about 100 ms, from the index. The
 * cursor is the id of the last tag; a tag that was deleted since ends the list.
 */
export async function listTagPage(
  sql: Sql,
  workspaceId: string,
  { before }: Pick<Position, 'before'>,
): Promise<Page<Pick<CountedTag, 'id' | 'name' | 'color' | 'contact_count'>>> {
  const isFirst = before === top
  const rows = await sql<Pick<CountedTag, 'id' | 'name' | 'color' | 'contact_count'>[]>`
    select t.id, t.name, t.color, (
        select count(*)::int from contact_tags ct where ct.workspace_id = ${workspaceId} and ct.tag_id = t.id
      ) as contact_count
    from tags t
    where t.workspace_id = ${workspaceId} and (${isFirst} or t.name_key collate "C" > (
      select l.name_key from tags l where l.workspace_id = ${workspaceId} and l.id = ${before}
    ) collate "C")
    order by t.name_key collate "C"
    limit ${maxListed + 1}`
  return toPage(rows, maxListed)
}

/** A tag with the key of its previous name. */
export type RenamedTag = CountedTag & { key_before: string }

/** Renames a tag. A change of case only is allowed. */
export async function renameTag(sql: Sql, workspaceId: string, id: string, input: string): Promise<RenamedTag> {
  const name = readTagName(input, 'name')
  if (!isUuid(id)) throw notFound('tag')
  try {
    const [tag] = await sql<RenamedTag[]>`
      with locked_tag as (
        select id, name_key from tags where workspace_id = ${workspaceId} and id = ${id} for no key update
      ),
      renamed_tag as (
        update tags t set name = ${name}, name_key = ${fold(name)}
        from locked_tag b
        where t.workspace_id = ${workspaceId} and t.id = b.id
        returning t.id, t.name, t.color, b.name_key as key_before
      )
      select r.id, r.name, r.color, r.key_before, least(n.count, ${maxCounted})::int as contact_count,
        n.count > ${maxCounted} as has_more_contacts
      from renamed_tag r
      cross join (
        select count(*) as count from (
          select from contact_tags ct
          where ct.workspace_id = ${workspaceId} and ct.tag_id = ${id}
          limit ${maxCounted + 1}
        ) counted
      ) n`
    if (!tag) throw notFound('tag')
    return tag
  } catch (error) {
    if (isDuplicate(error, 'tags_name_unique')) throw badRequest('name: already used by another tag')
    throw error
  }
}

/** Contacts per statement, so that no statement takes long. */
const chunkSize = 5_000

/** Removes a tag from all contacts, then deletes it. */
export async function deleteTag(db: Db, workspaceId: string, id: string) {
  for (let isMore = isUuid(id); isMore; ) {
    // By row location, so that wrong statistics do not matter: by a list of contacts, it took a minute for a tag without any.
    const removed = await db`
      delete from contact_tags where workspace_id = ${workspaceId} and tag_id = ${id} and ctid = any(array(
        select ct.ctid from contact_tags ct
        where ct.workspace_id = ${workspaceId} and ct.tag_id = ${id}
        limit ${chunkSize}
      ))`
    isMore = removed.count === chunkSize
  }
  const [deleted] = isUuid(id)
    ? await db<{ id: string; name: string }[]>`
        delete from tags where workspace_id = ${workspaceId} and id = ${id} returning id, name`
    : []
  if (!deleted) throw notFound('tag')
  return { ...deleted, deleted: true }
}
