/** The request log that members read: which requests it has, what it shows of each, and that no request waits for it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, assertBadRequest, assertRefused } from './assertions.ts'
import { holdTransaction } from './database.ts'
import { createBrowser, type Json, main, signIn, startSignedIn, until, withProvider } from './support.ts'

/** A workspace whose owner reads the log. `logged` waits until the log has the request of an answer. */
async function startReader(t: TestContext) {
  const world = await startSignedIn(t)
  const logged = async ({ headers }: Pick<Answer, 'headers'>): Promise<Json> => {
    const id = headers.get('x-request-id') ?? ''
    const found = await until('the request in the log', async () => {
      const { data } = await world.ask('GET', `/requests?request_id=${encodeURIComponent(id)}`)
      return data[0] as Json | undefined
    })
    return world.get(`/requests/${found.id}`)
  }
  const list = async (query = ''): Promise<Json[]> => (await world.ask('GET', `/requests${query}`)).data
  return { ...world, logged, list }
}

test(
  'the log has every request of the workspace, newest first, with its key, path, status and error',
  main,
  async (t) => {
    const { api, browser, workspace, logged, list } = await startReader(t)
    const { api: theirs } = await workspace({ name: 'Theirs' })
    const { data: key } = (await browser.call('POST', '/keys', { name: 'Shop', scopes: ['contacts:read'] })).body
    const own = { key: key.key as string }
    await theirs.get('/me?theirs=1')
    const found = await api.get('/contacts?email=ann@example.com&limit=1', own)
    await api.get('/me', { key: 'svc_live_wrong' })
    const traced = await api.get('/me', { ...own, headers: { 'x-request-id': 'trace-7' } })
    const refused = await api.post('/contacts', { phone: '+14155550100' }, own)
    const absent = await api.get('/nothing', own)
    await logged(absent)

    const requests = await list()
    assert.deepEqual(
      requests.map(({ method, path, status, error }) => [method, path, status, error?.code ?? null]),
      [
        ['GET', '/v1/nothing', 404, 'not_found'],
        ['POST', '/v1/contacts', 403, 'forbidden'],
        ['GET', '/v1/me', 200, null],
        ['GET', '/v1/contacts?email=ann@example.com&limit=1', 200, null],
      ],
    )
    for (const one of requests) {
      assert.deepEqual(one.key, { id: key.id, name: 'Shop', prefix: key.prefix })
      assert.ok(one.duration_ms >= 0 && one.duration_ms < 30_000)
      assert.ok(Math.abs(Date.parse(one.at) - Date.now()) < 60_000, one.at)
    }
    const { body: _, response: _r, ...summary } = await logged(refused)
    assert.deepEqual(summary, requests[1])
    assert.deepEqual(summary.error, { code: 'forbidden', message: refused.body.error.message })
    assert.equal((await logged(traced)).request_id, 'trace-7')
    assert.equal((await logged(found)).request_id, found.headers.get('x-request-id'))

    const paths = async (query: string) => (await list(query)).map(({ path }) => path.replace(/\?.*/, ''))
    assert.deepEqual(await paths('?status=failed'), ['/v1/nothing', '/v1/contacts'])
    assert.deepEqual(await paths('?status=succeeded'), ['/v1/me', '/v1/contacts'])
    assert.deepEqual(await paths('?status=403'), ['/v1/contacts'])
    assert.deepEqual(await paths('?path=contacts'), ['/v1/contacts', '/v1/contacts'])
    assert.deepEqual(await paths(`?path=${encodeURIComponent('email=ann@')}&status=200`), ['/v1/contacts'])
    assert.deepEqual(await paths('?request_id=trace-7'), ['/v1/me'])
    assert.deepEqual(await paths('?request_id=trace'), [])
    assert.equal((await paths(`?key_id=${key.id}`)).length, 4)
    assert.deepEqual(await paths(`?key_id=${api.workspaceId}`), [])
    for (const query of ['?status=ok', '?key_id=1', '?path=']) {
      assertBadRequest(await browser.call('GET', `/requests${query}`))
    }
  },
)

test('pages continue where the last one ended, and requests in between move nothing', async (t) => {
  const { api, ask, logged } = await startReader(t)
  for (let i = 0; i < 12; i++) await api.get(`/me?n=${i}`)
  await logged(await api.get('/me?n=12'))
  const seen: string[] = []
  let cursor = ''
  do {
    const page = await ask('GET', `/requests?limit=5&cursor=${cursor}`)
    seen.push(...page.data.map(({ path }: Json) => path))
    cursor = page.meta.next_cursor
    await logged(await api.get('/me?later=1'))
  } while (cursor)
  const paths = Array.from({ length: 13 }, (_, i) => `/v1/me?n=${12 - i}`)
  assert.deepEqual(seen, paths)
})

test('a member sees requests of their own workspace only', async (t) => {
  const { url, api, workspace, logged, ask } = await startReader(t)
  const refused = await logged(await api.post('/contacts', { phone: 'theirword' }))
  const cursor = (await ask('GET', '/requests?limit=1')).meta.next_cursor
  const { owner } = await workspace()
  const stranger = await signIn({ url, owner })
  assertRefused(await stranger.call('GET', `/requests/${refused.id}`), 404, 'not_found')
  for (const query of ['', `?cursor=${cursor}`, `?request_id=${refused.request_id}`, `?key_id=${refused.key.id}`]) {
    assert.deepEqual((await stranger.call('GET', `/requests${query}`)).body.data, [], query)
  }
  for (const id of ['x', `${api.workspaceId}-0`, `${refused.id}0`, refused.id.slice(0, -2)]) {
    assertRefused(await stranger.call('GET', `/requests/${id}`), 404, 'not_found')
    assertRefused(await createBrowser(url).call('GET', `/requests/${id}`), 401, 'unauthorized')
  }
})

test('the body of a failed write is kept without secrets, that of any other request is not', async (t) => {
  const { api, db, logged } = await startReader(t)
  const secret = 'hunter2-hunter2'
  const refused = await api.post('/webhooks', {
    url: `https://ann:${secret}@example.com/?token=${secret}`,
    events: ['contact.created'],
    secret,
    nested: { api_key: secret },
  })
  assert.equal(refused.status, 400)
  // All calls first: the log is written once a second.
  const answers = [
    await api.post('/contacts', undefined, { raw: `{"phone": 1, "password": "${secret}",}` }),
    await api.post('/contacts', { phone: 'x'.repeat(300_000) }),
    await api.post('/contacts', { phone: 'a\u0000\ud800' }),
    await api.post('/contacts', { phone: '+14155550100', name: 'Ann' }),
    await api.get(`/contacts?status=failed&limit=1&api_key=${secret}&tag=1`),
    await api.get(`/me?long=${'x'.repeat(2_000)}`),
    await api.post('/contacts', undefined, {
      raw: `{"password":"${secret}","nested":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    }),
  ]
  const entries: Json[] = []
  for (const answer of answers) entries.push(await logged(answer))
  const [broken, long, odd, created, read, cut, nested] = entries
  assert.deepEqual(JSON.parse((await logged(refused)).body), {
    url: 'https://[removed]@example.com/?token=[removed]',
    events: ['contact.created'],
    secret: '[removed]',
    nested: { api_key: '[removed]' },
  })
  assert.equal(broken.error.message, 'body: not valid JSON')
  assert.equal(broken.body, '{"phone": 1, "password": "[removed]",}')
  assert.ok(long.body.length < 5_000)
  assert.deepEqual(JSON.parse(odd.body), { phone: 'a\u0000\ud800' })
  assert.deepEqual([created.status, created.body], [201, null])
  assert.deepEqual([read.body, read.path], [null, '/v1/contacts?status=failed&limit=1&api_key=[removed]&tag=1'])
  assert.equal(cut.path.length, 500)
  assert.match(nested.body, /^\{"password":"\[removed\]","nested":\[{4000}/)
  const rows = await db<{ row: string }[]>`
    select r::text as row from api_requests r where workspace_id = ${api.workspaceId}`
  assert.ok(rows.every(({ row }) => !row.includes(secret) && !row.includes('svc_live_')))
})

test('the response of a failed request is kept as it was sent, without secrets', async (t) => {
  const { api, logged } = await startReader(t)
  const secret = 'hunter2-hunter2'
  const answers = [
    await api.get('/nothing'),
    await api.post('/contacts', { phone: 'nonsense' }),
    await api.post('/contacts', { phone: '+14155550100' }),
    await api.patch(`/contacts/${crypto.randomUUID()}`, { name: 'x' }),
  ]
  for (const answer of answers) {
    const { response } = await logged(answer)
    if (answer.status < 400) {
      assert.equal(response, null)
      continue
    }
    assert.equal(response.body, answer.text)
    const sent = new Map<string, string>(response.headers.map(({ name, value }: Json) => [name, value]))
    for (const name of ['x-request-id', 'x-ratelimit-remaining', 'content-type', 'content-length']) {
      assert.equal(sent.get(name), answer.headers.get(name), name)
    }
  }
  const quoted = await api.post('/webhooks', { url: `https://x.test/?token=${secret}`, events: [`token=${secret}`] })
  assert.equal(quoted.status, 400)
  assert.ok(!JSON.stringify(await logged(quoted)).includes(secret))
})

test('a replayed failure has its error, and a request whose client left has no status', async (t) => {
  const { api, url, provider, get, list, logged } = await withProvider(startReader(t))
  const [rejected, slow] = ['+14155550101', '+14155550102']
  await provider.fault({ to: rejected, mode: 'reject', count: 1 })
  await provider.fault({ to: slow, mode: 'delay', delay_ms: 20_000 })
  const message = { to: rejected, type: 'template', template: { name: 'hello_world' } }
  const once = { headers: { 'idempotency-key': 'once' } }
  const first = await api.post('/messages', message, once)
  const replayed = await api.post('/messages', message, once)
  assert.deepEqual([first.status, replayed.headers.get('idempotent-replayed')], [502, 'true'], first.text)

  const leaving = new AbortController()
  const call = fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await api.key('messages:send')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...message, to: slow }),
    signal: leaving.signal,
  })
  await until('the message at the provider', async () => (await api.get('/contacts?search=5550102')).body.data[0])
  leaving.abort()
  await assert.rejects(call)
  const left = await until(
    'the three requests',
    async () => (await list('?path=/v1/messages&status=failed'))[2] && (await list('?path=/v1/messages'))[0],
  )
  const kept = await get(`/requests/${left.id}`)
  assert.deepEqual([kept.status, kept.error, kept.response, JSON.parse(kept.body).to], [null, null, null, slow])
  for (const answer of [first, replayed]) {
    const { status, error, body, response } = await logged(answer)
    const { code, message } = answer.body.error
    assert.deepEqual([status, error, JSON.parse(body).to], [502, { code, message }, rejected])
    assert.deepEqual(JSON.parse(response.body), answer.body)
  }
})

test('requests are answered while the log cannot be written, and are logged afterwards', async (t) => {
  const { api, db, logged } = await startReader(t)
  const release = await holdTransaction(db, 'lock table api_requests in access exclusive mode')
  const answers: Answer[] = []
  const attempts = new Set<string>()
  await until('a second attempt, after the log gave up the first', async () => {
    if (answers.length < 100) answers.push(await api.get('/me'))
    const waiting = await db<{ attempt: string }[]>`
      select pid || ' ' || query_start as attempt from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query ~ 'into api_requests'`
    for (const { attempt } of waiting) attempts.add(attempt)
    return attempts.size > 1
  })
  await release()
  for (const answer of [answers[0], answers.at(-1)]) assert.equal(answer && (await logged(answer)).status, 200)
})
