/** Live updates of the dashboard, and uploaded files that are sent by a link of the service. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { times } from '../common/times.ts'
import { type Answer, assertRefused, assertStatus } from './assertions.ts'
import { createFolderStore, setPlan, sweepUploads } from './internals.ts'
import { assertBadRequest, type Json, publicUrl, start, until, type World, withProvider } from './support.ts'

/** A member's page: signed in, with its cookie at hand. */
async function openPage(url: string, owner: World['owner']) {
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const isRaw = body instanceof Uint8Array
    const response = await fetch(`${url}/app/api${path}`, {
      method,
      headers: {
        origin: publicUrl,
        cookie,
        ...(body && !isRaw ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
    })
    const text = await response.text()
    const answer: Answer = { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
    return answer
  }
  let cookie = ''
  const signedIn = await call('POST', '/session', owner)
  cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return { call, cookie: () => cookie, member: signedIn.body.data.member }
}
type Page = Awaited<ReturnType<typeof openPage>>

type Stream = {
  status: number
  type: string
  events: string[]
  /** The data of the last event `conversations`. */
  inbox(): Json
  ended: Promise<void>
}

function openStream(t: TestContext, url: string, cookie: string): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const asking = request(`${url}/app/api/stream`, { headers: { cookie }, agent: false }, (response) => {
      const events: string[] = []
      let text = ''
      let inbox: Json
      response.setEncoding('utf8').on('error', () => {})
      response.on('data', (part) => {
        const blocks = (text + part).split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) {
          const event = /^event: (.*)$/m.exec(block)?.[1] ?? block
          if (event === 'conversations') inbox = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '')
          events.push(event)
        }
      })
      const ended = new Promise<void>((done) => void response.on('close', () => done()))
      const { statusCode: status = 0, headers } = response
      resolve({ status, type: headers['content-type'] ?? '', events, inbox: () => inbox, ended })
    })
    asking.on('error', reject).end()
    t.after(() => asking.destroy())
  })
}

/** A stream that is ready: it reports every change that is announced from now on. */
async function openReadyStream(t: TestContext, url: string, { cookie }: Page): Promise<Stream> {
  const stream = await openStream(t, url, cookie())
  await until('the stream to be ready', async () => stream.events.includes('ready'))
  return stream
}

const changesOf = ({ events }: Stream) => events.filter((event) => event === 'changed' || event === 'conversations')

let marks = 0

/**
 * Changes a conversation through each of these pages, and waits until the stream shows it. A process announces its changes in order, so
 * the stream has then received all earlier changes of the processes of these pages.
 */
async function passMarks(stream: Stream, conversationId: string, ...pages: Page[]): Promise<void> {
  for (const page of pages) {
    const mark = `mark ${++marks}`
    assertStatus(await page.call('PATCH', `/conversations/${conversationId}`, { labels: [mark] }), 200)
    await until(mark, async () => JSON.stringify(stream.inbox() ?? null).includes(`"${mark}"`))
  }
}

test('a live stream reports inbound messages, statuses and changes of other members, and nothing of other workspaces', async (t) => {
  const { url, owner, connect, workspace, twin, api } = await start(t, { limits: { heartbeatMs: 100 } })
  const provider = await connect()
  const page = await openPage(url, owner)
  const colleague = await openPage(await twin(), owner)
  const stream = await openReadyStream(t, url, page)
  assert.match(stream.type, /^text\/event-stream/)
  assert.deepEqual(stream.events.slice(0, 2), ['retry: 2000', 'ready'])
  await until('a heartbeat', async () => stream.events.some((event) => event.startsWith(':')))

  await provider.writes({ from: '+14155550100', text: 'hi' })
  await until('the message', async () => stream.inbox()?.conversations[0]?.last_message_text === 'hi')
  const [{ id, contact_id }] = (await page.call('GET', '/conversations')).body.data
  const path = `/conversations/${id}`
  // A stream that opens after all earlier changes reports only this one.
  const reports = async (act: () => Promise<unknown>, what: string) => {
    await passMarks(stream, id, page, colleague)
    const opened = await openReadyStream(t, url, page)
    await act()
    await until(`news of ${what}`, async () => changesOf(opened).length > 0)
  }
  const answer = await page.call('POST', `${path}/messages`, { text: 'hello' })
  await until('its ticks', async () => {
    const [last] = (await page.call('GET', `${path}/messages`)).body.data
    return last.status === 'read'
  })
  const status = { id: answer.body.data.message_id, status: 'read', timestamp: String(Math.floor(Date.now() / 1000)) }
  const entry = [{ changes: [{ field: 'messages', value: { statuses: [status] } }] }]
  const report = { object: 'whatsapp_business_account', entry }
  await reports(() => provider.callback(report), 'a status')
  const assign = { assigned_agent_id: page.member.id }
  await colleague.call('PATCH', path, assign)
  // The event carries the conversation as the list has it, and the counts of the member.
  await until('the assignment in another process', async () => stream.inbox().counts.mine === 1)
  const [listed] = (await page.call('GET', '/conversations')).body.data
  const counts = (await page.call('GET', '/conversations/counts')).body.data
  assert.deepEqual(stream.inbox(), { conversations: [listed], removed: [], counts })
  assert.equal(counts.mine, 1)
  await reports(() => colleague.call('PATCH', `/contacts/${contact_id}`, { name: 'Ann' }), 'a new name')
  await reports(() => api.patch(`/contacts/${contact_id}`, { name: 'Anna' }), 'one given by the API')

  const theirs = await workspace()
  const neighbour = await openPage(url, theirs.owner)
  await (await connect({ workspaceId: theirs.api.workspaceId })).writes({ from: '+14155550100', text: 'hi' })
  const [{ id: theirId }] = (await neighbour.call('GET', '/conversations')).body.data
  await passMarks(await openReadyStream(t, url, neighbour), theirId, neighbour)
  const watching = await openReadyStream(t, url, neighbour)
  await colleague.call('PATCH', path, { status: 'closed' })
  await passMarks(stream, id, page, colleague)
  await passMarks(watching, theirId, neighbour)
  assert.deepEqual(changesOf(watching), ['conversations'], 'only their own change')

  const quiet = await openReadyStream(t, url, page)
  const filter = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'VIP' }] }
  for (let i = 0; i < 3; i++) {
    await page.call('POST', '/templates/preview', { name: 'hello_world' })
    assert.equal((await page.call('POST', '/segments/count', { filter })).status, 200)
  }
  assertBadRequest(await page.call('PATCH', path, { status: 'odd' }))
  assertRefused(await page.call('PATCH', `/conversations/${theirId}`, { status: 'open' }), 404, 'not_found')
  await passMarks(quiet, id, page)
  assert.deepEqual(changesOf(quiet), ['conversations'], 'what changes nothing is no news')

  await reports(() => colleague.call('DELETE', `/contacts/${contact_id}`), 'a deleted contact')
  await until('no conversations', async () => stream.inbox().conversations === null && stream.inbox().counts.mine === 0)
})

test('a live stream sends far fewer updates than there are changes, and always the last state', async (t) => {
  const { url, owner, provider } = await withProvider(start(t))
  const page = await openPage(url, owner)
  const stream = await openReadyStream(t, url, page)
  // An event lists up to 50 conversations.
  const phones = Array.from({ length: 40 }, (_, i) => `+1415555${1000 + i}`)
  await Promise.all(phones.map((from) => provider.writes({ from, text: 'hi' })))
  const [{ id }] = (await page.call('GET', '/conversations')).body.data
  await passMarks(stream, id, page)
  assert.equal(stream.inbox().counts.open, phones.length)
  const updates = stream.events.filter((event) => event === 'conversations').length
  assert.ok(updates <= phones.length / 2, `${updates} updates`)
})

test('the page of a web visitor is stored at most every ten seconds, and reported only to pages that show it', async (t) => {
  const { url, owner, connect } = await start(t, { times: { ...times, webChat: { ...times.webChat, pageMs: 1_000 } } })
  const site = `${url}/web-chat/${(await connect()).connections.web.id}`
  const { data } = (await (await fetch(`${site}/visitors`, { method: 'POST' })).json()) as Json
  const said = await fetch(`${site}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-visitor-token': data.visitor_token },
    body: JSON.stringify({ text: 'hi', page: { url: 'https://shop.test/first' } }),
  })
  const { conversation_id: id } = ((await said.json()) as Json).data
  const page = await openPage(url, owner)
  const { contact_id } = (await page.call('GET', `/conversations/${id}`)).body.data
  const readVisit = async () => (await page.call('GET', `/contacts/${contact_id}/visit`)).body.data.url
  const earlier = await openReadyStream(t, url, page)
  await passMarks(earlier, id, page)
  const stream = await openReadyStream(t, url, page)
  const reconnect = async (path: string) => {
    const abort = new AbortController()
    t.after(() => abort.abort())
    const query = new URLSearchParams({ token: data.visitor_token, page_url: `https://shop.test/${path}` })
    const response = await fetch(`${site}/stream?${query}`, { signal: abort.signal })
    return { response, abort }
  }
  for (let i = 0; i < 20; i++) (await reconnect(`page-${i}`)).abort.abort()
  // The visitor stays on the last page. A response without a reference would be collected, and its stream closed.
  const { response } = await until('a stream', async () => {
    const last = await reconnect('last')
    return last.response.status === 200 && last
  })
  await until('the last page', async () => (await readVisit()) === 'https://shop.test/last')
  await until('its event', async () => stream.events.includes('visits'))
  await passMarks(stream, id, page)
  const visits = stream.events.filter((event) => event === 'visits').length
  // At most one a second: the reconnects take a moment on a busy machine.
  assert.ok(visits <= 10, `${visits} events for 21 pages`)
  assert.ok(!stream.events.includes('changed'), 'no other page reloads')
  await response.body?.cancel()
})

test('a live stream requires a session and ends with it; a member can have fifty', async (t) => {
  const { url, owner } = await start(t, { limits: { heartbeatMs: 200 } })
  for (const cookie of ['', 'parley_session=unknown']) {
    assert.equal((await openStream(t, url, cookie)).status, 401)
  }
  const page = await openPage(url, owner)
  const other = await openPage(url, owner)
  const stream = await openStream(t, url, page.cookie())
  const stays = await openStream(t, url, other.cookie())
  const more = await Promise.all(Array.from({ length: 60 }, () => openStream(t, url, other.cookie())))
  const refused = more.filter(({ status }) => status === 429)
  assert.equal(refused.length, 12, 'of 62, by one member')
  assert.equal((await page.call('DELETE', '/session')).status, 200)
  await stream.ended
  await until('the others to be alive', async () => stays.events.filter((event) => event.startsWith(':')).length > 2)
})

const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), randomBytes(5_000)])

test('an uploaded file is sent, stored, and served to the channel', async (t) => {
  const { url, owner, provider, api, db } = await withProvider(start(t))
  const page = await openPage(url, owner)
  await provider.writes({ from: '+14155550100', text: 'show me' })
  const [{ id }] = (await page.call('GET', '/conversations')).body.data
  // What the browser says of it does not matter.
  const uploaded = await page.call('POST', '/uploads?filename=caf%C3%A9%2F..%2Fx.png', png, {
    'content-type': 'text/html',
  })
  assert.equal(uploaded.status, 201, uploaded.text)
  const { media_url, ...upload } = uploaded.body.data
  assert.deepEqual(upload, { type: 'image', mime_type: 'image/png', filename: 'café_.._x.png', size_bytes: png.length })
  assert.match(media_url, /^http:\/\/parley\.test\/media\/[0-9A-Za-z]{43}\/caf/)
  const sent = await page.call('POST', `/conversations/${id}/messages`, { type: 'image', media_url, text: 'here' })
  assert.equal(sent.status, 201, sent.text)
  assert.equal(sent.body.data.media_url, media_url)
  const { type: _, ...file } = upload
  assert.deepEqual(sent.body.data.media, { ...file, state: 'stored' })
  const [stored] = await db<{ media_url: string }[]>`select media_url from messages where id = ${sent.body.data.id}`
  assert.match(stored?.media_url ?? '', /^\/media\//)
  const [published] = (await api.get(`/conversations/${id}/messages`)).body.data
  assert.deepEqual([published.media_url, 'media' in published], [media_url, false])

  const { link } = (await provider.sent('+14155550100')).at(-1)?.body.image ?? {}
  assert.equal(link, media_url)
  const fetched = await fetch(link.replace(publicUrl, url))
  assert.deepEqual([fetched.status, fetched.headers.get('content-type')], [200, 'image/png'])
  assert.deepEqual(Buffer.from(await fetched.arrayBuffer()), png)

  // A file in a template's header, sent now or in a broadcast later, stays as well.
  const header = async (): Promise<string> =>
    (await page.call('POST', '/uploads?filename=h.png', png)).body.data.media_url
  const [now, later, unsent] = [await header(), await header(), await header()]
  const template = (headerMediaUrl: string) => ({
    name: 'appointment',
    params: { bodyNamed: { name: 'Ann', time: 'noon' }, headerMediaUrl },
  })
  const message = { type: 'template', template: template(now) }
  const templated = await page.call('POST', `/conversations/${id}/messages`, message)
  assert.equal(templated.status, 201, templated.text)
  const recipients = [{ to: '+14155550100' }]
  const broadcast = { name: 'News', template: template(later), recipients, scheduled_at: '2030-01-01T00:00:00Z' }
  assert.equal((await page.call('POST', '/broadcasts', broadcast)).status, 202)
  await db`
    update uploads set created_at = created_at - interval '25 hours' where workspace_id = ${api.workspaceId}`
  const dropped: string[] = []
  const store = { ...createFolderStore('/nowhere'), delete: async (key: string) => void dropped.push(key) }
  await sweepUploads(db, store, pino({ level: 'silent' }))
  assert.equal(dropped.length, 1)
  for (const [address, status] of [
    [media_url, 200],
    [now, 200],
    [later, 200],
    [unsent, 404],
  ] as const) {
    assert.equal((await fetch(address.replace(publicUrl, url))).status, status)
  }
})

test('while the bucket does not answer, uploads and files are 503 with Retry-After', async (t) => {
  const objects = new Map<string, Buffer>()
  const bucket = createServer(async (request, response) => {
    const bytes = await buffer(request)
    if (request.method === 'PUT') objects.set(request.url ?? '', bytes)
    response.end(request.method === 'PUT' ? '' : objects.get(request.url ?? ''))
  })
  await new Promise<void>((resolve) => bucket.listen(0, '127.0.0.1', resolve))
  t.after(() => bucket.close())
  const { port } = bucket.address() as AddressInfo
  const credentials = { region: 'us-east-1', bucket: 'media', access_key_id: 'id', secret_access_key: 'key' }
  const mediaS3 = { ...credentials, endpoint: `http://127.0.0.1:${port}` }
  const { url, owner, db, api } = await start(t, { mediaS3 })
  const page = await openPage(url, owner)
  const upload = () => page.call('POST', '/uploads?filename=x.png', png)
  const link = (await upload()).body.data.media_url.replace(publicUrl, url)
  assert.deepEqual(Buffer.from(await (await fetch(link)).arrayBuffer()), png)

  await new Promise((resolve) => {
    bucket.close(resolve)
    bucket.closeAllConnections()
  })
  // The channel fetches files by this link, and repeats a request after 503.
  const fetched = await fetch(link)
  const { error } = (await fetched.json()) as Json
  assert.deepEqual([fetched.status, fetched.headers.get('retry-after'), error.code], [503, '1', 'internal'])
  const refused = await upload()
  assertRefused(refused, 503, 'internal', 'the store of media files is not available; repeat the request later')
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.equal((await db`select 1 from uploads where workspace_id = ${api.workspaceId}`).length, 1)
})

test('a file whose message is rejected does not count as sent', async (t) => {
  const { url, owner, provider, db, api } = await withProvider(start(t))
  const page = await openPage(url, owner)
  await provider.writes({ from: '+14155550100', text: 'hi' })
  const { media_url } = (await page.call('POST', '/uploads?filename=plan.png', png)).body.data
  const [{ id }] = (await page.call('GET', '/conversations')).body.data
  const send = () => page.call('POST', `/conversations/${id}/messages`, { type: 'image', media_url })
  const uses = async () =>
    (
      await db`
        select use_count, used_at is not null as is_used from uploads where workspace_id = ${api.workspaceId}`
    )[0]
  await setPlan(db, api.workspaceId, { state: 'lapsed', messages_per_month: null })
  assertRefused(await send(), 402, 'subscription_lapsed')
  assert.deepEqual(await uses(), { use_count: 0, is_used: false })
  await setPlan(db, api.workspaceId, { state: 'active', messages_per_month: null })
  assert.equal((await send()).status, 201)
  assert.deepEqual(await uses(), { use_count: 1, is_used: true })
})

test('a sent file is deleted with the last contact it was sent to', async (t) => {
  const { url, owner, provider, db, api } = await withProvider(start(t))
  const page = await openPage(url, owner)
  for (const from of ['+14155550100', '+14155550101']) await provider.writes({ from, text: 'hi' })
  const { media_url } = (await page.call('POST', '/uploads?filename=plan.png', png)).body.data
  const people: { id: string; contact_id: string }[] = (await page.call('GET', '/conversations')).body.data
  for (const { id } of people) {
    assertStatus(await page.call('POST', `/conversations/${id}/messages`, { type: 'image', media_url }), 201)
  }
  const statusOf = async () => (await fetch(`${url}${new URL(media_url).pathname}`)).status
  for (const [place, { contact_id: contact }] of people.entries()) {
    assert.equal(await statusOf(), 200)
    assertStatus(await page.call('DELETE', `/contacts/${contact}`), 200)
    assert.equal((await db`select 1 from uploads where workspace_id = ${api.workspaceId}`).length, place === 0 ? 1 : 0)
  }
  assert.equal(await statusOf(), 404)
})

test('a file that could run in a page is served as a download, and one that is too large is rejected with an explanation', async (t) => {
  const { url, owner, db, api } = await start(t)
  const page = await openPage(url, owner)
  const put = (bytes: Uint8Array, type: string, name = 'x') =>
    page.call('POST', `/uploads?filename=${name}`, bytes, { 'content-type': type })
  for (const [text, type] of [
    ['<html><script>alert(1)</script>', 'text/html'],
    ['<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'image/svg+xml'],
    ['alert(1)', 'application/javascript'],
    ['<html>', 'image/png'],
    ['<html>', 'application/pdf'],
  ] as const) {
    const { data } = (await put(Buffer.from(text), type, 'page.html')).body
    assert.deepEqual([data.type, data.mime_type], ['document', 'application/octet-stream'], type)
    const { headers } = await fetch(data.media_url.replace(publicUrl, url))
    assert.equal(headers.get('content-type'), 'application/octet-stream')
    assert.match(headers.get('content-disposition') ?? '', /^attachment/)
    assert.match(headers.get('content-security-policy') ?? '', /sandbox/)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
  }
  const csv = (await put(Buffer.from('a,b'), 'text/csv; charset=utf-8')).body.data
  assert.deepEqual([csv.type, csv.mime_type], ['document', 'text/csv'])

  const countRows = async () => (await db`select 1 from uploads where workspace_id = ${api.workspaceId}`).length
  const before = await countRows()
  const mebibyte = 1024 * 1024
  const large = Buffer.concat([png, Buffer.alloc(5 * mebibyte)])
  assertBadRequest(await put(large, 'image/png'), 'body: an image may have at most 5 MiB')
  assertBadRequest(await put(Buffer.alloc(17 * mebibyte), 'x/y'), 'body: a file may have at most 16 MiB')
  assertBadRequest(await put(new Uint8Array(), 'image/png'), 'body: must not be empty')
  assert.equal((await put(Buffer.alloc(16 * mebibyte), 'x/y')).status, 201)
  assert.equal(await countRows(), before + 1)
  // Without a length, and without an end.
  assertBadRequest(await drip(url, page.cookie(), 17), 'body: a document may have at most 16 MiB')
  assert.equal((await page.call('GET', '/session')).status, 200)
  const headers = { origin: publicUrl, cookie: page.cookie(), 'content-type': 'x/y', 'content-length': 1_000 }
  const broken = request(`${url}/app/api/uploads`, { method: 'POST', headers }).on('error', () => {})
  broken.write(Buffer.alloc(100))
  await until('it to begin', async () => (await countRows()) === before + 2)
  broken.destroy()
  await until('what broke off to be gone', async () => (await countRows()) === before + 1)

  const [anywhere, signedOut] = [{ origin: 'https://evil.test' }, { cookie: '' }]
  assertRefused(await page.call('POST', '/uploads', png, anywhere), 403, 'forbidden')
  assertRefused(await page.call('POST', '/uploads', png, signedOut), 401, 'unauthorized')
  // Only here is a body anything but JSON.
  assertBadRequest(await page.call('PATCH', '/workspace', png, { 'content-type': 'image/png' }))
  await db`
    insert into uploads (workspace_id, id, token, mime_type, size_bytes, created_by, created_at)
    select ${api.workspaceId}, gen_random_uuid(), i::text, 'x/y', 1, gen_random_uuid(), now() from generate_series(1, 1000) i`
  assertRefused(await put(png, 'image/png'), 429, 'rate_limited')
})

test('an upload may take longer than other requests', async (t) => {
  const { url, owner } = await start(t, { limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 } })
  const { cookie } = await openPage(url, owner)
  const begin = (path: string, type: string, part: Uint8Array | string) => {
    const headers = { origin: publicUrl, cookie: cookie(), 'content-type': type }
    const sending = request(`${url}/app/api${path}`, { method: 'POST', headers, agent: false })
    const answer = new Promise<string>((resolve, reject) => {
      sending.on('error', reject).on('response', async (response) => {
        let text = ''
        for await (const part of response) text += part
        resolve(`${response.statusCode} ${text}`)
      })
    })
    sending.write(part)
    return { answer, end: (part: Uint8Array | string) => void sending.end(part) }
  }
  const picture = begin('/uploads', 'image/png', png)
  const table = begin('/imports', 'text/csv', 'phone\n')
  const other = begin('/segments/count', 'application/json', '{')
  assert.match(await other.answer, /^400 .*not complete in time/)
  picture.end(png)
  table.end('+14155550100\n')
  assert.match(await picture.answer, /^201 /)
  assert.match(await table.answer, /^201 .*"size_bytes":19/)
})

test('a file of another workspace is treated as any other URL: sent, but neither shown nor stored', async (t) => {
  const { url, owner, workspace, provider, db } = await withProvider(start(t))
  const page = await openPage(url, owner)
  const other = await workspace()
  const theirs = await openPage(url, other.owner)
  const { media_url } = (await theirs.call('POST', '/uploads?filename=secret.png', png)).body.data
  await provider.writes({ from: '+14155550100', text: 'hi' })
  const [{ id }] = (await page.call('GET', '/conversations')).body.data
  const sent = await page.call('POST', `/conversations/${id}/messages`, { type: 'image', media_url })
  assert.deepEqual([sent.status, sent.body.data.media], [201, null])
  const [upload] = await db<{ used_at: string | null }[]>`
    select used_at from uploads where workspace_id = ${other.api.workspaceId}`
  assert.equal(upload?.used_at, null)
})

/** So many mebibytes in pieces, without saying how many there will be. */
function drip(url: string, cookie: string, mebibytes: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { origin: publicUrl, cookie, 'content-type': 'x/y' }
    const sending = request(`${url}/app/api/uploads`, { method: 'POST', headers }, async (response) => {
      let text = ''
      for await (const part of response) text += part
      resolve({ status: response.statusCode ?? 0, headers: new Headers(), text, body: JSON.parse(text) as Json })
    })
    sending.on('error', reject)
    for (let i = 0; i < mebibytes; i++) sending.write(Buffer.alloc(1024 * 1024))
    sending.end()
  })
}
