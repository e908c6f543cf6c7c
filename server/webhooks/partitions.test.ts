/** The partitions of events and attempts: during backups, with concurrent writers, and with wrong process clocks. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import pino from 'pino'
import { Parley } from '../../sdk/src/index.ts'
import { createProgram } from '../../tests/program.ts'
import { startReceiver } from '../../tests/receiver.ts'
import { createDatabase, type TestDatabase, until } from '../../tests/support.ts'
import { createKey } from '../accounts/keys.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import type { Db } from '../lib/db.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { firstIdOf } from '../lib/partitions.ts'
import { keepEventDays } from './partitions.ts'

const silent = pino({ level: 'silent' })
const dayMs = 86_400_000
const fixture = (name: string) => join(import.meta.dirname, '../../tests/fixtures', name)

/** Holds the locks that `pg_dump` takes. Returns a function that releases them. */
async function startBackup(database: TestDatabase): Promise<() => Promise<void>> {
  const connection = await database.connect(1).reserve()
  await connection`begin isolation level repeatable read read only`
  const tables = await connection<{ name: string }[]>`
    select format('%I', relname) as name from pg_class
    where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace`
  await connection.unsafe(`lock table ${tables.map(({ name }) => name).join(', ')} in access share mode`)
  return async () => {
    await connection`rollback`
    connection.release()
  }
}

/** The days that have a partition. */
async function listDays(db: Db, table = 'webhook_events'): Promise<string[]> {
  const rows = await db<{ day: string }[]>`
    select right(i.inhrelid::regclass::text, 8) as day from pg_inherits i
    where i.inhparent = ${table}::regclass and i.inhrelid::regclass::text not like '%_rest'
    order by day`
  return rows.map(({ day }) => day)
}

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
  assert.deepEqual(await listDays(db), [0, 1, 2, 3].map(dayOf))
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

function launch(t: TestContext, { address }: TestDatabase, clockShiftMs: number) {
  const { host, port, database, username } = address
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-days-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 }))
  return createProgram(t, '/readyz', (ownPort) => ({
    args: ['server/main.ts'],
    env: {
      PORT: String(ownPort),
      DATABASE_URL: `postgres://${username}@localhost:${port}/${database}?host=${host}`,
      ENCRYPTION_KEY: 'ab'.repeat(32),
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      NODE_EXTRA_CA_CERTS: fixture('tls.crt'),
      NODE_OPTIONS: `--import=${pathToFileURL(fixture('shifted-clock.mjs')).href}`,
      CLOCK_SHIFT_MS: String(clockShiftMs),
    },
  }))
}

test('processes with wrong clocks start during a backup, keep the history, and follow the database’s clock', async (t) => {
  const database = await createDatabase(t)
  const db = database.connect(3)
  const history = await listDays(db)
  await startBackup(database)
  const processes = await Promise.all([launch(t, database, 40 * dayMs), launch(t, database, -3_600_000)])
  await Promise.all(processes.map((process) => process.start()))
  assert.deepEqual(await listDays(db), history)

  const owner = { email: 'owner@acme.test', password: 'correct horse' }
  const { workspace_id } = await db.begin((sql) => createWorkspace(sql, { name: 'Acme', default_country: 'US', owner }))
  const scopes = ['webhooks:manage', 'contacts:write'] as const
  const { key } = await createKey(db, workspace_id, { name: 'Test', scopes, created_by: null })
  const clients = processes.map(({ url }) => new Parley({ apiKey: key, baseUrl: `${url}/v1` }))
  const [ahead, behind] = clients
  assert.ok(ahead && behind)
  const receiver = await startReceiver(t)
  await ahead.webhooks.create({ url: receiver.url, events: ['contact.created'] })

  const streams = clients.map((client) => {
    const stop = new AbortController()
    t.after(() => stop.abort())
    const ids: string[] = []
    const opened = new Promise<void>((onReady) => {
      const follow = async () => {
        const stream = client.events.stream({}, { signal: stop.signal, onReady: () => onReady() })
        for await (const event of stream) ids.push(event.id)
      }
      void follow()
    })
    return { ids, opened }
  })
  await Promise.all(streams.map(({ opened }) => opened))
  for (const [i, client] of [ahead, behind, ahead, behind].entries()) {
    const { id, created_at } = await client.contacts.create({ phone: `+1415555010${i}` })
    assert.equal(created_at, timeOfId(id))
    const errorMs = Date.parse(created_at) - Date.now()
    assert.ok(Math.abs(errorMs) < 60_000, `created ${errorMs} ms from now`)
    for (const { ids } of streams) await until('the event on every stream', async () => ids.length === i + 1)
  }
  for (const { headers, body } of await receiver.until(4)) {
    const [, seconds = ''] = /^t=(\d+),/.exec(String(headers['x-service-signature'])) ?? []
    assert.ok(Math.abs(Number(seconds) - Date.now() / 1000) < 60, `signed at ${seconds}`)
    assert.ok(Math.abs(Date.parse(body.occurred_at) - Date.now()) < 60_000, body.occurred_at)
  }
  assert.deepEqual(await listDays(db), history)
})
