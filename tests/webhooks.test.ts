/** Webhook endpoints, integrations, and the log of deliveries, as callers and members see them. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { DnsResolver } from '../common/address.ts'
import { assertBadRequest, assertFields, assertRefused, dataOf, pluck } from './assertions.ts'
import { deleteEndpoint, newId, timeOfId } from './internals.ts'
import { startReceiver } from './receiver.ts'
import { type Api, type Browser, createMember, type Json, signIn, start, until, type World } from './support.ts'

const everything = ['message.received', 'message.status_updated', 'conversation.created', 'contact.created']
const absent = '01890000-0000-7000-8000-000000000000'
const url = 'https://hooks.test/in?x=1'

/** What names resolve to; a test may change it. Nothing is ever sent to a public address: no test queues anything for one. */
const knownNames = (): Record<string, string[]> => ({
  'hooks.test': ['93.184.215.14'],
  'both.test': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.test': ['10.1.2.3'],
  'half-inside.test': ['93.184.215.14', '192.168.1.1'],
  'inside6.test': ['fd00::1'],
  'local.test': ['127.0.0.1'],
})

const resolverOf = (names: Record<string, string[]>): DnsResolver => {
  const ask = (isMine: (address: string) => boolean) => async (host: string) => {
    const found = names[host]?.filter(isMine) ?? []
    if (found.length === 0) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    return found
  }
  const isIpv6 = (address: string) => address.includes(':')
  return { resolve4: ask((address) => !isIpv6(address)), resolve6: ask(isIpv6) }
}

/** A world that knows our names; webhooks may reach loopback unless it is said otherwise. */
async function startWorld(t: TestContext, options: { allowedCidrs?: string[] } = {}) {
  const names = knownNames()
  return { ...(await start(t, { resolver: resolverOf(names), ...options })), names }
}

const create = async (api: Api, body: object = {}): Promise<Json> =>
  dataOf(await api.post('/webhooks', { url, events: everything, ...body }), 201)

/** An id that was made at this time. */
function idAt(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  const rest = randomBytes(10).toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6, 18)}`
}

/** Something that happened, recorded at some time. */
async function recordEvent({ db, api }: World, event = 'contact.created', ms = Date.now()): Promise<string> {
  const id = idAt(ms)
  const body = { id, event, occurred_at: timeOfId(id), account_id: api.workspaceId, data: { contact_id: randomUUID() } }
  await db`
    insert into webhook_events (workspace_id, id, event, body, occurred_at)
    values (${api.workspaceId}, ${id}, ${event}, ${JSON.stringify(body)}, ${timeOfId(id)})`
  return id
}

/** A delivery that waits, as untried as it is asked for, and is not due before the test is over. */
async function queue({ db, api }: World, endpointId: string, eventId: string, attempts = 0): Promise<string> {
  const id = randomUUID()
  await db`
    insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id, attempt_count, next_attempt_at)
    values (${api.workspaceId}, ${endpointId}, ${id}, ${eventId}, ${attempts}, now() + interval '1 hour')`
  return id
}

type Word = { delivery: string; eventId: string; attempt: number; status: string; isFirst: boolean; ms: number }

async function log({ db, api }: World, endpointId: string, word: Word): Promise<void> {
  const http = word.status === 'canceled' ? null : word.status === 'delivered' ? 200 : 500
  await db`
    insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, http_status,
      duration_ms, error, response, is_first)
    values (${api.workspaceId}, ${endpointId}, ${idAt(word.ms)}, ${word.delivery}, ${word.eventId}, 'contact.created',
      ${word.attempt}, ${word.status}, ${http}, ${http && 12}, ${http === 200 ? null : 'said no'}, ${http && 'body'},
      ${word.isFirst})`
}

const deliveriesOf = async (browser: Browser, id: string, query = ''): Promise<Json> => {
  const answer = await browser.call('GET', `/webhooks/${id}/deliveries${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

test('a new endpoint has a secret that is shown once and stored encrypted', async (t) => {
  const { api, db } = await startWorld(t)
  const first = await create(api, { events: ['contact.created', 'message.received', 'contact.created'] })
  const { id, secret, created_at, ...rest } = first
  assert.deepEqual(rest, {
    url,
    events: ['contact.created', 'message.received'],
    is_active: true,
    last_delivery_at: null,
    failure_count: 0,
    provider: 'api',
  })
  assert.match(secret, /^whsec_[0-9A-Za-z]{43}$/)
  assert.equal(created_at, timeOfId(id))
  const second = await create(api, {
    url: 'https://both.test/',
    secret: 'whsec_mine',
    provider: 'tool_a',
    is_active: false,
  })
  assert.notEqual(second.secret, secret)
  assert.deepEqual([second.provider, second.is_active], ['api', true])

  const list = await api.get('/webhooks')
  const shown = [second, first].map(({ secret: _, ...shown }) => shown)
  assert.deepEqual(list.body, { data: shown, meta: { next_cursor: null } })
  const one = await api.get(`/webhooks/${id.toUpperCase()}`)
  assert.deepEqual(one.body.data, list.body.data[1])
  const changed = await api.patch(`/webhooks/${id}`, { is_active: true })
  const rows = await db`select e::text as row from webhook_endpoints e`
  for (const text of [list.text, one.text, changed.text, JSON.stringify(rows)]) {
    assert.doesNotMatch(text, /whsec_/)
    assert.ok(!text.includes(secret.slice(6)))
  }
})

test('a URL that is not a public HTTPS address is rejected on create and update', async (t) => {
  const world = await startWorld(t, { allowedCidrs: [] })
  const { api } = world
  const { id } = await create(api)
  const notPublic = /^url: .* is not a public address$/
  const refused: [string, RegExp | string][] = [
    ['', 'url: not a URL'],
    ['hooks.test/in', 'url: not a URL'],
    ['https://', 'url: not a URL'],
    ['http://hooks.test/in', 'url: must be https'],
    ['ftp://hooks.test/in', 'url: must be https'],
    ['javascript:alert(1)', 'url: must be https'],
    ['https://user:word@hooks.test/in', 'url: must not carry credentials'],
    ['https://user@hooks.test/in', 'url: must not carry credentials'],
    ['https://hooks.test:0/in', 'url: must not have the port 0'],
    ['https://nowhere.test/in', 'url: nowhere.test does not resolve'],
    ['https://localhost/in', 'url: localhost does not resolve'],
    [`https://hooks.test/${'x'.repeat(2_000)}`, 'url: must have at most 2000 characters'],
    ...[
      ...['inside.test', 'half-inside.test', 'inside6.test', 'local.test'],
      ...['127.0.0.1', '127.1', '2130706433', '0x7f.1', '0177.0.0.1', '0.0.0.0', '10.0.0.1', '172.16.0.1'],
      '192.168.0.1',
      ...['169.254.169.254', '100.64.0.1', '100.100.100.200', '168.63.129.16', '224.0.0.1', '255.255.255.255'],
      ...['[::1]', '[::]', '[fe80::1]', '[fc00::1]', '[fd12::1]', '[ff02::1]', '[::ffff:127.0.0.1]'],
      '[::ffff:8.8.8.8]',
      ...['[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001::1]', '[2001:db8::1]', '[fec0::1]'],
    ].map((host): [string, RegExp] => [`https://${host}/in`, notPublic]),
  ]
  for (const [bad, message] of refused) {
    assertBadRequest(await api.post('/webhooks', { url: bad, events: everything }), message)
    assertBadRequest(await api.patch(`/webhooks/${id}`, { url: bad }), message)
  }
  const browser = await signIn(world)
  const integration = { provider: 'tool_a', url: 'https://127.0.0.1/in', events: everything }
  assertBadRequest(await browser.call('POST', '/integrations', integration), notPublic)
  const { data } = (await api.get('/webhooks')).body
  assert.deepEqual([data.length, data[0].url], [1, url])

  assert.equal((await create(api, { url: 'https://8.8.8.8:8443/in#x' })).url, 'https://8.8.8.8:8443/in#x')
  await create(api, { url: 'https://[2606:4700:4700::1111]/in' })
  await create(api, { url: 'HTTPS://HOOKS.TEST/in' })
})

test('a URL is stored trimmed, and rejected with control characters inside', async (t) => {
  const world = await startWorld(t)
  const { api } = world
  const spaced = ` \u00a0\ufeff\r\n\t${url} \n`
  const { id, url: stored } = await create(api, { url: spaced })
  assert.equal(stored, url)
  const other = 'https://both.test/in?a=1'
  assert.equal((await api.patch(`/webhooks/${id}`, { url: `\t${other} ` })).body.data.url, other)
  const browser = await signIn(world)
  for (const [path, body] of [
    ['/webhooks', {}],
    ['/integrations', { provider: 'tool_a' }],
  ] as const) {
    const made = await browser.call('POST', path, { ...body, url: spaced, events: everything })
    assert.deepEqual([made.status, made.body.data.url], [201, url])
    const edited = await browser.call('PATCH', `/webhooks/${made.body.data.id}`, { url: ` ${other}` })
    assert.deepEqual([edited.status, edited.body.data.url], [200, other])
  }
  for (const bad of ['https://hooks.test/a\nb', 'https://hooks\t.test/', 'https://hooks.test/\u0000', '   ']) {
    assertBadRequest(await api.post('/webhooks', { url: bad, events: everything }), /^url: /)
    assertBadRequest(await api.patch(`/webhooks/${id}`, { url: bad }), /^url: /)
  }
})

test('a network that the operator allows can be reached, over HTTPS only', async (t) => {
  const { api } = await startWorld(t, { allowedCidrs: ['10.0.0.0/8', 'fd00::/8'] })
  await create(api, { url: 'https://inside.test/in' })
  await create(api, { url: 'https://inside6.test/in' })
  for (const [bad, message] of [
    ['http://inside.test/in', /must be https/],
    ['https://local.test/in', /not a public/],
  ] as const) {
    assertBadRequest(await api.post('/webhooks', { url: bad, events: everything }), message)
  }
})

test('an invalid body is rejected with the field name', async (t) => {
  const { api } = await startWorld(t)
  const { id } = await create(api)
  const refused = async (body: object, message: RegExp | string) => {
    assertBadRequest(await api.post('/webhooks', { url, events: everything, ...body }), message)
    assertBadRequest(await api.patch(`/webhooks/${id}`, body), message)
  }
  await refused({ events: [] }, 'events: must have at least 1 item')
  await refused({ events: 'contact.created' }, 'events: must be an array')
  await refused({ events: { 0: 'contact.created' } }, 'events: must be an array')
  const names = everything.join(', ')
  await refused({ events: ['contact.created', 'contact.deleted'] }, `events[1]: must be one of ${names}`)
  await refused({ events: ['tool_a.test'] }, /^events\[0\]: /)
  await refused({ events: ['Contact.Created'] }, /^events\[0\]: /)
  await refused({ events: [null] }, 'events[0]: must be a string')
  await refused({ url: 5 }, 'url: must be a string')
  assertBadRequest(await api.post('/webhooks', { url: null, events: everything }), /^url: /)
  assertBadRequest(await api.post('/webhooks', { url, events: null }), /^events: /)
  assertBadRequest(await api.post('/webhooks', { events: everything }), 'url: required')
  assertBadRequest(await api.post('/webhooks', { url }), 'events: required')
  for (const is_active of ['false', 0]) {
    assertBadRequest(await api.patch(`/webhooks/${id}`, { is_active }), 'is_active: must be true or false')
  }
  assert.equal((await api.get('/webhooks')).body.data.length, 1)
})

test('a workspace has at most 100 endpoints, even when they are created concurrently', async (t) => {
  const world = await startWorld(t)
  const { api, workspace } = world
  const owner = await signIn(world)
  const integration = await owner.call('POST', '/integrations', { provider: 'tool_b', url, events: everything })
  assert.equal(integration.status, 201)
  for (let i = 0; i < 94; i++) await create(api)
  const rush = await Promise.all(Array.from({ length: 20 }, () => api.post('/webhooks', { url, events: everything })))
  assert.equal(rush.filter(({ status }) => status === 201).length, 5)
  const full = 'webhooks: at most 100 in a workspace'
  for (const answer of rush.filter(({ status }) => status !== 201)) assertBadRequest(answer, full)
  const one = await owner.call('POST', '/integrations', { provider: 'tool_a', url, events: everything })
  assertBadRequest(one, full)
  assert.equal((await api.get('/webhooks')).body.data.length, 100)

  await create((await workspace()).api)
  assert.equal((await api.delete(`/webhooks/${integration.body.data.id}`)).status, 200)
  await create(api)
})

test('endpoints require the scope webhooks:manage and belong to one workspace', async (t) => {
  const { api, workspace } = await startWorld(t)
  const { api: theirs } = await workspace()
  const { id } = await create(theirs)
  const key = await api.key('contacts:read', 'contacts:write', 'messages:send')
  const calls: [string, string, object?][] = [
    ['POST', '/webhooks', { url, events: everything }],
    ['GET', '/webhooks'],
    ['GET', `/webhooks/${id}`],
    ['PATCH', `/webhooks/${id}`, { is_active: false, url: 'https://both.test/' }],
    ['DELETE', `/webhooks/${id}`],
  ]
  for (const [method, path, body] of calls) {
    const refused = await api.call(method, path, { key, ...(body ? { body } : {}) })
    assertRefused(refused, 403, 'forbidden', /webhooks:manage/)
    for (const other of path.endsWith(id) ? [id, absent, 'nonsense'] : []) {
      const answer = await api.call(method, path.replace(id, other), body ? { body } : {})
      assertRefused(answer, 404, 'not_found', 'webhook not found')
    }
  }
  const only = { key: await theirs.key('webhooks:manage') }
  assert.equal((await theirs.get(`/webhooks/${id}`, only)).body.data.is_active, true)
  assert.deepEqual((await api.get('/webhooks')).body.data, [])
})

test('an update changes only its fields; deactivating cancels queued deliveries, activating resets the failure count', async (t) => {
  const world = await startWorld(t)
  const { api, db } = world
  const { id, secret: _, ...made } = await create(api, { events: ['contact.created'] })
  const other = await create(api, { url: 'https://local.test:1/in' })
  const patch = async (body: object) => {
    const answer = await api.patch(`/webhooks/${id}`, body)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body, (await api.get(`/webhooks/${id}`)).body)
    return answer.body.data
  }
  const shown = { id, ...made }
  assert.deepEqual(await patch({}), shown)
  assert.deepEqual(await patch({ provider: 'tool_a', secret: 'x', failure_count: 7, created_at: null }), shown)
  assert.deepEqual(await patch({ url: 'https://both.test/' }), { ...shown, url: 'https://both.test/' })
  const events = ['message.received', 'contact.created']
  const changed = { ...shown, url: 'https://both.test/', events }
  assert.deepEqual(await patch({ events: [...events, ...events] }), changed)

  await db`update webhook_endpoints set failure_count = 9`
  const eventId = await recordEvent(world)
  const waiting = [await queue(world, id, eventId), await queue(world, id, eventId, 2)]
  await queue(world, other.id, eventId)
  assert.deepEqual(await patch({ events }), { ...changed, failure_count: 9 })
  assert.deepEqual(await patch({ is_active: false }), { ...changed, failure_count: 9, is_active: false })
  const left = await db`select endpoint_id from webhook_deliveries`
  assert.deepEqual([...left], [{ endpoint_id: other.id }])
  const canceled = await db`
    select delivery_id, attempt, status, error, is_first from webhook_attempts order by attempt`
  const reason = { status: 'canceled', error: 'the endpoint was deactivated' }
  assert.deepEqual(
    [...canceled],
    [
      { delivery_id: waiting[0], attempt: 0, ...reason, is_first: true },
      // No worker settled its attempts, so this is its first log entry.
      { delivery_id: waiting[1], attempt: 2, ...reason, is_first: true },
    ],
  )
  await api.post('/contacts', { phone: '+14155550100' }).then(({ status }) => assert.equal(status, 201))
  assert.equal((await db`select 1 from webhook_deliveries where endpoint_id = ${id}`).length, 0)

  assert.deepEqual(await patch({ is_active: true }), changed)
  await db`update webhook_endpoints set failure_count = 3`
  assert.deepEqual(await patch({ is_active: true }), changed)
  assert.equal((await api.get(`/webhooks/${other.id}`)).body.data.failure_count, 3)
})

test('deleting an endpoint deletes its queued deliveries', async (t) => {
  const world = await startWorld(t)
  const { api, db } = world
  const { id } = await create(api)
  const delivery = await queue(world, id, await recordEvent(world))
  const deleted = await api.delete(`/webhooks/${id.toUpperCase()}`)
  assert.deepEqual([deleted.status, deleted.body], [200, { data: { id, deleted: true } }])
  assert.equal((await db`select 1 from webhook_deliveries`).length, 0)
  const [word] = await db`select delivery_id, status, error from webhook_attempts`
  assert.deepEqual(word, { delivery_id: delivery, status: 'canceled', error: 'the endpoint was deleted' })
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const answer = await api.call(method, `/webhooks/${id}`, method === 'PATCH' ? { body: {} } : {})
    assertRefused(answer, 404, 'not_found')
  }
  const browser = await signIn(world)
  assertRefused(await browser.call('GET', `/webhooks/${id}/deliveries`), 404, 'not_found')
  const again = await browser.call('POST', `/deliveries/${delivery}/redeliver`)
  assertBadRequest(again, 'webhook: it has been deleted')
})

test('a call succeeds while its endpoint is being deleted', async (t) => {
  const { api, db } = await startWorld(t)
  const { id } = await create(api, { events: ['contact.created'] })
  let contact: Promise<Json> | undefined
  await db.begin(async (sql) => {
    await sql`delete from webhook_endpoints where workspace_id = ${api.workspaceId} and id = ${id}`
    contact = api.post('/contacts', { phone: '+14155550100' })
    await until('the contact to wait for the endpoint', async () => {
      const waiting = await db`select 1 from pg_locks l join pg_database d on d.oid = l.database
        where d.datname = current_database() and not l.granted
        union all
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
  })
  assert.equal((await contact)?.status, 201)
})

test('concurrent deletes of endpoints and creates of contacts all succeed', async (t) => {
  const { api, db } = await startWorld(t)
  for (let round = 0; round < 5; round++) {
    const { id } = await create(api, { url: 'https://local.test:1/in', events: ['contact.created'] })
    const phones = Array.from({ length: 10 }, (_, i) => `+1415555${1000 + round * 10 + i}`)
    const [, ...made] = await Promise.all([
      deleteEndpoint(db, api.workspaceId, id),
      ...phones.map((phone) => api.post('/contacts', { phone })),
    ])
    assert.deepEqual(pluck(made, 'status'), Array(phones.length).fill(201))
  }
  assert.equal((await db`select 1 from webhook_deliveries`).length, 0)
})

test('owners and admins connect a tool and test it; every member can see it', async (t) => {
  const world = await startWorld(t)
  const { api, names } = world
  const receiver = await startReceiver(t)
  const agent = await createMember(await signIn(world), 'agent')
  const admin = await createMember(await signIn(world), 'admin')
  const integration = { provider: 'tool_b', url: receiver.url, events: ['contact.created'] }
  assertRefused(await agent.call('POST', '/integrations', integration), 403, 'forbidden')
  const { id, secret, created_at: _, ...rest } = dataOf(await admin.call('POST', '/integrations', integration), 201)
  assert.deepEqual(rest, { ...integration, is_active: true, last_delivery_at: null, failure_count: 0 })
  assert.match(secret, /^whsec_[0-9A-Za-z]{43}$/)
  for (const wrong of [{ provider: 'api' }, { provider: 'tool_c' }, { provider: undefined }]) {
    assertBadRequest(await admin.call('POST', '/integrations', { ...integration, ...wrong }), /^provider: /)
  }

  const plain = await create(api, { url: 'https://local.test:1/in', events: ['contact.created'] })
  const [managed, seen] = [await admin.call('GET', '/webhooks'), await agent.call('GET', '/webhooks')]
  const attempt = { last_attempt_at: null, last_attempt_http_status: null, last_attempt_error: null }
  const never = { ...attempt, old_secret_until: null }
  const listed = (await api.get('/webhooks')).body.data
  const expected = listed.map((one: Json) => ({ ...one, ...never }))
  assert.deepEqual(managed.body.data, expected)
  const hosts = managed.body.data.map((one: Json) => ({ ...one, url: new URL(one.url).host }))
  assert.deepEqual(seen.body.data, hosts)
  assert.deepEqual(pluck(seen.body.data, 'id'), [plain.id, id])
  assert.doesNotMatch(seen.text, /whsec_/)

  assertRefused(await agent.call('POST', `/integrations/${id}/test`), 403, 'forbidden')
  for (const other of [plain.id, absent, 'nonsense']) {
    assertRefused(await admin.call('POST', `/integrations/${other}/test`), 404, 'not_found')
  }
  const { event, event_id, status, attempts } = dataOf(await admin.call('POST', `/integrations/${id}/test`), 201)
  assert.deepEqual([event, status, attempts], ['tool_b.test', 'pending', []])
  const [received] = await receiver.until(1)
  const { id: sentId, event: sentEvent, account_id, data } = received?.body ?? {}
  assert.deepEqual([sentId, sentEvent, account_id], [event_id, 'tool_b.test', api.workspaceId])
  assert.deepEqual(Object.keys(data), ['message'])
  assert.equal(typeof data.message, 'string')
  assert.equal(received?.headers['x-service-event'], 'tool_b.test')
  assert.deepEqual((await deliveriesOf(agent, plain.id)).data, [])

  await api.patch(`/webhooks/${id}`, { is_active: false })
  assertBadRequest(await admin.call('POST', `/integrations/${id}/test`), /not active/)
  const named = await admin.call('POST', '/integrations', { ...integration, url: 'https://hooks.test/in' })
  names['hooks.test'] = ['169.254.169.254']
  const moved = await admin.call('POST', `/integrations/${named.body.data.id}/test`)
  assertBadRequest(moved, /^url: .*not a public address$/)
  assert.deepEqual((await deliveriesOf(agent, named.body.data.id)).data, [])

  assert.equal((await api.delete(`/webhooks/${id}`)).status, 200)
  assertRefused(await admin.call('POST', `/integrations/${id}/test`), 404, 'not_found')
})

test('a delivery is shown from queueing through every attempt to its outcome', async (t) => {
  const world = await startWorld(t)
  const { api } = world
  const receiver = await startReceiver(t)
  const answers: (() => void)[] = []
  receiver.answers((response) => {
    answers.push(() => response.writeHead(answers.length === 1 ? 503 : 200).end('so be it'))
  })
  const agent = await createMember(await signIn(world), 'agent')
  const { id } = await create(api, { url: receiver.url, events: ['contact.created'] })
  await api.post('/contacts', { phone: '+14155550100' })
  const [received] = await receiver.until(1)
  const only = async () => {
    const { data, meta } = await deliveriesOf(agent, id)
    assert.deepEqual([data.length, meta.next_cursor], [1, null])
    return data[0]
  }
  const inFlight = await only()
  assert.deepEqual(inFlight, {
    id: inFlight.id,
    event_id: received?.body.id,
    event: 'contact.created',
    status: 'pending',
    attempt_count: 1,
    created_at: inFlight.created_at,
    next_attempt_at: null,
    attempts: [],
  })

  answers[0]?.()
  const failed = await until('the first word', async () => {
    const one = await only()
    return one.attempts.length > 0 && one
  })
  const [first] = failed.attempts
  assert.deepEqual([failed.id, failed.status, failed.attempt_count], [inFlight.id, 'pending', 1])
  assert.ok(Date.parse(failed.next_attempt_at) > Date.parse(first.at))
  assert.equal(failed.created_at, first.at)
  const { at: _, duration_ms, ...word } = first
  assert.ok(Number.isInteger(duration_ms))
  const answered = { http_status: 503, error: 'answered 503', response: 'so be it' }
  assert.deepEqual(word, { attempt: 1, status: 'pending', ...answered })

  await receiver.until(2)
  assert.deepEqual([(await only()).attempt_count, (await only()).next_attempt_at], [2, null])
  answers[1]?.()
  const delivered = await until('the end', async () => {
    const one = await only()
    return one.status === 'delivered' && one
  })
  assert.deepEqual([delivered.attempts[0], delivered.attempts.length], [first, 2])
  assertFields(delivered.attempts[1], { status: 'delivered', http_status: 200, error: null })
  assert.deepEqual([delivered.next_attempt_at, delivered.created_at], [null, failed.created_at])
})

test('the log lists each delivery once, newest first, in stable pages', async (t) => {
  const world = await startWorld(t)
  const { api, workspace } = world
  const agent = await createMember(await signIn(world), 'agent')
  const { id } = await create(api)
  const other = await create(api)
  const eventId = await recordEvent(world)
  const now = Date.now()
  const say = (delivery: string, ago: number, attempt: number, status: string, isFirst = attempt <= 1) =>
    log(world, id, { delivery, eventId, attempt, status, isFirst, ms: now - ago })
  const named = (count: number) => Array.from({ length: count }, () => randomUUID())

  const [old = '', spent = '', canceled = '', late = '', swept = ''] = named(5)
  await say(old, 90_000_000, 1, 'delivered')
  await say(spent, 90_000, 1, 'pending')
  for (const attempt of [2, 3, 4]) await say(spent, 90_000 - attempt * 1_000, attempt, 'pending')
  await say(spent, 80_000, 5, 'failed')
  await say(canceled, 70_000, 0, 'canceled')
  // Canceled while it was in flight, and still delivered.
  await say(late, 60_000, 1, 'canceled', false)
  await say(late, 59_000, 1, 'delivered')
  await say(swept, 50_000, 1, 'pending')
  const retried = await queue(world, id, eventId, 1)
  await say(retried, 40_000, 1, 'pending')
  const waiting = [await queue(world, id, eventId), await queue(world, id, eventId)]
  await queue(world, other.id, eventId)

  const { data } = await deliveriesOf(agent, id)
  assert.deepEqual(pluck(data.slice(0, 2), 'id'), waiting.toReversed())
  assert.deepEqual(
    data.slice(2).map((one: Json) => [one.id, one.status, one.attempt_count, one.attempts.length]),
    [
      [retried, 'pending', 1, 1],
      [swept, 'canceled', 1, 1],
      [late, 'delivered', 1, 2],
      [canceled, 'canceled', 0, 1],
      [spent, 'failed', 5, 5],
      [old, 'delivered', 1, 1],
    ],
  )
  for (const one of data) assert.equal(one.next_attempt_at !== null, one.status === 'pending')
  assert.deepEqual([data[0].attempts, data[0].event, data[0].event_id], [[], 'contact.created', eventId])
  assert.equal(data[5].attempts[0].error, 'said no')
  assert.equal(data.at(-1).created_at, new Date(now - 90_000_000).toISOString())

  const pages: string[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Json = await deliveriesOf(agent, id, `?limit=4&cursor=${cursor}`)
    pages.push(page.data.map((one: Json) => one.id))
    cursor = page.meta.next_cursor
    // What is spoken of meanwhile is not shown again further down.
    if (pages.length === 1) await say(waiting[0] ?? '', 0, 1, 'delivered')
  }
  assert.deepEqual(pluck(pages, 'length'), [4, 4])
  assert.deepEqual(pages.flat(), pluck(data, 'id'))
  assert.equal((await deliveriesOf(agent, other.id)).data.length, 1)

  for (const missing of [absent, 'nonsense']) {
    assertRefused(await agent.call('GET', `/webhooks/${missing}/deliveries`), 404, 'not_found')
  }
  const stranger = await signIn(world, (await workspace()).owner)
  assertRefused(await stranger.call('GET', `/webhooks/${id}/deliveries`), 404, 'not_found')
})

test('a delivery can be resent with the same event', async (t) => {
  const world = await startWorld(t)
  const { api, db, names, workspace } = world
  const receiver = await startReceiver(t)
  const owner = await signIn(world)
  const { id } = await create(api, { url: receiver.url, events: ['contact.created'] })
  await api.post('/contacts', { phone: '+14155550100' })
  const [first] = await receiver.until(1)
  const [delivery] = await until('the first word', async () => {
    const { data } = await deliveriesOf(owner, id)
    return data[0]?.status === 'delivered' && data
  })

  const path = `/deliveries/${delivery.id}/redeliver`
  const agent = await createMember(await signIn(world), 'agent')
  assertRefused(await agent.call('POST', path), 403, 'forbidden')
  const again = dataOf(await owner.call('POST', path), 201)
  assert.notEqual(again.id, delivery.id)
  assertFields(again, { event_id: delivery.event_id, event: 'contact.created', status: 'pending', attempts: [] })
  const [, second] = await receiver.until(2)
  assert.equal(second?.raw, first?.raw)
  const both = await until('the second word', async () => {
    const { data } = await deliveriesOf(owner, id)
    return data.length === 2 && data[0].status === 'delivered' && data
  })
  assert.deepEqual(pluck(both, 'id'), [again.id, delivery.id])

  const untried = await queue(world, id, delivery.event_id)
  assert.equal((await owner.call('POST', `/deliveries/${untried.toUpperCase()}/redeliver`)).status, 201)
  assert.equal((await receiver.until(3))[2]?.raw, first?.raw)
  const stranger = await signIn(world, (await workspace()).owner)
  for (const [who, other] of [
    [stranger, delivery.id],
    [stranger, untried],
    [owner, absent],
    [owner, 'nonsense'],
    [owner, id],
  ] as const) {
    assertRefused(await who.call('POST', `/deliveries/${other}/redeliver`), 404, 'not_found', 'delivery not found')
  }

  const forgotten = randomUUID()
  const lost = { eventId: newId(), attempt: 1, status: 'failed', isFirst: true, ms: Date.now() }
  await log(world, id, { delivery: forgotten, ...lost })
  const gone = await owner.call('POST', `/deliveries/${forgotten}/redeliver`)
  assertBadRequest(gone, 'delivery: its event is older than 30 days')
  await api.patch(`/webhooks/${id}`, { url: 'https://hooks.test/in' })
  names['hooks.test'] = ['127.0.0.1', '10.0.0.1']
  assertBadRequest(await owner.call('POST', path), /^url: .*not a public address$/)
  await api.patch(`/webhooks/${id}`, { is_active: false })
  assertBadRequest(await owner.call('POST', path), /not active/)
  assert.equal((await db`select 1 from webhook_deliveries`).length, 0)
})

test('events of a period are replayed to one endpoint, as far as it subscribes to them', async (t) => {
  const world = await startWorld(t)
  const { api, db, workspace } = world
  const receiver = await startReceiver(t)
  const owner = await signIn(world)
  const events = ['contact.created', 'message.received']
  const { id } = await create(api, { url: receiver.url, events })
  const minute = 60_000
  const now = Date.now()
  const wanted = [
    await recordEvent(world, 'contact.created', now - 60 * minute),
    await recordEvent(world, 'message.received', now - 30 * minute),
    await recordEvent(world, 'contact.created', now - 20 * minute - 1),
  ]
  for (const [event, ago] of [
    ['contact.created', 60 * minute + 1],
    ['conversation.created', 30 * minute],
    ['tool_a.test', 30 * minute],
    ['contact.created', 20 * minute],
  ] as const) {
    await recordEvent(world, event, now - ago)
  }
  const { api: theirs, owner: stranger } = await workspace()
  await recordEvent({ ...world, api: theirs }, 'contact.created', now - 30 * minute)

  const at = (ago: number) => new Date(now - ago).toISOString()
  const range = { from: at(60 * minute), to: at(20 * minute) }
  const path = `/webhooks/${id}/replay`
  assertRefused(await (await createMember(await signIn(world), 'agent')).call('POST', path, range), 403, 'forbidden')
  assertRefused(await (await signIn(world, stranger)).call('POST', path, range), 404, 'not_found')
  const replayed = await owner.call('POST', path, range)
  assert.deepEqual([replayed.status, replayed.body], [202, { data: { queued: 3 } }])
  assert.deepEqual((await receiver.until(3)).map(({ body }) => body.id).sort(), wanted.toSorted())
  const none = await owner.call('POST', path, { from: '1960-01-01T00:00:00+14:00', to: '1960-01-02T00:00:00Z' })
  assert.deepEqual(none.body, { data: { queued: 0 } })

  const day = 24 * 60 * minute
  for (const [wrong, message] of [
    [{ from: range.to, to: range.from }, 'to: must be after from'],
    [{ from: range.to, to: range.to }, 'to: must be after from'],
    [{ from: at(31 * day + 1), to: at(0) }, 'to: at most 31 days after from'],
    [{ from: 'yesterday', to: range.to }, /^from: /],
    [{ from: '2016-12-31T23:59:60Z', to: range.to }, 'from: not a date-time'],
    [{ to: range.to }, 'from: required'],
    [{ from: range.from }, 'to: required'],
  ] as const) {
    assertBadRequest(await owner.call('POST', path, wrong), message)
  }
  assert.equal((await owner.call('POST', path, { from: at(31 * day), to: at(30 * day) })).status, 202)
  await api.patch(`/webhooks/${id}`, { is_active: false })
  assertBadRequest(await owner.call('POST', path, range), /not active/)
  assert.equal((await db`select 1 from webhook_deliveries`).length, 0)
})

test('a replay of many events sends each exactly once', async (t) => {
  const world = await startWorld(t)
  const { api, db } = world
  const owner = await signIn(world)
  // No server listens there, and few are attempted before the count.
  const { id } = await create(api, { url: 'https://local.test:1/in', events: ['contact.created'] })
  const start = Date.now() - 3_600_000
  const ids = Array.from({ length: 12_001 }, (_, i) => idAt(start + Math.floor(i / 100)))
  await db`
    insert into webhook_events (workspace_id, id, event, body, occurred_at)
    select ${api.workspaceId}, id, 'contact.created', '{}', now() from unnest(${ids}::uuid[]) as id`
  const range = { from: new Date(start).toISOString(), to: new Date().toISOString() }
  const replayed = await owner.call('POST', `/webhooks/${id}/replay`, range)
  assert.deepEqual(replayed.body, { data: { queued: ids.length } })
  const [count] = await db`
    select count(*)::int as rows, count(distinct event_id)::int as events from (
      select id, event_id from webhook_deliveries union select delivery_id, event_id from webhook_attempts
    ) d`
  assert.deepEqual(count, { rows: ids.length, events: ids.length })
})

test('a secret returned under an Idempotency-Key is replayed, and stored encrypted until then', async (t) => {
  const { api, db } = await start(t)
  const body = { url: 'https://127.0.0.1:9/', events: ['contact.created'] }
  const call = { headers: { 'idempotency-key': 'once' } }
  const first = await api.post('/webhooks', body, call)
  const again = await api.post('/webhooks', body, call)
  assert.deepEqual([first.status, again.text], [201, first.text])
  const rows = await db<{ body: string }[]>`
    select body from idempotency_keys where workspace_id = ${api.workspaceId}`
  assert.equal(rows.length, 1)
  assert.doesNotMatch(rows[0]?.body ?? '', /whsec_/)
})
