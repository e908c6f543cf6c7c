/** The service behind PgBouncer: session mode works like a direct connection, transaction mode is refused at start. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connect } from '../../server/lib/postgres/db.ts'
import { demoOf } from '../demo.ts'
import { createFolder } from '../folder.ts'
import { createPooler, type Pooler, resolvePgbouncer } from '../pgbouncer.ts'
import { launchService, startService } from '../program.ts'
import { createDatabase, type Json, until } from '../support.ts'

const skip = resolvePgbouncer() ? false : 'PgBouncer is not installed'

const settingsOf = (t: TestContext, { url }: Pooler) => ({
  DATA_DIR: createFolder(t),
  DATABASE_URL: url,
  ENCRYPTION_KEY: 'cd'.repeat(32),
  DEMO: '1',
})

test('behind PgBouncer in session mode the main journeys work, even after it restarts', { skip }, async (t) => {
  const database = await createDatabase(t, { empty: true })
  const pooler = await createPooler(t, database.address, { mode: 'session' })
  await pooler.start()
  const settings = settingsOf(t, pooler)
  const service = await startService(t, settings)
  const { api_key } = demoOf(settings.DATA_DIR)
  const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' }
  const call = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const response = await fetch(service.url + path, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text).data
  }

  const stream = await fetch(`${service.url}/v1/events/stream`, { headers })
  const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  t.after(() => events?.cancel().catch(() => {}))
  let received = ''
  const untilReceived = async (text: string) => {
    while (!received.includes(text)) received += (await events?.read())?.value ?? assert.fail('the stream ended')
  }
  const template = { name: 'hello_world' }
  const sent = await call('POST', '/v1/messages', { to: '+14155550171', type: 'template', template })
  const statusOf = async () =>
    (await call('GET', `/v1/conversations/${sent.conversation_id}/messages`)).find(
      ({ id }: Json) => id === sent.message_id,
    ).status
  await until('the message to be read', async () => (await statusOf()) === 'read')
  await call('POST', '/simulator/control/inbound', { channel: 'msgapp', from: '+14155550171', text: 'Hello there' })
  await untilReceived('Hello there')
  const sendToThree = async (name: string) => {
    const recipients = ['+14155550172', '+14155550173', '+14155550174'].map((to) => ({ to }))
    const { id } = await call('POST', '/v1/broadcasts', { name, template, recipients })
    await until('the broadcast to end', async () => (await call('GET', `/v1/broadcasts/${id}`)).status === 'sent')
  }
  await sendToThree('Before the restart')

  await pooler.stop()
  await until('the service to notice', async () => (await fetch(`${service.url}/readyz`)).status === 503)
  const notReady = (await (await fetch(`${service.url}/readyz`)).json()) as Json
  assert.deepEqual(notReady, { ready: false, failing: ['database'] })
  await pooler.start()
  await until('the service to be ready', async () => (await fetch(`${service.url}/readyz`)).ok)
  await sendToThree('After the restart')
})

test('every connection has its settings, with and without the pooler', { skip }, async (t) => {
  const database = await createDatabase(t)
  const pooler = await createPooler(t, database.address, { mode: 'session' })
  await pooler.start()
  for (const target of [pooler.url, database.address]) {
    const db = connect({ database: target, max: 2, hot: true, byIndex: true, relaxed: true, statementTimeoutMs: 7_000 })
    t.after(() => db.end({ timeout: 1 }))
    const read = () => db<{ name: string; setting: string }[]>`
      select name, setting from pg_settings
      where name in ('statement_timeout', 'jit', 'plan_cache_mode', 'enable_seqscan', 'synchronous_commit', 'TimeZone')`
    for (const rows of await Promise.all([read(), read()])) {
      assert.deepEqual(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])), {
        TimeZone: 'UTC',
        enable_seqscan: 'off',
        jit: 'off',
        plan_cache_mode: 'force_generic_plan',
        statement_timeout: '7000',
        synchronous_commit: 'off',
      })
    }
  }
})

test('a connection is encrypted as the URL says', { skip }, async (t) => {
  const database = await createDatabase(t)
  const pooler = await createPooler(t, database.address, { mode: 'session', tls: true })
  await pooler.start()
  const open = (sslmode: string) => {
    const db = connect({ database: `${pooler.url}?sslmode=${sslmode}`, max: 1, statementTimeoutMs: 7_000 })
    t.after(() => db.end({ timeout: 1 }))
    return db<{ value: string }[]>`select current_setting('statement_timeout') as value`
  }
  assert.equal((await open('require'))[0]?.value, '7s')
  assert.equal((await open('prefer'))[0]?.value, '7s')
  await assert.rejects(open('disable'), /SSL required/)
  await assert.rejects(open('verify-full'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })

  const plain = await createPooler(t, database.address, { mode: 'session' })
  await plain.start()
  const demanding = connect({ database: `${plain.url}?sslmode=require`, max: 1 })
  t.after(() => demanding.end({ timeout: 1 }))
  await assert.rejects(demanding`select 1`, /does not support TLS/)
  await assert.rejects(demanding`select 1`, /does not support TLS/)
})

for (const [why, options, sentence] of [
  ['in transaction mode', { mode: 'transaction' }, /^DATABASE_URL leads to .* transaction mode; .* session mode/],
  ['that is too small', { mode: 'session', size: 12 }, /^the database gives this process fewer than \d+ connections/],
] as const) {
  test(`a pooler ${why} is refused at start in one sentence`, { skip }, async (t) => {
    const database = await createDatabase(t, { empty: true })
    const pooler = await createPooler(t, database.address, options)
    await pooler.start()
    const service = await launchService(t, { ...settingsOf(t, pooler), LOG_LEVEL: 'fatal' })
    assert.equal(await service.ended(), 1, service.output())
    const lines = service.output().trim().split('\n')
    assert.equal(lines.length, 1, service.output())
    assert.match(lines[0] ?? '', sentence)
  })
}
