import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { sweepAnswers } from './internals.ts'
import { createBrowser, type Json, signIn, start, startSignedIn, until, withProvider } from './support.ts'

const withKey = (key: string) => ({ headers: { 'idempotency-key': key } })

test('the same key and bytes replay the first answer', async (t) => {
  const { api, db } = await start(t)
  const first = await api.post('/segments', { name: 'Once' }, withKey('k1'))
  const again = await api.post('/segments', { name: 'Once' }, withKey('k1'))

  assert.equal(first.status, 201)
  assert.equal(first.headers.get('idempotent-replayed'), null)
  assert.deepEqual([again.status, again.text], [201, first.text])
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(again.headers.get('content-type'), first.headers.get('content-type'))
  assert.equal((await db`select 1 from segments where workspace_id = ${api.workspaceId}`).length, 1)
})

test('a dashboard call repeated with a key runs once and is recorded once', async (t) => {
  const { api, url, owner, connect, db } = await start(t)
  await connect()
  const member = await signIn({ url, owner })
  const body = { name: 'News', template: { name: 'hello_world' }, recipients: [{ to: '+14155550100' }] }
  const send = () => member.call('POST', '/broadcasts', body, { 'idempotency-key': 'k1' })
  const [first, again] = [await send(), await send()]

  assert.equal(first.status, 202, first.text)
  assert.deepEqual([again.status, again.text], [202, first.text])
  assert.equal((await db`select 1 from broadcasts where workspace_id = ${api.workspaceId}`).length, 1)
  assert.equal(
    (await db`select 1 from audit_log where workspace_id = ${api.workspaceId} and action = 'broadcast.created'`).length,
    1,
  )
})

test('a used key with another body is rejected; keys of other paths and workspaces are independent', async (t) => {
  const { api, workspace } = await start(t)
  await api.post('/segments', { name: 'One' }, withKey('k'))
  assertBadRequest(await api.post('/segments', { name: 'Two' }, withKey('k')), /^Idempotency-Key: /)
  const bytes = await api.post('/segments', undefined, { raw: '{"name": "One"}', ...withKey('k') })
  assertBadRequest(bytes, /^Idempotency-Key: /)
  assert.equal((await api.post('/contacts', { phone: '+14155550100' }, withKey('k'))).status, 201)
  const other = await workspace()
  const elsewhere = await other.api.post('/segments', { name: 'One' }, withKey('k'))
  assert.deepEqual([elsewhere.status, elsewhere.headers.get('idempotent-replayed')], [201, null])
})

test('a rejection is not stored: the caller fixes the request and reuses the key', async (t) => {
  const { api } = await start(t)
  assertBadRequest(await api.post('/segments', { name: 5 }, withKey('k')))
  assertBadRequest(await api.post('/segments', { name: ' ' }, withKey('k')))
  const readOnly = await api.key('contacts:read')
  assertRefused(await api.post('/segments', { name: 'X' }, { ...withKey('k'), key: readOnly }), 403, 'forbidden')
  const absent = '/segments/01890000-0000-7000-8000-000000000000/contacts'
  assertRefused(await api.post(absent, { contact_ids: [api.workspaceId] }, withKey('k')), 404, 'not_found')
  assert.equal((await api.post('/segments', { name: 'Fixed' }, withKey('k'))).status, 201)
})

test('concurrent requests with one key, in any process, have one effect and one answer', async (t) => {
  const { api, url, twin, db } = await start(t)
  const bases = [url, await twin()]
  const key = await api.key('contacts:write')
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const response = await fetch(`${bases[i % 2]}/v1/segments`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'twin' },
        body: '{"name":"Twin"}',
      })
      const replayed = response.headers.get('idempotent-replayed')
      return { status: response.status, text: await response.text(), replayed }
    }),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.equal(answers.filter(({ replayed }) => replayed === null).length, 1)
  assert.equal((await db`select 1 from segments where workspace_id = ${api.workspaceId}`).length, 1)
})

test('a request with the same key waits for the one in flight, and takes over after a crash', async (t) => {
  const { api, db } = await start(t)
  const send = () => api.post('/segments', { name: 'Slow' }, withKey('slow'))
  await send()
  // As if the first were still at work, and had not finished.
  await db`delete from segments where workspace_id = ${api.workspaceId}`
  await db`
    update idempotency_keys set status = null, body = null, locked_until = now() + interval '1 hour'
    where workspace_id = ${api.workspaceId}`
  let answered = false
  const waiting = send().then((answer) => {
    answered = true
    return answer
  })
  await until('the twin to have asked', async () => {
    const asked = await db`select 1 from api_key_windows where workspace_id = ${api.workspaceId} and request_count >= 2`
    return asked.length > 0
  })
  assert.equal(answered, false)

  await db`update idempotency_keys set locked_until = now() - interval '1 second' where workspace_id = ${api.workspaceId}`

  const taken = await waiting
  assert.deepEqual([taken.status, taken.headers.get('idempotent-replayed')], [201, null])
})

test('a waiting request claims the key again only when its lease has ended', async (t) => {
  const { api, db } = await start(t, { alone: 'creates a trigger' })
  const send = () => api.post('/segments', { name: 'Slow' }, withKey('slow'))
  await send()
  await db`delete from segments where workspace_id = ${api.workspaceId}`
  await db`create sequence claims`
  await db`
    create function count_claim() returns trigger language plpgsql as
      'begin perform nextval(''claims''); return new; end'`
  await db`create trigger counted before insert on idempotency_keys for each row execute function count_claim()`
  const claims = async () => {
    const [row] = await db<{ count: number }[]>`
      select case when is_called then last_value::int else 0 end as count from claims`
    return row?.count
  }
  // As if the first died: its lease runs out by itself while the twin waits.
  await db`update idempotency_keys set status = null, body = null, locked_until = now() + interval '1 hour'`
  const waiting = send()
  await until('the twin to wait', async () => (await claims()) === 1)
  await db`update idempotency_keys set locked_until = now() + interval '500 ms'`
  assert.equal((await waiting).status, 201)
  assert.equal(await claims(), 2)
})

test('an answer is stored for a day', async (t) => {
  const { api, db } = await start(t)
  const age = (interval: string) => db`
    update idempotency_keys set created_at = now() - ${interval}::interval where workspace_id = ${api.workspaceId}`
  const first = await api.post('/contacts', { phone: '+14155550100' }, withKey('day'))
  await age('23 hours 59 minutes')
  await sweepAnswers(db)
  const replayed = await api.post('/contacts', { phone: '+14155550100' }, withKey('day'))
  assert.deepEqual([replayed.status, replayed.text], [201, first.text])

  await age('24 hours 1 second')
  const fresh = await api.post('/contacts', { phone: '+14155550100' }, withKey('day'))
  assert.deepEqual([fresh.status, fresh.headers.get('idempotent-replayed')], [200, null])

  await age('24 hours 1 second')
  await sweepAnswers(db)
  assert.equal((await db`select 1 from idempotency_keys where workspace_id = ${api.workspaceId}`).length, 0)
})

test('the query is part of the request: the same key with another query is refused', async (t) => {
  const { api } = await start(t)
  assert.equal((await api.post('/segments?a=1', { name: 'One' }, withKey('k'))).status, 201)
  assertBadRequest(await api.post('/segments?a=2', { name: 'One' }, withKey('k')), /^Idempotency-Key: /)
  const same = await api.post('/segments?a=1', { name: 'One' }, withKey('k'))
  assert.deepEqual([same.status, same.headers.get('idempotent-replayed')], [201, 'true'])
})

test('API keys and invitations, which are stored only as hashes, are never replayed', async (t) => {
  const { api, browser, db } = await startSignedIn(t)
  const once = { 'idempotency-key': 'k' }
  const newKey = () => browser.call('POST', '/keys', { name: 'CI', scopes: [] }, once)
  const [first, second] = [await newKey(), await newKey()]
  assert.deepEqual([first.status, second.status], [201, 201])
  assert.notEqual(second.body.data.key, first.body.data.key)
  assert.equal(second.headers.get('idempotent-replayed'), null)
  const temporaryKey = async () => (await browser.call('POST', '/keys/temporary', { scopes: [] }, once)).body.data.key
  assert.notEqual(await temporaryKey(), await temporaryKey())
  const invite = () => browser.call('POST', '/members', { email: 'new@acme.test', role: 'agent' }, once)
  const invited = await invite()
  assert.equal(invited.status, 201, invited.text)
  assert.notEqual((await invite()).text, invited.text)
  assert.equal((await db`select 1 from idempotency_keys where workspace_id = ${api.workspaceId}`).length, 0)
})

test('a response with a secret is replayed only to the API key or the member that made the request', async (t) => {
  const { api, url, browser, contract, memberRoutes, connect } = await startSignedIn(t)
  const site = (await connect()).connections.web.id
  const invited = await browser.call('POST', '/members', { email: 'second@acme.test', role: 'admin' })
  const second = createBrowser(url)
  const join = { name: 'Second', password: 'long enough' }
  assert.equal((await second.call('POST', `/invitations/${invited.body.data.invitation_token}`, join)).status, 201)
  const scopes = ['webhooks:manage', 'automations:manage'] as const
  const keys = [await api.key(...scopes), await api.key(...scopes)]
  const byKey = (path: string, body: object) => (of: 0 | 1) =>
    api.post(path, body, { ...withKey('k'), key: keys[of] ?? '' })
  const byMember = (path: string, body: object) => (of: 0 | 1) =>
    (of === 0 ? browser : second).call('POST', path, body, { 'idempotency-key': 'k' })
  const endpoint = { url: 'https://127.0.0.1:9/hook', events: ['contact.created'] }
  const { id } = (await api.post('/webhooks', endpoint)).body.data
  const definition = { trigger: { type: 'manual' }, steps: [{ type: 'end' }] }
  const automation = (await api.post('/automations', { name: 'Calls', definition })).body.data.id
  const calls = {
    'POST /v1/webhooks': byKey('/webhooks', endpoint),
    'POST /v1/webhooks/:id/rotate-secret': byKey(`/webhooks/${id}/rotate-secret`, {}),
    'POST /v1/automations/:id/rotate-secret': byKey(`/automations/${automation}/rotate-secret`, {}),
    'POST /app/api/automations/:id/rotate-secret': byMember(`/automations/${automation}/rotate-secret`, {}),
    'POST /app/api/webhooks': byMember('/webhooks', endpoint),
    'POST /app/api/webhooks/:id/rotate-secret': byMember(`/webhooks/${id}/rotate-secret`, {}),
    'POST /app/api/channels/web/identity-secret': byMember('/channels/web/identity-secret', {}),
    'POST /app/api/channels/:id/identity-secret': byMember(`/channels/${site}/identity-secret`, {}),
    'POST /app/api/integrations': byMember('/integrations', { ...endpoint, provider: 'tool_a' }),
  }
  for (const [name, call] of Object.entries(calls)) {
    const first = await call(0)
    assert.match(first.body.data?.secret ?? '', /^(?:wh|id)sec_/, `${name}: ${first.text}`)
    assertBadRequest(await call(1), /^Idempotency-Key: .*another caller/)
    const again = await call(0)
    assert.deepEqual([again.text, again.headers.get('idempotent-replayed')], [first.text, 'true'], name)
  }
  // No other stored response has a secret.
  const ofMembers = memberRoutes
    .filter(({ method, schema, config }) => {
      return (
        method === 'POST' && config?.storeAnswer !== false && /"secret"/.test(JSON.stringify(schema?.response ?? {}))
      )
    })
    .map(({ url: path }) => `POST ${path}`)
  const ofKeys = contract.operations
    .filter(
      ({ method, operation }) =>
        method === 'POST' && /CreatedWebhook|AutomationSecret/.test(JSON.stringify(operation.responses)),
    )
    .map(({ path }) => `POST /v1${path.replace('{id}', ':id')}`)
  assert.deepEqual(new Set([...ofKeys, ...ofMembers]), new Set(Object.keys(calls)))
})

test('another file sent with the same key is rejected', async (t) => {
  const { api, url, owner, db } = await start(t)
  const browser = createBrowser(url)
  const cookie = (await browser.signIn(owner)).headers.get('set-cookie')?.split(';')[0] ?? ''
  const post = async (path: string, type: string, body: string) => {
    const headers = { cookie, origin: 'http://parley.test', 'content-type': type, 'idempotency-key': 'k' }
    const response = await fetch(`${url}/app/api${path}`, { method: 'POST', headers, body })
    return { status: response.status, text: await response.text() }
  }
  const uploads = [await post('/uploads', 'text/plain', 'One'), await post('/uploads', 'text/plain', 'Another')]
  const stored = uploads.map(({ status, text }) => [status, JSON.parse(text).data?.size_bytes])
  assert.deepEqual(stored.flat(), [201, 3, 201, 7])
  const csv = 'phone\n+14155550100\n'
  const files = [await post('/imports', 'text/csv', csv), await post('/imports', 'text/csv', `${csv}+14155550101\n`)]
  assert.deepEqual(pluck(files, 'status'), [201, 201])
  const [one, other] = files.map(({ text }) => JSON.parse(text).data)
  assert.notEqual(one.id, other.id)
  assert.ok(one.size_bytes < other.size_bytes)
  assert.equal((await db`select 1 from contact_imports where workspace_id = ${api.workspaceId}`).length, 2)
})

test('a key has 1 to 255 characters and applies to POST only', async (t) => {
  const { api, db } = await start(t)
  assert.equal((await api.post('/contacts', { phone: '+14155550100' }, withKey('k'.repeat(255)))).status, 201)
  const long = withKey('k'.repeat(256))
  assertBadRequest(await api.post('/contacts', { phone: '+14155550101' }, long), /^Idempotency-Key: /)
  assertBadRequest(await api.post('/contacts', { phone: '+14155550101' }, withKey('')), /^Idempotency-Key: /)
  assert.equal((await api.get('/contacts', withKey('k'.repeat(256)))).status, 200)
  assert.equal((await db`select 1 from idempotency_keys where workspace_id = ${api.workspaceId}`).length, 1)
})

const hello = { to: '+14155550100', type: 'template', template: { name: 'hello_world' } }

test('concurrent sends with one key, in any process, reach the channel once and get one answer', async (t) => {
  const { api, url, twin, provider, db } = await withProvider(start(t))
  await provider.fault({ mode: 'delay', delay_ms: 300 })
  const bases = [url, await twin()]
  const key = await api.key('messages:send')
  const answers = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      const response = await fetch(`${bases[i % 2]}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'twin' },
        body: JSON.stringify(hello),
      })
      return `${response.status} ${await response.text()}`
    }),
  )
  assert.equal(new Set(answers).size, 1, answers[0])
  assert.match(answers[0] ?? '', /^201 /)
  assert.equal((await provider.sent()).length, 1)
  assert.equal((await db`select 1 from messages where workspace_id = ${api.workspaceId}`).length, 1)
  assertBadRequest(await api.post('/messages', { ...hello, name: 'Ann' }, withKey('twin')))
  assert.equal((await provider.sent()).length, 1)
})

test('a 500 is not stored: the retry runs and does not send a second time', async (t) => {
  const { api, provider, db } = await withProvider(start(t, { alone: 'creates triggers' }))
  const send = (key: string) => api.post('/messages', hello, withKey(key))
  const failOn = async (when: 'insert' | 'update') => {
    await db`
      create or replace function fail() returns trigger language plpgsql as 'begin raise exception ''disk full''; end'`
    await db`create trigger failing before ${db.unsafe(when)} on messages for each row execute function fail()`
  }

  // Before the channel was called.
  await failOn('insert')
  assertRefused(await send('early'), 500, 'internal')
  await db`drop trigger failing on messages`
  assert.equal((await provider.sent()).length, 0)
  const sent = await send('early')
  assert.deepEqual([sent.status, sent.headers.get('idempotent-replayed')], [201, null], sent.text)
  const replayed = await send('early')
  assert.deepEqual([replayed.text, replayed.headers.get('idempotent-replayed')], [sent.text, 'true'])
  assert.equal((await provider.sent()).length, 1)

  // After the channel accepted the message, which is pending when the request is repeated.
  await provider.fault({ mode: 'no_statuses' })
  await failOn('update')
  assertRefused(await send('late'), 500, 'internal')
  await db`drop trigger failing on messages`
  assert.equal((await provider.sent()).length, 2)
  const repeated = send('late')
  await until('the key to be claimed again', async () => {
    return (await db`select 1 from idempotency_keys where key = 'late' and locked_until > now()`).length > 0
  })
  await db`update messages set status = 'sent', external_id = 'wamid.late' where status = 'pending'`
  const answer = await repeated
  assert.deepEqual([answer.status, answer.body.data?.msgapp_message_id], [201, 'wamid.late'], answer.text)
  assert.equal((await provider.sent()).length, 2)
})

test('a broadcast whose answer failed is the same broadcast when the request is repeated', async (t) => {
  const { browser, connect, db } = await startSignedIn(t, { alone: 'renames a table' })
  await connect()
  const body = { name: 'News', template: { name: 'hello_world' }, recipients: [{ to: '+14155550100' }] }
  const send = () => browser.call('POST', '/broadcasts', body, { 'idempotency-key': 'k' })
  await db`alter table audit_log rename to hidden_log`
  assertRefused(await send(), 500, 'internal')
  await db`alter table hidden_log rename to audit_log`
  const repeated = dataOf(await send(), 202)
  assert.deepEqual(pluck(await db`select id from broadcasts`, 'id'), [repeated.id])
})

test('a request that takes too long is answered, and can be repeated with its key', async (t) => {
  const { api, db } = await start(t, { limits: { responseTimeoutMs: 1_500 } })
  const send = () => api.post('/segments', { name: 'Slow' }, withKey('k'))
  let first: Awaited<ReturnType<typeof send>> | undefined
  await db.begin(async (sql) => {
    await sql`lock table segments in access exclusive mode`
    first = await send()
  })
  assert.equal(first?.status, 500, first?.text)
  await until(
    'the abandoned request to end',
    async () => (await db`select 1 from segments where workspace_id = ${api.workspaceId}`).length === 1,
  )
  await db`delete from segments where workspace_id = ${api.workspaceId}`
  assert.equal((await send()).status, 201)
})

test('a request that waited too long for its key gets an answer and does not claim the key afterwards', async (t) => {
  const { api, db } = await start(t, { limits: { responseTimeoutMs: 1_500 } })
  const send = () => api.post('/segments', { name: 'Slow' }, withKey('k'))
  await send()
  await db`delete from segments where workspace_id = ${api.workspaceId}`
  await db`
    update idempotency_keys set status = null, body = null, locked_until = now() + interval '1 hour'
    where workspace_id = ${api.workspaceId}`
  assertRefused(await send(), 500, 'internal')
  await db`update idempotency_keys set locked_until = now() where workspace_id = ${api.workspaceId}`
  const taken = await send()
  assert.deepEqual([taken.status, taken.headers.get('idempotent-replayed')], [201, null], taken.text)
})

test('a send whose outcome is unknown is answered again, not sent again', async (t) => {
  const { api, provider } = await withProvider(start(t))
  await provider.fault({ mode: 'drop_connection_after_accept', count: 1 })
  const first = await api.post('/messages', hello, withKey('lost'))
  assertRefused(first, 502, 'platform_error', /not sent again/)
  const again = await api.post('/messages', hello, withKey('lost'))
  assert.deepEqual([again.status, again.text, again.headers.get('idempotent-replayed')], [502, first.text, 'true'])
  assert.equal((await provider.sent()).length, 1)
})

test('a send that crashed before it was prepared is sent by its retry; a failed send keeps its outcome', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  const die = () => db`
    update idempotency_keys set status = null, body = null, locked_until = now() - interval '1 second'
    where workspace_id = ${api.workspaceId}`
  await api.post('/messages', hello, withKey('early'))
  await db`delete from messages where workspace_id = ${api.workspaceId}`
  await die()
  assertStatus(await api.post('/messages', hello, withKey('early')), 201)
  assert.equal((await provider.sent()).length, 2)

  await provider.fault({ mode: 'reject', code: 131026, count: 1 })
  assertRefused(await api.post('/messages', hello, withKey('refused')), 502, 'platform_error')
  await die()
  assertRefused(await api.post('/messages', hello, withKey('refused')), 502, 'platform_error', /131026/)
  assert.equal((await provider.sent()).length, 2)

  await provider.goDown()
  assertRefused(await api.post('/messages', hello, withKey('unsent')), 502, 'platform_error')
  await provider.comeUp()
  await die()
  const unsent = await api.post('/messages', hello, withKey('unsent'))
  assertRefused(unsent, 502, 'platform_error', /nothing was sent$/)
  assert.equal(unsent.body.error.details.outcome, 'unsent')
  assert.equal((await provider.sent()).length, 2)
})

test('a member’s send that was in flight during a crash is not repeated on any channel, and its retry returns the outcome', async (t) => {
  const { api, url, owner, provider, db } = await withProvider(start(t))
  const member = await signIn({ url, owner })
  const die = (id: string) => db`
    with died as (update messages set status = 'pending', external_id = null where id = ${id})
    update idempotency_keys set status = null, body = null, locked_until = now() - interval '1 second'
    where workspace_id = ${api.workspaceId}`
  // No report of the channel is left that would change the message again.
  const isReported = (id: string) =>
    until('its last report', async () => {
      return (await db`select 1 from messages where id = ${id} and status = 'read'`).length > 0
    })
  const isTakenOver = async () => {
    const held =
      await db`select 1 from idempotency_keys where workspace_id = ${api.workspaceId} and locked_until > now()`
    return held.length > 0
  }
  for (const channel of ['msgapp', 'social', 'web'] as const) {
    const from = channel === 'msgapp' ? '+14155550100' : 'visitor-1'
    await (channel === 'web' ? visit(url, provider.connections.web.id) : provider.writes({ channel, from, text: 'Hi' }))
    const [conversation] = (await member.call('GET', `/conversations?channel=${channel}`)).body.data
    const path = `/conversations/${conversation.id}/messages`
    const reply = () => member.call('POST', path, { text: 'Hello' }, { 'idempotency-key': channel })
    const { id, msgapp_message_id, message_id } = dataOf(await reply(), 201)
    const sent = (await provider.sent()).length
    if (channel !== 'web') await isReported(id)
    await die(id)
    // The window closes meanwhile: what went out already is not refused for it.
    await db`update conversations set last_inbound_at = now() - interval '30 days' where workspace_id = ${api.workspaceId}`
    const repeated = reply()
    if (channel !== 'web') {
      await until('the key to be taken over', isTakenOver)
      await db`update messages set status = 'delivered', external_id = ${message_id} where id = ${id}`
    }
    const again = await repeated
    assert.equal(again.status, 201, again.text)
    assert.deepEqual([again.body.data.id, again.body.data.msgapp_message_id], [id, msgapp_message_id])
    assert.match(again.body.data.status, channel === 'web' ? /^sent$/ : /^(delivered|read)$/)
    assert.equal((await provider.sent()).length, sent)
    const stored = await db`
      select 1 from messages where workspace_id = ${api.workspaceId} and direction = 'outbound' and content_text = 'Hello'`
    assert.equal(stored.length, 1)
    await db`delete from messages where id = ${id}`
  }

  const tryOut = () =>
    member.call('POST', '/broadcasts/test', { template: hello.template, to: hello.to }, { 'idempotency-key': 'test' })
  const tested = await tryOut()
  await isReported(tested.body.data.id)
  const sent = (await provider.sent()).length
  await db`update messages set status = 'failed', external_id = null, error = '131026: no' where id = ${tested.body.data.id}`
  await db`
    update idempotency_keys set status = null, body = null, locked_until = now() - interval '1 second'
    where workspace_id = ${api.workspaceId}`
  assertRefused(await tryOut(), 502, 'platform_error', /131026/)
  assert.equal((await provider.sent()).length, sent)
})

/** A visitor of the site writes. */
async function visit(url: string, siteId: string): Promise<void> {
  const post = async (path: string, token: string, body?: unknown): Promise<Json> => {
    const response = await fetch(`${url}/web-chat/${siteId}${path}`, {
      method: 'POST',
      headers: { 'x-visitor-token': token, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    assert.equal(response.status, 201)
    const { data }: Json = await response.json()
    return data
  }
  const { visitor_token } = await post('/visitors', '')
  await post('/messages', visitor_token, { text: 'Hi' })
}

test('an exhausted quota is not stored: with quota available again the same key sends', async (t) => {
  const { api, provider, db } = await withProvider(start(t))
  await db`update workspaces set plan_messages_per_month = 0 where id = ${api.workspaceId}`
  assertRefused(await api.post('/messages', hello, withKey('plan')), 402, 'plan_limit_reached')
  await db`update workspaces set plan_messages_per_month = 1 where id = ${api.workspaceId}`
  assert.equal((await api.post('/messages', hello, withKey('plan'))).status, 201)
  assert.equal((await provider.sent()).length, 1)
})
