/**
 * Questions. A run at a question has not sent it yet (`running`), or waits for the answer (`waiting`, with the id of the question).
 *
 * `decide.ts` makes the run due when the customer writes: at once for a tap, after a moment for a text, so that two messages in a row are
 * one answer. A run that is due without a message has waited too long.
 */
import { changeAttributes, requireAttributes } from '../contacts/attributes.ts'
import { nowMs } from '../lib/clock.ts'
import { type Sql, withRetries } from '../lib/postgres/db.ts'
import {
  enterTimeout,
  inputOf,
  joinReplies,
  judgeReply,
  maxReplies,
  type Reply,
  reactionType,
  timeoutMsOf,
} from './decisions.ts'
import type { AskStep } from './definition.ts'
import { endRun, type LoggedStep, moveRun, type Run } from './runs.ts'
import { sendMessage } from './send-message.ts'
import { change, move, type StepContext, valuesOf } from './step-context.ts'

export async function ask(context: StepContext, step: AskStep, next: string): Promise<boolean> {
  const { run, placed } = context
  if (run.asked_id === null) return sendQuestion(context, step, step.message, { outcome: 'asked' })
  const answer = await readMessages(context.db, run, run.asked_id)
  if (answer) return takeAnswer(context, step, next, answer)
  if (run.timeout_at !== null && nowMs() >= Date.parse(run.timeout_at)) return giveUpWaiting(context, step)
  // Woken too early, for example because the message was deleted.
  const asked = { askedId: run.asked_id, tries: run.tries }
  return wait(context, step, asked, { path: placed.path, type: step.type, outcome: 'waiting' })
}

/** A question whose outcome is unknown waits too: the channel may have accepted it. The log says so, in place of `logged.outcome`. */
async function sendQuestion(
  context: StepContext,
  step: AskStep,
  message: AskStep['message'],
  logged: Pick<LoggedStep, 'outcome' | 'reason' | 'input'>,
  tries = 0,
): Promise<boolean> {
  const { outcome, messageId } = await sendMessage(context, message)
  const line: LoggedStep = { path: context.placed.path, type: step.type, ...logged, message_id: messageId }
  return wait(context, step, { askedId: messageId, tries }, outcome === 'unknown' ? { ...line, outcome } : line)
}

/**
 * Waits for an answer to the message. One that is stored already is read soon: it was decided before the run waited. The lock on the
 * conversation keeps the order, because `decide.ts` has it too.
 */
async function wait(
  { db, run, placed, times }: StepContext,
  step: AskStep,
  { askedId, tries }: { askedId: string; tries: number },
  logged: LoggedStep,
): Promise<boolean> {
  const timeoutSeconds = timeoutMsOf(step) / 1000
  await withRetries(() =>
    db.begin(async (sql) => {
      await sql`
        select from conversations where workspace_id = ${run.workspace_id} and id = ${run.conversation_id} for no key update`
      const isAnswered = (await readMessages(sql, run, askedId)) !== undefined
      const seconds = isAnswered ? times.togetherMs / 1000 : timeoutSeconds
      await moveRun(sql, run, { position: placed.position, askedId, tries, wait: { seconds, timeoutSeconds } }, logged)
    }),
  )
  return true
}

/** The customer's messages after the question, as one answer; undefined when there is none. */
async function readMessages(
  sql: Sql,
  { workspace_id, conversation_id }: Run,
  askedId: string,
): Promise<Reply | undefined> {
  const messages = await sql<Reply[]>`
    select content_text as text, interactive_reply_id as button from messages
    where workspace_id = ${workspace_id} and conversation_id = ${conversation_id} and id > ${askedId}
      and direction = 'inbound' and content_type <> ${reactionType} and deleted_at is null
    order by id
    limit ${maxReplies}`
  return joinReplies(messages)
}

async function takeAnswer(context: StepContext, step: AskStep, next: string, reply: Reply): Promise<boolean> {
  const { run, placed } = context
  const judged = judgeReply(step, valuesOf(context), run.tries, reply)
  const input = inputOf(reply)
  if (!judged.isAnswer) {
    const { message, reason, tries } = judged
    return sendQuestion(context, step, message, { outcome: 'repeated', reason, input }, tries)
  }
  const { variables, attribute, value } = judged
  const logged: LoggedStep = { path: placed.path, type: step.type, outcome: 'answered', input }
  return change(context, { position: next, variables }, logged, async (sql) => {
    if (attribute === undefined) return
    const changes = requireAttributes({ [attribute]: value })
    await changeAttributes(sql, run.workspace_id, run.contact_id, changes, run.depth + 1)
  })
}

/** The steps of the timeout, or the end of the run: the conversation is the team's again. */
async function giveUpWaiting(context: StepContext, step: AskStep): Promise<boolean> {
  const { db, run, placed, definition } = context
  const logged: LoggedStep = { path: placed.path, type: step.type, outcome: 'stopped', reason: 'no answer in time' }
  const position = enterTimeout(definition, placed.position, step)
  if (position !== undefined) return move(context, { position }, logged)
  await db.begin((sql) => endRun(sql, run, { reason: 'timeout' }, logged))
  return false
}
