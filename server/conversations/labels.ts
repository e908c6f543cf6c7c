/**
 * Labels: what a workspace calls its conversations ("Refund", "VIP").
 *
 * A name is unique without regard to case, in the spelling of its first use. The first use creates the label, and it stays
 * until a member deletes it. Labels are locked before conversations (see the lock order in ARCHITECTURE.md).
 */
import { readTagName } from '../contacts/tags.ts'
import { type Db, type Fragment, isDuplicate, requireRow, type Sql } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { colorOf, fold } from '../lib/text.ts'

export type Label = { id: string; name: string; color: string }

/** Labels of a conversation. */
export const maxLabels = 50
/** Labels of a workspace. */
const maxInWorkspace = 1_000

/** The labels of conversation `v` as JSON, by name. */
export const labelsJson = (sql: Sql): Fragment => sql`coalesce((
  select json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by l.name_key)
  from conversation_labels cl
  join labels l on l.workspace_id = cl.workspace_id and l.id = cl.label_id
  where cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
), '[]')`

/** The ids of the labels of conversation `v`, separated by spaces. `readLabelsOf` reads them. */
export const labelIds = (sql: Sql): Fragment => sql`array_to_string(array(
  select cl.label_id from conversation_labels cl where cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
), ' ')`

/** Reads labels by id, in the order of their names. For lists of `labelIds`. */
export const readLabelsOf =
  (sql: Sql, workspaceId: string) =>
  (ids: string[]): Promise<readonly Label[]> =>
    sql<Label[]>`
    select id, name, color from labels where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])
    order by name_key`

export async function listLabels(sql: Sql, workspaceId: string): Promise<Label[]> {
  return sql<Label[]>`
    select id, name, color from labels where workspace_id = ${workspaceId} order by name_key limit ${maxInWorkspace}`
}

/** Counting stops here, so that one label of a large workspace does not make the statement slow. */
const maxCounted = 10_000

/** How many conversations have each label, at most `maxCounted`. */
export async function countLabels(
  sql: Sql,
  workspaceId: string,
): Promise<{ id: string; conversation_count: number }[]> {
  return sql<{ id: string; conversation_count: number }[]>`
    select l.id, counted.conversation_count
    from labels l
    cross join lateral (
      select count(*)::int as conversation_count
      from (
        select from conversation_labels cl
        where cl.workspace_id = l.workspace_id and cl.label_id = l.id
        limit ${maxCounted}
      ) labeled
    ) counted
    where l.workspace_id = ${workspaceId}
    order by l.name_key
    limit ${maxInWorkspace}`
}

/** The id of the label with this id or name. */
async function getLabelId(sql: Sql, workspaceId: string, idOrName: string): Promise<string | undefined> {
  const isLabel = isUuid(idOrName) ? sql`id = ${idOrName}` : sql`name_key = ${fold(idOrName.trim())}`
  const [label] = await sql<{ id: string }[]>`select id from labels where workspace_id = ${workspaceId} and ${isLabel}`
  return label?.id
}

/** A label with more conversations is checked on each conversation of a list. */
const maxLabeled = 1_000

/** The conversations with a label. `ids` is undefined when they are too many to select first. */
export async function findLabeled(
  sql: Sql,
  workspaceId: string,
  idOrName: string,
): Promise<{ labelId: string; ids: string[] | undefined } | undefined> {
  const labelId = await getLabelId(sql, workspaceId, idOrName)
  if (labelId === undefined) return undefined
  const labeled = await sql<{ id: string }[]>`
    select conversation_id as id from conversation_labels
    where workspace_id = ${workspaceId} and label_id = ${labelId}
    limit ${maxLabeled + 1}`
  return { labelId, ids: labeled.length > maxLabeled ? undefined : labeled.map(({ id }) => id) }
}

/** Creates a label, by default in the color of its name. A name that exists returns the existing label. */
export async function resolveLabel(
  db: Db,
  workspaceId: string,
  input: string,
  color?: string,
): Promise<{ label: Label; created: boolean }> {
  const name = readTagName(input, 'name')
  const key = fold(name)
  return db.begin(async (sql) => {
    const before = await getLabelId(sql, workspaceId, name)
    const labels = await resolveLabels(sql, workspaceId, new Map([[key, name]]), color)
    return { label: requireRow(labels.get(key), 'the label'), created: before === undefined }
  }) as Promise<{ label: Label; created: boolean }>
}

/**
 * The labels with these names, keyed by their folded name; creates those that do not exist. The rows stay locked against
 * deletion until the transaction ends.
 */
export async function resolveLabels(
  sql: Sql,
  workspaceId: string,
  byKey: ReadonlyMap<string, string>,
  color?: string,
): Promise<Map<string, Label>> {
  if (byKey.size === 0) return new Map()
  const input = [...byKey].map(([key, name]) => ({ key, name, id: newId(), color: color ?? colorOf(key) }))
  const created = await sql`
    insert into labels (workspace_id, id, name, name_key, color, created_at)
    select ${workspaceId}, i.id, i.name, i.key, i.color, i.created_at
    from json_to_recordset(${JSON.stringify(input.map((one) => ({ ...one, created_at: timeOfId(one.id) })))}::text::json)
      as i (id uuid, name text, key text, color text, created_at timestamptz)
    where not exists (select from labels l where l.workspace_id = ${workspaceId} and l.name_key = i.key)
    -- Sorted, so that two callers that create the same labels cannot deadlock.
    order by i.key collate "C"
    on conflict (workspace_id, name_key) do nothing
    returning id`
  if (created.length > 0) await requireCapacity(sql, workspaceId)
  const labels = await sql<(Label & { name_key: string })[]>`
    select id, name, color, name_key from labels
    where workspace_id = ${workspaceId} and name_key = any(${[...byKey.keys()]}::text[])
    order by id
    for key share`
  return new Map(labels.map(({ name_key, ...label }) => [name_key, label]))
}

async function requireCapacity(sql: Sql, workspaceId: string): Promise<void> {
  const [{ count = 0 } = {}] = await sql<{ count: number }[]>`
    select count(*)::int as count from labels where workspace_id = ${workspaceId}`
  if (count > maxInWorkspace) throw badRequest(`labels: a workspace has at most ${maxInWorkspace} labels`)
}

/** Renames a label or changes its color. */
export async function updateLabel(
  sql: Sql,
  workspaceId: string,
  id: string,
  changes: { name?: string | undefined; color?: string | undefined },
): Promise<Label> {
  const name = changes.name === undefined ? undefined : readTagName(changes.name, 'name')
  if (!isUuid(id)) throw notFound('label')
  try {
    const [label] = await sql<Label[]>`
      update labels set
        name = coalesce(${name ?? null}, name),
        name_key = coalesce(${name === undefined ? null : fold(name)}, name_key),
        color = coalesce(${changes.color ?? null}, color)
      where workspace_id = ${workspaceId} and id = ${id}
      returning id, name, color`
    if (!label) throw notFound('label')
    return label
  } catch (error) {
    if (isDuplicate(error, 'labels_name_unique')) throw badRequest('name: already used by another label')
    throw error
  }
}

/** Conversations per statement, so that no statement takes long. */
const chunkSize = 5_000

/** Removes a label from all conversations, then deletes it. Returns its name. */
export async function deleteLabel(db: Db, workspaceId: string, id: string): Promise<string> {
  for (let isMore = isUuid(id); isMore; ) {
    // By row location, so that wrong statistics do not matter.
    const removed = await db`
      delete from conversation_labels where workspace_id = ${workspaceId} and label_id = ${id} and ctid = any(array(
        select cl.ctid from conversation_labels cl
        where cl.workspace_id = ${workspaceId} and cl.label_id = ${id}
        limit ${chunkSize}
      ))`
    isMore = removed.count === chunkSize
  }
  const [deleted] = isUuid(id)
    ? await db<{ name: string }[]>`delete from labels where workspace_id = ${workspaceId} and id = ${id} returning name`
    : []
  if (!deleted) throw notFound('label')
  return deleted.name
}
