/** What the operator sees of automations: how many runs are open, and whether they are late. */
import type { Sql } from '../lib/postgres/db.ts'
import { countWaiting, type Waiting } from '../lib/postgres/waiting.ts'
import type { Metrics } from '../lib/process/metrics.ts'

/** Runs whose next step is due, by how long. A few are always on their way. */
export const countLate = (sql: Sql): Promise<Waiting> =>
  countWaiting(sql, sql`select due_at from automation_runs where state <> 'ended' and due_at < now()`)

export function watchAutomations(sql: Sql, metrics: Metrics): void {
  metrics.gauge(
    'parley_automation_runs',
    'Runs of automations: open, due now, and by how many seconds the latest is late.',
    'what',
    async () => {
      const open = await countWaiting(sql, sql`select started_at from automation_runs where state <> 'ended'`)
      const late = await countLate(sql)
      return { open: open.count, due: late.count, late_seconds: late.oldest_seconds ?? 0 }
    },
  )
}
