/** Retention of events and attempts: today and the thirty days before it, in partitions of a day. */
import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../lib/postgres/db.ts'
import { firstIdOf, keepDays } from '../lib/postgres/partitions.ts'

const daysKept = 30

const tables = [
  { name: 'webhook_events', daysKept },
  { name: 'webhook_attempts', daysKept },
]

/** Creates the partitions of the next days and drops expired ones. */
export async function keepEventDays(db: Db, log: FastifyBaseLogger): Promise<void> {
  const today = await keepDays(db, log, tables)
  // A delivery without its event has nothing to send.
  await db`delete from webhook_deliveries where event_id < ${firstIdOf(today - daysKept)}`
}
