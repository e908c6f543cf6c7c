/**
 * kill -9 at the worst moments: the service as a real process, the channel as
 * another one. Whatever the channel accepted is in the database once and gets
 * its outcome; nothing is sent twice.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  connectSimulator,
  createKey,
  createSealer,
  createWorkspace,
  registerSimulatorAccounts,
  scopes,
} from './internals.ts'
import { createProgram } from './program.ts'
import { toProvider } from './provider.ts'
import { createBrowser, createDatabase, type Json, until } from './support.ts'

const encryptionKey = 'cd'.repeat(32)
const owner = { email: 'owner@crash.test', password: 'correct horse' }
const hello = { type: 'template', template: { name: 'hello_world' } }
/** An address without a server. */
const nowhere = 'http://127.0.0.1:1'

async function startAll(t: TestContext) {
  const database = await createDatabase(t)
  const db = database.connect(5)
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-crash-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 }))

  const simulator = await createProgram(t, '/simulator/control/faults', (port) => ({
    args: ['simulator/main.ts', '--port', String(port), '--data', join(dataDir, 'simulator')],
  }))
  const { host, port: databasePort, database: name, username } = database.address
  const service = await createProgram(t, '/readyz', (port) => ({
    args: ['server/main.ts'],
    env: {
      PORT: String(port),
      DATA_DIR: dataDir,
      DATABASE_URL: `postgres://${username}@localhost:${databasePort}/${name}?host=${host}`,
      ENCRYPTION_KEY: encryptionKey,
      DEMO: '0',
      LOG_LEVEL: 'warn',
    },
  }))
  await Promise.all([simulator.start(), service.start()])

  const { workspace_id: workspaceId } = await db.begin((sql) =>
    createWorkspace(sql, { name: 'Crash', default_country: 'US', owner }),
  )
  const simulatorUrl = `${simulator.url}/simulator`
  const connections = await db.begin((sql) =>
    connectSimulator({
      db: sql,
      sealer: createSealer(encryptionKey),
      workspaceId,
      kind: 'alone',
      simulatorUrl,
      messagesPerSecond: 10_000,
    }),
  )
  /** Where the channel reports to. */
  const reportTo = (url: string) => registerSimulatorAccounts(db, simulatorUrl, connections, url)
  await reportTo(service.url)
  const newKey = async () => (await createKey(db, workspaceId, { name: 'Crash', scopes, created_by: null })).key

  /** Undefined: the service died before it answered. */
  const post = async (key: string, idempotencyKey: string, body: Json) => {
    const response = await fetch(`${service.url}/v1/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      body: JSON.stringify(body),
    }).catch(() => undefined)
    const answer = await response?.json().catch(() => undefined)
    return response && answer ? { status: response.status, body: answer as Json } : undefined
  }
  const listOutbound = () => db<{ id: string; phone: string; status: string; external_id: string | null }[]>`
    select m.id, c.phone, m.status, m.external_id
    from messages m
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where m.workspace_id = ${workspaceId} and m.direction = 'outbound'
    order by m.id`
  /** As if the 15 seconds had passed that a claim of a dead process holds. */
  const expireClaims = () => db`update idempotency_keys set locked_until = now() - interval '1 second'`
  const provider = toProvider(simulatorUrl, workspaceId, connections)
  return { db, service, simulator, provider, reportTo, newKey, post, listOutbound, expireClaims, connections }
}

test('killed during a send: a message the channel accepted is settled by its reports, any other stays pending, and no retry sends twice', async (t) => {
  const { service, simulator, provider, reportTo, newKey, post, listOutbound, expireClaims } = await startAll(t)
  const [taken, lost] = ['+14155550101', '+14155550102']
  const key = await newKey()
  // The template is cached first, so that only the send is in flight.
  assert.equal((await post(key, 'first', { to: '+14155550100', ...hello }))?.status, 201)
  await reportTo(nowhere)
  await provider.fault({ to: taken, mode: 'delay', delay_ms: 60_000 })
  await provider.fault({ to: lost, mode: 'hang' })
  const waiting = [post(key, 'taken', { to: taken, ...hello }), post(key, 'lost', { to: lost, ...hello })]
  await until('the channel to hold both', async () => {
    const rows = await listOutbound()
    return rows.length === 3 && (await provider.sent(taken)).length === 1
  })

  await service.kill()

  assert.deepEqual(await Promise.all(waiting), [undefined, undefined])
  const pending = (await listOutbound()).filter(({ phone }) => phone === taken || phone === lost)
  assert.deepEqual(
    pending.map(({ status, external_id }) => [status, external_id]),
    [
      ['pending', null],
      ['pending', null],
    ],
  )
  // The channel dies as well, and remembers.
  await simulator.kill()
  await Promise.all([simulator.start(), service.start()])
  await expireClaims()
  const [accepted, ...more] = await provider.sent(taken)
  assert.equal(more.length, 0)
  const beforeReports = post(key, 'taken', { to: taken, ...hello })
  const neverTaken = post(key, 'lost', { to: lost, ...hello })
  await reportTo(service.url)

  const rowOf = async (to: string) => (await listOutbound()).find(({ phone }) => phone === to)
  const settled = await until('the reports', async () => {
    const row = await rowOf(taken)
    return row?.status === 'read' && row
  })
  assert.equal(settled.external_id, accepted?.message_id)
  assert.equal(accepted?.body.biz_opaque_callback_data, settled.id)
  const repeated = await beforeReports
  assert.deepEqual(
    [repeated?.status, repeated?.body.data?.message_id, repeated?.body.data?.msgapp_message_id],
    [201, settled.id, settled.external_id],
    JSON.stringify(repeated),
  )
  const unknown = await neverTaken
  assert.deepEqual([unknown?.status, unknown?.body.error?.code], [502, 'platform_error'], JSON.stringify(unknown))
  assert.equal((await rowOf(lost))?.status, 'pending')
  assert.deepEqual([(await provider.sent(taken)).length, (await provider.sent(lost)).length], [1, 0])
  assert.equal((await listOutbound()).length, 3)
})

test('killed amid 200 sends: every accepted message is stored once as sent, inbound messages of the outage arrive once, and retries send nothing twice', async (t) => {
  const { db, service, provider, newKey, post, listOutbound, expireClaims } = await startAll(t)
  const numbers = Array.from({ length: 200 }, (_, i) => `+1415555${String(2000 + i)}`)
  const sendAll = async (some: readonly string[]) => {
    const keys = await Promise.all(Array.from({ length: 4 }, newKey))
    return Promise.all(some.map(async (to, i) => ({ to, answer: await post(keys[i % 4] ?? '', to, { to, ...hello }) })))
  }
  assert.equal((await post(await newKey(), 'first', { to: '+14155550100', ...hello }))?.status, 201)
  // Half of the answers are on their way when it ends; so are reports.
  await provider.fault({ mode: 'delay', delay_ms: 5_000, count: 80 })
  const sending = sendAll(numbers)
  await until('the channel to have taken some', async () => (await provider.sent()).length > 90)

  await service.kill()

  const answered = (await sending).filter(({ answer }) => answer)
  for (const { answer } of answered) assert.equal(answer?.status, 201, JSON.stringify(answer))
  const customers = ['+14155553001', '+14155553002', '+14155553003']
  for (const from of customers) {
    const refused = await provider.control('POST', '/inbound', { channel: 'msgapp', from, text: 'anybody there?' })
    assert.equal(refused.status, 502, JSON.stringify(refused.body))
  }
  await provider.control('DELETE', '/faults')
  await service.start()

  const accepted = await provider.sent()
  assert.ok(accepted.length > 90 && accepted.length <= 201, `${accepted.length}`)
  assert.ok(answered.length < accepted.length, `${answered.length} of ${accepted.length} were answered`)
  assert.equal(new Set(accepted.map(({ to }) => to)).size, accepted.length)
  const rows = await until('every accepted message to be sent', async () => {
    const byId = new Map((await listOutbound()).map((row) => [row.id, row]))
    const isSent = ({ message_id, to, body }: (typeof accepted)[number]) => {
      const row = byId.get(body.biz_opaque_callback_data)
      return row?.external_id === message_id && row.phone === to && row.status === 'read'
    }
    return accepted.every(isSent) && [...byId.values()]
  })
  assert.equal(new Set(rows.map(({ phone }) => phone)).size, rows.length, 'one message a person')
  for (const { to, answer } of answered) {
    const row = rows.find(({ phone }) => phone === to)
    assert.deepEqual([row?.id, row?.external_id], [answer?.body.data.message_id, answer?.body.data.msgapp_message_id])
  }
  const written = await until('the customers of the outage', async () => {
    const inbound = await db<{ phone: string }[]>`
      select c.phone from messages m
      join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
      join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where m.direction = 'inbound' order by c.phone`
    return inbound.length >= customers.length && inbound
  })
  assert.deepEqual(
    written.map(({ phone }) => phone),
    customers,
  )

  // All but those with an unknown outcome: their retries wait for the outcome, as the other test shows.
  const known = new Set(accepted.map(({ to }) => to))
  const prepared = new Set(rows.map(({ phone }) => phone))
  const repeated = numbers.filter((to) => known.has(to) || !prepared.has(to))
  await expireClaims()
  for (const { answer } of await sendAll(repeated)) assert.equal(answer?.status, 201, JSON.stringify(answer))
  const after = await provider.sent()
  assert.equal(new Set(after.map(({ to }) => to)).size, after.length, 'no recipient got it twice')
  assert.equal(after.length, repeated.length + 1)
  const inbound = await db`select 1 from messages where direction = 'inbound'`
  assert.equal(inbound.length, customers.length)
  const [usage] = await db<{ message_count: number }[]>`select message_count from plan_usage`
  assert.equal(usage?.message_count, (await listOutbound()).length)
})

test('killed while two contacts are merged: no message is lost, and the next start completes the merge', async (t) => {
  const { db, service, provider } = await startAll(t)
  const [kept, gone] = ['+14155550110', '+14155550111']
  for (const from of [kept, gone]) await provider.writes({ from, text: 'hello' })
  const readThread = async (phone: string) => {
    const [row] = await db<{ id: string; contact_id: string; count: number }[]>`
      select v.id, v.contact_id, (select count(*)::int from messages m where m.conversation_id = v.id) as count
      from conversations v join contacts c on c.id = v.contact_id where c.phone = ${phone}`
    return row ?? { id: '', contact_id: '', count: 0 }
  }
  const [to, from] = [await readThread(kept), await readThread(gone)]
  const historySize = 20_000
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select workspace_id, id, uuidv7(make_interval(days => -300, mins => n)), 'inbound', 'customer', 'text', 'old', 'received',
      now() + make_interval(days => -300, mins => n)
    from conversations, generate_series(1, ${historySize}) n where id = ${from.id}`
  const browser = createBrowser(service.url, service.url)
  assert.equal((await browser.signIn(owner)).status, 200)
  const merging = browser.call('POST', `/contacts/${to.contact_id}/merge`, { contact_id: from.contact_id })
  const isOver = merging.then(
    () => true,
    () => false,
  )
  await until('the first messages to move', async () => (await readThread(kept)).count > 500)
  await service.kill()
  assert.equal(await isOver, false)
  const counts = [(await readThread(kept)).count, (await readThread(gone)).count]
  assert.ok(counts.every((count) => count > 1))
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    historySize + 2,
  )

  await service.start()
  await provider.writes({ from: gone, text: 'in between' })
  // As if the time had passed after which a merge counts as abandoned.
  await db`update contact_merges set continued_at = now() - interval '1 minute'`
  await until('the merge', async () => (await readThread(gone)).id === '')
  assert.equal((await readThread(kept)).count, historySize + 3)
  assert.equal((await db`select from contact_merges`).length, 0)
})

test('on SIGTERM the service ends open streams and exits', async (t) => {
  const { service, connections } = await startAll(t)
  const site = `${service.url}/web-chat/${connections.web.id}`
  const { data }: Json = await (await fetch(`${site}/visitors`, { method: 'POST' })).json()
  const address = `${site}/stream?token=${encodeURIComponent(data.visitor_token)}`
  const streams = await Promise.all(Array.from({ length: 3 }, () => fetch(address)))
  const startedAt = Date.now()
  const [code, ...texts] = await Promise.all([service.kill('SIGTERM'), ...streams.map((stream) => stream.text())])
  assert.equal(code, 0)
  assert.deepEqual(texts, ['retry: 3000\n\n', 'retry: 3000\n\n', 'retry: 3000\n\n'])
  assert.ok(Date.now() - startedAt < 9_000, `${Date.now() - startedAt} ms`)
})
