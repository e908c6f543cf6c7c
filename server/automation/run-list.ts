/** Reads runs and their logs, starts runs by hand, and takes conversations over. */
import { memberName } from '../accounts/members.ts'
import { requireConversation } from '../conversations/conversations.ts'
import { listVisibleIds } from '../conversations/visible-step.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import { type Db, type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import { type Reader, restrictionOf, visibleTo } from '../teams/visibility.ts'
import { getDefinition } from './active.ts'
import { requireAutomation } from './automations.ts'
import { evaluate } from './conditions.ts'
import { insertRuns } from './decide.ts'
import type { RunResource, StepResource } from './resource.ts'
import { stopRuns } from './runs.ts'
import { findStep, hasQuestions } from './steps.ts'

type RunFilters = {
  automation_id?: string | undefined
  conversation_id?: string | undefined
  state?: string | undefined
  reason?: string | undefined
  /** Only runs in conversations that it sees. */
  reader?: Reader | undefined
}
type RunRow = Omit<RunResource, 'path'> & { position: string }

/** Newest first. */
export async function listRuns(
  sql: Sql,
  workspaceId: string,
  { automation_id, conversation_id, state, reason, reader = { workspaceId } }: RunFilters,
  { limit, before }: Position,
): Promise<Page<RunResource>> {
  const conditions = [
    ...(automation_id ? [sql`r.automation_id = ${automation_id}`] : []),
    ...(conversation_id ? [sql`r.conversation_id = ${conversation_id}`] : []),
    ...(state === 'open' ? [sql`r.state <> 'ended'`] : state === 'ended' ? [sql`r.state = 'ended'`] : []),
    ...(reason ? [sql`r.reason = ${reason}`] : []),
    ...isShownTo(sql, reader),
    sql`r.id < ${before}`,
  ]
  const rows = await selectRuns(
    sql,
    workspaceId,
    conditions.reduce((one, other) => sql`${one} and ${other}`),
    limit + 1,
  )
  return toPage(await Promise.all(rows.map((row) => toRun(sql, workspaceId, row))), limit)
}

/** Condition on run `r`. A run without a conversation is about a contact, and its log may have the customer's data. */
const isShownTo = (sql: Sql, reader: Reader): Fragment[] =>
  restrictionOf(reader)
    ? [
        sql`exists (
          select from conversations v
          where v.workspace_id = r.workspace_id and v.id = r.conversation_id and ${visibleTo(sql, reader)}
        )`,
      ]
    : []

async function selectRuns(sql: Sql, workspaceId: string, condition: Fragment, limit: number): Promise<RunRow[]> {
  return sql<RunRow[]>`
    select r.id, r.automation_id, a.name as automation_name, r.version, r.contact_id, c.name as contact_name, r.conversation_id,
      r.message_id, r.state, r.reason, r.error, r.position, r.variables as answers, r.due_at, r.started_at, r.ended_at,
      ${memberName(sql, sql`m`)} as ended_by
    from automation_runs r
    join automations a on a.workspace_id = r.workspace_id and a.id = r.automation_id
    join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
    left join members m on m.workspace_id = r.workspace_id and m.id = r.ended_by
    where r.workspace_id = ${workspaceId} and ${condition}
    order by r.id desc
    limit ${limit}`
}

async function toRun(sql: Sql, workspaceId: string, { position, ...run }: RunRow): Promise<RunResource> {
  const definition =
    run.state === 'ended' ? undefined : await getDefinition(sql, workspaceId, run.automation_id, run.version)
  return { ...run, path: definition ? (findStep(definition, position)?.path ?? null) : null }
}

export async function requireRun(
  sql: Sql,
  reader: Reader,
  id: string,
): Promise<RunResource & { definition: Record<string, unknown>; steps: StepResource[] }> {
  const { workspaceId } = reader
  const isShown = [sql`r.id = ${id}`, ...isShownTo(sql, reader)].reduce((one, other) => sql`${one} and ${other}`)
  const [row] = isUuid(id) ? await selectRuns(sql, workspaceId, isShown, 1) : []
  const definition = row && (await getDefinition(sql, workspaceId, row.automation_id, row.version))
  if (!definition) throw notFound('run')
  const steps = await sql<StepResource[]>`
    select id, path, type, outcome, reason, input, message_id, created_at from automation_steps
    where workspace_id = ${workspaceId} and run_id = ${id}
    order by id
    limit 1000`
  return { ...(await toRun(sql, workspaceId, row)), definition, steps }
}

export type StartedRun = { conversation_id: string; run_id: string | null; error: string | null }

/** Starts an automation on conversations. `key`: of the request; the same request starts no second run. */
export async function startRuns(
  db: Db,
  reader: Reader,
  automationId: string,
  conversationIds: readonly string[],
  { key }: { key: string },
): Promise<StartedRun[]> {
  const { workspaceId } = reader
  const { state, version } = await requireAutomation(db, workspaceId, automationId)
  const visible = await listVisibleIds(db, reader, conversationIds)
  const definition = await getDefinition(db, workspaceId, automationId, version)
  if (state !== 'active' || !definition) throw badRequest('the automation is not active')
  if (definition.trigger.type !== 'manual') throw badRequest('the automation has another trigger than manual')
  const automation = { id: automationId, version, has_questions: hasQuestions(definition) }
  const results: StartedRun[] = []
  for (const id of new Set(conversationIds)) {
    const start = (sql: Sql) =>
      startRun(sql, workspaceId, id.toLowerCase(), automation, { key, conditions: definition.conditions })
    const isVisible = isUuid(id) && visible.has(id.toLowerCase())
    const error = isVisible ? await withRetries(() => db.begin(start)) : { error: 'conversation not found' }
    results.push({ conversation_id: id, run_id: null, error: null, ...error })
  }
  return results
}

type Starting = { key: string; conditions: Parameters<typeof evaluate>[2][number] }

async function startRun(
  sql: Sql,
  workspaceId: string,
  id: string,
  automation: { id: string; version: number; has_questions: boolean },
  { key, conditions }: Starting,
): Promise<{ run_id: string } | { error: string }> {
  const [conversation] = await sql<{ contact_id: string; bot_run_id: string | null; is_opted_out: boolean }[]>`
    select v.contact_id, v.bot_run_id, (
        select c.opted_out_at is not null from contacts c where c.workspace_id = v.workspace_id and c.id = v.contact_id
      ) as is_opted_out
    from conversations v
    where v.workspace_id = ${workspaceId} and v.id = ${id}
    for no key update of v`
  if (!conversation) return { error: 'conversation not found' }
  const { contact_id, bot_run_id, is_opted_out } = conversation
  if (is_opted_out) return { error: 'the contact opted out' }
  if (automation.has_questions && bot_run_id) return { error: 'the conversation is with the bot already' }
  const subject = { workspaceId, contactId: contact_id, conversationId: id }
  const [isMet] = await evaluate(sql, subject, [conditions], { answers: {} })
  if (!isMet) return { error: 'the conditions of the automation are not met' }
  const run = { automation, cause: `manual:${key}:${id}`, contact_id, conversation_id: id, message_id: null, depth: 0 }
  // Without a lease: a worker claims it at once.
  const [started] = await insertRuns(sql, workspaceId, [run], { leaseMs: 0 })
  if (started) return { run_id: started.id }
  const [known] = await sql<{ id: string }[]>`
    select id from automation_runs
    where workspace_id = ${workspaceId} and automation_id = ${automation.id} and cause = ${run.cause}`
  return known ? { run_id: known.id } : { error: 'no run was started' }
}

/**
 * Ends the runs of a conversation for a member or an API key, and starts none for messages that wait for a decision. `stopped`: whether
 * there was a run.
 */
export async function takeOver(
  db: Db,
  workspaceId: string,
  conversationId: string,
  memberId: string | null,
): Promise<{ id: string; stopped: boolean }> {
  const { id } = await requireConversation(db, workspaceId, conversationId)
  return db.begin(async (sql) => {
    await sql`select from conversations where workspace_id = ${workspaceId} and id = ${id} for no key update`
    await sql`
      delete from automation_triggers
      where workspace_id = ${workspaceId} and conversation_id = ${id} and kind = 'message' and event <> 'stop'`
    return { id, stopped: (await stopRuns(sql, workspaceId, id, 'person', memberId)) > 0 }
  })
}
