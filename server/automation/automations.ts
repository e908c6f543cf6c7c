/**
 * Automations: their rows, drafts and versions.
 *
 * A definition is edited as a draft. Publishing makes it an immutable version: runs that are open keep theirs. The kinds of changes that
 * the active automations wait for are kept in the row of the workspace, so that every statement that makes such a change sees them.
 */
import { isIP } from 'node:net'
import { isLoopbackHost, notPublic } from '../../common/address.ts'
import { memberName } from '../accounts/members.ts'
import { nowMs } from '../lib/clock.ts'
import type { Sealer } from '../lib/crypto.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { idAt, isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Db, type Fragment, requireRow, type Sql, withRetries } from '../lib/postgres/db.ts'
import type { Static } from '../lib/schema.ts'
import { lengthOf } from '../lib/text.ts'
import type { Guard } from '../webhooks/guard.ts'
import type { Definition } from './definition.ts'
import { automationFields } from './fields.ts'
import { parseDefinition } from './parse.ts'
import type { Automation, CheckedSchema } from './resource.ts'
import { createSecret, sealContext } from './secrets.ts'
import { describeStep, hasQuestions, listSteps } from './steps.ts'

const maxAutomations = 200
export const maxName = 100
export const maxDescription = 1_000

const recentDays = 7
const maxCounted = 10_000

type Networks = Pick<Guard, 'isAllowed'>

type AutomationInput = { name: string; description?: string | undefined; definition?: unknown }

export async function createAutomation(
  db: Db,
  sealer: Sealer,
  guard: Networks,
  workspaceId: string,
  { name, description = '', definition }: AutomationInput,
  id = newId(),
): Promise<Automation> {
  const draft = definition === undefined ? null : JSON.stringify(readEdited(guard, definition))
  const secret = sealer.seal(createSecret(), sealContext(workspaceId, id))
  const texts = {
    name: readText('name', name, maxName, 1),
    description: readText('description', description, maxDescription),
  }
  await db.begin(async (sql) => {
    // Serializes members who create automations: the limit and the positions.
    await sql`select from workspaces where id = ${workspaceId} for no key update`
    const [{ count = 0, last = -1 } = {}] = await sql<{ count: number; last: number }[]>`
      select count(*)::int as count, coalesce(max(position), -1) as last from automations where workspace_id = ${workspaceId}`
    if (count >= maxAutomations) throw badRequest(`a workspace has at most ${maxAutomations} automations`)
    await sql`
      insert into automations (workspace_id, id, name, description, position, draft, secret, created_at, updated_at)
      values (${workspaceId}, ${id}, ${texts.name}, ${texts.description}, ${last + 1}, ${draft}, ${secret},
        ${timeOfId(id)}, ${timeOfId(id)})
      on conflict do nothing`
  })
  return requireAutomation(db, workspaceId, id)
}

/** A URL whose host can never be called here is refused while it is edited. A host name is resolved only by the call. */
function readEdited(guard: Networks, input: unknown): Definition {
  const definition = parseDefinition(input, automationFields)
  for (const { path, step } of listSteps(definition)) {
    if (step.type !== 'call') continue
    const host = new URL(step.url).hostname.replace(/^\[|\]$/g, '')
    const address = isLoopbackHost(host) && isIP(host) === 0 ? '127.0.0.1' : host
    if (isIP(address) > 0 && !guard.isAllowed(address)) {
      throw badRequest(
        `${path}.url: ${notPublic(host)}. Use a public host, or ask the operator to allow the network in WEBHOOK_ALLOWED_CIDRS`,
      )
    }
  }
  return definition
}

function readText(field: string, input: string, max: number, min = 0): string {
  const text = input.trim()
  if (lengthOf(text) < min || lengthOf(text) > max) throw badRequest(`${field}: must have ${min} to ${max} characters`)
  return text
}

export async function listAutomations(sql: Sql, workspaceId: string): Promise<Automation[]> {
  return sql<Automation[]>`${selectAutomations(sql, workspaceId)} order by a.position, a.id`
}

/** The active automations that a member starts by hand. */
export async function listMacros(sql: Sql, workspaceId: string): Promise<Pick<Automation, 'id' | 'name'>[]> {
  return sql<Pick<Automation, 'id' | 'name'>[]>`
    select id, name from automations
    where workspace_id = ${workspaceId} and kind = 'manual' and state = 'active'
    order by position, id`
}

export async function requireAutomation(sql: Sql, workspaceId: string, id: string): Promise<Automation> {
  const [automation] = isUuid(id)
    ? await sql<Automation[]>`${selectAutomations(sql, workspaceId)} and a.id = ${id}`
    : []
  if (!automation) throw notFound('automation')
  return automation
}

const selectAutomations = (sql: Sql, workspaceId: string): Fragment => sql`
  select a.id, a.name, a.description, a.state, a.position, a.version, a.draft::json as draft, a.created_at, a.updated_at, (
      select n.definition::json from automation_versions n
      where n.workspace_id = a.workspace_id and n.automation_id = a.id and n.version = a.version
    ) as definition, ${recentRuns(sql)} as recent_runs, (
      select json_build_object('run_id', r.id, 'at', r.ended_at, 'error', r.error) from automation_runs r
      where r.workspace_id = a.workspace_id and r.automation_id = a.id and r.error is not null
        and r.id > ${idAt(nowMs() - recentDays * 86_400_000)}
      order by r.id desc limit 1
    ) as last_error
  from automations a
  where a.workspace_id = ${workspaceId}`

const recentRuns = (sql: Sql): Fragment => {
  const ended = (reason: string) => sql`count(*) filter (where r.reason = ${reason}::text)`
  return sql`(
    select json_build_object('started', count(*), 'open', count(*) filter (where r.state <> 'ended'),
      'finished', ${ended('finished')}, 'handed_over', ${ended('handed_over')}, 'person', ${ended('person')},
      'failed', ${ended('failed')},
      'other', count(*) filter (where r.reason not in ('finished', 'handed_over', 'person', 'failed')))
    from (
      select r.state, r.reason from automation_runs r
      where r.workspace_id = a.workspace_id and r.automation_id = a.id and r.id > ${idAt(nowMs() - recentDays * 86_400_000)}
      limit ${maxCounted}
    ) r
  )`
}

export type AutomationChanges = {
  name?: string | undefined
  description?: string | undefined
  position?: number | undefined
}

export async function changeAutomation(
  db: Db,
  workspaceId: string,
  id: string,
  changes: AutomationChanges,
): Promise<Automation> {
  const name = changes.name === undefined ? null : readText('name', changes.name, maxName, 1)
  const description =
    changes.description === undefined ? null : readText('description', changes.description, maxDescription)
  await db.begin(async (sql) => {
    await lockAutomations(sql, workspaceId, id)
    await sql`
      update automations set name = coalesce(${name}, name), description = coalesce(${description}, description), updated_at = now()
      where workspace_id = ${workspaceId} and id = ${id}`
    if (changes.position !== undefined) await place(sql, workspaceId, id, changes.position)
  })
  return requireAutomation(db, workspaceId, id)
}

/** Locks the workspace, then its automation. 404 when there is none. */
async function lockAutomations(sql: Sql, workspaceId: string, id: string): Promise<StoredAutomation> {
  await sql`select from workspaces where id = ${workspaceId} for no key update`
  const [locked] = isUuid(id)
    ? await sql<StoredAutomation[]>`
        select state, version, draft::json as draft from automations where workspace_id = ${workspaceId} and id = ${id} for no key update`
    : []
  if (!locked) throw notFound('automation')
  return locked
}
type StoredAutomation = { state: Automation['state']; version: number; draft: Definition | null }

/** Moves an automation to a place among the others. */
async function place(sql: Sql, workspaceId: string, id: string, position: number): Promise<void> {
  const rows = await sql<{ id: string }[]>`
    select id from automations where workspace_id = ${workspaceId} order by position, id`
  const ids = rows.map((row) => row.id).filter((one) => one !== id)
  ids.splice(position, 0, id)
  await sql`
    update automations a set position = i.position - 1
    from unnest(${ids}::uuid[]) with ordinality as i (id, position)
    where a.workspace_id = ${workspaceId} and a.id = i.id and a.position <> i.position - 1`
}

/**
 * Stores the definition that a member edits. 400 with the path of its first fault. `updatedAt`: of the automation that was edited, so
 * that the change of another member is not overwritten.
 */
export async function saveDraft(
  sql: Sql,
  guard: Networks,
  workspaceId: string,
  id: string,
  input: unknown,
  updatedAt?: string,
): Promise<Automation> {
  await requireAutomation(sql, workspaceId, id)
  const draft = JSON.stringify(readEdited(guard, input))
  // Callers see the time in milliseconds. A request that is repeated after a lost response finds its own draft.
  const isUnchanged = updatedAt
    ? sql`(draft = ${draft} or date_trunc('milliseconds', updated_at) = date_trunc('milliseconds', ${updatedAt}::timestamptz))`
    : sql`true`
  const [saved] = await sql<{ id: string }[]>`
    update automations set draft = ${draft}, updated_at = now()
    where workspace_id = ${workspaceId} and id = ${id} and ${isUnchanged}
    returning id`
  const automation = await requireAutomation(sql, workspaceId, id)
  if (!saved) throw badRequest('if_updated_at: the automation has changed since')
  return automation
}

/** Reads a definition as a draft is read, and stores nothing. */
export function checkDefinition(guard: Networks, input: unknown): Static<typeof CheckedSchema> {
  const definition = readEdited(guard, input)
  const steps = listSteps(definition).map(({ path, depth, step }) => ({ path, depth, text: describeStep(step) }))
  return { valid: true, definition, steps }
}

/** Makes the draft the newest version, and activates the automation. Without a draft, the newest version is active again. */
export async function publish(db: Db, workspaceId: string, id: string, memberId: string | null): Promise<Automation> {
  await withRetries(() =>
    db.begin(async (sql) => {
      const { version, draft } = await lockAutomations(sql, workspaceId, id)
      if (!draft && version === 0) throw badRequest('draft: there is nothing to publish')
      if (draft) {
        // What a rule refers to may have changed since the draft was saved.
        const definition = parseDefinition(draft, automationFields)
        await sql`
          insert into automation_versions (workspace_id, automation_id, version, definition, published_at, published_by)
          values (${workspaceId}, ${id}, ${version + 1}, ${JSON.stringify(definition)}, now(), ${memberId})`
        await sql`
          update automations set version = ${version + 1}, draft = null, kind = ${definition.trigger.type},
            has_questions = has_questions or ${hasQuestions(definition)}
          where workspace_id = ${workspaceId} and id = ${id}`
      }
      await sql`
        update automations set state = 'active', checked_until = now(), updated_at = now()
        where workspace_id = ${workspaceId} and id = ${id}`
      await refreshKinds(sql, workspaceId)
    }),
  )
  return requireAutomation(db, workspaceId, id)
}

/** Starts no new runs. `endsRuns`: those that are open end now, and their conversations are the team's. */
export async function pause(db: Db, workspaceId: string, id: string, endsRuns: boolean): Promise<Automation> {
  await withRetries(() =>
    db.begin(async (sql) => {
      const { state } = await lockAutomations(sql, workspaceId, id)
      if (state === 'draft') throw badRequest('the automation was never published')
      if (endsRuns) await endRunsOf(sql, workspaceId, id, 'paused')
      await sql`
        update automations set state = 'paused', updated_at = now() where workspace_id = ${workspaceId} and id = ${id}`
      await refreshKinds(sql, workspaceId)
    }),
  )
  return requireAutomation(db, workspaceId, id)
}

/** Deletes an automation with its versions and runs. */
export async function deleteAutomation(
  db: Db,
  workspaceId: string,
  id: string,
): Promise<{ id: string; name: string; deleted: true }> {
  return withRetries(() =>
    db.begin(async (sql) => {
      await lockAutomations(sql, workspaceId, id)
      await endRunsOf(sql, workspaceId, id, 'deleted')
      const [deleted] = await sql<{ id: string; name: string }[]>`
        delete from automations where workspace_id = ${workspaceId} and id = ${id} returning id, name`
      await refreshKinds(sql, workspaceId)
      return { ...requireRow(deleted, 'the deleted automation'), deleted: true as const }
    }),
  )
}

/** Replaces the secret that signs the calls of an automation. Only this call returns it. */
export async function rotateSecret(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  id: string,
): Promise<{ id: string; secret: string }> {
  const automation = await requireAutomation(sql, workspaceId, id)
  const secret = createSecret()
  await sql`
    update automations set secret = ${sealer.seal(secret, sealContext(workspaceId, automation.id))}, updated_at = now()
    where workspace_id = ${workspaceId} and id = ${id}`
  return { id: automation.id, secret }
}

/** Ends the open runs of an automation. */
async function endRunsOf(sql: Sql, workspaceId: string, id: string, reason: 'paused' | 'deleted'): Promise<void> {
  await sql`
    select v.id from conversations v
    where v.workspace_id = ${workspaceId} and v.id in (
      select r.conversation_id from automation_runs r
      where r.workspace_id = ${workspaceId} and r.automation_id = ${id} and r.state <> 'ended'
    )
    order by v.id
    for no key update`
  await sql`
    with ended_runs as (
      update automation_runs set state = 'ended', reason = ${reason}, ended_at = now(), due_at = null, lease_id = null,
        leased_until = null
      where workspace_id = ${workspaceId} and automation_id = ${id} and state <> 'ended'
      returning workspace_id, id, conversation_id
    )
    update conversations v set bot_run_id = null, updated_at = now()
    from ended_runs r
    where v.workspace_id = r.workspace_id and v.id = r.conversation_id and v.bot_run_id = r.id`
}

/** Messages are queued while any published version asks questions: an open run may wait for an answer. */
export async function refreshKinds(sql: Sql, workspaceId: string): Promise<void> {
  await sql`
    update workspaces w set automation_kinds = array(
      select distinct k.kind from (
        select a.kind from automations a where a.workspace_id = ${workspaceId} and a.state = 'active'
        union all
        select 'message' from automations a where a.workspace_id = ${workspaceId} and a.state <> 'draft' and a.has_questions
        union all
        select 'paused' from automations a where a.workspace_id = ${workspaceId} and a.state = 'paused'
      ) k
      order by k.kind
    )
    where w.id = ${workspaceId}`
}

export type Version = {
  version: number
  definition: Record<string, unknown>
  published_at: string
  published_by: string | null
}

/** Newest first, at most 100. */
export async function listVersions(sql: Sql, workspaceId: string, id: string): Promise<Version[]> {
  await requireAutomation(sql, workspaceId, id)
  return sql<Version[]>`
    select n.version, n.definition::json as definition, n.published_at, ${memberName(sql, sql`m`)} as published_by
    from automation_versions n
    left join members m on m.workspace_id = n.workspace_id and m.id = n.published_by
    where n.workspace_id = ${workspaceId} and n.automation_id = ${id}
    order by n.version desc
    limit 100`
}
