/**
 * What a run does next, as functions of its state: without the database and the clock. Pure.
 *
 * The engine (`decide.ts`, `advance.ts`, `ask.ts`) and the dry run (`dry-run/`) decide with the same functions, so that a dry run shows
 * what the engine does.
 */
import { ApiError } from '../lib/errors.ts'
import { readAnswer } from './answers.ts'
import { type Answers, type AskStep, type BranchStep, type Definition, readSaveAs } from './definition.ts'
import { toMs } from './durations.ts'
import type { Cause } from './match.ts'
import { enterList, nextPosition, type PlacedStep } from './steps.ts'
import { fillMessage, fillText, type TextValues } from './texts.ts'

/** A step that cannot be done, in words for the team. */
export class StepFailed extends Error {}

/** Automations have sent too many messages in the conversation. */
class LimitReached extends Error {}

export type Failure = { reason: 'failed' | 'limit_messages'; message: string }

/** What the API would answer with 4xx or 502. Undefined: a fault of ours. */
export function toFailure(error: unknown): Failure | undefined {
  if (error instanceof LimitReached) return { reason: 'limit_messages', message: error.message }
  const isRefusal = error instanceof StepFailed || (error instanceof ApiError && error.code !== 'internal')
  return isRefusal ? { reason: 'failed', message: error.message } : undefined
}

/** A position that no definition has: the run is finished. */
const endPosition = 'end'

/** Automations that may cause one another. */
export const maxDepth = 5
/** Automated messages of a conversation per hour. */
const maxPerHour = 25
export const hourMs = 3_600_000

/** `sent`: the automated messages of the conversation in the last hour. */
export function requireFewMessages(sent: number): void {
  if (sent >= maxPerHour) {
    throw new LimitReached(`automations have sent ${maxPerHour} messages in this conversation within an hour`)
  }
}

/** What a customer's message is for triggers. `opens`: the conversation was closed, or it is its first message. */
export function causesOfMessage(
  message: Pick<Extract<Cause, { type: 'message' }>, 'text' | 'content_type' | 'button' | 'is_first'>,
  opens: boolean,
): Cause[] {
  const { text, content_type, button, is_first } = message
  const cause: Cause = { type: 'message', text, content_type, button, is_first, is_first_since_closed: opens }
  return opens ? [cause, { type: 'conversation', event: 'opened' }] : [cause]
}

/** Whether the conversation lets an automation start. `isWithBot`: another run with questions is open there. */
export const isFree = (
  { has_questions }: { has_questions: boolean },
  conversation: { isWithBot: boolean } | undefined,
): boolean => !has_questions || (conversation !== undefined && !conversation.isWithBot)

/** The position after a step. */
export const positionAfter = (definition: Definition, position: string): string =>
  nextPosition(definition, position) ?? endPosition

/** The position of the steps after a failure; undefined: the run ends. */
export function enterOnError(
  definition: Definition,
  { step, position }: PlacedStep,
  { reason }: Failure,
): string | undefined {
  if (reason !== 'failed' || !('on_error' in step) || !step.on_error) return undefined
  return enterList(definition, position, 'on_error') ?? endPosition
}

/** The position at which a branch goes on, and why. `met`: which of its cases match. */
export function chooseCase(
  definition: Definition,
  position: string,
  { cases, otherwise }: BranchStep,
  met: readonly boolean[],
): { position: string; reason: string } {
  const index = met.indexOf(true)
  const list = index >= 0 ? `cases.${index}` : otherwise ? 'otherwise' : undefined
  return {
    position:
      list === undefined ? positionAfter(definition, position) : (enterList(definition, position, list) ?? endPosition),
    reason: index >= 0 ? (cases[index]?.name ?? `case ${index + 1}`) : 'no case matches',
  }
}

/** The position at which a question without an answer goes on; undefined: the run ends. */
export const enterTimeout = (definition: Definition, position: string, { timeout }: AskStep): string | undefined =>
  timeout && (enterList(definition, position, 'timeout') ?? endPosition)

/** Of a question without a timeout: the reply window is closed by then. */
const defaultTimeoutMs = 86_400_000

export const timeoutMsOf = ({ timeout }: AskStep): number => (timeout ? toMs(timeout.after) : defaultTimeoutMs)

/** How long a question waits after a message: a tap is complete; after a text, another one may follow at once. */
export const answerDelayMs = ({ button }: Pick<Reply, 'button'>, togetherMs: number): number =>
  button === null ? togetherMs : 0

export type Reply = { text: string | null; button: string | null }

/** Messages that are read as one answer. */
export const maxReplies = 20
/** Answers nothing. */
export const reactionType = 'reaction'

/** The customer's messages after a question, as one answer; undefined when there is none. */
export function joinReplies(messages: readonly Reply[]): Reply | undefined {
  if (messages.length === 0) return undefined
  const tapped = messages.find(({ button }) => button !== null)
  if (tapped) return { text: tapped.text, button: tapped.button }
  const texts = messages.flatMap(({ text }) => text ?? [])
  return { text: texts.length > 0 ? texts.join('\n') : null, button: null }
}

export type Judged =
  | { isAnswer: true; variables: Answers; value: string | number; attribute: string | undefined }
  | { isAnswer: false; tries: number; reason: string; message: AskStep['message'] }

/** Whether a reply answers the question: what is saved, or the message that asks again. Throws when there are no tries left. */
export function judgeReply(step: AskStep, values: TextValues, tries: number, reply: Reply): Judged {
  const filled = fillMessage(step.message, values)
  const read = readAnswer({ ...step, message: filled.ok ? filled.message : step.message }, reply.text, reply.button)
  if (read.ok) {
    const { name, isAttribute } = readSaveAs(step.save_as)
    const variables = addAnswer(values.answers, name, read.value)
    return { isAnswer: true, variables, value: read.value, attribute: isAttribute ? name : undefined }
  }
  const { max = 0, text = '' } = step.retries ?? {}
  if (tries >= max) {
    throw new StepFailed(`the answer was not understood: ${(inputOf(reply) ?? 'no text').slice(0, 200)}`)
  }
  // The buttons are sent again, so that the customer can still tap. The text is filled when it is sent, once.
  const message: AskStep['message'] =
    step.message.type === 'interactive' ? withBody(step.message, text) : { type: 'text', text }
  return { isAnswer: false, tries: tries + 1, reason: `not understood, try ${tries + 1} of ${max}`, message }
}

/** What the log shows of a reply. */
export const inputOf = ({ text, button }: Reply): string | null => button ?? text

function withBody(message: Extract<AskStep['message'], { type: 'interactive' }>, body: string): AskStep['message'] {
  return { type: 'interactive', interactive: { ...message.interactive, body } }
}

/** A text with the values of the run. */
export function requireText(text: string, values: TextValues): string {
  const filled = fillText(text, values)
  if (!filled.ok) throw new StepFailed(filled.reason)
  return filled.text
}

/** Of all answers of a run, as JSON. */
const maxAnswerBytes = 16 * 1024

export function addAnswer(answers: Answers, name: string, value: unknown): Answers {
  const all = { ...answers, [name]: value }
  if (Buffer.byteLength(JSON.stringify(all)) > maxAnswerBytes) {
    throw new StepFailed(`the answers of a run have at most ${maxAnswerBytes} bytes`)
  }
  return all
}

const maxAnswersText = 5_000

/** The note of a hand-over: its text, then the answers so far, one per line. */
export function describeHandOver(note: string, answers: Answers): string {
  const lines = Object.entries(answers).map(
    ([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
  )
  return [note, lines.join('\n').slice(0, maxAnswersText)].filter(Boolean).join('\n\n')
}

/** The note for the team about a run that failed. */
export const describeFailure = (automation: string, reason: string): string =>
  `The automation "${automation}" stopped: ${reason}`
