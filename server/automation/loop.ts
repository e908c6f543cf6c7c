/**
 * The loop of automations: decides what changes start, and executes runs that are due.
 *
 * A signal or a poll wakes it. Runs that were just decided are executed without another look at the table. Runs in flight keep their
 * leases; those of a crashed worker are claimed again when their lease has expired. Where no workspace has automations, a signal costs
 * nothing and a poll one look-up.
 */
import type { Times } from '../../common/times.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import type { Health } from '../lib/process/health.ts'
import { type Loop, startRepeating } from '../lib/process/loop.ts'
import type { Polls } from '../lib/process/polls.ts'
import { within } from '../lib/time.ts'
import { advance } from './advance.ts'
import { decideTriggers } from './decide.ts'
import { claimRuns, extendLeases, type Run } from './runs.ts'
import { type SilenceContext, startSilent } from './silence.ts'
import type { AdvanceContext } from './step-context.ts'

export type AutomationLoopOptions = AdvanceContext &
  SilenceContext & { health: Health; polls: Polls; times: Times['automation'] }

/** Runs that this process executes at the same time. */
const slots = 64

/** `wake`: a change may have been queued, or a run may be due. */
export function startAutomations(context: AutomationLoopOptions): Loop & { wake(): void } {
  const { db, log, health, polls, times, signals } = context
  const running = new Map<Promise<void>, Run>()
  let hasAny = true
  let isWanted = false
  let isStopped = false
  let round: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  function start(run: Run): void {
    const work = advance(context, run)
      .catch((error) =>
        log.error(
          { err: error, run: run.id },
          'a step of an automation failed; it is executed again when its lease expires',
        ),
      )
      .then(() => {
        running.delete(work)
        // A waiting claim may use the slot.
        if (running.size === slots - 1) wake()
      })
    running.set(work, run)
  }

  async function decide(): Promise<void> {
    const { runs, hasMore, changed } = await decideTriggers(db, times)
    for (const run of runs) start(run)
    for (const { workspaceId, conversationIds } of changed) signals.inboxChanged(workspaceId, conversationIds)
    if (hasMore) isWanted = true
    // The answers that a customer has just written are complete a moment later.
    timer ??= setTimeout(() => {
      timer = undefined
      wake()
    }, times.togetherMs + 10)
  }

  async function work(): Promise<void> {
    do {
      isWanted = false
      if (isStopped) return
      if (running.size < slots) await decide()
      const free = slots - running.size
      if (free > 0) for (const run of await claimRuns(db, free, times)) start(run)
    } while (isWanted)
  }

  /** One round at a time. A wish during a round is granted after it. */
  function runRound(): Promise<void> {
    isWanted = true
    round ??= work().finally(() => {
      round = undefined
    })
    return round
  }

  function wake(): void {
    if (isStopped || !hasAny) return
    runRound().catch((error) =>
      log.error({ err: error, loop: 'automations' }, 'automations could not be decided; the next poll tries again'),
    )
  }

  const polling = polls.add({
    ...{ name: 'automations', everyMs: times.pollMs, isDue: isUsed },
    run: () => {
      hasAny = true
      return runRound()
    },
    rest: () => {
      hasAny = false
    },
  })
  const silence = startRepeating({
    ...{ name: 'automation-silence', everyMs: times.silenceMs, log, health },
    run: async () => {
      if (hasAny) for (const run of await startSilent(context)) start(run)
    },
  })
  const leases = setInterval(
    () =>
      void extendLeases(db, [...running.values()], times).catch((error) =>
        log.warn({ err: error }, 'the leases of runs could not be extended'),
      ),
    times.leaseMs / 3,
  )
  return {
    wake,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await Promise.all([polling.stop(), silence.stop()])
      await round?.catch(() => {})
      await within(times.stopMs, Promise.all(running.keys()))
      clearInterval(leases)
    },
  }
}

/** Whether any workspace has automations. */
const isUsed = (sql: Sql): Fragment => sql`exists (select from workspaces where automation_kinds <> '{}')`
