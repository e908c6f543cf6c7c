/**
 * Segments: named audiences.
 *
 * A static segment is a list of members. A dynamic segment is a stored filter that is evaluated on every read, so it is
 * never stale. The kind cannot change.
 */
import type { JSONValue } from 'postgres'
import { countContacts, listContactsWhere } from '../contacts/contacts.ts'
import type { Contact } from '../contacts/resource.ts'
import { nowIso } from '../lib/clock.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, readPosition, toPage } from '../lib/page.ts'
import { type Db, type Fragment, isDuplicate, type Sql } from '../lib/postgres/db.ts'
import { colorOf, fold, lengthOf } from '../lib/text.ts'
import {
  type Filter,
  type FilterFields,
  type FilterInput,
  mapRules,
  requireFilter,
  showFilter,
  toCondition,
} from './filter.ts'
import { type Kind, type Segment, segmentColumns } from './resource.ts'

export const maxSegmentName = 80

export type CountedSegment = Segment & { member_count: number }

export async function listSegments(
  sql: Sql,
  workspaceId: string,
  { kind }: { kind?: Kind | undefined },
  { limit, before }: Position,
): Promise<Page<Segment>> {
  const rows = await sql<Segment[]>`
    select ${segmentColumns(sql)} from segments s
    where s.workspace_id = ${workspaceId} and s.id < ${before}
      and (${kind ?? null}::text is null or s.kind = ${kind ?? null})
    order by s.id desc
    limit ${limit + 1}`
  return toPage(rows.map(toSegment), limit)
}

export async function requireSegment(sql: Sql, workspaceId: string, id: string): Promise<Segment> {
  const [segment] = isUuid(id)
    ? await sql<Segment[]>`
        select ${segmentColumns(sql)} from segments s where s.workspace_id = ${workspaceId} and s.id = ${id}`
    : []
  if (!segment) throw notFound('segment')
  return toSegment(segment)
}

const toSegment = (row: Segment): Segment => ({ ...row, filter: row.filter && showFilter(row.filter) })

export async function countMembers(
  sql: Sql,
  workspaceId: string,
  fields: FilterFields,
  segment: Segment,
): Promise<CountedSegment> {
  if (segment.filter) {
    const condition = toCondition(sql, workspaceId, fields, segment.filter)
    return { ...segment, member_count: await countContacts(sql, workspaceId, condition) }
  }
  const [members] = await sql<{ count: number }[]>`
    select count(*)::int as count from segment_members
    where workspace_id = ${workspaceId} and segment_id = ${segment.id}`
  return { ...segment, member_count: members?.count ?? 0 }
}

const sampleSize = 5

/** The number of contacts that match a filter now, and the newest of them. */
export async function previewFilter(
  sql: Sql,
  workspaceId: string,
  fields: FilterFields,
  input: FilterInput,
): Promise<{ count: number; sample: Contact[] }> {
  const condition = toCondition(sql, workspaceId, fields, requireFilter(fields, input))
  const count = await countContacts(sql, workspaceId, condition)
  const { data } = await listContactsWhere(sql, workspaceId, condition, { ...readPosition({}), limit: sampleSize })
  return { count, sample: data }
}

/**
 * Replaces the old name of a renamed tag with its id in all filters. Otherwise the filters would silently match other
 * contacts, and a `not_has` rule would match all of them.
 */
export async function replaceRenamedTag(
  sql: Sql,
  workspaceId: string,
  { id, key_before: key }: { id: string; key_before: string },
): Promise<void> {
  const segments = await sql<{ id: string; filter: Filter }[]>`
    select id, filter from segments
    where workspace_id = ${workspaceId} and filter @? '$.rules.**.field ? (@ == "tag")'
    order by id
    for no key update`
  for (const { id: segmentId, filter } of segments) {
    const renamed = mapRules(filter, (rule) =>
      rule.field === 'tag' && fold((rule.value ?? '').trim()) === key ? { ...rule, value: id } : rule,
    )
    if (JSON.stringify(renamed) === JSON.stringify(filter)) continue
    await sql`
      update segments set filter = ${sql.json(renamed as JSONValue)}
      where workspace_id = ${workspaceId} and id = ${segmentId}`
  }
}

export type NewSegment = {
  name: string
  description?: string | null | undefined
  kind?: Kind | undefined
  filter?: FilterInput | undefined
}

export async function createSegment(
  sql: Sql,
  workspaceId: string,
  fields: FilterFields,
  input: NewSegment,
): Promise<Segment> {
  const name = requireName(input.name)
  const kind = input.kind ?? 'static'
  if (kind === 'dynamic' && !input.filter) throw badRequest('filter: required for a dynamic segment')
  const filter = kind === 'dynamic' && input.filter ? requireFilter(fields, input.filter) : null
  const id = newId()
  const time = timeOfId(id)
  return requireSaved(sql<Segment[]>`
    insert into segments as s (workspace_id, id, name, name_key, description, color, kind, filter, created_at, updated_at)
    values (${workspaceId}, ${id}, ${name}, ${fold(name)}, ${input.description ?? null}, ${colorOf(id)}, ${kind},
      ${filter && sql.json(filter as JSONValue)}, ${time}, ${time})
    returning ${segmentColumns(sql)}`)
}

export type SegmentChanges = {
  name?: string | undefined
  description?: string | null | undefined
  filter?: FilterInput | undefined
}

export async function updateSegment(
  sql: Sql,
  workspaceId: string,
  fields: FilterFields,
  id: string,
  changes: SegmentChanges,
): Promise<Segment> {
  const name = changes.name === undefined ? undefined : requireName(changes.name)
  const filter = changes.filter && requireFilter(fields, changes.filter)
  const segment = await requireSegment(sql, workspaceId, id)
  if (filter && segment.kind === 'static') throw badRequest('filter: a static segment has no filter')
  if (name === undefined && changes.description === undefined && !filter) return segment
  return requireSaved(sql<Segment[]>`
    update segments s set ${sql({
      ...(name === undefined ? {} : { name, name_key: fold(name) }),
      ...(changes.description === undefined ? {} : { description: changes.description }),
      ...(filter ? { filter: sql.json(filter as JSONValue) } : {}),
      updated_at: nowIso(),
    })}
    where workspace_id = ${workspaceId} and id = ${id}
    returning ${segmentColumns(sql)}`)
}

export async function deleteSegment(sql: Sql, workspaceId: string, id: string): Promise<DeletedSegment> {
  const [deleted] = isUuid(id)
    ? await sql<{ id: string; name: string }[]>`
        delete from segments where workspace_id = ${workspaceId} and id = ${id} returning id, name`
    : []
  if (!deleted) throw notFound('segment')
  return { ...deleted, deleted: true }
}
type DeletedSegment = { id: string; name: string; deleted: true }

/** Members of a segment, newest contact first. */
export async function listMembers(
  sql: Sql,
  workspaceId: string,
  fields: FilterFields,
  id: string,
  position: Position,
): Promise<Page<Contact>> {
  const segment = await requireSegment(sql, workspaceId, id)
  return listContactsWhere(sql, workspaceId, memberCondition(sql, workspaceId, fields, segment), position)
}

/** Condition on contact `c`: it is a member. */
function memberCondition(sql: Sql, workspaceId: string, fields: FilterFields, { id, filter }: Segment): Fragment {
  if (filter) return toCondition(sql, workspaceId, fields, filter)
  return sql`c.id in (select contact_id from segment_members where workspace_id = ${workspaceId} and segment_id = ${id})`
}

/** The same for the id of a segment; 404 when it does not exist. The result is an object: awaiting a fragment would run it. */
export async function requireMembership(
  sql: Sql,
  workspaceId: string,
  fields: FilterFields,
  id: string,
): Promise<{ name: string; condition: Fragment }> {
  const segment = await requireSegment(sql, workspaceId, id)
  return { name: segment.name, condition: memberCondition(sql, workspaceId, fields, segment) }
}

/** Adds contacts of this workspace. */
export async function addMembers(db: Db, workspaceId: string, id: string, contactIds: readonly string[]) {
  const { count, ...segment } = await changeMembers(db, workspaceId, id, async (sql) => {
    // Sorted, so that two callers that add the same contacts cannot deadlock.
    const added = await sql`
      insert into segment_members (workspace_id, segment_id, contact_id)
      select c.workspace_id, ${id}, c.id from contacts c
      where c.workspace_id = ${workspaceId} and c.id = any(${[...contactIds]}::uuid[])
      order by c.id
      on conflict do nothing`
    return added.count
  })
  return { ...segment, requested: contactIds.length, added: count }
}

/** Gives the memberships of a contact to another one that it is merged into. */
export async function moveMemberships(sql: Sql, workspaceId: string, fromId: string, toId: string): Promise<void> {
  await sql`
    insert into segment_members (workspace_id, segment_id, contact_id)
    select workspace_id, segment_id, ${toId} from segment_members
    where workspace_id = ${workspaceId} and contact_id = ${fromId}
    order by segment_id
    on conflict do nothing`
}

export async function removeMembers(db: Db, workspaceId: string, id: string, contactIds: readonly string[]) {
  const { count, ...segment } = await changeMembers(db, workspaceId, id, async (sql) => {
    const removed = await sql`
      delete from segment_members
      where workspace_id = ${workspaceId} and segment_id = ${id} and contact_id = any(${[...contactIds]}::uuid[])`
    return removed.count
  })
  return { ...segment, requested: contactIds.length, removed: count }
}

/** Changes the members of a static segment. Its lock prevents that it is deleted meanwhile. */
function changeMembers(db: Db, workspaceId: string, id: string, change: (sql: Sql) => Promise<number>) {
  return db.begin(async (sql) => {
    const [segment] = isUuid(id)
      ? await sql<{ id: string; kind: Kind; name: string }[]>`
          select id, kind, name from segments where workspace_id = ${workspaceId} and id = ${id} for key share`
      : []
    if (!segment) throw notFound('segment')
    if (segment.kind === 'dynamic')
      throw badRequest('contact_ids: a dynamic segment has no list of members; change its filter')
    return { segment_id: segment.id, name: segment.name, count: await change(sql) }
  })
}

function requireName(input: string): string {
  const name = input.trim()
  if (name === '') throw badRequest('name: must not be blank')
  if (lengthOf(name) > maxSegmentName) throw badRequest(`name: must have at most ${maxSegmentName} characters`)
  return name
}

/** The row that a statement wrote. Throws 400 when the name is used by another segment. */
async function requireSaved(statement: Promise<readonly Segment[]>): Promise<Segment> {
  try {
    const [segment] = await statement
    if (segment) return toSegment(segment)
  } catch (error) {
    if (isDuplicate(error, 'segments_name_unique')) throw badRequest('name: already used by another segment')
    throw error
  }
  throw notFound('segment')
}
