/** Webhooks in the dashboard: owners and admins create and change them, every member reads them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, dataOf } from './assertions.ts'
import { addEndpoint, causeEvent, postpone, queueEvents, waitForAttempts } from './deliveries.ts'
import { listDeliveries, newId, readPosition } from './internals.ts'
import { startReceiver } from './receiver.ts'
import { createBrowser, createMember, type Json, pluck, signIn, start, until } from './support.ts'

test('owners and admins create, change and delete webhooks; agents can only list them', async (t) => {
  const world = await start(t)
  const { db } = world
  const agent = await createMember(await signIn(world), 'agent')
  const body = { url: 'https://127.0.0.1:9/in', events: ['contact.created', 'contact.created'] }
  for (const role of ['owner', 'admin'] as const) {
    const browser = role === 'owner' ? await signIn(world) : await createMember(await signIn(world), role)
    const { secret, ...shown } = dataOf(await browser.call('POST', '/webhooks', { ...body, provider: 'tool_a' }), 201)
    assert.match(secret, /^whsec_[0-9A-Za-z]{43}$/)
    assert.deepEqual([shown.events, shown.provider, shown.is_active], [['contact.created'], 'api', true])
    const listed = await agent.call('GET', '/webhooks')
    assert.deepEqual(listed.body.data, [{ ...shown, ...never, url: '127.0.0.1:9' }])
    assert.deepEqual((await browser.call('GET', '/webhooks')).body.data, [{ ...shown, ...never }])
    assert.ok(!listed.text.includes(secret))

    const path = `/webhooks/${shown.id}`
    assertRefused(await agent.call('POST', '/webhooks', body), 403, 'forbidden')
    assertRefused(await agent.call('PATCH', path, { is_active: false }), 403, 'forbidden')
    assertRefused(await agent.call('DELETE', path), 403, 'forbidden')

    const off = await browser.call('PATCH', path, { is_active: false, url: 'https://127.0.0.1:9/other' })
    assert.deepEqual(off.body.data, { ...shown, ...never, is_active: false, url: 'https://127.0.0.1:9/other' })
    await db`update webhook_endpoints set failure_count = 15 where id = ${shown.id}`
    const on = await browser.call('PATCH', path, { is_active: true })
    assert.deepEqual([on.body.data.is_active, on.body.data.failure_count], [true, 0])
    assertBadRequest(await browser.call('PATCH', path, { url: 'http://10.0.0.1/' }), /^url: /)
    assertBadRequest(await browser.call('POST', '/webhooks', { ...body, events: [] }), /^events: /)
    assert.deepEqual((await browser.call('DELETE', path)).body.data, { id: shown.id, deleted: true })
    assertRefused(await browser.call('DELETE', path), 404, 'not_found')
    assertRefused(await browser.call('PATCH', path, {}), 404, 'not_found')
  }
})

const never = {
  last_attempt_at: null,
  last_attempt_http_status: null,
  last_attempt_error: null,
  old_secret_until: null,
}

test('members who do not manage the workspace see the host of a webhook and no verify token, in all calls', async (t) => {
  const world = await start(t)
  const { api } = world
  const owner = await signIn(world)
  const { connections } = await world.connect()
  const url = 'https://127.0.0.1:9/hook-path?x=hook-query'
  const events = ['contact.created']
  const webhook = (await owner.call('POST', '/webhooks', { url, events })).body.data
  await api.post('/contacts', { phone: '+14155550100' })
  // A failed write is in the request log with its body.
  assertBadRequest(await api.post('/webhooks', { url: 'http://10.0.0.1/hook-path', events }))
  const first = (path: string) =>
    until(path, async () => (await owner.call('GET', path)).body.data.find(({ id }: Json) => id))
  const [event, request] = [await first('/events'), await first('/requests?path=/v1/webhooks&status=failed')]
  const delivery = await until('a delivery', async () => (await first('/events')).deliveries[0])
  const ids: string[] = [webhook.id, event.id, request.id, delivery.id, connections.msgapp.id]

  const secrets = ['hook-path', 'hook-query', connections.msgapp.verify_token, connections.social.verify_token]
  const shown = { owner: new Set<string>(), agent: new Set<string>(), viewer: new Set<string>() }
  for (const role of ['owner', 'agent', 'viewer'] as const) {
    const browser = role === 'owner' ? await signIn(world) : await createMember(await signIn(world), role)
    for (const { method, url: route, config } of world.memberRoutes) {
      const path = route.replace('/app/api', '')
      if (method !== 'GET' || /\*$|\.csv$|^\/stream$/.test(path) || config?.members === 'public') continue
      for (const id of path.includes(':') ? ids : ['']) {
        const answer = await browser.call('GET', path.replace(/:\w+/, id))
        for (const secret of secrets) if (answer.text.includes(secret)) shown[role].add(path)
      }
    }
    const hosts = [
      (await browser.call('GET', '/webhooks')).body.data[0].url,
      (await browser.call('GET', '/events')).body.data[0].deliveries[0].endpoint.url,
      (await browser.call('GET', `/events/${event.id}`)).body.data.deliveries[0].endpoint.url,
      (await browser.call('GET', '/overview')).body.data.webhooks[0].url,
    ]
    assert.deepEqual(new Set(hosts), new Set([role === 'owner' ? url : '127.0.0.1:9']), role)
  }
  const paths = ['/channels', '/events', '/events/:id', '/overview', '/requests/:id', '/webhooks']
  assert.deepEqual([...shown.owner].sort(), paths)
  assert.deepEqual([[...shown.agent], [...shown.viewer]], [[], []])
})

test('members see the last attempt of each endpoint, even while the event is retried', async (t) => {
  const world = await start(t)
  const { api, db } = world
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await addEndpoint(api, receiver.url)
  const { id: otherId } = await addEndpoint(api, other.url)
  const agent = await createMember(await signIn(world), 'agent')
  const shown = async (path: string, endpointId = id) => {
    const { data } = (await agent.call('GET', path)).body
    const endpoint = (data.webhooks ?? data).find((one: Json) => one.id === endpointId)
    const { last_attempt_at: at, last_attempt_http_status: status, last_attempt_error: error } = endpoint
    assert.ok(at === null || Math.abs(Date.parse(at) - Date.now()) < 60_000, at)
    return [at !== null, status, error, endpoint.failure_count]
  }
  assert.deepEqual(await shown('/webhooks'), [false, null, null, 0])
  receiver.answers(500)
  await causeEvent(api)
  await waitForAttempts(db, id, 1)
  await waitForAttempts(db, otherId, 1)
  for (const path of ['/webhooks', '/overview']) {
    assert.deepEqual(await shown(path), [true, 500, 'answered 500', 0], path)
    assert.deepEqual(await shown(path, otherId), [true, 200, null, 0], path)
  }
  receiver.answers((_, { reset }) => reset())
  await postpone(db, api.workspaceId, 0)
  await waitForAttempts(db, id, 2)
  assert.deepEqual(await shown('/webhooks'), [true, null, 'connection lost before a response', 0])
  receiver.answers(202)
  await postpone(db, api.workspaceId, 0)
  await waitForAttempts(db, id, 3)
  assert.deepEqual(await shown('/webhooks'), [true, 202, null, 0])
  await api.patch(`/webhooks/${id}`, { is_active: true })
  assert.deepEqual(await shown('/webhooks'), [false, null, null, 0])
  const listed = (await api.get('/webhooks')).body.data
  const isHidden = listed.every((one: Json) => !('last_attempt_at' in one))
  assert.ok(isHidden, 'not in the public API')
})

test('a sample of any event reaches one endpoint as a real one would, and nothing else', async (t) => {
  const world = await start(t)
  const { api, db, url } = world
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await addEndpoint(api, receiver.url)
  await addEndpoint(api, other.url)
  const owner = await signIn(world)
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Json
  const names = Object.keys(document.webhooks)
  for (const [index, event] of names.entries()) {
    const queued = dataOf(await owner.call('POST', `/webhooks/${id}/test`, { event }), 201)
    assert.deepEqual([queued.event, queued.status], [`${event}.test`, 'pending'])
    const sent = (await receiver.until(index + 1))[index]
    const named = [sent?.headers['x-service-event'], sent?.body.event, sent?.body.account_id]
    assert.deepEqual(named, [event, event, api.workspaceId])
    const { content } = document.webhooks[event].post.requestBody
    assert.deepEqual(sent?.body.data, content['application/json'].example.data)
    const { request } = dataOf(await owner.call('GET', `/deliveries/${queued.id}`))
    assert.ok(request.headers.some(({ name, value }: Json) => name === 'X-Service-Event' && value === event))
  }
  // No replay contains them.
  const range = {
    from: new Date(Date.now() - 3_600_000).toISOString(),
    to: new Date(Date.now() + 60_000).toISOString(),
  }
  assert.equal(dataOf(await owner.call('POST', `/webhooks/${id}/replay`, range), 202).queued, 0)

  // A failed sample does not count towards the deactivation of the endpoint.
  receiver.answers(410)
  await owner.call('POST', `/webhooks/${id}/test`, { event: 'contact.created' })
  const [entry] = dataOf(await owner.call('GET', '/audit'))
  assert.deepEqual([entry.action, entry.subject_id, entry.summary], ['webhook.tested', id, 'contact.created.test'])
  await waitForAttempts(db, id, names.length + 1)
  assert.equal((await api.get(`/webhooks/${id}`)).body.data.failure_count, 0)
  assert.equal(other.received.length, 0)

  assertBadRequest(await owner.call('POST', `/webhooks/${id}/test`, { event: 'contact.created.test' }), /event/)
  assertRefused(
    await owner.call('POST', `/webhooks/${randomUUID()}/test`, { event: 'contact.created' }),
    404,
    'not_found',
  )
  const agent = await createMember(owner, 'agent')
  assertRefused(await agent.call('POST', `/webhooks/${id}/test`, { event: 'contact.created' }), 403, 'forbidden')
  await api.patch(`/webhooks/${id}`, { is_active: false })
  assertBadRequest(await owner.call('POST', `/webhooks/${id}/test`, { event: 'contact.created' }), /not active/)
})

test('a delivery shows its request and response', async (t) => {
  const world = await start(t)
  const { api, db } = world
  const receiver = await startReceiver(t)
  receiver.answers((response) => void response.writeHead(410).end('gone for good'))
  const { id: endpointId, secret } = await addEndpoint(api, receiver.url)
  await causeEvent(api)
  const [sent] = await receiver.until(1)
  const [attempt] = await waitForAttempts(db, endpointId, 1)
  const agent = await createMember(await signIn(world), 'agent')
  const [listed] = (await agent.call('GET', `/webhooks/${endpointId}/deliveries?status=failed`)).body.data
  const answer = await agent.call('GET', `/deliveries/${attempt?.delivery_id}`)
  assert.equal(answer.status, 200, answer.text)
  const { request, ...delivery } = answer.body.data
  assert.deepEqual(delivery, listed)
  assert.deepEqual([delivery.status, delivery.attempts[0].response], ['failed', 'gone for good'])
  assert.equal(request.body, sent?.raw)
  for (const { name, value } of request.headers) {
    if (name.endsWith('-Signature')) assert.equal(value, 't=…,v1=…')
    else assert.equal(value, sent?.headers[name.toLowerCase()], name)
  }
  assert.ok(request.headers.length >= 8)
  assert.ok(!answer.text.includes(secret))

  // Not tried yet, and one whose event is kept no longer.
  await db`update webhook_endpoints set url = 'https://127.0.0.1:9/' where id = ${endpointId}`
  const [eventId] = await queueEvents(db, api.workspaceId, [endpointId], ['{"n":1}'])
  await db`update webhook_deliveries set next_attempt_at = now() + interval '1 hour' where endpoint_id = ${endpointId}`
  const [queued] = await db<{ id: string }[]>`select id from webhook_deliveries where event_id = ${eventId ?? ''}`
  const waiting = (await agent.call('GET', `/deliveries/${queued?.id.toUpperCase()}`)).body.data
  assert.deepEqual([waiting.status, waiting.request.body], ['pending', '{"n":1}'])
  await db`delete from webhook_events where id = ${delivery.event_id}`
  assert.equal((await agent.call('GET', `/deliveries/${delivery.id}`)).body.data.request.body, null)

  const stranger = createBrowser(world.url)
  await stranger.signIn((await world.workspace()).owner)
  for (const id of [delivery.id, queued?.id]) {
    assertRefused(await stranger.call('GET', `/deliveries/${id}`), 404, 'not_found')
  }
  for (const id of ['nonsense', endpointId, randomUUID()]) {
    assertRefused(await agent.call('GET', `/deliveries/${id}`), 404, 'not_found')
  }
})

test('deliveries are filtered by status, each listed once, by an index', async (t) => {
  const world = await start(t)
  const { api, db } = world
  const browser = await signIn(world)
  const { id: endpointId } = await addEndpoint(api, 'https://127.0.0.1:9/')
  await db`update webhook_endpoints set is_active = false where id = ${endpointId}`
  const [eventId = ''] = await queueEvents(db, api.workspaceId, [], ['{}'])
  const say = async (delivery: string, status: string, attempt = 1, isFirst = attempt <= 1) => {
    await db`
      insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, is_first)
      values (${api.workspaceId}, ${endpointId}, ${newId()}, ${delivery}, ${eventId}, 'contact.created', ${attempt},
        ${status}, ${isFirst})`
  }
  const named = (count: number) => Array.from({ length: count }, () => randomUUID())
  const [spent = '', refused = '', canceled = '', late = '', good = '', retried = '', lateFailure = ''] = named(7)
  for (const attempt of [1, 2]) await say(spent, 'pending', attempt)
  await say(spent, 'failed', 3)
  await say(refused, 'failed')
  await say(canceled, 'canceled', 0)
  await say(late, 'canceled', 1, false)
  await say(late, 'delivered')
  await say(lateFailure, 'canceled', 1, false)
  await say(lateFailure, 'failed')
  await say(good, 'delivered')
  await say(retried, 'pending')
  // The sweep of what waits for an endpoint that is off leaves us this moment.
  await db`update webhook_endpoints set is_active = true where id = ${endpointId}`
  const waiting = [retried, ...named(2)]
  for (const id of waiting) {
    await db`
      insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id, attempt_count, is_retry, next_attempt_at)
      values (${api.workspaceId}, ${endpointId}, ${id}, ${eventId}, ${id === retried ? 1 : 0}, ${id === retried},
        now() + interval '1 hour')`
  }
  const list = async (status: string, more = ''): Promise<Json> => {
    const answer = await browser.call('GET', `/webhooks/${endpointId}/deliveries?status=${status}${more}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  for (const [status, ids] of [
    ['delivered', [good, late]],
    ['failed', [lateFailure, refused, spent]],
    ['canceled', [canceled]],
    ['pending', waiting.toSorted().toReversed()],
  ] as const) {
    const { data } = await list(status)
    const expected = ids.map((id) => [id, status])
    assert.deepEqual(pluck(data, 'id', 'status'), expected)
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await list(status, `&limit=1&cursor=${cursor}`)
      paged.push(...page.data.map(({ id }: Json) => id))
      cursor = page.meta.next_cursor
    }
    assert.deepEqual(paged, ids, status)
  }
  assert.equal((await browser.call('GET', `/webhooks/${endpointId}/deliveries?status=lost`)).status, 400)

  // Among twenty thousand successes the three failures are found without reading those, and a page of those as well.
  await db`
    insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, is_first)
    select ${api.workspaceId}, ${endpointId}, ('ffff' || substr(gen_random_uuid()::text, 5))::uuid, gen_random_uuid(),
      ${eventId}, 'contact.created', 1, 'delivered', true
    from generate_series(1, 20000)`
  await db`analyze webhook_attempts`
  for (const [status, count] of [
    ['failed', 3],
    ['delivered', 50],
  ] as const) {
    await db.begin(async (sql) => {
      const place = readPosition({})
      assert.equal((await listDeliveries(sql, api.workspaceId, endpointId, { status }, place)).data.length, count)
      // The partition with these ids. The small ones, which other tests share, are scanned.
      const [read] = await sql<{ rows: number }[]>`
        select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as rows
        from pg_stat_xact_user_tables where relname = 'webhook_attempts_rest'`
      assert.ok((read?.rows ?? 0) < 2_000, `${read?.rows} rows were read for ${count} that are ${status}`)
    })
  }
})
