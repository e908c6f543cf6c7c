/**
 * Tags of contacts, and labels of conversations: names with a color, in tables of the same shape. A function with a `kind` serves
 * both, and otherwise the tags of contacts.
 *
 * A name is unique without regard to case, in the spelling of its first use. The first use creates the tag, and it stays
 * until a member deletes it.
 */
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, toPage, top } from '../lib/page.ts'
import { type Db, type Fragment, isDuplicate, type Sql } from '../lib/postgres/db.ts'
import { Column } from '../lib/resource.ts'
import { Color, type Static, Type, Uuid } from '../lib/schema.ts'
import { colorOf, fold, lengthOf } from '../lib/text.ts'
import { queueTriggers } from '../triggers/queue.ts'

export const maxTags = 100
/** Of a list of names, which may repeat some. */
export const maxNames = 10 * maxTags
/** Of a tag, a label, and a view of the inbox. */
export const maxTagLength = 80

export const TagSchema = Type.Object({ id: Uuid, name: Type.String(), color: Color }, { title: 'Tag' })
type Tag = Static<typeof TagSchema>

/** The names of the tables. The constraint on the names of tags is `<table>_name_unique`. */
export type TagKind = {
  noun: string
  table: string
  /** Which contact or conversation has which tag. */
  links: string
  /** The column of `links` with the id of the tag. */
  tagId: string
  /** The column of `links` with the id of the contact or conversation. */
  ownerId: string
  maxInWorkspace?: number
}

const contactTags: TagKind = {
  ...{ noun: 'tag', table: 'tags', links: 'contact_tags', tagId: 'tag_id', ownerId: 'contact_id' },
}

/**
 * The contacts or conversations with one of the tags of these ids or names; undefined when there is no such tag. `ids` is undefined
 * when they are more than `max`.
 */
export async function findTagged(
  sql: Sql,
  workspaceId: string,
  idsOrNames: readonly string[],
  max: number,
  { table, links, tagId, ownerId }: TagKind = contactTags,
): Promise<{ tagIds: string[]; ids: string[] | undefined } | undefined> {
  const keys = idsOrNames.filter((one) => !isUuid(one)).map((name) => fold(name.trim()))
  const tags = await sql<{ id: string }[]>`
    select id from ${sql(table)}
    where workspace_id = ${workspaceId}
      and (id = any(${idsOrNames.filter(isUuid)}::uuid[]) or name_key = any(${keys}::text[]))`
  if (tags.length === 0) return undefined
  const tagIds = tags.map(({ id }) => id)
  const tagged = await sql<{ id: string }[]>`
    select ${sql(ownerId)} as id from ${sql(links)}
    where workspace_id = ${workspaceId} and ${sql(tagId)} = any(${tagIds}::uuid[])
    limit ${max + 1}`
  return { tagIds, ids: tagged.length > max ? undefined : [...new Set(tagged.map(({ id }) => id))] }
}

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

/** The separators of names in one cell of a file. */
export const tagSeparators = [';', '|', ','] as const
export type TagSeparator = (typeof tagSeparators)[number]

/** The names of a cell. A backslash escapes a separator and itself. Stops after `max` names and one more. */
export function splitTags(cell: string, separator: TagSeparator, max = Number.POSITIVE_INFINITY): string[] {
  const names = ['']
  for (const [token, escaped] of cell.matchAll(/\\([\\;|,])|[^\\;|,]+|[\\;|,]/gu)) {
    if (names.length > max) break
    if (token === separator) names.push('')
    else names.push((names.pop() ?? '') + (escaped ?? token))
  }
  return names
}

/** The names as one cell, separated by semicolons. */
export const joinTags = (names: readonly string[]): string =>
  names.map((name) => name.replace(/[\\;|]/g, '\\$&')).join(';')

/** The tags of contact `c` as JSON, by name. */
const tagsJson = (sql: Sql): Fragment => sql`coalesce((
  select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by t.name_key)
  from contact_tags ct
  join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
  where ct.workspace_id = c.workspace_id and ct.contact_id = c.id
), '[]')`

/** The ids of the tags of contact `c`, separated by spaces. `readTagsOf` reads them. */
const tagIds = (sql: Sql): Fragment => sql`array_to_string(array(
  select ct.tag_id from contact_tags ct where ct.workspace_id = c.workspace_id and ct.contact_id = c.id
), ' ')`

/** Reads tags by id, in the order of their names. For lists of ids in the rows of a page. */
export const readTagsOf =
  (sql: Sql, workspaceId: string, kind = contactTags) =>
  (ids: string[]): Promise<readonly Tag[]> =>
    sql<Tag[]>`
    select id, name, color from ${sql(kind.table)} where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])
    order by name_key`

/** The field `tags` of contact `c`. */
export const TagList = Column(Type.Array(TagSchema), tagsJson, { text: tagIds, read: readTagsOf })

/**
 * Returns the tags with these names by their folded name, and creates those that do not exist, by default in the color of their
 * name. They cannot be deleted until the transaction ends. Call it before contacts and conversations are locked (lock order:
 * ARCHITECTURE.md).
 */
export async function resolveTags(
  sql: Sql,
  workspaceId: string,
  byKey: ReadonlyMap<string, string>,
  { kind = contactTags, color }: { kind?: TagKind; color?: string | undefined } = {},
): Promise<Map<string, Tag & { isNew: boolean }>> {
  if (byKey.size === 0) return new Map()
  const table = sql(kind.table)
  const input = [...byKey].map(([key, name]) => {
    const id = newId()
    return { id, name, key, color: color ?? colorOf(key), created_at: timeOfId(id) }
  })
  const created = await sql<{ id: string }[]>`
    insert into ${table} (workspace_id, id, name, name_key, color, created_at)
    select ${workspaceId}, i.id, i.name, i.key, i.color, i.created_at
    from json_to_recordset(${JSON.stringify(input)}::text::json)
      as i (id uuid, name text, key text, color text, created_at timestamptz)
    where not exists (select from ${table} t where t.workspace_id = ${workspaceId} and t.name_key = i.key)
    -- Sorted, so that two callers that create the same tags cannot deadlock.
    order by i.key collate "C"
    on conflict (workspace_id, name_key) do nothing
    returning id`
  if (created.length > 0) await requireCapacity(sql, workspaceId, kind)
  const tags = await sql<(Tag & { key: string })[]>`
    select id, name, color, name_key as key from ${table}
    where workspace_id = ${workspaceId} and name_key = any(${[...byKey.keys()]}::text[])
    order by id
    for key share`
  const newIds = new Set(created.map(({ id }) => id))
  return new Map(tags.map(({ key, ...tag }) => [key, { ...tag, isNew: newIds.has(tag.id) }]))
}

async function requireCapacity(sql: Sql, workspaceId: string, { table, maxInWorkspace }: TagKind): Promise<void> {
  if (maxInWorkspace === undefined) return
  const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
    select count(*)::int as count from ${sql(table)} where workspace_id = ${workspaceId}`
  if (count > maxInWorkspace) throw badRequest(`${table}: a workspace has at most ${maxInWorkspace} ${table}`)
}

/** Gives a contact exactly the tags with these folded names. The transaction has resolved them before. */
export async function replaceTags(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  keys: readonly string[],
): Promise<void> {
  await sql`
    with
    dropped_tags as (
      delete from contact_tags
      where workspace_id = ${workspaceId} and contact_id = ${contactId} and tag_id <> all(array(
        select t.id from tags t where t.workspace_id = ${workspaceId} and t.name_key = any(${[...keys]}::text[])
      ))
      returning workspace_id, contact_id, tag_id
    ),
    ${queueTagged(sql, 'tag_removed', sql`dropped_tags`, 0)}
    select 1`
  const tagged = keys.map((key) => ({ contact_id: contactId, key }))
  if (tagged.length > 0) await addTags(sql, workspaceId, tagged)
}

/** A contact and the folded name of a tag. */
type TaggedContact = { contact_id: string; key: string }

/** Removes tags from contacts. A tag that a contact does not have is ignored. `depth`: of the automations that cause it. */
export async function dropTags(
  sql: Sql,
  workspaceId: string,
  tagged: readonly TaggedContact[],
  depth = 0,
): Promise<void> {
  await sql`
    with
    dropped_tags as (
      delete from contact_tags ct
      using json_to_recordset(${JSON.stringify(tagged)}::text::json) as g (contact_id uuid, key text), tags t
      where t.workspace_id = ${workspaceId} and t.name_key = g.key
        and ct.workspace_id = ${workspaceId} and ct.contact_id = g.contact_id and ct.tag_id = t.id
      returning ct.workspace_id, ct.contact_id, ct.tag_id
    ),
    ${queueTagged(sql, 'tag_removed', sql`dropped_tags`, depth)}
    select 1`
}

/** Members of a `with` list: the changed tags of a relation may start automations. */
const queueTagged = (sql: Sql, event: 'tag_added' | 'tag_removed', changed: Fragment, depth: number): Fragment =>
  queueTriggers(sql, {
    kinds: ['contact'],
    workspaces: changed,
    from: sql`${changed} n join tags t on t.workspace_id = n.workspace_id and t.id = n.tag_id`,
    workspaceId: sql`n.workspace_id`,
    event: sql`${event}::text`,
    contactId: sql`n.contact_id`,
    detail: sql`t.name`,
    depth,
  })

/** Throws 400 when one of the contacts has too many tags. The caller's transaction then adds none. */
export async function requireFewTags(sql: Sql, workspaceId: string, contactIds: readonly string[]): Promise<void> {
  const tooMany = await sql`
    select from contact_tags where workspace_id = ${workspaceId} and contact_id = any(${[...contactIds]}::uuid[])
    group by contact_id
    having count(*) > ${maxTags}
    limit 1`
  if (tooMany.length > 0) throw badRequest(`add_tags: the contact would have more than ${maxTags} tags`)
}

/** Adds tags to contacts. The transaction has resolved the tags before, so none of them is deleted meanwhile. */
export async function addTags(
  sql: Sql,
  workspaceId: string,
  tagged: readonly TaggedContact[],
  depth = 0,
): Promise<void> {
  await sql`
    with
    added_tags as (
      insert into contact_tags (workspace_id, contact_id, tag_id)
      select t.workspace_id, g.contact_id, t.id
      from json_to_recordset(${JSON.stringify(tagged)}::text::json) as g (contact_id uuid, key text)
      join tags t on t.workspace_id = ${workspaceId} and t.name_key = g.key
      order by g.contact_id, t.id
      on conflict do nothing
      returning workspace_id, contact_id, tag_id
    ),
    ${queueTagged(sql, 'tag_added', sql`added_tags`, depth)}
    select 1`
}

const maxListed = 1_000
/** 10,000 entries of the index are read in a millisecond; a list of tags must not read millions. */
export const maxCounted = 10_000

/** How many contacts or conversations have the tag `t`, at most one more than `maxCounted`. */
const countUses = (sql: Sql, workspaceId: string, { links, tagId }: TagKind): Fragment => sql`(
  select count(*)::int from (
    select from ${sql(links)} u where u.workspace_id = ${workspaceId} and u.${sql(tagId)} = t.id limit ${maxCounted + 1}
  ) uses
)`

type CountedTag = Tag & { use_count: number }

/** The first 1,000 by name. */
export async function countTags(sql: Sql, workspaceId: string, kind = contactTags): Promise<CountedTag[]> {
  return sql<CountedTag[]>`
    select t.id, t.name, t.color, ${countUses(sql, workspaceId, kind)} as use_count
    from ${sql(kind.table)} t
    where t.workspace_id = ${workspaceId}
    order by t.name_key
    limit ${maxListed}`
}

const withContactCount = <Row extends CountedTag>(tag: Row) => ({
  ...tag,
  contact_count: Math.min(tag.use_count, maxCounted),
  has_more_contacts: tag.use_count > maxCounted,
})

/** The tags of contacts with the number of contacts of each. */
export const listTags = async (sql: Sql, workspaceId: string) =>
  (await countTags(sql, workspaceId)).map(withContactCount)

/**
 * A page of up to 1,000 tags by name, with exact counts. A million tagged contacts are counted in about 100 ms, from the index. The
 * cursor is the id of the last tag; a tag that was deleted since ends the list.
 */
export async function listTagPage(
  sql: Sql,
  workspaceId: string,
  { before }: Pick<Position, 'before'>,
): Promise<Page<Tag & { contact_count: number }>> {
  const isFirst = before === top
  const rows = await sql<(Tag & { contact_count: number })[]>`
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

export type TagChanges = { name?: string | undefined; color?: string | undefined }

/** Renames a tag or changes its color. A change of case only is allowed. `key_before`: the folded name before. */
export async function updateTag(
  sql: Sql,
  workspaceId: string,
  id: string,
  changes: TagChanges,
  kind = contactTags,
): Promise<CountedTag & { key_before: string }> {
  const name = changes.name === undefined ? null : readTagName(changes.name, 'name')
  if (!isUuid(id)) throw notFound(kind.noun)
  const table = sql(kind.table)
  try {
    const [tag] = await sql<(CountedTag & { key_before: string })[]>`
      with locked_tag as (
        select id, name_key from ${table} where workspace_id = ${workspaceId} and id = ${id} for no key update
      ),
      updated_tag as (
        update ${table} t set
          name = coalesce(${name}, t.name),
          name_key = coalesce(${name === null ? null : fold(name)}, t.name_key),
          color = coalesce(${changes.color ?? null}, t.color)
        from locked_tag b
        where t.workspace_id = ${workspaceId} and t.id = b.id
        returning t.id, t.name, t.color, b.name_key as key_before
      )
      select t.id, t.name, t.color, t.key_before, ${countUses(sql, workspaceId, kind)} as use_count from updated_tag t`
    if (!tag) throw notFound(kind.noun)
    return tag
  } catch (error) {
    if (isDuplicate(error, `${kind.table}_name_unique`)) throw badRequest(`name: already used by another ${kind.noun}`)
    throw error
  }
}

/** Renames a tag of contacts. */
export const renameTag = async (sql: Sql, workspaceId: string, id: string, name: string) =>
  withContactCount(await updateTag(sql, workspaceId, id, { name }))

/** Contacts or conversations per statement, so that no statement takes long. */
const chunkSize = 5_000

/** Removes a tag from all contacts or conversations, then deletes it. */
export async function deleteTag(db: Db, workspaceId: string, id: string, kind = contactTags) {
  if (!isUuid(id)) throw notFound(kind.noun)
  const [links, tagId] = [db(kind.links), db(kind.tagId)]
  for (let isMore = true; isMore; ) {
    // By row location, so that wrong statistics do not matter: by a list of contacts, it took a minute for a tag without any.
    const removed = await db`
      delete from ${links} where workspace_id = ${workspaceId} and ${tagId} = ${id} and ctid = any(array(
        select ctid from ${links} where workspace_id = ${workspaceId} and ${tagId} = ${id} limit ${chunkSize}
      ))`
    isMore = removed.count === chunkSize
  }
  const [deleted] = await db<{ id: string; name: string }[]>`
    delete from ${db(kind.table)} where workspace_id = ${workspaceId} and id = ${id} returning id, name`
  if (!deleted) throw notFound(kind.noun)
  return { ...deleted, deleted: true }
}
