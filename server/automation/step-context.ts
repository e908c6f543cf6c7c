/** What the functions of the steps share: their context, the transaction of a step, and the values of its texts. */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import type { RunActor } from '../conversations/timeline.ts'
import type { Sealer } from '../lib/crypto.ts'
import { type Db, type Sql, withRetries } from '../lib/postgres/db.ts'
import type { Sender } from '../messages/sending/send.ts'
import type { Signals } from '../signals/signals.ts'
import type { Poster } from '../webhooks/post.ts'
import type { Definition } from './definition.ts'
import type { RunFacts } from './facts.ts'
import { type LoggedStep, type Move, moveRun, type Run } from './runs.ts'
import type { PlacedStep } from './steps.ts'
import type { TextValues } from './texts.ts'

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

/** What the texts of the run are filled with. */
export const valuesOf = ({ facts, run }: Pick<StepContext, 'facts' | 'run'>): TextValues => ({
  contact: facts.contact,
  answers: run.variables,
})
