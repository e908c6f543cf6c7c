/**
 * Days of events and attempts: each a partition, made ahead of its time and
 * dropped whole when it is over.
 *
 * Ids are times, so a day is a range of ids. A day that was not made in time
 * has its rows in the rest, and stays there; they are deleted by age. What
 * still waits to be sent of a day that is gone has nothing to send, and goes.
 */
import type { Db } from '../lib/db.ts'

const tables = ['webhook_events', 'webhook_attempts'] as const
const daysAhead = 3
const daysKept = 30
const dayMs = 86_400_000
const daysLock = 7_263_553

/** Make the days to come and drop those that are over. Any number of processes may do so at once. */
export async function keepDays(db: Db): Promise<void> {
  const today = Math.floor(Date.now() / dayMs)
  await db.begin(async (sql) => {
    // Nobody who writes is kept waiting for long.
    await sql`set local lock_timeout = '2s'`
    const [lock] = await sql<{ mine: boolean }[]>`select pg_try_advisory_xact_lock(${daysLock}) as mine`
    if (!lock?.mine) return
    const known = await sql<{ name: string }[]>`
      select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent in ('webhook_events'::regclass, 'webhook_attempts'::regclass)`
    const names = new Set(known.map(({ name }) => name))
    for (const table of tables) {
      for (let day = today; day <= today + daysAhead; day++) {
        const name = `${table}_${nameOf(day)}`
        if (names.has(name)) continue
        const [late] = await sql`
          select 1 from ${sql(`${table}_rest`)} where id >= ${firstIdOf(day)} and id < ${firstIdOf(day + 1)} limit 1`
        if (late) continue
        await sql.unsafe(
          `create table ${name} partition of ${table} for values from ('${firstIdOf(day)}') to ('${firstIdOf(day + 1)}')`,
        )
      }
      for (const name of names) {
        const [, day] = new RegExp(`^${table}_(\\d{8})$`).exec(name) ?? []
        if (day && day < nameOf(today - daysKept)) await sql.unsafe(`drop table ${name}`)
      }
      await sql`delete from ${sql(`${table}_rest`)} where id < ${firstIdOf(today - daysKept)}`
    }
  })
  // By itself: whoever settles some of them needs the tables that were just held.
  await db`delete from webhook_deliveries where event_id < ${firstIdOf(today - daysKept)}`
}

const nameOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10).replaceAll('-', '')

/** The smallest id of a day. */
export function firstIdOf(day: number): string {
  const time = (day * dayMs).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
