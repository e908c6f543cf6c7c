/** Webhook delivery and crashes: real processes that are killed or stopped with hundreds of posts in flight. */
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { multiply, queueEvents } from '../deliveries.ts'
import { createKey, createWorkspace, type Db } from '../internals.ts'
import { createProgram, type Program } from '../program.ts'
import { type Received, type Receiver, startReceiver } from '../receiver.ts'
import { createDatabase, type Json, until } from '../support.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-deliver-'))
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 20 }))
  return path
}

/** The service itself, without its launcher: a signal goes where it should. */
async function launch(t: TestContext, env: Record<string, string>): Promise<Program> {
  const service = await createProgram(t, '/readyz', (port) => ({
    args: ['server/main.ts'],
    env: {
      PORT: String(port),
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      NODE_EXTRA_CA_CERTS: join(import.meta.dirname, '../fixtures/tls.crt'),
      ...env,
    },
  }))
  await service.start()
  return service
}

async function post(url: string, key: string, path: string, body: unknown): Promise<Json> {
  const answer = await fetch(`${url}/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { data, error }: Json = await answer.json()
  assert.equal(answer.status, 201, JSON.stringify(error))
  return data
}

const endpointCount = 40
/** Posts of one process that are in flight at most. */
const slots = 512
/** Events for each worker until its endpoints have earned what they can. */
const warmUp = 60

/** A service with the API, and 40 endpoints at one receiver that have earned all the slots there are. */
async function begin(t: TestContext, workers: number) {
  const { address, connect } = await createDatabase(t)
  const { host, port, database, username } = address
  const env = {
    DATABASE_URL: `postgres://${username}@localhost:${port}/${database}?host=${host}`,
    ENCRYPTION_KEY: 'ab'.repeat(32),
    DATA_DIR: folder(t),
  }
  // Engines beside an API have a lower priority. Several workers that share the work equally run alone.
  const first = await launch(t, workers === 1 ? env : { ...env, ROLES: 'api' })
  const others = await Promise.all(
    Array.from({ length: workers === 1 ? 0 : workers }, () =>
      launch(t, { ...env, DATA_DIR: folder(t), ROLES: 'worker' }),
    ),
  )
  const db = connect(3)
  const owner = { email: 'owner@acme.test', password: 'correct horse' }
  const { workspace_id } = await db.begin((sql) => createWorkspace(sql, { name: 'Acme', default_country: 'US', owner }))
  const { key } = await createKey(db, workspace_id, { name: 'Test', scopes: ['webhooks:manage'], created_by: null })
  const receiver = await startReceiver(t)
  const { id } = await post(first.url, key, '/webhooks', { url: receiver.url, events: ['contact.created'] })
  const urls = Array.from({ length: endpointCount - 1 }, (_, i) => receiver.url.replace('hook', `${i}`))
  const ids = [id, ...(await multiply(db, id, urls, env.ENCRYPTION_KEY))]
  const happen = (count: number, what: string) =>
    queueEvents(
      db,
      workspace_id,
      ids,
      Array.from({ length: count }, (_, i) => `{"${what}":${i}}`),
    )
  // The answer takes a moment, so each post in flight needs its own connection.
  receiver.answers((response) => setTimeout(() => response.end(), 100))
  await happen(warmUp * workers, 'warm')
  await drained(db)
  return { env, db, receiver, processes: [first, ...others], happen }
}

const drained = (db: Db, withinMs = 60_000) =>
  until(
    'the queue to be empty',
    async () => (await db`select 1 from webhook_deliveries limit 1`).length === 0,
    withinMs,
  )

const nameOf = ({ path, raw }: Received): string => `${path} ${raw}`

/** How often each delivery of these came. */
function countsOf(receiver: Receiver, what: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const one of receiver.received) {
    if (one.raw.startsWith(`{"${what}"`)) counts.set(nameOf(one), (counts.get(nameOf(one)) ?? 0) + 1)
  }
  return counts
}

test('kill -9 of one of two workers with 500 posts in flight: the other delivers them, and nothing is lost', async (t) => {
  const { db, receiver, processes, happen } = await begin(t, 2)
  const held: { response: ServerResponse; one: Received }[] = []
  receiver.answers((response, one) => held.push({ response, one }))
  await happen(40, 'event')
  await until('both to be full', async () => held.length >= 960, 4_000).catch(() => {})
  const inFlight = held.length
  const [, worker] = processes
  await worker?.kill()
  const killedAt = Date.now()
  const [leases] = await db<{ last_ms: number }[]>`
    select (1000 * extract(epoch from max(leased_until) - now()))::int as last_ms from webhook_deliveries`
  const broken = () => held.filter(({ one }) => one.socket.destroyed).length
  await until('its connections to break', async () => broken() > 0 && broken() >= inFlight - slots)
  await new Promise((resolve) => setTimeout(resolve, 200))
  const lost = new Set(held.flatMap(({ one }) => (one.socket.destroyed ? [nameOf(one)] : [])))
  // On a slow machine the other worker may have given up on some of its own, after five seconds.
  const late = new Set(held.flatMap(({ one }) => (Date.now() - one.at > 4_000 ? [nameOf(one)] : [])))
  receiver.answers(200)
  for (const { response } of held) if (!response.destroyed) response.end()
  t.diagnostic(`${inFlight} in flight, ${lost.size} of them in the killed process`)
  // The other worker has at most all of its slots. A busy machine may not fill both before the first posts time out.
  assert.ok(inFlight > slots && lost.size >= inFlight - slots, `${lost.size} of ${inFlight}`)
  assert.ok((leases?.last_ms ?? 0) < 10_000, `the last lease ends after ${leases?.last_ms} ms`)

  await drained(db)
  const counts = countsOf(receiver, 'event')
  assert.equal(counts.size, 40 * endpointCount, 'nothing is lost')
  const repeated = [...counts].filter(([, count]) => count > 1)
  assert.deepEqual(
    repeated.filter(([name, count]) => !(lost.has(name) || late.has(name)) || count > 2),
    [],
    'only deliveries in flight arrive twice',
  )
  const madeUpAfter = receiver.received
    .flatMap((one) => (one.at > killedAt + 1_000 && lost.has(nameOf(one)) ? [one.at - killedAt] : []))
    .toSorted((one, other) => one - other)
  const [first = 0] = madeUpAfter
  const last = madeUpAfter.at(-1) ?? 0
  t.diagnostic(`made up for from ${first} ms to ${last} ms after the kill`)
  assert.equal(madeUpAfter.length, lost.size)
  const [log] = await db<{ deliveries: number; delivered: number; firsts: number }[]>`
    select count(distinct delivery_id)::int as deliveries,
      count(distinct delivery_id) filter (where status = 'delivered')::int as delivered,
      count(*) filter (where is_first)::int as firsts
    from webhook_attempts`
  const all = (40 + warmUp * 2) * endpointCount
  assert.deepEqual(log, { deliveries: all, delivered: all, firsts: all })
})

test('SIGTERM under load: the service exits within ten seconds, posted deliveries are settled, and the rest is not lost', async (t) => {
  const { env, db, receiver, processes, happen } = await begin(t, 1)
  const [service] = processes
  assert.ok(service)
  receiver.answers((response, { path }) => {
    // This endpoint never answers.
    if (path !== '/7') setTimeout(() => response.end(), 300)
  })
  await happen(60, 'event')
  const before = receiver.received.length
  await receiver.until(before + 500)
  // A client has sent half of a request and never sends the rest.
  const caller = createConnection(Number(new URL(service.url).port), '127.0.0.1')
  caller.on('error', () => {})
  caller.write('POST /v1/contacts HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{')
  const toldAt = Date.now()
  const code = await service.kill('SIGTERM')
  const ms = Date.now() - toldAt
  t.diagnostic(`ended after ${ms} ms`)
  assert.equal(code, 0, service.output())
  assert.ok(ms < 10_000, `${ms} ms`)
  const posted = countsOf(receiver, 'event')
  assert.ok(posted.size < 60 * endpointCount, 'it was under load')
  const waiting = await db<{ count: number }[]>`
    select count(*)::int as count from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
    where e.url not like '%/7'`
  const answered = [...posted].filter(([name]) => !name.startsWith('/7 ')).length
  assert.equal(waiting[0]?.count, 60 * (endpointCount - 1) - answered, 'what was answered is settled')

  receiver.answers(200)
  await db`update webhook_deliveries set next_attempt_at = now(), leased_until = null`
  await launch(t, { ...env, ROLES: 'worker' })
  await drained(db)
  const counts = countsOf(receiver, 'event')
  assert.equal(counts.size, 60 * endpointCount)
  assert.deepEqual(
    [...counts].filter(([name, count]) => count > 1 && !name.startsWith('/7 ')),
    [],
  )
})

test('kill -9 of PostgreSQL under load: it is started again, and events of acknowledged calls are delivered', async (t) => {
  const env = { DATA_DIR: folder(t) }
  const service = await launch(t, env)
  const { api_key }: Json = JSON.parse(readFileSync(join(env.DATA_DIR, 'demo.json'), 'utf8'))
  const receiver = await startReceiver(t)
  receiver.answers((response) => setTimeout(() => response.end(), 500))
  for (let i = 0; i < 5; i++) {
    const url = receiver.url.replace('hook', `${i}`)
    await post(service.url, api_key, '/webhooks', { url, events: ['contact.created'] })
  }
  const acknowledged: string[] = []
  let isUp = true
  const callers = Array.from({ length: 4 }, async (_, caller) => {
    for (let i = 0; isUp && i < 25; i++) {
      const body = { phone: `+1415555${1000 + caller * 100 + i}` }
      const made = await post(service.url, api_key, '/contacts', body).catch(() => undefined)
      if (made) acknowledged.push(made.id)
    }
  })
  await until('some contacts', async () => acknowledged.length >= 40)
  const [pidFile = ''] = globSync(`${env.DATA_DIR}/**/postmaster.pid`)
  process.kill(Number(readFileSync(pidFile, 'utf8').split('\n')[0]), 'SIGKILL')
  isUp = false
  await Promise.all(callers)

  const expected = acknowledged.flatMap((id) => [0, 1, 2, 3, 4].map((i) => `/${i} ${id}`))
  const missing = () => {
    const delivered = new Set(receiver.received.map(({ path, body }) => `${path} ${body.data.contact_id}`))
    return expected.filter((one) => !delivered.has(one))
  }
  assert.ok(missing().length > 0, 'it was under load')
  t.diagnostic(
    `${acknowledged.length} acknowledged, ${missing().length} of ${expected.length} not delivered at the kill`,
  )
  await until('the database', async () => (await fetch(`${service.url}/readyz`)).status === 200)
  await until('the rest', async () => missing().length === 0, 120_000).catch(() => {})
  assert.deepEqual(missing(), [])
})
