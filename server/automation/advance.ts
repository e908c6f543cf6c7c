/**
 * Executes the steps of a run, one after the other, until it waits or ends.
 *
 * Each step is a function that ends with `moveRun` or `endRun` in the transaction of its effect. A failed step leads to its `on_error`
 * steps; without them the run ends, the conversation goes to the team, and a note says why.
 */
import { changeConversations } from '../conversations/changes.ts'
import { createNote } from '../conversations/timeline.ts'
import { type Sql, withRetries } from '../lib/postgres/db.ts'
import { getDefinition } from './active.ts'
import { ask } from './ask.ts'
import { call } from './call.ts'
import { evaluate } from './conditions.ts'
import {
  chooseCase,
  describeFailure,
  describeHandOver,
  enterOnError,
  type Failure,
  positionAfter,
  requireText,
  toFailure,
} from './decisions.ts'
import type { Step, WaitStep } from './definition.ts'
import { toMs } from './durations.ts'
import { readFacts } from './facts.ts'
import { msUntilOpening, readHours } from './office-hours.ts'
import { type EndReason, endRun, type LoggedStep, type Run, RunLost } from './runs.ts'
import { sendMessage } from './send-message.ts'
import { applySet } from './set.ts'
import { type AdvanceContext, change, move, type StepContext, valuesOf } from './step-context.ts'
import { findStep } from './steps.ts'

/** Executes a run until it waits or ends, or this worker no longer has it. */
export async function advance(context: AdvanceContext, run: Run): Promise<void> {
  const { db, signals } = context
  try {
    for (;;) {
      const definition = await getDefinition(db, run.workspace_id, run.automation_id, run.version)
      const facts = await readFacts(db, run)
      if (!definition || !facts) throw new RunLost()
      const placed = findStep(definition, run.position)
      const actor = { runId: run.id, automation: facts.automation, depth: run.depth, isSilence: facts.is_silence }
      if (!placed) {
        await end(context, run, 'finished', { path: 'steps', type: 'end', outcome: 'done' })
        break
      }
      const isOpen = await execute({ ...context, run, facts, definition, placed, actor })
      if (!isOpen || run.state === 'waiting') break
    }
  } catch (error) {
    if (!(error instanceof RunLost)) throw error
  }
  if (run.conversation_id) signals.inboxChanged(run.workspace_id, [run.conversation_id])
}

/** Returns whether the run goes on. */
async function execute(context: StepContext): Promise<boolean> {
  const { run, facts, placed, definition } = context
  const { step, path } = placed
  if (facts.is_opted_out) {
    await end(context, run, 'opted_out', { path, type: step.type, outcome: 'stopped', reason: 'the contact opted out' })
    return false
  }
  try {
    return await executeStep(context, step)
  } catch (error) {
    const failure = toFailure(error)
    if (!failure) throw error
    const onError = enterOnError(definition, placed, failure)
    const logged = { path, type: step.type, outcome: 'failed' as const, reason: failure.message }
    if (onError !== undefined) {
      await move(context, { position: onError }, logged)
      return true
    }
    await giveUp(context, failure, logged)
    return false
  }
}

async function executeStep(context: StepContext, step: Step): Promise<boolean> {
  const { run, placed, definition } = context
  const { path, position } = placed
  const next = positionAfter(definition, position)
  const done: LoggedStep = { path, type: step.type, outcome: 'done' }
  switch (step.type) {
    case 'send':
      return send(context, step, next)
    case 'ask':
      return ask(context, step, next)
    case 'branch': {
      const met = await evaluate(
        context.db,
        { workspaceId: run.workspace_id, contactId: run.contact_id, conversationId: run.conversation_id },
        step.cases.map(({ when }) => when),
        { message: context.facts.message, answers: run.variables },
      )
      const chosen = chooseCase(definition, position, step, met)
      return move(context, { position: chosen.position }, { ...done, reason: chosen.reason })
    }
    case 'wait':
      return wait(context, step, next)
    case 'set':
      return change(context, { position: next }, done, (sql) => applySet(sql, context, step))
    case 'note':
      return change(context, { position: next }, done, (sql) =>
        addNote(sql, context, requireText(step.text, valuesOf(context))),
      )
    case 'call':
      return call(context, step, next)
    case 'hand_over': {
      const { assigned_agent_id, assigned_team_id } = step
      const note = step.note === undefined ? '' : requireText(step.note, valuesOf(context))
      await handOver(context, 'handed_over', done, {
        note: describeHandOver(note, run.variables),
        assigned_agent_id,
        assigned_team_id,
      })
      return false
    }
    case 'end':
      await end(context, run, 'finished', done)
      return false
  }
}

async function wait(context: StepContext, step: WaitStep, next: string): Promise<boolean> {
  const { db, run, placed } = context
  const logged = { path: placed.path, type: step.type }
  const isForTime = 'for' in step
  const ms = isForTime ? toMs(step.for) : msUntilOpening(await readHours(db, run.workspace_id, run.conversation_id))
  if (ms === 0) return move(context, { position: next }, { ...logged, outcome: 'done', reason: 'open already' })
  const reason = isForTime ? step.for : `until ${step.until}`
  return move(context, { position: next, wait: { seconds: ms / 1000 } }, { ...logged, outcome: 'waiting', reason })
}

async function send(context: StepContext, step: Extract<Step, { type: 'send' }>, next: string): Promise<boolean> {
  const { outcome, conversationId, messageId } = await sendMessage(context, step.message)
  const logged = { path: context.placed.path, type: step.type, outcome, message_id: messageId }
  return move(context, { position: next, ...(conversationId ? { conversationId } : {}) }, logged)
}

/** Adds a private note to the conversation. A contact without one gets none. */
async function addNote(sql: Sql, { run, actor }: StepContext, text: string): Promise<void> {
  const { workspace_id, conversation_id } = run
  if (conversation_id && text.trim())
    await createNote(sql, workspace_id, conversation_id, actor, { text, mentions: [] })
}

type HandOver = {
  note: string
  assigned_agent_id?: string | undefined
  assigned_team_id?: string | undefined
  error?: string | undefined
  isUnassigned?: boolean
}

/** Ends the run; the conversation is open and the team's. */
async function handOver(
  context: StepContext,
  reason: EndReason,
  logged: LoggedStep,
  { note, assigned_agent_id, assigned_team_id, error, isUnassigned = false }: HandOver,
): Promise<void> {
  const { db, run, actor } = context
  const { workspace_id, conversation_id } = run
  await withRetries(() =>
    db.begin(async (sql) => {
      if (conversation_id) {
        const assignee = isUnassigned ? null : assigned_agent_id
        await changeConversations(sql, workspace_id, actor, [conversation_id], {
          status: 'open',
          assigned_agent_id: assignee,
          assigned_team_id,
        })
      }
      await addNote(sql, context, note)
      await endRun(sql, run, { reason, error }, logged)
    }),
  )
}

/** A step failed for good: the team gets the conversation and learns why. */
async function giveUp(context: StepContext, { reason, message }: Failure, logged: LoggedStep): Promise<void> {
  const note = describeFailure(context.facts.automation, message)
  await handOver(context, reason, logged, { note, error: message, isUnassigned: true })
}

async function end({ db }: AdvanceContext, run: Run, reason: EndReason, logged: LoggedStep): Promise<void> {
  await withRetries(() => db.begin((sql) => endRun(sql, run, { reason }, logged)))
}
