/** The days of the log of steps. */
import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../lib/postgres/db.ts'
import { keepDays } from '../lib/postgres/partitions.ts'

/** Runs that ended are kept as long as their log. */
const daysKept = 90

/** Makes the partitions of the next days, and deletes what is older than 90 days. */
export async function keepStepDays(db: Db, log: FastifyBaseLogger): Promise<void> {
  await keepDays(db, log, [{ name: 'automation_steps', daysKept }])
  await db`
    delete from automation_runs where state = 'ended' and ended_at < now() - make_interval(days => ${daysKept})`
}
