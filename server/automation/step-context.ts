/** What the functions of the steps share: their context, the transaction of a step, and the texts of a run. */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import type { RunActor } from '../conversations/timeline.ts'
import type { Sealer } from '../lib/crypto.ts'
import { type Db, type Sql, withRetries } from '../lib/postgres/db.ts'
import type { Sender } from '../messages/sending/send.ts'
import type { Signals } from '../signals/signals.ts'
import type { Poster } from '../webhooks/post.ts'
import type { Answers, Definition } from './definition.ts'
import type { RunFacts } from './facts.ts'
import { type LoggedStep, type Move, moveRun, type Run } from './runs.ts'
import type { PlacedStep } from './steps.ts'
import { fillText } from './texts.ts'

export type AdvanceContext = {
  db: Db
  sender: Sender
  poster: Poster
  sealer: Sealer
  signals: Signals
  log: FastifyBaseLogger
  times: Times['automation']
}

/** What the functions of the steps get. */
export type StepContext = AdvanceContext & {
  run: Run
  facts: RunFacts
  definition: Definition
  placed: PlacedStep
  actor: RunActor
}

/** A step that cannot be done, in words for the team. */
export class StepFailed extends Error {}

/** Automations have sent too many messages in the conversation. */
export class LimitReached extends Error {}

/** A position that no definition has: the run is finished. */
export const endPosition = 'end'

/** Moves the run, with an effect in the same transaction. Returns that the run goes on. */
export async function change(
  { db, run }: StepContext,
  move: Move,
  logged: LoggedStep,
  effect: (sql: Sql) => Promise<unknown>,
): Promise<true> {
  await withRetries(() =>
    db.begin(async (sql) => {
      await effect(sql)
      await moveRun(sql, run, move, logged)
    }),
  )
  return true
}

export const move = (context: StepContext, to: Move, logged: LoggedStep): Promise<true> =>
  change(context, to, logged, async () => {})

/** A text with the values of the run. */
export function requireText(text: string, { facts, run }: Pick<StepContext, 'facts' | 'run'>): string {
  const filled = fillText(text, { contact: facts.contact, answers: run.variables })
  if (!filled.ok) throw new StepFailed(filled.reason)
  return filled.text
}

/** Of all answers of a run, as JSON. */
const maxAnswerBytes = 16 * 1024

export function addAnswer({ variables }: Run, name: string, value: unknown): Answers {
  const all = { ...variables, [name]: value }
  if (Buffer.byteLength(JSON.stringify(all)) > maxAnswerBytes) {
    throw new StepFailed(`the answers of a run have at most ${maxAnswerBytes} bytes`)
  }
  return all
}
