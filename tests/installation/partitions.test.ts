/** The partitions of events in an installation whose processes have wrong clocks. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Parley } from '../../sdk/src/index.ts'
import { listDays, startBackup } from '../deliveries.ts'
import { createFolder } from '../folder.ts'
import { createKey, createWorkspace, timeOfId } from '../internals.ts'
import { startService } from '../program.ts'
import { startReceiver } from '../receiver.ts'
import { createDatabase, type TestDatabase, until } from '../support.ts'

const dayMs = 86_400_000
const fixture = (name: string) => join(import.meta.dirname, '../fixtures', name)

const start = (t: TestContext, { url }: TestDatabase, clockShiftMs: number) =>
  startService(t, {
    DATABASE_URL: url,
    ENCRYPTION_KEY: 'ab'.repeat(32),
    DATA_DIR: createFolder(t),
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: fixture('tls.crt'),
    NODE_OPTIONS: `--import=${pathToFileURL(fixture('shifted-clock.mjs')).href}`,
    CLOCK_SHIFT_MS: String(clockShiftMs),
  })

test('processes with wrong clocks start during a backup, keep the history, and follow the database’s clock', async (t) => {
  const database = await createDatabase(t)
  const db = database.connect(3)
  const history = await listDays(db)
  await startBackup(database)
  const processes = await Promise.all([start(t, database, 40 * dayMs), start(t, database, -3_600_000)])
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
