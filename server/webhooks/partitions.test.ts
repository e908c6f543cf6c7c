/** The partitions of events and attempts: during backups, and with concurrent writers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { listDays, startBackup } from '../../tests/deliveries.ts'
import { createDatabase } from '../../tests/support.ts'
import { newId } from '../lib/id.ts'
import type { Db } from '../lib/postgres/db.ts'
import { firstIdOf } from '../lib/postgres/partitions.ts'
import { keepEventDays } from './partitions.ts'

const silent = pino({ level: 'silent' })
const dayMs = 86_400_000

const dayOf = (offset: number): string =>
  new Date(Date.now() + offset * dayMs).toISOString().slice(0, 10).replaceAll('-', '')

const record = (sql: Pick<Db, 'unsafe'>, id: string) =>
  sql.unsafe(
    `insert into webhook_events (workspace_id, id, event, body, occurred_at) values ('${newId()}', '${id}', 'x', '', now())`,
  )

/** A database after a long stop: without partitions ahead, and with an expired one. */
async function age(db: Db): Promise<void> {
  for (const table of ['webhook_events', 'webhook_attempts']) {
    for (const day of await listDays(db, table)) await db.unsafe(`drop table ${table}_${day}`)
    await db.unsafe(
      `create table ${table}_20200101 partition of ${table} for values from ('${firstIdOf(18_262)}') to ('${firstIdOf(18_263)}')`,
    )
  }
}

test('partitions are created ahead and dropped when expired, by any number of processes at once', async (t) => {
  const database = await createDatabase(t)
  const db = database.connect(2)
  await age(db)
  const ahead = [0, 1, 2, 3].map(dayOf)
  await Promise.all(Array.from({ length: 4 }, () => keepEventDays(database.connect(1), silent)))
  await keepEventDays(db, silent)
  assert.deepEqual(await listDays(db), ahead)
  assert.deepEqual(await listDays(db, 'webhook_attempts'), ahead)
  const id = newId()
  await record(db, id)
  const [row] = await db<{ at: string }[]>`select tableoid::regclass::text as at from webhook_events where id = ${id}`
  assert.equal(row?.at, `webhook_events_${dayOf(0)}`)
})

test('a partition is attached while writers hold their locks, and no statement waits', async (t) => {
  const database = await createDatabase(t)
  const db = database.connect(2)
  for (const table of ['webhook_events', 'webhook_attempts']) await db.unsafe(`drop table ${table}_${dayOf(2)}`)
  const writer = await database.connect(1).reserve()
  await writer`begin`
  await record(writer, newId())
  await keepEventDays(db, silent)
  // The template of a run that began before midnight has one day more.
  const days = (await listDays(db)).filter((day) => day >= dayOf(0))
  assert.deepEqual(days, [0, 1, 2, 3].map(dayOf))
  await writer`commit`
  writer.release()
})

test('during a backup nothing fails and no writer waits; a later run does the rest', async (t) => {
  const database = await createDatabase(t)
  const db = database.connect(3)
  await age(db)
  const endBackup = await startBackup(database)
  let written = 0
  let isOver = false
  const writing = (async () => {
    for (; !isOver; written++) await record(db, newId())
  })()
  for (let run = 0; run < 3; run++) {
    const before = written
    await keepEventDays(db, silent)
    assert.ok(written > before, 'a writer waited for the whole run')
  }
  isOver = true
  await writing
  assert.deepEqual(await listDays(db), ['20200101'])

  await endBackup()
  await keepEventDays(db, silent)
  // Today's events are in the default partition and are kept as long as others.
  assert.deepEqual(await listDays(db), [1, 2, 3].map(dayOf))
  assert.deepEqual(await listDays(db, 'webhook_attempts'), [0, 1, 2, 3].map(dayOf))
})
