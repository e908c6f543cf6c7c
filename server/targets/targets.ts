/**
 * Targets: the times in which customers should get a reply. The first active one whose conditions match a conversation applies to it.
 *
 * A change of a target requests that all clocks of the workspace are computed again (`clocks.ts`). Changes of the targets of a workspace
 * run one after the other: they lock its row of `target_workspaces`.
 */
import { type ClockKind, clockKinds } from '../automation/definition.ts'
import { automationFields } from '../automation/fields.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Db, isDuplicate, type Sql } from '../lib/postgres/db.ts'
import { Column, resource } from '../lib/resource.ts'
import { DateTime, NullableInteger, type Static, type TSchema, Type, Uuid } from '../lib/schema.ts'
import { fold, lengthOf } from '../lib/text.ts'
import {
  contactFields,
  type Filter,
  type FilterFields,
  type FilterInput,
  requireFilter,
  showFilter,
} from '../segments/filter.ts'
import { createFilterSchemas } from '../segments/filter-schema.ts'

/** What is decided without a run and without the time: a condition that changes by itself would need a clock of its own. */
const isOfTarget = (field: string): boolean =>
  field in contactFields ? field !== 'created_at' : ['connection', 'label', 'assignee', 'team'].includes(field)

/** The fields of the conditions of a target. */
export const targetFields: FilterFields = Object.fromEntries(
  Object.entries(automationFields).filter(([field]) => isOfTarget(field)),
)

const schemas = createFilterSchemas(targetFields)
export const FilterSchema = Type.Unsafe<FilterInput | null>({
  ...(schemas.Filter as TSchema),
  ...{ title: 'TargetConditions', type: ['object', 'null'], description: 'Null: all conversations.' },
})
const StoredFilter = Type.Unsafe<Filter | null>({
  ...(schemas.StoredFilter as TSchema),
  ...{ title: 'StoredTargetConditions', description: 'Null: all conversations.' },
})

/** A year. */
export const maxMinutes = 525_600
export const maxTargets = 20
const maxTargetName = 80

export const TargetSchema = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    position: Type.Integer({
      description:
        'From 0. The first active target whose conditions match applies. A new one with conditions comes before the first one without.',
    }),
    is_active: Type.Boolean(),
    is_office_time: Type.Boolean({ description: 'The minutes count in office hours only.' }),
    conditions: Column(StoredFilter, (sql) => sql`t.conditions`),
    first_reply_minutes: NullableInteger,
    next_reply_minutes: NullableInteger,
    closing_minutes: NullableInteger,
    created_at: DateTime,
    updated_at: DateTime,
  },
  { title: 'Target' },
)
export type Target = Static<typeof TargetSchema>

const { columns } = resource('t', TargetSchema)

export type TargetInput = {
  name: string
  is_active: boolean
  is_office_time: boolean
  conditions: FilterInput | null
} & Record<`${ClockKind}_minutes`, number | null>

type TargetChanges = { [Field in keyof TargetInput]?: TargetInput[Field] | undefined } & {
  position?: number | undefined
}

/** In their order. */
export async function listTargets(sql: Sql, workspaceId: string): Promise<Target[]> {
  const rows = await sql<Target[]>`
    select ${columns(sql)} from targets t
    where t.workspace_id = ${workspaceId} and t.deleted_at is null
    order by t.position, t.id`
  return rows.map(toTarget)
}

const toTarget = (row: Target): Target => ({ ...row, conditions: row.conditions && showFilter(row.conditions) })

/** Before the first target without conditions: that one stays the last resort. Another one without conditions comes last. */
export function positionOfNew(all: readonly Target[], conditions: Filter | null): number {
  const lastResort = conditions ? all.findIndex((target) => target.conditions === null) : -1
  return lastResort < 0 ? all.length : lastResort
}

export async function createTarget(db: Db, workspaceId: string, input: TargetInput): Promise<Target> {
  const { name, conditions, ...rest } = readTarget(input)
  const id = newId()
  return db
    .begin(async (sql) => {
      const all = await lockTargets(sql, workspaceId)
      if (all.length >= maxTargets) throw badRequest(`there are ${maxTargets} targets already`)
      await sql`
        insert into targets (workspace_id, id, name, name_key, position, conditions, is_active, is_office_time, first_reply_minutes,
          next_reply_minutes, closing_minutes, created_at, updated_at)
        values (${workspaceId}, ${id}, ${name}, ${fold(name)}, ${all.length}, ${toJson(conditions)}::text::jsonb, ${rest.is_active},
          ${rest.is_office_time}, ${rest.first_reply_minutes}, ${rest.next_reply_minutes}, ${rest.closing_minutes}, ${timeOfId(id)},
          ${timeOfId(id)})`
      await place(sql, workspaceId, id, positionOfNew(all, conditions))
      await requestRecompute(sql, workspaceId)
      return requireTarget(sql, workspaceId, id)
    })
    .catch(refuseDuplicate)
}

/** Changes the fields that are present. */
export async function updateTarget(db: Db, workspaceId: string, id: string, changes: TargetChanges): Promise<Target> {
  return db
    .begin(async (sql) => {
      await lockTargets(sql, workspaceId)
      const before = await requireTarget(sql, workspaceId, id)
      const { position, ...fields } = changes
      const present = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
      const { name, conditions, ...rest } = readTarget({ ...before, ...present })
      await sql`
        update targets set name = ${name}, name_key = ${fold(name)}, conditions = ${toJson(conditions)}::text::jsonb,
          is_active = ${rest.is_active}, is_office_time = ${rest.is_office_time}, first_reply_minutes = ${rest.first_reply_minutes},
          next_reply_minutes = ${rest.next_reply_minutes}, closing_minutes = ${rest.closing_minutes}, updated_at = now()
        where workspace_id = ${workspaceId} and id = ${id}`
      if (position !== undefined) await place(sql, workspaceId, id, position)
      await requestRecompute(sql, workspaceId)
      return requireTarget(sql, workspaceId, id)
    })
    .catch(refuseDuplicate)
}

/** Its outcomes stay in the reports. Returns its name. */
export async function deleteTarget(db: Db, workspaceId: string, id: string): Promise<string> {
  return db.begin(async (sql) => {
    await lockTargets(sql, workspaceId)
    const { name } = await requireTarget(sql, workspaceId, id)
    await sql`
      update targets set deleted_at = now(), is_active = false, updated_at = now()
      where workspace_id = ${workspaceId} and id = ${id}`
    await place(sql, workspaceId)
    await requestRecompute(sql, workspaceId)
    return name
  })
}

/** Locks the targets of the workspace. Returns them in their order. */
async function lockTargets(sql: Sql, workspaceId: string): Promise<Target[]> {
  await sql`
    insert into target_workspaces (workspace_id, is_active) values (${workspaceId}, false)
    on conflict (workspace_id) do update set is_requested = true`
  return listTargets(sql, workspaceId)
}

async function requestRecompute(sql: Sql, workspaceId: string): Promise<void> {
  await sql`
    update target_workspaces set is_requested = true, is_active = exists (
      select from targets where workspace_id = ${workspaceId} and is_active
    )
    where workspace_id = ${workspaceId}`
}

async function requireTarget(sql: Sql, workspaceId: string, id: string): Promise<Target> {
  const [target] = isUuid(id)
    ? await sql<Target[]>`
        select ${columns(sql)} from targets t
        where t.workspace_id = ${workspaceId} and t.id = ${id} and t.deleted_at is null`
    : []
  if (!target) throw notFound('target')
  return toTarget(target)
}

/** Numbers the targets. `id` moves to the position, if there is one. */
async function place(sql: Sql, workspaceId: string, id?: string, position = 0): Promise<void> {
  const ids = (await listTargets(sql, workspaceId))
    .map((target) => target.id)
    .filter((one) => one !== id?.toLowerCase())
  if (id !== undefined) ids.splice(position, 0, id.toLowerCase())
  await sql`
    update targets t set position = i.position - 1
    from unnest(${ids}::uuid[]) with ordinality as i (id, position)
    where t.workspace_id = ${workspaceId} and t.id = i.id and t.position <> i.position - 1`
}

/** The stored form. Throws 400. */
export function readTarget(input: TargetInput): Omit<TargetInput, 'conditions'> & { conditions: Filter | null } {
  const name = input.name.trim()
  if (name === '') throw badRequest('name: must not be blank')
  if (lengthOf(name) > maxTargetName) throw badRequest(`name: must have at most ${maxTargetName} characters`)
  if (clockKinds.every((kind) => input[`${kind}_minutes`] === null)) {
    throw badRequest(
      'first_reply_minutes: one of first_reply_minutes, next_reply_minutes and closing_minutes is required',
    )
  }
  return { ...input, name, conditions: readConditions(input.conditions) }
}

/** Without rules all conversations match. */
const readConditions = (conditions: FilterInput | null): Filter | null =>
  conditions && conditions.rules.length > 0 ? requireFilter(targetFields, conditions, 'conditions') : null

const toJson = (conditions: Filter | null): string | null => conditions && JSON.stringify(conditions)

function refuseDuplicate(error: unknown): never {
  throw isDuplicate(error, 'targets_name_unique') ? badRequest('name: already in use') : error
}
