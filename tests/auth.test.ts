import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { importKey, scopes } from './internals.ts'
import {
  assertBadRequest,
  assertRefused,
  createMember,
  dataOf,
  type Json,
  main,
  signIn,
  start,
  until,
} from './support.ts'

test('GET /me describes the key, even one without scopes', main, async (t) => {
  const { api } = await start(t)
  const key = await api.key()

  const me = dataOf(await api.get('/me', { key }))
  assert.deepEqual(me.account, { id: api.workspaceId, name: 'Acme' })
  assert.deepEqual(me.key.scopes, [])
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  assert.equal(me.version, version)
  assert.equal(JSON.parse(readFileSync('sdk/package.json', 'utf8')).version, version)
  assertRefused(await api.get('/contacts', { key }), 403, 'forbidden', /contacts:read/)
})

test('missing, malformed, unknown, revoked and expired keys get byte-identical answers', async (t) => {
  const { api, db, url, owner } = await start(t)
  const browser = await signIn({ url, owner })
  const created = await browser.call('POST', '/keys', { name: 'Doomed', scopes: [...scopes] })
  const revoked = created.body.data.key
  assert.equal((await api.get('/me', { key: revoked })).status, 200)
  await browser.call('POST', `/keys/${created.body.data.id}/revoke`)
  const expired = 'legacy_live_0123456789abcdef0123456789'
  const past = new Date(Date.now() - 1_000).toISOString()
  await importKey(db, api.workspaceId, { name: 'Old', key: expired, scopes: ['contacts:read'], expires_at: past })

  const answers = await Promise.all([
    api.get('/me', { key: null }),
    api.get('/me', { key: '' }),
    api.get('/me', { key: null, headers: { authorization: 'Basic abc' } }),
    api.get('/me', { key: 'two words' }),
    api.get('/me', { key: `svc_live_${'0'.repeat(43)}` }),
    api.get('/me', { key: revoked }),
    api.get('/me', { key: expired }),
    api.get('/no/such/path', { key: revoked }),
    api.post('/contacts', undefined, { key: null, raw: '{broken' }),
    api.post('/contacts', { phone: 5 }, { key: expired }),
  ])

  for (const answer of answers) {
    assertRefused(answer, 401, 'unauthorized')
    assert.equal(answer.text, answers[0].text)
  }
})

test('a revoked key is rejected by every process from the next request on', async (t) => {
  const { url, owner, twin } = await start(t)
  const other = await twin()
  const browser = await signIn({ url, owner })
  const { key, id } = (await browser.call('POST', '/keys', { name: 'Shared', scopes: [] })).body.data
  const ask = async (base: string) =>
    (await fetch(`${base}/v1/me`, { headers: { authorization: `Bearer ${key}` } })).status
  assert.deepEqual([await ask(url), await ask(other)], [200, 200])

  await browser.call('POST', `/keys/${id}/revoke`)

  assert.deepEqual([await ask(other), await ask(url)], [401, 401])
})

test('a changed key has its new scopes and expiry from the next request on, in every process', async (t) => {
  const world = await start(t)
  const { api, db, url } = world
  const other = await world.twin()
  const browser = await signIn(world)
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  const made = await browser.call('POST', '/keys', { name: 'Shop', scopes: ['contacts:read'], expires_at: soon })
  const { key, id, ...shown } = dataOf(made, 201)
  assert.deepEqual([shown.expires_at, shown.state], [soon, 'active'])
  const ask = async (base: string, path: string) =>
    (await fetch(`${base}/v1${path}`, { headers: { authorization: `Bearer ${key}` } })).status
  assert.deepEqual([await ask(url, '/contacts'), await ask(other, '/conversations')], [200, 403])

  const change = (body: object) => browser.call('PATCH', `/keys/${id}`, body)
  const changed = dataOf(await change({ name: ' Store ', scopes: ['conversations:read', 'conversations:read'] }))
  assert.deepEqual([changed.name, changed.scopes, changed.expires_at], ['Store', ['conversations:read'], soon])
  assert.deepEqual([await ask(url, '/contacts'), await ask(other, '/conversations')], [403, 200])
  assert.equal(dataOf(await change({ expires_at: null })).expires_at, null)
  assert.deepEqual(dataOf(await change({})).scopes, ['conversations:read'])

  const past = new Date(Date.now() - 1_000).toISOString()
  for (const [body, message] of [
    [{ scopes: ['all'] }, /^scopes: unknown scope 'all'/],
    [{ expires_at: past }, /^expires_at: must be in the future/],
    [{ expires_at: 'tomorrow' }, /expires_at/],
    [{ name: ' ' }, /^name: /],
  ] as const) {
    assertBadRequest(await change(body), message)
  }
  assertBadRequest(await browser.call('POST', '/keys', { name: 'Old', scopes: [], expires_at: past }), /^expires_at: /)
  const agent = await createMember(browser, 'agent')
  assertRefused(await agent.call('PATCH', `/keys/${id}`, { scopes: [] }), 403, 'forbidden')
  assertRefused(await browser.call('PATCH', '/keys/nonsense', { scopes: [] }), 404, 'not_found')

  // An ended key cannot be revived.
  await db`update api_keys set expires_at = now() where workspace_id = ${api.workspaceId} and id = ${id}`
  assertBadRequest(await change({ expires_at: null }), /revoked or expired/)
  await browser.call('POST', `/keys/${id}/revoke`)
  assertBadRequest(await change({ expires_at: soon }), /revoked or expired/)
})

test('the key of the API reference has only the requested scopes, ends within 15 minutes, and is no first step', async (t) => {
  const world = await start(t)
  const browser = await signIn(world)
  const made = dataOf(await browser.call('POST', '/keys/temporary', { scopes: ['contacts:read'] }), 201)
  assert.deepEqual([made.name, made.scopes, made.state], ['API reference', ['contacts:read'], 'active'])
  const leftMs = Date.parse(made.expires_at) - Date.now()
  assert.ok(leftMs > 840_000 && leftMs < 960_000, `${leftMs}`)
  assert.equal((await world.api.get('/contacts', { key: made.key })).status, 200)
  assertRefused(await world.api.get('/conversations', { key: made.key }), 403, 'forbidden')
  assertBadRequest(await browser.call('POST', '/keys/temporary', { scopes: ['all'] }), /^scopes: /)
  const isKeyMade = async (): Promise<boolean> =>
    dataOf(await browser.call('GET', '/checklist')).items.find(({ name }: Json) => name === 'key_made').done
  assert.equal(await isKeyMade(), false)
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  dataOf(await browser.call('POST', '/keys', { name: 'Shop', scopes: [], expires_at: soon }), 201)
  assert.equal(await isKeyMade(), true)
  const agent = await createMember(browser, 'agent')
  assertRefused(await agent.call('POST', '/keys/temporary', { scopes: [] }), 403, 'forbidden')
})

test('a legacy key works until its expiry date', async (t) => {
  const { api, db, url, owner } = await start(t)
  const key = 'legacy_live_AbCdEf0123456789'
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  await importKey(db, api.workspaceId, { name: 'Old', key, scopes: ['contacts:read'], expires_at: soon })
  assert.equal((await api.get('/contacts', { key })).status, 200)

  await db`
    update api_keys set expires_at = now() where workspace_id = ${api.workspaceId} and expires_at is not null`

  assertRefused(await api.get('/contacts', { key }), 401, 'unauthorized')
  const browser = await signIn({ url, owner })
  const listed = (await browser.call('GET', '/keys')).body.data.find(({ name }: Json) => name === 'Old')
  assert.deepEqual([listed.state, listed.prefix], ['expired', 'legacy_live_AbCd'])
})

test(
  'exactly 120 requests a minute pass across all processes, and every answer states the remaining quota',
  main,
  async (t) => {
    const { api, db, url, twin } = await start(t)
    const bases = [url, await twin()]
    const key = await api.key('contacts:read')
    const ask = (base: string) => fetch(`${base}/v1/contacts?limit=1`, { headers: { authorization: `Bearer ${key}` } })

    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => ask(bases[i % 2] ?? url)))

    const passed = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 429)
    assert.deepEqual([passed.length, refused.length], [120, 180])
    const left = passed.map(({ headers }) => Number(headers.get('x-ratelimit-remaining'))).sort((a, b) => a - b)
    assert.deepEqual(left, [...Array(120).keys()])
    for (const { headers } of answers) {
      assert.equal(headers.get('x-ratelimit-limit'), '120')
      const reset = Number(headers.get('x-ratelimit-reset'))
      assert.ok(reset > Date.now() / 1000 && reset <= Date.now() / 1000 + 61)
    }
    for (const { headers } of refused) {
      const after = Number(headers.get('retry-after'))
      assert.ok(Number.isInteger(after) && after >= 1 && after <= 60)
      assert.equal(headers.get('x-ratelimit-remaining'), '0')
    }
    assertRefused(await api.get('/contacts', { key }), 429, 'rate_limited')
    assertRefused(await api.get('/nowhere', { key }), 429, 'rate_limited')

    // A minute later the window is new.
    await db`
      update api_key_windows set started_at = started_at - interval '60 seconds' where workspace_id = ${api.workspaceId}`
    const fresh = await api.get('/contacts', { key })
    assert.equal(fresh.status, 200)
    assert.equal(fresh.headers.get('x-ratelimit-remaining'), '119')
  },
)

test('a rejected request counts towards the rate limit of its key', async (t) => {
  const { api } = await start(t)
  const key = await api.key('contacts:read')
  await api.get('/contacts', { key })
  await api.post('/contacts', { phone: '+14155550100' }, { key })
  assert.equal((await api.get('/contacts/not-a-uuid', { key })).headers.get('x-ratelimit-remaining'), '117')
})

test('last_used_at is accurate to the minute and never earlier than created_at', async (t) => {
  const { api, db, url, owner } = await start(t)
  const browser = await signIn({ url, owner })
  const key = await api.key()
  const read = async () => (await browser.call('GET', '/keys')).body.data[0]
  const { last_used_at, created_at } = await read()
  assert.equal(last_used_at, null)

  await api.get('/me', { key })
  const used = await until('the use', async () => (await read()).last_used_at)
  assert.ok(used >= created_at, `used ${used}, created ${created_at}`)

  await db`
    update api_keys set created_at = created_at - interval '1 hour', last_used_at = null
    where workspace_id = ${api.workspaceId}`
  await api.get('/me', { key })
  const later = await until('the minute of use', async () => (await read()).last_used_at)
  assert.match(later, /:00\.000Z$/)
  assert.ok(Date.now() - Date.parse(later) < 120_000)
})

test('checks come in order: key, rate, scope, body, resource', async (t) => {
  const { api } = await start(t)
  const noScope = await api.key()
  const absent = '01890000-0000-7000-8000-000000000000'
  assertRefused(await api.patch(`/contacts/${absent}`, undefined, { key: null, raw: '{' }), 401, 'unauthorized')
  assertRefused(await api.patch(`/contacts/${absent}`, undefined, { key: noScope, raw: '{' }), 403, 'forbidden')
  assertBadRequest(await api.patch(`/contacts/${absent}`, { name: 5 }), /^name: /)
  assertRefused(await api.patch(`/contacts/${absent}`, { name: 'Ann' }), 404, 'not_found')
  assertBadRequest(await api.patch('/contacts/nonsense', { name: 5 }))
  assertRefused(await api.patch('/contacts/nonsense', { name: 'Ann' }), 404, 'not_found')
})

test('each route requires the scope that the OpenAPI document names', async (t) => {
  const { api, contract } = await start(t)
  const id = '01890000-0000-7000-8000-000000000000'
  for (const { method, path, operation } of contract.operations) {
    const [scope] = operation.security[0].bearerAuth
    if (!scope) continue
    const others = scopes.filter((other) => other !== scope)
    const answer = await api.call(method, path.replace('{id}', id), {
      key: await api.key(...others),
      ...(method === 'GET' ? {} : { body: {} }),
    })
    assertRefused(answer, 403, 'forbidden', new RegExp(scope))
  }
})

test('the scopes of the specification neither erase nor merge people, nor read notes and members', async (t) => {
  const { api } = await start(t)
  const internal = ['contacts:erase', 'conversations:write']
  const key = await api.key(...scopes.filter((scope) => !internal.includes(scope)))
  const { id } = (await api.post('/contacts', { phone: '+14155550100' }, { key })).body.data
  const other = (await api.post('/contacts', { phone: '+14155550101' }, { key })).body.data
  const merge = { contact_id: other.id }
  assertRefused(await api.delete(`/contacts/${id}`, undefined, { key }), 403, 'forbidden', /contacts:erase/)
  assertRefused(await api.post(`/contacts/${id}/merge`, merge, { key }), 403, 'forbidden', /contacts:erase/)
  assertRefused(await api.get(`/conversations/${id}/notes`, { key }), 403, 'forbidden', /conversations:write/)
  assertRefused(await api.get('/members', { key }), 403, 'forbidden', /conversations:write/)
  const eraser = { key: await api.key('contacts:erase') }
  assert.equal((await api.post(`/contacts/${id}/merge`, merge, eraser)).status, 200)
  assert.equal((await api.delete(`/contacts/${id}`, undefined, eraser)).status, 200)
  assert.equal((await api.get('/members', { key: await api.key('conversations:write') })).status, 200)
})

test('a workspace has at most 10,000 active keys; revoked and expired ones do not count', async (t) => {
  const { api, db, url, owner } = await start(t)
  await api.get('/me')
  const browser = await signIn({ url, owner })
  const create = () => browser.call('POST', '/keys', { name: 'Key', scopes: [] })
  const [{ count } = { count: 0 }] = await db<{ count: number }[]>`
    select count(*)::int as count from api_keys where workspace_id = ${api.workspaceId}`
  const insert = (many: number, columns: { revoked_at?: string; expires_at?: string }) => db`
    insert into api_keys (workspace_id, id, name, prefix, key_hash, scopes, created_at, revoked_at, expires_at)
    select ${api.workspaceId}, gen_random_uuid(), 'Key', 'svc_live_0000000', gen_random_uuid()::text, '{}', now(),
      ${columns.revoked_at ?? null}, ${columns.expires_at ?? null}
    from generate_series(1, ${many})`
  const yesterday = new Date(Date.now() - 86_400_000).toISOString()
  await insert(9_999 - count, {})
  await insert(50, { revoked_at: yesterday })
  await insert(50, { expires_at: yesterday })
  const last = await create()
  assert.equal(last.status, 201, last.text)
  assertBadRequest(await create(), /10,000 active keys/)
  await browser.call('POST', `/keys/${last.body.data.id}/revoke`)
  assert.equal((await create()).status, 201)
  // The list has all active keys and the newest of the others. A program that creates and revokes keys does not fill the database.
  await insert(1_000, { revoked_at: yesterday })
  assert.equal((await browser.call('GET', '/keys')).body.data.length, 11_000)
  await browser.call('POST', `/keys/${last.body.data.id}/revoke`)
  await insert(90_000, { revoked_at: yesterday })
  assertBadRequest(await create(), /100,000 with revoked ones/)
})
