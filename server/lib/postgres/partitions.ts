/**
 * Daily partitions: created three days ahead and dropped when they expire. Ids start with their time, so a day is a range of ids.
 * The database's clock decides which day it is.
 *
 * A table is partitioned by range of `id` and has a default partition named `<table>_rest`.
 *
 * Locks: a backup (`pg_dump`) holds ACCESS SHARE on every table while it runs, and a statement that waits for a stronger lock
 * makes all later ones wait behind it. Attaching a partition needs SHARE UPDATE EXCLUSIVE on the table, which conflicts with
 * neither reads nor writes, and ACCESS EXCLUSIVE on the default partition. Dropping one needs ACCESS EXCLUSIVE on all of them;
 * DETACH CONCURRENTLY is not possible beside a default partition. So a run waits for a lock only briefly, and otherwise leaves
 * the work to the next run.
 *
 * Skipping a run is harmless: rows of a day without a partition go to the default partition, stay there and are deleted by age.
 * The default partition also takes rows whose id is wrong by days, which an insert would otherwise fail for.
 */
import type { FastifyBaseLogger } from 'fastify'
import { idAt } from '../id.ts'
import { type Db, isLockTimeout, isUnkeepable, requireRow, type Sql } from './db.ts'

export type DailyTable = {
  name: string
  /** How many days before today are kept. */
  daysKept: number
}

const daysAhead = 3
const dayMs = 86_400_000
const daysLock = 7_263_553
/** Other statements on these tables wait behind this one for at most this long. */
const lockTimeoutMs = 100

/** Creates the partitions of the next days and drops expired ones. Safe to run in any number of processes at once. Returns today. */
export async function keepDays(db: Db, log: FastifyBaseLogger, tables: readonly DailyTable[]): Promise<number> {
  const [clock] = await db<{ today: number }[]>`select floor(extract(epoch from now()) / 86400)::int as today`
  const { today } = requireRow(clock, 'the day')
  try {
    for (const table of tables) await keepDaysOf(db, table, today)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    log.info('partitions are locked, for example by a backup; the next run tries again')
  }
  for (const { name, daysKept } of tables) {
    await db`delete from ${db(`${name}_rest`)} where id < ${firstIdOf(today - daysKept)}`
  }
  return today
}

async function keepDaysOf(db: Db, { name: table, daysKept }: DailyTable, today: number): Promise<void> {
  const partitions = await db<{ name: string }[]>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${table}::regclass`
  const names = new Set(partitions.map(({ name }) => name))
  for (let day = today; day <= today + daysAhead; day++) {
    if (!names.has(nameOf(table, day))) await attachDay(db, table, day)
  }
  for (const name of names) {
    const [, day] = /_(\d{8})$/.exec(name) ?? []
    if (day && day < toDigits(today - daysKept))
      await changePartitions(db, (sql) => sql.unsafe(`drop table if exists ${name}`))
  }
}

/** The new table is empty, so attaching it scans only the default partition, which is empty or nearly so. */
async function attachDay(db: Db, table: string, day: number): Promise<void> {
  const name = nameOf(table, day)
  const [from, to] = [firstIdOf(day), firstIdOf(day + 1)]
  const [misplaced] = await db`select 1 from ${db(`${table}_rest`)} where id >= ${from} and id < ${to} limit 1`
  if (misplaced) return
  try {
    await changePartitions(db, async (sql) => {
      const [known] = await sql`select 1 where to_regclass(${name}) is not null`
      // Another process was faster.
      if (known) return
      await sql.unsafe(`create table ${name} (like ${table} including all)`)
      await sql.unsafe(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`)
    })
  } catch (error) {
    // The default partition received rows of this day in the meantime, so the day stays there.
    if (!isUnkeepable(error)) throw error
  }
}

/** Changes the partitions in a transaction of its own, one process at a time. */
async function changePartitions(db: Db, run: (sql: Sql) => Promise<unknown>): Promise<void> {
  await db.begin(async (sql) => {
    await sql.unsafe(`set local lock_timeout = ${lockTimeoutMs}`)
    await sql`select pg_advisory_xact_lock(${daysLock})`
    await run(sql)
  })
}

const toDigits = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10).replaceAll('-', '')

const nameOf = (table: string, day: number): string => `${table}_${toDigits(day)}`

/** The smallest id of a day. */
export const firstIdOf = (day: number): string => idAt(day * dayMs)
