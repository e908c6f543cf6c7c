/** Ends the waiting of a preview: a pause is over, a failed call is repeated, a question has waited for its answer in vain. */
import type { Sql } from '../lib/postgres/db.ts'
import type { Sandbox } from './sandbox.ts'

export async function skipWaiting(sql: Sql, { id }: Sandbox): Promise<void> {
  // A second ago: the process that executes the run compares the time of a question with its own clock.
  await sql`
    update automation_runs set due_at = now(), timeout_at = case when timeout_at is not null then now() - interval '1 second' end
    where workspace_id = ${id} and state = 'waiting'`
}
