/** Webhook delivery and crashes: real processes that are killed or stopped with hundreds of posts in flight. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { encryptionKey, startPrograms } from '../crashing.ts'
import { multiply, queueEvents } from '../deliveries.ts'
import { demoOf } from '../demo.ts'
import { createFolder } from '../folder.ts'
import type { Db } from '../internals.ts'
import { startService } from '../program.ts'
import { type Received, type Receiver, startReceiver } from '../receiver.ts'
import { type Json, until } from '../support.ts'

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

/** Services with these roles, and 40 endpoints at one receiver that have earned all the slots there are. */
async function begin(t: TestContext, roles: readonly string[], workers: number) {
  const { db, services, workspace } = await startPrograms(t, { roles })
  const { id: workspaceId, newKey } = await workspace()
  const receiver = await startReceiver(t)
  const endpoint = { url: receiver.url, events: ['contact.created'] }
  const { id } = await post(services[0].url, await newKey(), '/webhooks', endpoint)
  const urls = Array.from({ length: endpointCount - 1 }, (_, i) => receiver.url.replace('hook', `${i}`))
  const ids = [id, ...(await multiply(db, id, urls, encryptionKey))]
  const happen = (count: number, what: string) =>
    queueEvents(
      db,
      workspaceId,
      ids,
      Array.from({ length: count }, (_, i) => `{"${what}":${i}}`),
    )
  // The answer takes a moment, so each post in flight needs its own connection.
  receiver.answers((response) => setTimeout(() => response.end(), 100))
  await happen(warmUp * workers, 'warm')
  await drained(db)
  return { db, receiver, services, happen }
}

const drained = (db: Db) =>
  until('the queue to be empty', async () => (await db`select 1 from webhook_deliveries limit 1`).length === 0)

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
  // Engines beside an API have a lower priority. Workers that share the work equally run alone.
  const { db, receiver, services, happen } = await begin(t, ['api', 'worker', 'worker'], 2)
  let held: { response: ServerResponse; one: Received }[] = []
  const broken = () => held.filter(({ one }) => one.socket.destroyed)
  // More than one process can have. On a busy machine the first posts may end after their five seconds before there are so many; then
  // all are answered, and further events follow.
  let rounds = 0
  for (let isHeld = false; !isHeld; rounds++) {
    held = []
    receiver.answers((response, one) => held.push({ response, one }))
    await happen(40, `event ${rounds + 1}`)
    await until('posts of both', () => broken().length > 0 || held.length > slots)
    isHeld = broken().length === 0
    if (isHeld) continue
    receiver.answers(200)
    for (const { response } of held) response.end()
    await drained(db)
  }
  const what = `event ${rounds}`
  const inFlight = held.length
  const [, worker] = services
  await worker?.kill()
  await until('its connections to break', () => broken().length > 0 && broken().length >= inFlight - slots)
  const lost = new Set(broken().map(({ one }) => nameOf(one)))
  t.diagnostic(`${inFlight} in flight, ${lost.size} of them in the killed process`)
  receiver.answers(200)
  for (const { response } of held) if (!response.destroyed) response.end()
  const heldNames = new Set(held.map(({ one }) => nameOf(one)))
  await until('the rest', () => countsOf(receiver, what).size === 40 * endpointCount)
  // As if the 8 seconds were over that a claim of a dead process holds.
  await db`
    update webhook_deliveries d set leased_until = now()
    from webhook_endpoints e, webhook_events v
    where e.id = d.endpoint_id and v.id = d.event_id
      and substring(e.url from '//[^/]+(/.*)') || ' ' || v.body = any(${[...lost]}::text[])`

  await drained(db)
  const counts = countsOf(receiver, what)
  assert.equal(counts.size, 40 * endpointCount, 'nothing is lost')
  const repeated = [...counts].flatMap(([name, count]) => (count > 1 ? [name] : []))
  const unexpected = repeated.filter((name) => !heldNames.has(name))
  assert.deepEqual(unexpected, [], 'only deliveries in flight arrive twice')
  const missing = [...lost].filter((name) => !repeated.includes(name))
  assert.deepEqual(missing, [], 'deliveries of the killed process arrive again')
  const [log] = await db<{ deliveries: number; delivered: number; firsts: number }[]>`
    select count(distinct delivery_id)::int as deliveries,
      count(distinct delivery_id) filter (where status = 'delivered')::int as delivered,
      count(*) filter (where is_first)::int as firsts
    from webhook_attempts`
  const all = (40 * rounds + warmUp * 2) * endpointCount
  assert.deepEqual(log, { deliveries: all, delivered: all, firsts: all })
})

test('SIGTERM under load: posted deliveries are settled, and the rest is not lost', async (t) => {
  const { db, receiver, services, happen } = await begin(t, ['api,worker'], 1)
  const [service] = services
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
  assert.equal(await service.kill('SIGTERM'), 0, service.output())
  const posted = countsOf(receiver, 'event')
  assert.ok(posted.size < 60 * endpointCount, 'it was under load')
  const waiting = await db<{ count: number }[]>`
    select count(*)::int as count from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
    where e.url not like '%/7'`
  const answered = [...posted].filter(([name]) => !name.startsWith('/7 ')).length
  assert.equal(waiting[0]?.count, 60 * (endpointCount - 1) - answered, 'what was answered is settled')

  receiver.answers(200)
  await db`update webhook_deliveries set next_attempt_at = now(), leased_until = null`
  await service.start()
  await drained(db)
  const counts = countsOf(receiver, 'event')
  assert.equal(counts.size, 60 * endpointCount)
  const twice = [...counts].filter(([name, count]) => count > 1 && !name.startsWith('/7 '))
  assert.deepEqual(twice, [])
})

test('kill -9 of PostgreSQL under load: it is started again, and events of acknowledged calls are delivered', async (t) => {
  const dataDir = createFolder(t)
  const service = await startService(t, {
    DATA_DIR: dataDir,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: join(import.meta.dirname, '../fixtures/tls.crt'),
  })
  const { api_key } = demoOf(dataDir)
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
  const [pidFile = ''] = globSync(`${dataDir}/**/postmaster.pid`)
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
  await until('the database', async () => (await fetch(`${service.url}/readyz`).catch(() => undefined))?.ok)
  await until('the rest', () => missing().length === 0)
})
