/**
 * The rows of runs: claiming, moving and ending them.
 *
 * A worker leases a run and executes its steps one after the other. What a step does, its line in the log and the run's new position are
 * one transaction, which fails as a whole when the run was ended or the lease lost meanwhile (`RunLost`). So a step takes effect at
 * most once, whatever is killed. A transaction that also changes the conversation locks that first (lock order: ARCHITECTURE.md).
 */
import type { Times } from '../../common/times.ts'
import { idFromTime, newId, timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { RunStopper } from '../messages/sending/run-stopper.ts'
import type { Answers } from './definition.ts'

export const endReasons = [
  'finished',
  'handed_over',
  'person',
  'timeout',
  'opted_out',
  'merged',
  'failed',
  'limit_messages',
  'limit_chain',
  'limit_runs',
  'paused',
  'deleted',
] as const
export type EndReason = (typeof endReasons)[number]

export const stepOutcomes = [
  'done',
  'sent',
  'unknown',
  'asked',
  'answered',
  'repeated',
  'waiting',
  'failed',
  'stopped',
] as const

/** A line of the log of a run. */
export type LoggedStep = {
  /** The JSON path of the step in the definition. */
  path: string
  type: string
  outcome: (typeof stepOutcomes)[number]
  /** Why, in words. */
  reason?: string | undefined
  /** What the step got: the answer of the customer, the response of a URL. */
  input?: unknown
  message_id?: string | undefined
}

export type Run = {
  workspace_id: string
  id: string
  automation_id: string
  version: number
  contact_id: string
  conversation_id: string | null
  /** The message of the customer that started it. */
  message_id: string | null
  depth: number
  has_questions: boolean
  state: 'running' | 'waiting'
  position: string
  tries: number
  send_id: string | null
  asked_id: string | null
  variables: Answers
  timeout_at: string | null
  lease_id: string
  /** A worker that had it before stopped in the middle of the step. */
  is_repeat: boolean
}

/** The run was ended, or another worker has it: nothing of the step takes effect. */
export class RunLost extends Error {}

/** Runs that one workspace may have in one claim, so that others get their turn. */
const perWorkspace = 16

/** Leases due runs, fairly between workspaces. */
export async function claimRuns(
  sql: Sql,
  limit: number,
  { leaseMs }: Pick<Times['automation'], 'leaseMs'>,
): Promise<Run[]> {
  const leaseId = newId()
  const isDue = sql`r.state <> 'ended' and r.due_at <= now() and (r.leased_until is null or r.leased_until <= now())`
  return sql<Run[]>`
    with recursive
    -- Every workspace with an open run, found by one step in the index each.
    open_workspaces as (
      (select r.workspace_id from automation_runs r where r.state <> 'ended' order by r.workspace_id limit 1)
      union all
      select (
        select r.workspace_id from automation_runs r
        where r.state <> 'ended' and r.workspace_id > w.workspace_id
        order by r.workspace_id limit 1
      )
      from open_workspaces w
      where w.workspace_id is not null
    ),
    due_runs as (
      select r.workspace_id, r.id, row_number() over (partition by r.workspace_id order by r.due_at) as round
      from open_workspaces w
      cross join lateral (
        select r.workspace_id, r.id, r.due_at from automation_runs r
        where r.workspace_id = w.workspace_id and ${isDue}
        order by r.due_at
        limit ${perWorkspace}
      ) r
    ),
    chosen_runs as (
      select workspace_id, id from due_runs order by round limit ${limit}
    ),
    locked_runs as (
      select r.workspace_id, r.id, r.lease_id is not null as is_repeat
      from chosen_runs c join automation_runs r on r.workspace_id = c.workspace_id and r.id = c.id
      where ${isDue}
      for no key update of r skip locked
    )
    -- The message of the step gets its id now, so that it is later than the message that it answers. A repeat keeps the id.
    update automation_runs r
    set lease_id = ${leaseId}, leased_until = now() + make_interval(secs => ${leaseMs / 1000}),
      send_id = case when l.is_repeat then r.send_id else ${idFromTime(sql, sql`clock_timestamp()`)} end
    from locked_runs l
    where r.workspace_id = l.workspace_id and r.id = l.id
    returning ${runColumns(sql)}, l.is_repeat`
}

export const runColumns = (
  sql: Sql,
) => sql`r.workspace_id, r.id, r.automation_id, r.version, r.contact_id, r.conversation_id,
  r.message_id, r.depth, r.has_questions, r.state, r.position, r.tries, r.send_id, r.asked_id, r.variables, r.timeout_at, r.lease_id`

/** Extends the leases of runs that this worker still executes. */
export async function extendLeases(
  sql: Sql,
  runs: readonly Run[],
  { leaseMs }: Pick<Times['automation'], 'leaseMs'>,
): Promise<void> {
  if (runs.length === 0) return
  await sql`
    update automation_runs r set leased_until = now() + make_interval(secs => ${leaseMs / 1000})
    from unnest(${runs.map(({ workspace_id }) => workspace_id)}::uuid[], ${runs.map(({ id }) => id)}::uuid[],
      ${runs.map(({ lease_id }) => lease_id)}::uuid[]) as i (workspace_id, id, lease_id)
    where r.workspace_id = i.workspace_id and r.id = i.id and r.lease_id = i.lease_id and r.state <> 'ended'`
}

/** Waits for other transactions that change the run. Throws when this worker no longer has it. */
export async function lockRun(sql: Sql, { workspace_id, id, lease_id }: Run): Promise<void> {
  const [locked] = await sql`
    select from automation_runs
    where workspace_id = ${workspace_id} and id = ${id} and lease_id = ${lease_id} and state <> 'ended'
    for no key update`
  if (!locked) throw new RunLost()
}

export type Move = {
  position: string
  variables?: Answers
  tries?: number
  askedId?: string | null
  conversationId?: string
  /** Absent: the run goes on at once, and this worker keeps it. */
  wait?: { seconds: number; timeoutSeconds?: number }
}

/** Moves a run to its next step and logs the one before. `run` is changed as its row is. */
export async function moveRun(sql: Sql, run: Run, move: Move, step: LoggedStep): Promise<void> {
  const { workspace_id, id, lease_id } = run
  const { wait } = move
  const next = {
    position: move.position,
    variables: move.variables ?? run.variables,
    tries: move.tries ?? 0,
    asked_id: move.askedId ?? null,
    conversation_id: move.conversationId ?? run.conversation_id,
    state: wait ? ('waiting' as const) : ('running' as const),
    send_id: newId(),
  }
  const [moved] = await sql<{ timeout_at: string | null }[]>`
    update automation_runs set position = ${next.position}, variables = ${JSON.stringify(next.variables)}::text::jsonb,
      tries = ${next.tries}, asked_id = ${next.asked_id}, conversation_id = ${next.conversation_id}, state = ${next.state},
      send_id = ${next.send_id}, due_at = now() + make_interval(secs => ${wait?.seconds ?? 0}),
      timeout_at = now() + make_interval(secs => ${wait?.timeoutSeconds ?? null}::float8),
      lease_id = ${wait ? null : lease_id}, leased_until = case when ${wait === undefined} then leased_until end
    where workspace_id = ${workspace_id} and id = ${id} and lease_id = ${lease_id} and state <> 'ended'
    returning timeout_at`
  if (!moved) throw new RunLost()
  await logStep(sql, run, step)
  Object.assign(run, next, { ...moved, is_repeat: false })
}

async function logStep(
  sql: Sql,
  { workspace_id, id: run_id }: Pick<Run, 'workspace_id' | 'id'>,
  step: LoggedStep,
): Promise<void> {
  const id = newId()
  const { path, type, outcome, reason = null, input, message_id = null } = step
  await sql`
    insert into automation_steps (workspace_id, run_id, id, path, type, outcome, reason, input, message_id, created_at)
    values (${workspace_id}, ${run_id}, ${id}, ${path}, ${type}, ${outcome}, ${reason},
      ${input === undefined ? null : JSON.stringify(input)}::text::jsonb, ${message_id}, ${timeOfId(id)})`
}

export type End = { reason: EndReason; error?: string | undefined }

/** Ends a run that this worker has. The conversation is the team's again. */
export async function endRun(sql: Sql, run: Run, { reason, error }: End, step: LoggedStep): Promise<void> {
  const { workspace_id, id, lease_id } = run
  await releaseConversation(sql, run)
  const [ended] = await sql`
    update automation_runs set state = 'ended', reason = ${reason}, error = ${error ?? null}, ended_at = now(), due_at = null,
      lease_id = null, leased_until = null
    where workspace_id = ${workspace_id} and id = ${id} and lease_id = ${lease_id} and state <> 'ended'
    returning id`
  if (!ended) throw new RunLost()
  await logStep(sql, run, step)
}

async function releaseConversation(
  sql: Sql,
  {
    workspace_id,
    id,
    conversation_id,
    has_questions,
  }: Pick<Run, 'workspace_id' | 'id' | 'conversation_id' | 'has_questions'>,
): Promise<void> {
  if (!has_questions || !conversation_id) return
  await sql`
    update conversations set bot_run_id = null, updated_at = now()
    where workspace_id = ${workspace_id} and id = ${conversation_id} and bot_run_id = ${id}`
}

/** Ends the open runs of a conversation that the transaction has locked. Returns how many. */
export async function stopRuns(
  sql: Sql,
  workspaceId: string,
  conversationId: string,
  reason: 'person' | 'opted_out',
  memberId: string | null = null,
): Promise<number> {
  const stopped = await sql<{ id: string; has_questions: boolean; position: string }[]>`
    update automation_runs set state = 'ended', reason = ${reason}, ended_by = ${memberId}, ended_at = now(), due_at = null,
      lease_id = null, leased_until = null
    where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and state <> 'ended'
    returning id, has_questions, position`
  if (stopped.length === 0) return 0
  if (stopped.some(({ has_questions }) => has_questions)) {
    await sql`
      update conversations set bot_run_id = null, updated_at = now()
      where workspace_id = ${workspaceId} and id = ${conversationId} and bot_run_id is not null`
  }
  return stopped.length
}

/** A person wins: see `messages/sending/run-stopper.ts`. */
export const runStopper: RunStopper = {
  async isAutomated(sql, workspaceId) {
    const [workspace] = await sql`
      select from workspaces where id = ${workspaceId} and automation_kinds <> '{}'`
    return workspace !== undefined
  },
  async stop(sql, workspaceId, conversationId, memberId) {
    await stopRuns(sql, workspaceId, conversationId, 'person', memberId)
  },
}
