/**
 * Polls of several loops with one statement. It asks, for each loop, whether a round could find anything, so a service at rest makes a few
 * statements a second instead of one per loop and poll.
 *
 * A loop that is due runs beside the others, and not again while its round lasts. One that is not due counts as a round without work. When the
 * question fails or waits for a lock, the loops run as if they were due: one table that cannot be read stops one loop, and not all.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Db, Fragment, Sql } from '../postgres/db.ts'
import { within } from '../time.ts'
import type { Health } from './health.ts'
import type { Loop } from './loop.ts'

type Poll = {
  name: string
  /** It runs at most this often. The loop with the shortest time sets the pace of the statement. */
  everyMs: number
  /** False only when a round would find nothing. Every poll evaluates it, so it reads the start of an index or a small table. */
  isDue: (sql: Sql) => Fragment
  run: () => Promise<unknown>
  /** What it does instead of a round when it is not due. */
  rest?: () => void
}

export type Polls = {
  /** `stop` of the result waits for the round in flight. */
  add(poll: Poll): Loop
}

/** An answer that takes longer is not waited for. */
const answerMs = 2_000

type State = { poll: Poll; startedAt: number; round?: Promise<void> | undefined }

export function startPolls({ db, log, health }: { db: Db; log: FastifyBaseLogger; health: Health }): Polls & Loop {
  const states = new Set<State>()
  let timer: NodeJS.Timeout | undefined
  let paceMs = Number.POSITIVE_INFINITY
  let isStopped = false
  let isAsking = false

  /** The names of the loops that are due. Undefined if that is not known. */
  async function askWhichAreDue(): Promise<Set<string> | undefined> {
    if (isAsking) return undefined
    isAsking = true
    try {
      const conditions = [...states].map(({ poll }) => db`case when ${poll.isDue(db)} then ${poll.name}::text end`)
      const [row] = await db<{ names: string[] }[]>`
        select array_remove(array[${conditions.reduce((all, each) => db`${all}, ${each}`)}], null) as names`
      return new Set(row?.names)
    } catch {
      // The loops whose rows cannot be read report it.
      return undefined
    } finally {
      isAsking = false
    }
  }

  async function runRound({ poll }: State, asked: Promise<Set<string> | undefined>): Promise<void> {
    const { name, run, rest = () => {} } = poll
    try {
      await health.watch(name, async () => {
        const names = await asked
        if (!names || names.has(name)) await run()
        else rest()
      })
    } catch (error) {
      log.error({ err: error, loop: name }, 'a background task failed; it runs again')
    }
  }

  function tick(): void {
    const now = performance.now()
    // A timer may be early by a part of the pace.
    const ready = [...states].filter(
      (state) => !state.round && now - state.startedAt >= state.poll.everyMs - paceMs / 2,
    )
    if (ready.length === 0) return
    const asked = within(answerMs, askWhichAreDue())
    for (const state of ready) {
      state.startedAt = now
      state.round = runRound(state, asked).finally(() => {
        state.round = undefined
      })
    }
  }

  return {
    add(poll) {
      const state: State = { poll, startedAt: performance.now() }
      states.add(state)
      health.register(poll.name)
      if (poll.everyMs < paceMs && !isStopped) {
        paceMs = poll.everyMs
        clearInterval(timer)
        timer = setInterval(tick, paceMs)
      }
      return {
        async stop() {
          states.delete(state)
          await state.round
        },
      }
    },
    async stop() {
      isStopped = true
      clearInterval(timer)
      await Promise.all([...states].map(({ round }) => round))
    },
  }
}
