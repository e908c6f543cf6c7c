/**
 * Labels: what a workspace calls its conversations ("Refund", "VIP"). They follow the rules of tags (`contacts/tags.ts`) in tables
 * of their own. Labels are locked before conversations (see the lock order in ARCHITECTURE.md).
 */
import {
  countTags,
  deleteTag,
  findTagged,
  maxCounted,
  readTagName,
  readTagsOf,
  resolveTags,
  type TagChanges,
  type TagKind,
  updateTag,
} from '../contacts/tags.ts'
import { type Db, type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'
import { Column } from '../lib/resource.ts'
import { Color, type Static, Type, Uuid } from '../lib/schema.ts'
import { fold } from '../lib/text.ts'

export const LabelSchema = Type.Object({ id: Uuid, name: Type.String(), color: Color }, { title: 'Label' })
export type Label = Static<typeof LabelSchema>

/** Labels of a conversation. */
export const maxLabels = 50
/** Labels of a workspace. */
const maxInWorkspace = 1_000

export const labelKind: TagKind = {
  ...{ noun: 'label', table: 'labels', links: 'conversation_labels', tagId: 'label_id', ownerId: 'conversation_id' },
  maxInWorkspace,
}

/** The labels of conversation `v` as JSON, by name. */
export const labelsJson = (sql: Sql): Fragment => sql`coalesce((
  select json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by l.name_key)
  from conversation_labels cl
  join labels l on l.workspace_id = cl.workspace_id and l.id = cl.label_id
  where cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
), '[]')`

/** The ids of the labels of conversation `v`, separated by spaces. */
const labelIds = (sql: Sql): Fragment => sql`array_to_string(array(
  select cl.label_id from conversation_labels cl where cl.workspace_id = v.workspace_id and cl.conversation_id = v.id
), ' ')`

/** The field `labels` of conversation `v`. */
export const LabelList = Column(Type.Array(LabelSchema, { description: 'By name.' }), labelsJson, {
  text: labelIds,
  read: (sql, workspaceId) => readTagsOf(sql, workspaceId, labelKind),
})

export async function listLabels(sql: Sql, workspaceId: string): Promise<Label[]> {
  return sql<Label[]>`
    select id, name, color from labels where workspace_id = ${workspaceId} order by name_key limit ${maxInWorkspace}`
}

/** How many conversations have each label, at most `maxCounted`. */
export async function countLabels(
  sql: Sql,
  workspaceId: string,
): Promise<{ id: string; conversation_count: number }[]> {
  const labels = await countTags(sql, workspaceId, labelKind)
  return labels.map(({ id, use_count }) => ({ id, conversation_count: Math.min(use_count, maxCounted) }))
}

/** A label with more conversations is checked on each conversation of a list. */
const maxLabeled = 1_000

/** The conversations with one of these labels (`findTagged`). */
export const findLabeled = (sql: Sql, workspaceId: string, idsOrNames: readonly string[]) =>
  findTagged(sql, workspaceId, idsOrNames, maxLabeled, labelKind)

/** Creates a label, by default in the color of its name. A name that exists returns the existing label. */
export async function resolveLabel(
  db: Db,
  workspaceId: string,
  input: string,
  color?: string,
): Promise<{ label: Label; created: boolean }> {
  const name = readTagName(input, 'name')
  const names = new Map([[fold(name), name]])
  const labels = await db.begin((sql) => resolveTags(sql, workspaceId, names, { kind: labelKind, color }))
  const { isNew, ...label } = requireRow(labels.get(fold(name)), 'the label')
  return { label, created: isNew }
}

/** Renames a label or changes its color. */
export const updateLabel = (sql: Sql, workspaceId: string, id: string, changes: TagChanges): Promise<Label> =>
  updateTag(sql, workspaceId, id, changes, labelKind)

/** Removes a label from all conversations, then deletes it. */
export const deleteLabel = (db: Db, workspaceId: string, id: string) => deleteTag(db, workspaceId, id, labelKind)
