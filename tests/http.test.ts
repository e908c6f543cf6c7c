import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { get, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib'
import { assertRefused, assertStatus } from './assertions.ts'
import { createLog, eventNames } from './internals.ts'
import {
  assertBadRequest,
  createBrowser,
  dataOf,
  type Json,
  signIn,
  start,
  times,
  until,
  withProvider,
} from './support.ts'

/** What comes back on a bare connection until the server closes it. */
function talk(url: string, write: (send: (text: string) => void) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => write((text) => socket.write(text)))
    let received = ''
    socket.setEncoding('utf8')
    socket.on('data', (text) => {
      received += text
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}

test("every answer has a request id: the caller's own if it is a valid token", async (t) => {
  const { api, url } = await start(t)
  const named = await api.get('/me', { headers: { 'x-request-id': 'order-4711.a' } })
  assert.equal(named.headers.get('x-request-id'), 'order-4711.a')
  const seen = new Set<string>()
  for (const odd of ['', 'has space', 'x'.repeat(129), '<script>', 'a"b']) {
    const id = (await api.get('/me', { headers: { 'x-request-id': odd } })).headers.get('x-request-id') ?? ''
    assert.match(id, /^[0-9a-f-]{36}$/)
    seen.add(id)
  }
  assert.equal(seen.size, 5)
  for (const path of ['/healthz', '/nowhere', '/docs', '/openapi.json', '/app/api/session']) {
    const { headers } = await fetch(url + path)
    assert.ok(headers.get('x-request-id'), path)
    assert.equal(headers.get('strict-transport-security'), null, path)
  }
})

test('with an https PUBLIC_URL every answer has HSTS, also behind a proxy that ends the encryption', async (t) => {
  const { url } = await start(t, { publicUrl: 'https://parley.test' })
  for (const path of ['/healthz', '/nowhere', '/openapi.json', '/v1/me', '/app/api/session']) {
    const { headers } = await fetch(url + path)
    assert.equal(headers.get('strict-transport-security'), 'max-age=31536000', path)
  }
})

test('unknown paths and wrong methods are 404, after the key is checked', async (t) => {
  const { api } = await start(t)
  for (const [method, path] of [
    ['GET', '/nowhere'],
    ['GET', ''],
    ['GET', '/'],
    ['GET', '/me/'],
    ['GET', '/Me'],
    ['PUT', '/me'],
    ['DELETE', '/contacts'],
    ['POST', '/me'],
    ['PUT', '/segments/01890000-0000-7000-8000-000000000000'],
    ['OPTIONS', '/contacts'],
    ['GET', '/contacts/%'],
    ['GET', '/contacts/%zz'],
    ['GET', '/%E0%A4%A'],
    ['GET', '/contacts/a%2Fb'],
    ['GET', `/contacts/${'x'.repeat(2000)}`],
    ['GET', '/contacts/01890000-0000-7000-8000-00000000000g'],
  ] as const) {
    assertRefused(await api.call(method, path), 404, 'not_found')
    assertRefused(await api.call(method, path, { key: null }), 401, 'unauthorized')
  }
})

test('HEAD answers wherever GET does: the same status and headers, no body, and no open stream', async (t) => {
  const { api, url, owner, connect, memberRoutes } = await start(t, { pages: true })
  const { connections } = await connect()
  const contact = (await api.post('/contacts', { phone: '+14155550100' })).body.data
  const browser = createBrowser(url, url)
  const cookie = (await browser.signIn(owner)).headers.get('set-cookie')?.split(';')[0] ?? ''
  const member = { cookie }
  const upload = await fetch(`${url}/app/api/uploads`, {
    method: 'POST',
    headers: { ...member, origin: url, 'content-type': 'text/plain' },
    body: 'a file',
  })
  const { data: file }: Json = await upload.json()
  const visitors = await fetch(`${url}/web-chat/${connections.web.id}/visitors`, { method: 'POST' })
  const { data: visitor }: Json = await visitors.json()
  const program = { authorization: `Bearer ${await api.key('contacts:read', 'conversations:read', 'webhooks:manage')}` }
  const stream = '/app/api/stream'
  const plain = memberRoutes
    .filter(({ method, url: path }) => method === 'GET' && path !== stream && !path.includes(':'))
    .map(({ url: path }): [string, Record<string, string>] => [path, member])
  assert.ok(plain.length > 15)
  const asked: [path: string, headers: Record<string, string>][] = [
    ...['/', '/inbox/x', '/docs', '/openapi.json', '/healthz', '/readyz', '/metrics', '/widget.js', '/nowhere'].map(
      (path): [string, Record<string, string>] => [path, {}],
    ),
    ...['/me', '/contacts', `/contacts/${contact.id}`, '/conversations', '/webhooks', '/events/stream', '/nowhere'].map(
      (path): [string, Record<string, string>] => [`/v1${path}`, program],
    ),
    ['/v1/me', {}],
    ['/app/api/session', {}],
    ...plain,
    // After the others: an open stream changes the availability of the member, which some of them show.
    [stream, member],
    [new URL(file.media_url).pathname, {}],
    [new URL(file.media_url).pathname, { range: 'bytes=0-1' }],
    [`/web-chat/${connections.web.id}/stream?token=${visitor.visitor_token}`, {}],
  ]
  const changing = /^(date|x-request-id|x-ratelimit-remaining|transfer-encoding|connection|keep-alive)$/
  const headersOf = (response: Response) =>
    Object.fromEntries([...response.headers].filter(([name]) => !changing.test(name)))
  for (const [path, headers] of asked) {
    const abort = new AbortController()
    const got = await fetch(url + path, { headers, signal: abort.signal })
    const expected = headersOf(got)
    abort.abort()
    const head = await fetch(url + path, { method: 'HEAD', headers })
    assert.equal(head.status, got.status, path)
    // An answer with counts or times changes from one request to the next: then a second GET has another length than the first, too.
    const length = head.headers.get('content-length')
    if (length !== (expected['content-length'] ?? null)) {
      const again = await fetch(url + path, { headers })
      await again.body?.cancel()
      if (again.headers.get('content-length') !== expected['content-length']) expected['content-length'] = length ?? ''
    }
    assert.deepEqual(headersOf(head), expected, path)
    assert.equal(await head.text(), '', path)
  }
})

test('a wrong method on a known path gets the Allow header, after the key is checked', async (t) => {
  const { api, url } = await start(t, { pages: true })
  const id = '01890000-0000-7000-8000-000000000000'
  for (const [method, path, allow] of [
    ['PUT', '/me', 'GET, HEAD'],
    ['DELETE', '/contacts', 'GET, HEAD, POST'],
    ['PUT', `/segments/${id}`, 'DELETE, GET, HEAD, PATCH'],
    ['GET', '/messages', 'POST'],
    ['OPTIONS', '/messages', 'POST'],
    ['OPTIONS', '/contacts/batch', 'POST'],
    ['OPTIONS', '/messages/check', 'POST'],
    ['OPTIONS', '/broadcasts/check', 'POST'],
    ['OPTIONS', `/contacts/${id}`, 'DELETE, GET, HEAD, PATCH'],
    ['GET', '/nowhere', null],
  ] as const) {
    const refused = await api.call(method, path)
    assertRefused(refused, 404, 'not_found')
    assert.equal(refused.headers.get('allow'), allow, path)
    assert.equal((await api.call(method, path, { key: null })).headers.get('allow'), null)
  }
  for (const [path, allow] of [
    ['/healthz', 'GET, HEAD'],
    ['/inbox/x', 'GET, HEAD'],
    ['/nowhere', null],
  ] as const) {
    const refused = await fetch(url + path, { method: 'POST' })
    assert.deepEqual([refused.status, refused.headers.get('allow')], [404, allow], path)
  }
})

test('a body that is not JSON is rejected with an explanation', async (t) => {
  const { api } = await start(t)
  const refused = async (raw: string | Uint8Array, message: RegExp, headers: Record<string, string> = {}) =>
    assertBadRequest(await api.post('/contacts', undefined, { raw, headers }), message)
  await refused('{', /^body: not valid JSON/)
  await refused('', /^body: /)
  await refused('[]', /^body: must be an object/)
  await refused('null', /^body: must be an object/)
  await refused('\uFEFF\uFEFF{}', /^body: not valid JSON/)
  await refused(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), /^body: not UTF-8/)
  await refused('{"phone":"+14155550100"}', /^content-type: /, { 'content-type': 'text/plain' })
  await refused('phone=1', /^content-type: /, { 'content-type': 'application/x-www-form-urlencoded' })
  await refused('['.repeat(41) + ']'.repeat(41), /^body: nested/)
  await refused('['.repeat(500_000), /^body: /)
  await refused(JSON.stringify({ phone: '+14155550100', name: 'x'.repeat(1024 * 1024) }), /^body: over 1 MiB/)
  await refused('{"phone":"+14155550100","name":"a\\u0000b"}', /^name: /)
  await refused('{"phone":"+14155550100","tags":["ok","\\ud800"]}', /^tags\[1\]: /)
  const ignored = await api.post('/contacts', undefined, {
    raw: '{"phone":"+14155550100","extra":"\\u0000","__proto__":{"a":1}}',
  })
  assert.equal(ignored.status, 201)
})

test('a body may begin with a byte order mark', async (t) => {
  const { api } = await start(t)
  assertStatus(await api.post('/contacts', undefined, { raw: '\uFEFF{"phone":"+14155550100"}' }), 201)
})

test('a client that has the newest version of a document gets 304 without a body', async (t) => {
  const { url, api } = await start(t)
  const key = await api.key('messages:send', 'contacts:read')
  for (const path of ['/openapi.json', '/v1/templates', '/v1/tags']) {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`${url}${path}`, { headers })
    const etag = answer.headers.get('etag') ?? ''
    assert.match(etag, /^W\/"[\w-]{22}"$/, path)
    assert.match(answer.headers.get('cache-control') ?? '', /no-cache/)
    for (const known of [etag, etag.slice(2), `"other", ${etag}`]) {
      const again = await fetch(`${url}${path}`, { headers: { ...headers, 'if-none-match': known } })
      assert.deepEqual([again.status, await again.text()], [304, ''], known)
      assert.equal(again.headers.get('etag'), etag)
    }
    const changed = await fetch(`${url}${path}`, { headers: { ...headers, 'if-none-match': '"other"' } })
    assert.equal(changed.status, 200)
    assert.equal(await changed.text(), await answer.text())
  }
})

test('a body may be compressed; its decompressed size is limited like any other', async (t) => {
  const { api, url, owner } = await start(t)
  const post = (body: string, compress: (bytes: Buffer) => Buffer, encoding: string, key?: string) =>
    api.post('/contacts', undefined, {
      raw: new Uint8Array(compress(Buffer.from(body))),
      headers: { 'content-encoding': encoding, ...(key ? { 'idempotency-key': key } : {}) },
    })
  const same = (bytes: Buffer) => bytes
  const contact = (i: number) => JSON.stringify({ phone: `+1415555010${i}` })
  const ways = [
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', same],
  ] as const
  for (const [i, [encoding, compress]] of ways.entries()) {
    const created = await post(contact(i), compress, encoding, 'k'.repeat(i + 1))
    assert.equal(created.status, 201, `${encoding}: ${created.text}`)
    // A repeat is the same request with any compression.
    const replayed = await post(contact(i), same, 'identity', 'k'.repeat(i + 1))
    assert.deepEqual([replayed.text, replayed.headers.get('idempotent-replayed')], [created.text, 'true'])
  }
  for (const encoding of ['zstd', 'gzip, br', 'x']) {
    const refused = await post(contact(9), gzipSync, encoding)
    assertBadRequest(refused, 'content-encoding: must be gzip, deflate or br')
    assert.equal(refused.headers.get('accept-encoding'), 'gzip, deflate, br')
  }
  assertBadRequest(await post(contact(9), same, 'gzip'), 'body: not valid gzip')
  assertBadRequest(await post(contact(9), same, 'br'), 'body: not valid br')
  const cutOff = (bytes: Buffer) => gzipSync(bytes).subarray(0, -9)
  assertBadRequest(await post(contact(9), cutOff, 'gzip'), 'body: not valid gzip')
  const { headers } = await createBrowser(url).signIn(owner)
  const upload = await fetch(`${url}/app/api/uploads`, {
    method: 'POST',
    headers: { cookie: headers.get('set-cookie') ?? '', origin: url, 'content-encoding': 'gzip' },
    body: 'a file',
  })
  assert.deepEqual([upload.status, /"content-encoding: /.test(await upload.text())], [400, true])
  const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024))
  assertBadRequest(await post('', () => bomb, 'gzip'), 'body: over 1 MiB')
})

test('an answer above 1 KB is compressed for a client that accepts it', async (t) => {
  const { api, url } = await start(t, { pages: true })
  const key = await api.key('contacts:read', 'contacts:write', 'webhooks:manage')
  const ask = (path: string, encoding: string) =>
    new Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, 'accept-encoding': encoding }
      get(url + path, { headers }, (answer) => {
        const parts: Buffer[] = []
        answer.on('data', (part) => parts.push(part))
        answer.on('end', () => resolve({ headers: answer.headers, bytes: Buffer.concat(parts) }))
        // A stream does not end by itself.
        if (answer.headers['content-type']?.startsWith('text/event-stream')) answer.destroy()
        answer.on('close', () => resolve({ headers: answer.headers, bytes: Buffer.concat(parts) }))
      }).on('error', reject)
    })
  for (const i of [0, 1, 2, 3]) await api.post('/contacts', { phone: `+1415555010${i}`, name: 'É'.repeat(300) })

  for (const path of ['/v1/contacts', '/openapi.json', '/widget.js', '/metrics']) {
    const plain = await ask(path, 'identity')
    assert.deepEqual([plain.headers['content-encoding'], plain.headers.vary], [undefined, 'accept-encoding'], path)
    for (const [accepted, used, open] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip;q=0.5', 'gzip', gunzipSync],
      ['br;q=0, gzip', 'gzip', gunzipSync],
    ] as const) {
      const { headers, bytes } = await ask(path, accepted)
      assert.deepEqual([headers['content-encoding'], headers.vary], [used, 'accept-encoding'], path)
      assert.equal(Number(headers['content-length']), bytes.length)
      assert.ok(bytes.length < plain.bytes.length / 2, `${path}: ${bytes.length} of ${plain.bytes.length}`)
      if (path !== '/metrics') assert.equal(open(bytes).toString(), plain.bytes.toString())
    }
  }
  for (const path of ['/v1/me', '/healthz', '/v1/events/stream', '/v1/contacts?limit=0&cursor=x&search=zzz']) {
    assert.equal((await ask(path, 'gzip')).headers['content-encoding'], undefined, path)
  }
  assert.match((await ask(`/v1/contacts?tag=${'x'.repeat(2_000)}`, 'gzip')).bytes.toString(), /^\{"error"/)
})

test('a query parameter with brackets means the parameter without them', async (t) => {
  const { api } = await start(t)
  await api.post('/contacts', { phone: '+14155550100' })
  const count = async (query: string) => (await api.get(`/contacts${query}`)).body.data.length
  assert.deepEqual([await count('?channel[]=social'), await count('?channel[0]=msgapp')], [0, 1])
  assert.deepEqual([await count('?search%5B%5D=zzz'), await count('?unknown[]=x&unknown[]=y')], [0, 1])
  for (const query of ['tag[]=a&tag[]=b', 'tag=a&tag=b', 'tag[0]=a&tag[1]=b', 'tag=a&tag[]=b']) {
    assertBadRequest(await api.get(`/contacts?${query}`), 'tag: must be a string')
  }
  assertBadRequest(await api.get('/conversations?status[]=open&status[]=closed'), /^status: /)
  assertRefused(await api.get('/conversations?channel[]=nowhere'), 400, 'invalid_request', /^channel: /)
  assert.equal((await api.get('/contacts?limit[]=1&limit[]=2')).status, 200)
})

const hurried = { headersTimeoutMs: 200, requestTimeoutMs: 400 }

test('a client that sends too slowly, with too many headers or malformed HTTP is disconnected with the usual error body', async (t) => {
  const { url } = await start(t, { limits: hurried })
  const slowHeaders = await talk(url, (send) => send('GET /v1/me HTTP/1.1\r\nHost: x\r\n'))
  const slowBody = await talk(url, (send) =>
    send('POST /v1/contacts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"a"'),
  )
  const flood = await talk(url, (send) => send(`GET /v1/me HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`))
  const nonsense = await talk(url, (send) => send('HELLO\r\n\r\n'))
  for (const answer of [slowHeaders, flood, nonsense]) {
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /\{"error":\{"code":"bad_request","message":"request: .+"\}\}$/)
  }
  assert.match(slowBody, /^HTTP\/1\.1 40[01] /)
})

test('a request that arrives while the process is busy is answered, however long that takes', async (t) => {
  const { api, url } = await start(t, { limits: hurried })
  const key = await api.key()
  const answer = await talk(url, async (send) => {
    send('GET /v1/me HTTP/1.1\r\n')
    // The service has read the first line when it answers another connection.
    await (await fetch(`${url}/healthz`)).text()
    // Between reading and timers, so that a timer is the first to run afterwards.
    await new Promise(setImmediate)
    send(`Authorization: Bearer ${key}\r\nConnection: close\r\n\r\n`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
  })
  assert.match(answer, /^HTTP\/1\.1 200 /)
})

test('a request that waits too long for the database gets an answer', async (t) => {
  const { api, url, db } = await start(t, { limits: { responseTimeoutMs: 1_500 } })
  const key = await api.key('contacts:read', 'contacts:write')
  const call = async (method: string, path: string, body?: string) => {
    const headers = { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) }
    return (await fetch(url + path, { method, headers, ...(body ? { body } : {}) })).status
  }
  for (const [table, expected] of [
    ['contacts', [500, 500, 404]],
    ['api_keys', [500, 500, 500]],
  ] as const) {
    await db.begin(async (sql) => {
      await sql`lock table ${sql(table)} in access exclusive mode`
      const answers = [
        call('GET', '/v1/contacts'),
        call('POST', '/v1/contacts', '{"phone":"+14155550100"}'),
        call('GET', '/v1/nowhere'),
      ]
      assert.deepEqual(await Promise.all(answers), expected, table)
    })
  }
})

test('a 500 reveals no internals, and its log line has the request id and no secret', async (t) => {
  const lines: string[] = []
  const log = createLog('debug', { write: (line: string) => void lines.push(line) })
  const { api, db, url, owner } = await start(t, { log })
  const key = await api.key('contacts:read')
  const browser = await signIn({ url, owner })
  const invited = await browser.call('POST', '/members', { email: 'new@acme.test', role: 'agent' })
  const { invitation_token: token } = invited.body.data
  await browser.call('POST', `/invitations/${token}`, { name: 'New', password: 'short' })
  await api.get('/contacts?search=Someone', { key })
  await db`alter table contacts rename column name to hidden`

  const failed = await api.get('/contacts', { key, headers: { 'x-request-id': 'find-me' } })

  assertRefused(failed, 500, 'internal')
  assert.doesNotMatch(failed.text, /column|contacts|select|postgres/i)
  assert.equal(failed.headers.get('x-request-id'), 'find-me')
  const line = lines.find((text) => text.includes('"level":50')) ?? ''
  assert.match(line, /"reqId":"find-me"/)
  assert.match(line, /column c\.name does not exist/)
  for (const secret of [key, owner.password, 'Bearer', token, 'Someone']) assert.ok(!lines.join().includes(secret))
})

test('a database error is logged without the row values it quotes', async (t) => {
  const lines: string[] = []
  const log = createLog('debug', { write: (line: string) => void lines.push(line) })
  const { api, db } = await start(t, { log })
  await db`alter table contacts add constraint no_such_name check (name <> 'Ann Customer')`
  assertRefused(await api.post('/contacts', { phone: '+14155550123', name: 'Ann Customer' }), 500, 'internal')
  const line = lines.find((text) => text.includes('"level":50')) ?? ''
  assert.match(line, /"message":"new row .*violates check constraint/)
  const { err } = JSON.parse(line)
  assert.deepEqual([err.code, err.constraint_name, err.table_name], ['23514', 'no_such_name', 'contacts'])
  assert.match(err.stack, /PostgresError/)
  for (const data of ['Ann Customer', '4155550123']) assert.ok(!lines.join().includes(data), line)
})

test('a client that pipelines thousands of requests is disconnected and delays no other client', async (t) => {
  const { api, url } = await start(t)
  const flood = talk(url, (send) => send('GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20_000))).catch(() => '')
  assert.equal((await api.get('/me')).status, 200)
  assert.ok((await flood).split('HTTP/1.1').length <= 101)
  const few = await talk(url, (send) =>
    send(
      `${'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50)}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    ),
  )
  assert.equal(few.split('HTTP/1.1 200').length - 1, 51)
})

test('no answer of the API allows another origin to read it', async (t) => {
  const { api, url } = await start(t)
  const asked = await api.get('/me', { headers: { origin: 'https://shop.test' } })
  const cors = [...asked.headers.keys()].filter((name) => name.startsWith('access-control-'))
  assert.deepEqual(cors, [])
  const preflight = await fetch(`${url}/v1/me`, {
    method: 'OPTIONS',
    headers: { origin: 'https://shop.test', 'access-control-request-method': 'GET' },
  })
  assert.equal(preflight.headers.get('access-control-allow-origin'), null)
})

test('health, readiness and metrics report the state of the service', async (t) => {
  const { api, url } = await start(t)
  const read = async () => (await fetch(`${url}/metrics`)).text()
  const countOf = (text: string, name: string) => Number(text.split(`\n${name} `)[1]?.split('\n')[0] ?? 0)
  const before = await read()
  await api.get('/me')
  await api.get('/nowhere')
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
  const metrics = await read()
  for (const name of [
    'parley_http_requests_total{method="GET",route="/v1/me",status="200"}',
    'parley_http_request_duration_seconds_bucket{le="+Inf",method="GET",route="/v1/me"}',
  ]) {
    assert.equal(countOf(metrics, name) - countOf(before, name), 1, name)
  }
  assert.match(metrics, /parley_database_connections\{state="\w+"\} \d+/)
  assert.match(metrics, /process_resident_memory_bytes \d+/)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  assert.ok(metrics.includes(`parley_build_info{version="${version}"} 1\n`))
})

test('metrics have the estimated space of each workspace in the database', async (t) => {
  const { url, api, db, workspace } = await start(t, { alone: 'analyzes tables and is scraped once' })
  const { api: small } = await workspace()
  const company = 'x'.repeat(400)
  const contacts = Array.from({ length: 1_000 }, (_, i) => ({ phone: `+1415${5_000_000 + i}`, company }))
  for (const [each, count] of [
    [api, 1_000],
    [small, 100],
  ] as const) {
    assertStatus(await each.post('/contacts/batch', { contacts: contacts.slice(0, count) }), 200)
  }
  await db`analyze contacts, contact_identities`
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const bytesOf = (id: string) => Number(metrics.match(`parley_workspace_bytes{workspace="${id}"} (\\d+)`)?.[1])
  const [large, little] = [bytesOf(api.workspaceId), bytesOf(small.workspaceId)]
  assert.ok(large > 500_000 && large < 20_000_000, `${large} bytes for 1,000 contacts with 400 characters each`)
  assert.ok(little > large / 50 && little < large / 5, `${little} bytes for 100 of them`)
})

test('readiness needs the tables of the database', async (t) => {
  const { url, db } = await start(t, { alone: 'DDL' })
  const readiness = async () => {
    const response = await fetch(`${url}/readyz`)
    return { status: response.status, body: await response.json() }
  }
  assert.equal((await readiness()).status, 200)
  await db`alter table migrations rename to migrations_elsewhere`
  assert.deepEqual(await readiness(), { status: 503, body: { ready: false, failing: ['migrations'] } })
  await db`alter table migrations_elsewhere rename to migrations`
  assert.equal((await readiness()).status, 200)
})

test('readiness names a loop that keeps failing, until it recovers', async (t) => {
  const health = { ...times.health, graceMs: 100 }
  const { url, db } = await start(t, { alone: 'DDL', times: { ...times, health } })
  const readiness = async () => {
    const response = await fetch(`${url}/readyz`)
    return { status: response.status, body: await response.json() }
  }
  assert.deepEqual(await readiness(), { status: 200, body: { ready: true, status: 'ready' } })
  await db`alter table broadcasts rename to broadcasts_elsewhere`
  await until('the loop to be named', async () => (await readiness()).status === 503)
  assert.deepEqual(await readiness(), { status: 503, body: { ready: false, failing: ['broadcasts'] } })
  await db`alter table broadcasts_elsewhere rename to broadcasts`
  await until('the loop to work again', async () => (await readiness()).status === 200)
})

test('readiness does not wait for the end of a broadcast that goes on after a failure', async (t) => {
  const health = { ...times.health, graceMs: 100 }
  const world = await start(t, { alone: 'DDL', times: { ...times, health } })
  const { url, api, db } = world
  await world.connect({ messagesPerSecond: 10 })
  const readiness = async () => {
    const response = await fetch(`${url}/readyz`)
    return { status: response.status, text: await response.text() }
  }
  const recipients = Array.from({ length: 200 }, (_, i) => ({ to: `+1415559${String(i).padStart(4, '0')}` }))
  const broadcast = { name: 'News', template: { name: 'hello_world' }, recipients }
  const { id } = dataOf(await api.post('/broadcasts', broadcast), 202)
  await db`alter table broadcast_paces rename to broadcast_paces_elsewhere`
  await until('the loop to be named', async () => (await readiness()).text.includes('broadcast-sends'))
  await db`alter table broadcast_paces_elsewhere rename to broadcast_paces`
  await until('the loop to work again', async () => (await readiness()).status === 200)
  assert.equal(dataOf(await api.get(`/broadcasts/${id}`)).status, 'sending')
})

test('every operation and event is described, with examples that its schemas allow', async (t) => {
  const { contract } = await start(t)
  const { document, operations } = contract
  const webhooks = Object.entries(document.webhooks).map(([name, { post }]) => ({
    ...{ at: ['webhooks', name, 'post'], operation: post },
  }))
  assert.deepEqual(Object.keys(document.webhooks), [...eventNames])
  const all = operations.map(({ method, path, operation }) => ({
    ...{ at: ['paths', path, method.toLowerCase()], operation },
  }))
  for (const { at, operation } of [...all, ...webhooks]) {
    const { description, requestBody, responses } = operation
    assert.ok(description, at.join(' '))
    const contents = [
      ...(requestBody ? [{ path: [...at, 'requestBody'], content: requestBody.content }] : []),
      ...Object.entries(responses).map(([status, { content }]) => ({ path: [...at, 'responses', status], content })),
    ]
    for (const { path, content } of contents) {
      for (const [type, { example }] of Object.entries(content ?? {})) {
        assert.notEqual(example, undefined, `${path.join(' ')} has no example`)
        contract.assertMatches(example, ...path, 'content', type, 'schema')
      }
    }
  }
})

test('the OpenAPI document contains what the contract requires', async (t) => {
  const { contract } = await start(t)
  const { document, operations } = contract
  assert.deepEqual([document.openapi.slice(0, 3), document.info.version], ['3.1', '1'])
  assert.deepEqual(document.servers, [{ url: 'http://parley.test/v1' }])
  const ids = operations.map(({ operation }) => operation.operationId)
  assert.equal(new Set(ids).size, ids.length)
  for (const { method, path, operation } of operations) {
    for (const [status, { content }] of Object.entries(operation.responses)) {
      if (Number(status) < 400) continue
      assert.deepEqual(content['application/json']?.schema, { $ref: '#/components/schemas/Error' }, `${method} ${path}`)
    }
    for (const status of [401, 429, 500]) assert.ok(operation.responses[status], `${method} ${path} lists ${status}`)
    assert.ok(operation.description, `${method} ${path} has no description`)
    for (const { name, description } of operation.parameters ?? []) {
      assert.ok(description, `${method} ${path} does not describe ${name}`)
    }
  }
  const listed = operations.map(
    ({ method, path, operation }) => `${method} ${path} ${operation.security[0].bearerAuth.join()}`,
  )
  for (const required of [
    'DELETE /segments/{id} contacts:write',
    'DELETE /segments/{id}/contacts contacts:write',
    'DELETE /webhooks/{id} webhooks:manage',
    'GET /broadcasts/{id} broadcasts:send',
    'GET /contacts contacts:read',
    'GET /contacts/{id} contacts:read',
    'GET /conversations conversations:read',
    'GET /conversations/{id} conversations:read',
    'GET /conversations/{id}/messages messages:read',
    'DELETE /contacts/{id} contacts:erase',
    'POST /contacts/{id}/merge contacts:erase',
    'GET /conversations/{id}/notes conversations:write',
    'GET /members conversations:write',
    'PATCH /conversations/{id} conversations:write',
    'POST /conversations/{id}/notes conversations:write',
    'POST /conversations/{id}/read conversations:write',
    'GET /events/stream webhooks:manage',
    'GET /me ',
    'GET /messages/{id} messages:read',
    'GET /segments contacts:read',
    'GET /segments/{id} contacts:read',
    'GET /segments/{id}/contacts contacts:read',
    'GET /webhooks webhooks:manage',
    'GET /webhooks/{id} webhooks:manage',
    'PATCH /contacts/{id} contacts:write',
    'PATCH /segments/{id} contacts:write',
    'PATCH /webhooks/{id} webhooks:manage',
    'POST /broadcasts broadcasts:send',
    'POST /broadcasts/check broadcasts:send',
    'POST /contacts contacts:write',
    'POST /conversations/{id}/messages messages:send',
    'POST /messages messages:send',
    'POST /messages/check messages:send',
    'POST /segments contacts:write',
    'POST /segments/{id}/contacts contacts:write',
    'POST /webhooks webhooks:manage',
  ])
    assert.ok(listed.includes(required), required)
  const spending = operations.filter(({ operation }) => operation.responses[402] || operation.responses[502])
  assert.deepEqual(
    spending.map(({ operation }) => [operation.operationId, Object.keys(operation.responses).join(' ')]),
    [
      ['sendMessage', '201 400 401 402 403 429 500 502 503'],
      ['checkMessage', '200 400 401 402 403 429 500 502 503'],
      ['replyToConversation', '201 400 401 402 403 404 429 500 502 503'],
      ['scheduleMessage', '201 400 401 403 404 429 500 502 503'],
      ['updateScheduledMessage', '200 400 401 403 404 429 500 502 503'],
      ['listTemplates', '200 304 400 401 403 429 500 502 503'],
      ['getTemplate', '200 304 400 401 403 404 429 500 502 503'],
      ['createBroadcast', '202 400 401 402 403 404 429 500 502 503'],
      ['checkBroadcast', '200 400 401 402 403 404 429 500 502 503'],
      ['addBroadcastRecipients', '200 400 401 403 404 429 500 502 503'],
      ['startBroadcast', '200 400 401 402 403 404 429 500 502 503'],
    ],
  )
  const { discriminator, oneOf } = document.components.schemas.Event as Json
  assert.deepEqual(Object.keys(discriminator.mapping).sort(), [...eventNames].sort())
  for (const [event, $ref] of Object.entries(discriminator.mapping)) {
    const isListed = oneOf.some((schema: Json) => schema.$ref === $ref)
    assert.ok(isListed, event)
    assert.equal((contract.resolve({ $ref }) as Json).properties.event.const, event)
  }
  const { properties } = document.components.schemas.TemplateSend as { properties: Record<string, Json> }
  const forms = properties.params.anyOf.map(({ type, $ref }: Json) => type ?? $ref)
  assert.deepEqual(forms, ['array', '#/components/schemas/TemplateParams'])
})

test('the limits in the OpenAPI document are those of the service', async (t) => {
  const { api, provider, contract } = await withProvider(start(t))
  await provider.writes({ from: '+14155550100', text: 'hello' })
  const [{ id }] = (await api.get('/conversations')).body.data
  const fieldOf = (schema: string, field: string): Json =>
    (contract.document.components.schemas[schema] as Json).properties[field]
  let count = 0
  const phone = () => `+1415555${1_000 + count++}`
  const tags = fieldOf('NewContact', 'tags')
  const names = (length: number) => Array.from({ length }, (_, i) => `tag ${i}`)
  const tagged = (list: string[]) => api.post('/contacts', { phone: phone(), tags: list })
  assert.equal((await tagged(names(tags.maxItems))).status, 201)
  assertBadRequest(await tagged(names(tags.maxItems + 1)), /^tags: /)

  const template = { name: 'hello_world' }
  const isVip = (value: string) => ({ match: 'all', rules: [{ field: 'tag', op: 'has', value }] })
  const segment = (more: object) => api.post('/segments', { name: `Segment ${count++}`, ...more })
  const texts: [limits: Json, path: RegExp, send: (text: string) => ReturnType<typeof api.post>][] = [
    [tags.items, /^tags\[0\]: /, (text) => tagged([text])],
    [
      fieldOf('ConversationChanges', 'labels').items,
      /^labels\[0\]: /,
      (text) => {
        return api.patch(`/conversations/${id}`, { labels: [text] })
      },
    ],
    [fieldOf('NewNote', 'text'), /^text: /, (text) => api.post(`/conversations/${id}/notes`, { text })],
    [fieldOf('NewSegment', 'name'), /^name: /, (name) => segment({ name })],
    [fieldOf('FilterRule', 'value'), /\.value: /, (value) => segment({ kind: 'dynamic', filter: isVip(value) })],
    [
      fieldOf('NewBroadcast', 'name'),
      /^name: /,
      (name) => {
        return api.post('/broadcasts', { name, template, recipients: [{ to: phone() }] })
      },
    ],
    [fieldOf('NewMessage', 'text'), /^text: /, (text) => api.post('/messages', { to: '+14155550100', text })],
  ]
  for (const [{ minLength, maxLength }, path, send] of texts) {
    const accepted = await send('y'.repeat(maxLength))
    assert.ok(accepted.status < 300, accepted.text)
    assertBadRequest(await send('x'.repeat(maxLength + 1)), path)
    if (minLength) assertBadRequest(await send(''), path)
  }
  const days = Number(/next (\d+) days/.exec(fieldOf('ConversationChanges', 'snoozed_until').description)?.[1])
  const snooze = (ms: number) =>
    api.patch(`/conversations/${id}`, { snoozed_until: new Date(Date.now() + ms).toISOString() })
  assert.equal((await snooze(days * 86_400_000 - 60_000)).status, 200)
  assertBadRequest(await snooze(days * 86_400_000 + 60_000), /^snoozed_until: /)
})

test('the OpenAPI document is readable for more generators of clients, also without its webhooks', async (t) => {
  const { url, contract } = await start(t)
  const read = async (query: string): Promise<Json> => (await fetch(`${url}/openapi.json${query}`)).json()
  const { webhooks, ...rest } = await read('')
  assert.deepEqual(Object.keys(webhooks).sort(), [...eventNames].sort())
  assert.deepEqual(await read('?webhooks=false'), rest)
  assert.ok((await read('?webhooks=true')).webhooks)
  const tags = await Promise.all(
    ['', '?webhooks=false'].map(async (query) => (await fetch(`${url}/openapi.json${query}`)).headers.get('etag')),
  )
  assert.equal(new Set(tags).size, 2)
  // Callers need no key. So neither variant is serialized again for each of them.
  const measure = async (query: string, etag: string | null | undefined) => {
    const before = process.cpuUsage()
    for (let i = 0; i < 100; i++) {
      const answer = await fetch(`${url}/openapi.json${query}`, { headers: { 'if-none-match': String(etag) } })
      assert.equal(answer.status, 304)
    }
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const [wholes, parts]: [number[], number[]] = [[], []]
  for (let round = 0; round < 3; round++) {
    wholes.push(await measure('', tags[0]))
    parts.push(await measure('?webhooks=false', tags[1]))
  }
  // The cheapest: a garbage collection counts too.
  const [whole, part] = [Math.min(...wholes), Math.min(...parts)]
  assert.ok(part < 2.5 * whole, `${part} µs without webhooks, ${whole} µs with them`)

  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { type, const: constant, enum: values } = value as Json
    const types = Array.isArray(type) ? type.filter((each) => each !== 'null') : []
    assert.ok(types.length <= 1, `${path} has several types`)
    assert.ok(!Array.isArray(values) || type, `${path} has values without a type`)
    assert.ok(constant === undefined || typeof constant === 'string', `${path} has a constant that is no text`)
    for (const [key, part] of Object.entries(value)) if (!/^examples?$/.test(key)) visit(part, `${path}/${key}`)
  }
  visit(contract.document, '')
})
