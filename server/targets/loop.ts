/**
 * The loop `targets`: follows the clocks of all workspaces (`clocks.ts`). It polls: a clock may be shown a moment late, and where no
 * workspace has targets a poll reads empty indexes.
 */
import type { Times } from '../../common/times.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import { countWaiting, type Waiting } from '../lib/postgres/waiting.ts'
import type { Loop } from '../lib/process/loop.ts'
import type { Metrics } from '../lib/process/metrics.ts'
import type { Polls } from '../lib/process/polls.ts'
import type { Signals } from '../signals/signals.ts'
import { followTargets, hasTargetWork } from './clocks.ts'

type TargetLoopOptions = {
  db: Db
  polls: Polls
  signals: Pick<Signals, 'inboxChanged' | 'changesQueued'>
  times: Times['targets']
}

export function startTargets({ db, polls, signals, times }: TargetLoopOptions): Loop {
  let isStopped = false
  const loop = polls.add({
    ...{ name: 'targets', everyMs: times.pollMs, isDue: hasTargetWork },
    run: async () => {
      for (let hasMore = true; hasMore && !isStopped; ) {
        const round = await followTargets(db)
        for (const { workspaceId, conversationIds } of round.changed) signals.inboxChanged(workspaceId, conversationIds)
        if (round.hasTriggers) signals.changesQueued()
        hasMore = round.hasMore
      }
    },
  })
  return {
    stop() {
      isStopped = true
      return loop.stop()
    },
  }
}

/** Clocks that have run out without being recorded, by how long. A few are always on their way. */
const countLate = (sql: Sql): Promise<Waiting> =>
  countWaiting(sql, sql`select next_at from target_clocks where next_at < now()`)

export function watchTargets(sql: Sql, metrics: Metrics): void {
  metrics.gauge(
    'parley_target_clocks',
    'Clocks of targets: changes that they have not followed yet, clocks that have run out and are not recorded, and by how many seconds the latest change and clock are late.',
    'what',
    async () => {
      const changes = await countWaiting(sql, sql`select at from target_changes`)
      const late = await countLate(sql)
      const lateSeconds = Math.max(changes.oldest_seconds ?? 0, late.oldest_seconds ?? 0)
      return { changes: changes.count, due: late.count, late_seconds: lateSeconds }
    },
  )
}
