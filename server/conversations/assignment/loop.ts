/**
 * The engine of assignment: assigns the queues of teams to available members below their capacity.
 *
 * A signal or a poll wakes it. A round lists the teams with requests and decides about each in a transaction of its own
 * (`assign.ts`), a few at the same time. At rest, a poll reads an empty table. Two smaller loops store the states of members that time
 * has changed, and return conversations of members who are offline.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../../common/times.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { countWaiting } from '../../lib/postgres/waiting.ts'
import type { Health } from '../../lib/process/health.ts'
import { type Loop, startRepeating } from '../../lib/process/loop.ts'
import type { Metrics } from '../../lib/process/metrics.ts'
import type { Polls } from '../../lib/process/polls.ts'
import type { Signals } from '../../signals/signals.ts'
import { settleAvailability } from '../../teams/availability.ts'
import { signalAvailability } from '../../teams/member-streams.ts'
import { assignTeam, hasRequests, listRequestedTeams, type TeamKey } from './assign.ts'
import { isQueued } from './queue.ts'
import { returnConversations } from './returns.ts'

type AssignmentOptions = {
  db: Db
  log: FastifyBaseLogger
  health: Health
  polls: Polls
  signals: Pick<Signals, 'changed' | 'inboxChanged' | 'conversationChanged' | 'changesQueued' | 'assignmentReady'>
  times: Pick<Times, 'availability' | 'assignment'>
  /** Counts the conversations that were assigned or returned, by policy. */
  count: (policy: CountedPolicy) => void
}

export const countedPolicies = ['round_robin', 'fewest_open', 'offline'] as const
type CountedPolicy = (typeof countedPolicies)[number]

/** Teams of a round. */
const maxTeams = 100
/** Transactions at the same time: each has a connection. */
const slots = 2

/** `wake`: a team may have requests. */
export function startAssignment(options: AssignmentOptions): Loop & { wake(): void } {
  const { db, log, health, polls, signals, times, count } = options
  let isRequested = false
  let isStopped = false
  let round: Promise<void> | undefined

  /** Changed conversations are shown by open pages, start automations, and move the others of the queue. */
  function announce(workspaceId: string, conversationIds: readonly string[], policy: CountedPolicy): void {
    for (const id of conversationIds) {
      count(policy)
      signals.conversationChanged(id)
    }
    signals.inboxChanged(workspaceId, conversationIds)
    signals.changesQueued()
  }

  async function decide(teams: readonly TeamKey[]): Promise<void> {
    const left = [...teams]
    const work = async () => {
      for (let team = left.shift(); team && !isStopped; team = left.shift()) {
        const { conversationIds, policy, isBusy, hasMore } = await assignTeam(db, team)
        if (isBusy || hasMore) isRequested = true
        if (conversationIds.length > 0 && policy !== 'none') announce(team.workspace_id, conversationIds, policy)
      }
    }
    await Promise.all(Array.from({ length: slots }, work))
  }

  async function work(): Promise<void> {
    while (isRequested && !isStopped) {
      isRequested = false
      const teams = await listRequestedTeams(db, maxTeams)
      if (teams.length === maxTeams) isRequested = true
      await decide(teams)
      await new Promise((resolve) => setTimeout(resolve, times.assignment.pauseMs))
    }
  }

  /** One round at a time. A request during a round causes another one. */
  function runRound(): Promise<void> {
    isRequested = true
    round ??= work().finally(() => {
      round = undefined
    })
    return round
  }

  function wake(): void {
    if (isStopped) return
    runRound().catch((error) =>
      log.error({ err: error, loop: 'assignment' }, 'queues could not be assigned; the next poll tries again'),
    )
  }

  const loops = [
    polls.add({ name: 'assignment', everyMs: times.assignment.pollMs, isDue: hasRequests, run: runRound }),
    startRepeating({
      ...{ name: 'availability', everyMs: times.availability.settleMs, log, health },
      run: async () => signalAvailability(signals, await settleAvailability(db, times.availability)),
    }),
    startRepeating({
      ...{ name: 'assignment-returns', everyMs: times.assignment.returnsMs, log, health },
      run: async () => {
        for (const { workspaceId, conversationIds } of await returnConversations(db)) {
          announce(workspaceId, conversationIds, 'offline')
        }
      },
    }),
  ]
  return {
    wake,
    async stop() {
      isStopped = true
      await Promise.all(loops.map((loop) => loop.stop()))
      await round?.catch(() => {})
    },
  }
}

/** A gauge of the queues of all teams. */
export function watchAssignment(db: Db, metrics: Metrics): void {
  metrics.gauge(
    'parley_assignment_queue',
    'Queues of teams: conversations without a member, and for how many seconds the customer of the first one has waited.',
    'what',
    async () => {
      const queued = await countWaiting(
        db,
        db`select coalesce(v.waiting_since, now()) from conversations v where ${isQueued(db)}`,
      )
      return { conversations: queued.count, oldest_seconds: queued.oldest_seconds ?? 0 }
    },
  )
}
