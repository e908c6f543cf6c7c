/** The API of the widget: a visitor writes, a member replies, the page receives it. */
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { type Answer, assertBadRequest, assertFields, assertRefused, dataOf, pluck } from './assertions.ts'
import { createFolderStore, newId, sweepUploads, sweepVisitors } from './internals.ts'
import { recordEvents, withoutResources } from './receiver.ts'
import { createBrowser, createMember, type Json, main, publicUrl, signIn, start, until, type World } from './support.ts'

const origin = 'https://shop.test'

/** A page with the widget on it. */
type Page = {
  token: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  says(text: string, more?: Json): Promise<Answer>
  thread(query?: string): Promise<Json[]>
  stream(options?: { url?: string; after?: string }): Promise<Stream>
}

type Stream = {
  response: Response
  /** What came so far. */
  received: { id: string; event: string; data: Json }[]
  /** Wait for so many messages; their texts. */
  texts(count: number): Promise<string[]>
  /** Resolves when the other side ends it. */
  ended: Promise<void>
}

/** `address`: of the client behind the proxy. Some limits are counted by it. */
type Site = { url: string; siteId: string; address: string }

async function openPage(t: TestContext, { url, siteId, address }: Site, token?: string): Promise<Page> {
  const from = { origin, 'x-forwarded-for': address }
  const call: Page['call'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}/web-chat/${siteId}${path}`, {
      method,
      headers: { ...from, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: text && JSON.parse(text) }
  }
  const visitor = token ?? (await call('POST', '/visitors')).body.data.visitor_token
  const own = { 'x-visitor-token': visitor }
  return {
    token: visitor,
    call: (method, path, body, headers) => call(method, path, body, { ...own, ...headers }),
    says: (text, more = {}) => call('POST', '/messages', { text, ...more }, own),
    thread: async (query = '') => (await call('GET', `/messages${query}`, undefined, own)).body.data,
    stream: ({ url: other = url, after } = {}) =>
      openStream(t, `${other}/web-chat/${siteId}/stream?token=${encodeURIComponent(visitor)}`, from, after),
  }
}

async function openStream(t: TestContext, url: string, from: Record<string, string>, after?: string): Promise<Stream> {
  const abort = new AbortController()
  t.after(() => abort.abort())
  const headers = { ...from, ...(after ? { 'last-event-id': after } : {}) }
  const response = await fetch(url, { headers, signal: abort.signal })
  const received: Stream['received'] = []
  const ended = (async () => {
    let text = ''
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const fields = Object.fromEntries(event.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
        if (fields.data) received.push({ id: fields.id, event: fields.event, data: JSON.parse(fields.data) })
      }
    }
  })().catch(() => {})
  const texts: Stream['texts'] = async (count) => {
    const messages = () => received.filter(({ event }) => event === 'message')
    await until(`${count} messages on the stream`, async () => messages().length >= count)
    return messages().map(({ data }) => data.content_text)
  }
  return { response, received, texts, ended }
}

let sites = 0

/** A site, a member who looks after it, and a page. Its visitors have a network of their own. */
async function startSite(t: TestContext, trustedProxies = ['127.0.0.1']) {
  const world = await start(t, { trustedProxies })
  const siteId = (await world.connect()).connections.web.id
  const address = `198.18.0.${++sites}`
  const browser = await signIn(world)
  const answers = async (conversationId: string, text: string) =>
    dataOf(await browser.call('POST', `/conversations/${conversationId}/messages`, { text }), 201)
  const open = (token?: string, url = world.url) => openPage(t, { url, siteId, address }, token)
  return { ...world, siteId, address, browser, answers, page: await open(), open }
}

test('the first message creates contact, conversation and events', main, async (t) => {
  const world = await startSite(t)
  const { api, page } = world
  const eventsOf = await recordEvents(t, world)
  const said = await page.says('Is anybody there? 🙂', { name: 'Ann', email: 'ann@example.com' })
  assert.equal(said.status, 201, said.text)
  const message = said.body.data
  const [conversation, ...more] = (await api.get('/conversations')).body.data
  assert.equal(more.length, 0)
  assert.deepEqual(
    [conversation.channel, conversation.status, conversation.unread_count, conversation.last_message_text],
    ['web', 'open', 1, 'Is anybody there? 🙂'],
  )
  const { contact } = conversation
  assertFields(contact, { phone: null, social_username: null, name: 'Ann', email: 'ann@example.com' })
  assert.deepEqual((await api.get(`/contacts/${contact.id}`)).body.data.channels, ['web'])
  const [kept] = (await api.get(`/conversations/${conversation.id}/messages`)).body.data
  const { content, error, broadcast_id, ...visible } = kept
  assert.deepEqual({ ...visible, sender: null }, message)
  assert.deepEqual(
    [kept.direction, kept.sender_type, kept.content_type, kept.status, kept.msgapp_message_id, kept.message_id],
    ['inbound', 'customer', 'text', 'received', null, kept.id],
  )
  assert.equal((await page.says('Hello?', { name: 'Someone else' })).body.data.conversation_id, conversation.id)
  const again = (await api.get(`/conversations/${conversation.id}`)).body.data
  assert.deepEqual([again.unread_count, again.contact.name], [2, 'Ann'])

  const events = await eventsOf()
  const names = pluck(events, 'event')
  assert.deepEqual(names, ['contact.created', 'conversation.created', 'message.received', 'message.received'])
  assert.deepEqual(withoutResources(events[0].data), { contact_id: contact.id, phone: null, name: 'Ann' })
  assert.deepEqual(withoutResources(events[1].data), { conversation_id: conversation.id, contact_id: contact.id })
  assert.deepEqual(withoutResources(events[2].data), {
    channel: 'web',
    conversation_id: conversation.id,
    contact_id: contact.id,
    message_id: message.id,
    content_type: 'text',
    text: 'Is anybody there? 🙂',
  })
})

test('a visitor who sends no message leaves no row', async (t) => {
  const { db, api, page, open } = await startSite(t)
  assert.deepEqual(await page.thread(), [])
  await page.stream()
  await (await open()).thread()
  for (const table of ['contacts', 'contact_identities', 'conversations', 'messages', 'webhook_events']) {
    assert.equal((await db`select 1 from ${db(table)} where workspace_id = ${api.workspaceId}`).length, 0, table)
  }
})

test('concurrent first messages of one visitor in two processes create one contact', async (t) => {
  const { db, api, url, page, open, twin } = await startSite(t)
  const bases = [url, await twin()]
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => (await open(page.token, bases[i % 2])).says(`${i}`)),
  )
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  assert.equal(new Set(answers.map(({ body }) => body.data.conversation_id)).size, 1)
  assert.equal((await db`select 1 from contacts where workspace_id = ${api.workspaceId}`).length, 1)
  assert.equal((await page.thread()).length, 20)
})

test("a visitor's thread is their own, newest first, in pages", async (t) => {
  const { page, open, answers } = await startSite(t)
  const other = await open()
  await other.says('not for you')
  const { conversation_id } = (await page.says('one')).body.data
  await answers(conversation_id, 'two')
  await page.says('three')
  const texts = (messages: Json[]) => messages.map(({ content_text }) => content_text)
  assert.deepEqual(texts(await page.thread()), ['three', 'two', 'one'])
  const first = await page.call('GET', '/messages?limit=2')
  assert.deepEqual(texts(first.body.data), ['three', 'two'])
  assert.deepEqual(texts(await page.thread(`?limit=2&cursor=${first.body.meta.next_cursor}`)), ['one'])
  assert.deepEqual(texts(await other.thread()), ['not for you'])
  // What only members see stays with them.
  const internal = ['error', 'sender_id', 'content', 'broadcast_id']
  const shown = Object.keys(first.body.data[0]).filter((name) => internal.includes(name))
  assert.deepEqual(shown, [])
})

test("a visitor receives a member's reply at once, in every tab and from every process", async (t) => {
  const { page, answers, twin, api } = await startSite(t)
  const { conversation_id } = (await page.says('question')).body.data
  const tabs = [await page.stream(), await page.stream({ url: await twin() }), await page.stream()]
  const reply = await answers(conversation_id, 'answer\nin two lines')
  assert.deepEqual([reply.status, reply.message_id, reply.msgapp_message_id], ['sent', reply.id, null])
  await page.says('thanks')
  for (const { response, texts, received } of tabs) {
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.deepEqual(await texts(2), ['answer\nin two lines', 'thanks'])
    const [first] = received
    assert.deepEqual([first?.id, first?.event, first?.data.sender_type], [reply.id, 'message', 'agent'])
    const {
      error,
      error_reason,
      sender_id,
      sender,
      content,
      media,
      reply_to,
      broadcast_id,
      run_id,
      idempotency_key,
      ...shown
    } = reply
    assert.deepEqual(
      first?.data,
      { ...shown, sender: null },
      'the member has no name, and an email address is not shown',
    )
    const listed = await page.thread('?limit=2')
    const messages = received.filter(({ event }) => event === 'message')
    assert.deepEqual(pluck(messages, 'data'), listed.reverse(), 'a message is the same in the stream and in the list')
  }
  const [conversation] = (await api.get('/conversations')).body.data
  assert.equal(conversation.last_message_text, 'thanks')
})

test('a stream opened before the first message receives every message, even after the visitor was erased', async (t) => {
  const { page, answers, browser, api } = await startSite(t)
  const stream = await page.stream()
  const { conversation_id } = (await page.says('first')).body.data
  await stream.texts(1)
  await answers(conversation_id, 'second')
  assert.deepEqual(await stream.texts(2), ['first', 'second'])
  const [{ contact }] = (await api.get('/conversations')).body.data
  assert.equal((await browser.call('DELETE', `/contacts/${contact.id}`)).status, 200)
  const later = (await page.says('still me')).body.data
  assert.notEqual(later.conversation_id, conversation_id)
  await answers(later.conversation_id, 'welcome')
  assert.deepEqual(await stream.texts(4), ['first', 'second', 'still me', 'welcome'])
})

test('a stream resumes after the last message the page received, however many it missed', async (t) => {
  const { page, db, api } = await startSite(t)
  const { id, conversation_id } = (await page.says('seen')).body.data
  const ids = Array.from({ length: 250 }, () => newId())
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select ${api.workspaceId}, ${conversation_id}, id, 'outbound', 'agent', 'text', id::text, 'sent', now()
    from unnest(${ids}::uuid[]) as id`
  const resumed = await page.stream({ after: id })
  assert.deepEqual(await resumed.texts(250), ids)
  assert.deepEqual(pluck(resumed.received, 'id'), ids)
  const later = await page.stream({ after: ids[248] as string })
  await later.texts(1)
  await page.says('news')
  assert.deepEqual(await later.texts(2), [ids[249], 'news'])
  const unreadable = await page.stream({ after: 'nonsense' })
  await page.says('more')
  assert.deepEqual(await unreadable.texts(1), ['more'])
})

/** Messages of a conversation, straight into the database; answers their ids. */
async function insertMessages(
  { db, api }: Pick<World, 'db' | 'api'>,
  conversationId: string,
  count: number,
  text: string,
) {
  const ids = Array.from({ length: count }, () => newId())
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select ${api.workspaceId}, ${conversationId}, id, 'inbound', 'customer', 'text', ${text}, 'received', now()
    from unnest(${ids}::uuid[]) as id`
  return ids
}

/** Everything after a message up to another, over as many connections as it takes. */
async function readStream(page: Page, after: string, last: string | undefined): Promise<Stream['received']> {
  const all: Stream['received'] = []
  while (all.at(-1)?.id !== last) {
    const { received, ended } = await page.stream({ after: all.at(-1)?.id ?? after })
    await Promise.race([ended, until('the last message', async () => received.at(-1)?.id === last)])
    assert.ok(received.length > 0, 'every connection gets further')
    all.push(...received)
  }
  return all
}

test('a visitor who reads receives a long conversation in order, over as many connections as it takes, and lists it in small pages', async (t) => {
  const world = await startSite(t)
  const { page } = world
  const { id: first, conversation_id } = (await page.says('first')).body.data
  const ids = await insertMessages(world, conversation_id, 300, 'long '.repeat(819))
  const received = (await readStream(page, first, ids.at(-1))).map(({ data }) => data.id)
  assert.deepEqual(received, ids)

  const listed: Json[] = []
  for (let query = '?limit=100'; ; ) {
    const { body, text } = await page.call('GET', `/messages${query}`)
    assert.ok(text.length < 200_000, `${text.length} characters in one answer`)
    listed.push(...body.data)
    if (body.meta.next_cursor === null) break
    query = `?limit=100&cursor=${body.meta.next_cursor}`
  }
  assert.deepEqual(pluck(listed, 'id'), [first, ...ids].reverse())
})

test('a visitor who does not read is sent a bounded amount, whatever they claim to have seen', async (t) => {
  const world = await startSite(t)
  const { page, url, siteId } = world
  const { conversation_id } = (await page.says('first')).body.data
  await insertMessages(world, conversation_id, 1_000, 'long '.repeat(819))
  const answers: { request: IncomingMessage; response: ServerResponse; socket: Socket }[] = []
  const note = (message: unknown) => answers.push(message as (typeof answers)[number])
  subscribe('http.server.request.start', note)
  t.after(() => unsubscribe('http.server.request.start', note))
  const { hostname, port } = new URL(url)
  const path = `/web-chat/${siteId}/stream?token=${encodeURIComponent(page.token)}`
  const client = connect({ host: hostname, port: Number(port) })
  t.after(() => client.destroy())
  client.pause()
  client.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nlast-event-id: ${randomUUID().replace(/^.{8}/, '00000000')}\r\n\r\n`)
  const answer = await until('the end of the replay', async () =>
    answers.find(({ request, response }) => request.url === path && response.writableEnded),
  )
  const { bytesWritten } = answer.socket
  assert.ok(bytesWritten > 200_000 && bytesWritten < 400_000, `${bytesWritten}`)
  assert.equal(answer.response.writableLength, 0)
})

test('a replay covers the newest 5,000 messages; the older ones are listed from the cursor that the stream names', async (t) => {
  const world = await startSite(t)
  const { page } = world
  const { id: first, conversation_id } = (await page.says('first')).body.data
  const ids = await insertMessages(world, conversation_id, 5_060, 'short')
  const [gap, ...messages] = await readStream(page, first, ids.at(-1))
  assert.equal(gap?.event, 'gap')
  assert.deepEqual(pluck(messages, 'id'), ids.slice(60))
  const older = await page.thread(`?limit=100&cursor=${gap?.data.next_cursor}`)
  assert.deepEqual(pluck(older, 'id'), [first, ...ids.slice(0, 60)].reverse())
})

test('a message that began first and committed last is delivered too', async (t) => {
  const { page, db, api, answers } = await startSite(t)
  const { conversation_id } = (await page.says('question')).body.data
  const stream = await page.stream()
  const early = newId()
  await answers(conversation_id, 'committed first')
  await stream.texts(1)
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    values (${api.workspaceId}, ${conversation_id}, ${early}, 'outbound', 'agent', 'text', 'begun first', 'sent', now())`
  await answers(conversation_id, 'and the next')
  assert.deepEqual((await stream.texts(3)).toSorted(), ['and the next', 'begun first', 'committed first'])
  // A page that resumes goes on from the newest it saw.
  const places = stream.received.filter(({ event }) => event === 'message').map(({ id }) => id)
  assert.deepEqual(places, places.toSorted())
})

test('other origins may call the web channel and nothing else', async (t) => {
  const { url, siteId, page, api } = await startSite(t)
  const { conversation_id } = (await page.says('hello')).body.data
  const allows = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin')
  assert.equal(allows(await page.call('GET', '/messages')), '*')
  assert.equal(allows(await page.call('POST', '/visitors')), '*')
  assert.equal(allows(await page.says('')), '*')
  assert.equal(allows(await page.call('GET', '/messages', undefined, { 'x-visitor-token': 'x' })), '*')
  assert.equal(allows((await page.stream()).response), '*')
  for (const path of ['visitors', 'messages', 'stream']) {
    const asked = { origin, 'access-control-request-method': 'POST' }
    const preflight = await fetch(`${url}/web-chat/${siteId}/${path}`, { method: 'OPTIONS', headers: asked })
    assert.equal(preflight.status, 204)
    assert.equal(allows(preflight), '*')
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /content-type.*x-visitor-token/)
    assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /POST/)
    assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
  }
  for (const path of [
    '/v1/conversations',
    `/v1/conversations/${conversation_id}/messages`,
    '/app/api/conversations',
    `/channels/web/${siteId}`,
    '/healthz',
    '/openapi.json',
  ]) {
    for (const method of ['GET', 'OPTIONS']) {
      const answer = await fetch(url + path, { method, headers: { origin, 'access-control-request-method': 'GET' } })
      assert.equal(allows(answer), null, `${method} ${path}`)
    }
  }
  assert.equal((await api.get('/conversations')).headers.get('access-control-allow-origin'), null)
})

test('an unknown site is 404, a token of another site 401', async (t) => {
  const { url, siteId, address, workspace, connect, db, api, page, open } = await startSite(t)
  const { api: theirs } = await workspace()
  const { web, msgapp } = (await connect({ workspaceId: theirs.workspaceId })).connections
  for (const unknown of [randomUUID(), 'nonsense', '%00', msgapp.id]) {
    const call = async (method: string, path: string) => {
      const response = await fetch(`${url}/web-chat/${unknown}${path}`, {
        method,
        headers: { 'x-visitor-token': page.token, 'content-type': 'application/json' },
        ...(method === 'POST' ? { body: '{"text":"hi"}' } : {}),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
    }
    assertRefused(await call('POST', '/visitors'), 404, 'not_found')
    assertRefused(await call('POST', '/messages'), 404, 'not_found')
    assertRefused(await call('GET', '/messages'), 404, 'not_found')
    assertRefused(await call('GET', `/stream?token=${encodeURIComponent(page.token)}`), 404, 'not_found')
  }

  const elsewhere = await openPage(t, { url, siteId: web.id, address })
  const half = page.token.slice(0, page.token.length / 2)
  for (const token of [elsewhere.token, '', 'x', half, `${page.token}x`, page.token.toLowerCase(), randomUUID()]) {
    const stranger = await open(token || ' ')
    assertRefused(await stranger.says('hi'), 401, 'unauthorized')
    assertRefused(await stranger.call('GET', '/messages'), 401, 'unauthorized')
    const { response } = await stranger.stream()
    assert.equal(response.status, 401, token)
  }
  const twice = `/web-chat/${siteId}/stream?token=${encodeURIComponent(page.token)}&token=x`
  assert.equal((await fetch(url + twice)).status, 401)
  assert.equal((await fetch(`${url}/web-chat/${siteId}/stream`)).status, 401)
  assert.equal((await fetch(`${url}/web-chat/${siteId}/messages`)).status, 401)
  const workspaces = [api.workspaceId, theirs.workspaceId]
  assert.equal((await db`select 1 from contacts where workspace_id in ${db(workspaces)}`).length, 0)
})

test('a visitor message is rejected with field and rule, or stored unchanged', async (t) => {
  const { page, db, api } = await startSite(t)
  for (const [body, message] of [
    [{}, 'text: required'],
    [{ text: '' }, 'text: must have 1 to 4096 characters'],
    [{ text: '🙂'.repeat(4097) }, 'text: must have 1 to 4096 characters'],
    [{ text: ' \n\u00a0' }, 'text: must not be blank'],
    [{ text: null }, 'text: required'],
    [{ text: 5 }, 'text: must be a string'],
    [{ text: 'a\0b' }, /^text: /],
    [{ text: '\ud800' }, /^text: /],
    [{ text: 'x', name: 5 }, 'name: must be a string'],
    [{ text: 'x', name: 'n'.repeat(501) }, /^name: /],
    [{ text: 'x', name: '\0' }, /^name: /],
    [{ text: 'x', email: 5 }, 'email: must be a string'],
    [{ text: 'x', email: 'e'.repeat(321) }, /^email: /],
    [[], /^body: /],
    [null, /^body: /],
  ] as const) {
    assertBadRequest(await page.call('POST', '/messages', body), message)
  }
  assert.equal((await db`select 1 from contacts where workspace_id = ${api.workspaceId}`).length, 0)
  for (const text of [
    '🙂'.repeat(4096),
    '<script>alert(1)</script>',
    ' x ',
    "'; drop table messages; --",
    'a\u2028b',
  ]) {
    const said = await page.says(text, { name: '  ', email: null, unknown: '\0' })
    assert.deepEqual([said.status, said.body.data?.content_text], [201, text], said.text)
  }
  assert.equal((await page.thread()).length, 5)
  const [contact] = await db`select name, email from contacts where workspace_id = ${api.workspaceId}`
  assert.deepEqual(contact, { name: null, email: null })
})

test('a visitor who writes faster than a person is rate-limited, and no other visitor is', async (t) => {
  const { siteId, page, open, db } = await startSite(t)
  const answers = await Promise.all(Array.from({ length: 65 }, (_, i) => page.says(`${i}`)))
  assert.equal(answers.filter(({ status }) => status === 201).length, 60)
  const refused = answers.filter(({ status }) => status !== 201)
  for (const answer of refused) {
    assertRefused(answer, 429, 'rate_limited', /60 messages a minute/)
    const seconds = Number(answer.headers.get('retry-after'))
    assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, `${seconds}`)
  }
  assert.equal((await page.thread('?limit=100')).length, 60)
  assert.equal((await (await open()).says('me too')).status, 201)

  // A client that collects tokens is limited by its address.
  const gathered = [await open(), await open()] as const
  await db`update visitor_windows set call_count = 600 where key like ${`${siteId} % messages`}`
  assertRefused(await gathered[0].says('flood'), 429, 'rate_limited', /600 messages a minute from one address/)
  // A client at that rate cannot fill the disk.
  await db`update visitor_windows set call_count = 0 where key like ${`${siteId} %`}`
  await db`update visitor_windows set call_count = 20000 where key like ${`${siteId} % messages day`}`
  const day = await gathered[0].says('more')
  assertRefused(day, 429, 'rate_limited', /20000 messages a day from one address/)
  assert.ok(Number(day.headers.get('retry-after')) > 80_000)
  await sweepVisitors(db)
  assert.ok((await db`select 1 from visitor_windows where key like ${`${siteId} % day`}`).length > 0)
  const elsewhere = { 'x-forwarded-for': '203.0.113.9' }
  assert.equal((await gathered[1].call('POST', '/messages', { text: 'not me' }, elsewhere)).status, 201)
})

test('a visitor has at most eight streams at a time', async (t) => {
  const { page, open } = await startSite(t)
  const streams = await Promise.all(Array.from({ length: 12 }, () => page.stream()))
  const statuses = streams.map(({ response }) => response.status)
  assert.equal(statuses.filter((status) => status === 200).length, 8, statuses.join())
  const refused = streams.find(({ response }) => response.status !== 200)?.response
  assert.deepEqual([refused?.status, refused?.headers.get('retry-after')], [429, '30'])
  assert.equal((await (await open()).stream()).response.status, 200)
})

test('a visitor opens at most 120 streams a minute', async (t) => {
  const { page, open, db, api } = await startSite(t)
  await page.says('hello')
  assert.equal((await page.stream()).response.status, 200)
  // As if the page had reconnected ten times a second.
  const counted = await db`
    update visitor_windows set call_count = 120
    where key in (select external_id || ' streams' from contact_identities where workspace_id = ${api.workspaceId})`
  assert.equal(counted.count, 1)
  const { response } = await page.stream()
  assert.equal(response.status, 429)
  const seconds = Number(response.headers.get('retry-after'))
  assert.ok(seconds >= 1 && seconds <= 60, `${seconds}`)
  assert.equal((await (await open()).stream()).response.status, 200)
})

test('a member replies to a visitor with text or a file, at any time', async (t) => {
  const { page, browser, answers, db } = await startSite(t)
  const { conversation_id, id } = (await page.says('question')).body.data
  const path = `/conversations/${conversation_id}/messages`
  for (const [body, field] of [
    [{ type: 'template', template: { name: 'hello_world' } }, /^type: /],
    [{ text: '' }, /^text: /],
    [{ text: ' \n' }, 'text: must not be blank'],
    [{ text: 'x'.repeat(4097) }, /^text: /],
  ] as const) {
    assertBadRequest(await browser.call('POST', path, body), field)
  }
  await db`update conversations set last_inbound_at = now() - interval '30 days' where id = ${conversation_id}`
  await answers(conversation_id, 'late, but here')
  const image = { type: 'image', media_url: 'https://cdn.example/a.png', text: 'a picture' }
  assert.equal((await browser.call('POST', path, image)).status, 201)
  const quoting = await browser.call('POST', path, { text: 'about this', reply_to_message_id: id })
  assert.equal(quoting.body.data.reply_to_message_id, id)
  const quotingOwn = { text: 'and this', reply_to_message_id: quoting.body.data.id }
  assert.equal((await browser.call('POST', path, quotingOwn)).status, 201)
  assert.deepEqual(pluck(await page.thread(), 'content_text', 'reply_to_message_id'), [
    ['and this', quoting.body.data.id],
    ['about this', id],
    ['a picture', null],
    ['late, but here', null],
    ['question', null],
  ])
})

test('a visitor sends a file; its type is checked, and only its visitor can send it', main, async (t) => {
  const { url, siteId, page, open, browser, db, api } = await startSite(t)
  const give = async (token: string, name: string, type: string, bytes: Uint8Array<ArrayBuffer>) => {
    const response = await fetch(`${url}/web-chat/${siteId}/files?filename=${encodeURIComponent(name)}`, {
      method: 'POST',
      headers: { origin, 'content-type': type, 'x-visitor-token': token },
      body: bytes,
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
  }
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
  const png = await give(page.token, 'photo.exe', 'text/html', bytes('\x89PNG\r\n\x1a\nrest'))
  assert.equal(png.status, 201, png.text)
  assert.deepEqual([png.body.data.type, png.body.data.filename], ['image', 'photo.exe.png'])

  const other = await open()
  const stolen = await other.call('POST', '/messages', { file: png.body.data.file })
  assertBadRequest(stolen, 'file: not a file of this visitor')
  const message = { file: png.body.data.file, text: 'see?', client_id: randomUUID() }
  const sent = await page.call('POST', '/messages', message)
  assert.equal(sent.status, 201, sent.text)
  assert.deepEqual([sent.body.data.content_type, sent.body.data.content_text], ['image', 'see?'])
  const path = new URL(sent.body.data.media_url).pathname
  const file = await fetch(`${url}${path}`)
  assert.deepEqual([file.status, file.headers.get('content-type')], [200, 'image/png'])
  // Repeated, it is one message.
  assert.equal((await page.call('POST', '/messages', message)).body.data.id, sent.body.data.id)
  const { conversation_id } = sent.body.data
  const [shown] = (await browser.call('GET', `/conversations/${conversation_id}/messages`)).body.data
  assert.deepEqual([shown.media.filename, shown.media.state], ['photo.exe.png', 'stored'])

  for (const [name, type, text] of [
    ['setup.exe', 'application/x-msdownload', 'MZ'],
    ['page.html', 'text/html', '<script>'],
    ['x.svg', 'image/svg+xml', '<svg/>'],
    ['x.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'MZ'],
    ['x.txt', 'text/plain', 'a\0b'],
    ['x.zip', 'application/zip', 'PK\x03\x04'],
  ] as const) {
    assertBadRequest(await give(page.token, name, type, bytes(text)), /^body: this type/)
  }
  const large = new Uint8Array(10 * 1024 * 1024 + 1)
  assertBadRequest(await give(page.token, 'x.txt', 'text/plain', large), /^body: a file may have/)
  assertRefused(await give('unknown', 'x.txt', 'text/plain', bytes('a')), 401, 'unauthorized')
  const unsent = await give(page.token, 'draft.txt', 'text/plain', bytes('draft'))
  const kept = await give(other.token, 'other.txt', 'text/plain', bytes('other'))
  const statusOf = async ({ file, filename }: Json) => (await fetch(`${url}/media/${file}/${filename}`)).status
  assert.deepEqual([await statusOf(unsent.body.data), await statusOf(kept.body.data)], [200, 200])
  await db`
    update visitor_windows set call_count = 10
    where key in (select external_id || ' files' from contact_identities where workspace_id = ${api.workspaceId})`
  const limited = await give(page.token, 'x.txt', 'text/plain', bytes('a'))
  assertRefused(limited, 429, 'rate_limited', /^over 10 files a minute/)

  // Erasing the visitor erases the file, and one that was not sent.
  const { contact_id } = (await browser.call('GET', `/conversations/${conversation_id}`)).body.data
  assert.equal((await browser.call('DELETE', `/contacts/${contact_id}`)).status, 200)
  assert.equal((await fetch(`${url}${path}`)).status, 404)
  assert.deepEqual([await statusOf(unsent.body.data), await statusOf(kept.body.data)], [404, 200])
  const left = await db`select filename from uploads where workspace_id = ${api.workspaceId}`
  assert.deepEqual(pluck(left, 'filename'), ['other.txt'])
})

test("unsent files of visitors stop no other visitor, and are deleted after an hour; a member's after a day", async (t) => {
  const { url, siteId, address, page, browser, db, api } = await startSite(t)
  const give = (token: string) =>
    fetch(`${url}/web-chat/${siteId}/files?filename=a.txt`, {
      method: 'POST',
      headers: { origin, 'x-forwarded-for': address, 'content-type': 'text/plain', 'x-visitor-token': token },
      body: 'a',
    })
  // As if visitors of other networks had uploaded them.
  const insert = (count: number, isVisitor: boolean, minutes: number) => db`
    insert into uploads (workspace_id, id, token, mime_type, size_bytes, created_by, is_visitor, created_at)
    select ${api.workspaceId}, gen_random_uuid(), gen_random_uuid()::text, 'text/plain', 1, gen_random_uuid(), ${isVisitor},
      now() - make_interval(mins => ${minutes})
    from generate_series(1, ${count})`
  await insert(2_000, true, 59)
  const given = await give(page.token)
  assert.equal(given.status, 201, await given.text())
  await insert(10, true, 61)
  await insert(10, false, 61)
  await insert(10, false, 25 * 60)
  await sweepUploads(db, { ...createFolderStore('/nowhere'), delete: async () => {} }, pino({ level: 'silent' }))
  const [left] = await db<{ visitors: number; members: number }[]>`
    select count(*) filter (where is_visitor)::int as visitors, count(*) filter (where not is_visitor)::int as members
    from uploads where workspace_id = ${api.workspaceId}`
  assert.deepEqual(left, { visitors: 2_001, members: 10 })

  // Members have a limit of their own.
  await insert(990, false, 0)
  const upload = await fetch(`${url}/app/api/uploads?filename=a.txt`, {
    method: 'POST',
    headers: { origin: publicUrl, cookie: browser.cookie(), 'content-type': 'text/plain' },
    body: 'a',
  })
  assert.equal(upload.status, 429)
})

test('a name or e-mail that arrives later is stored; an existing one is kept', async (t) => {
  const { api, page } = await startSite(t)
  await page.says('hi')
  await page.says('it is me', { name: 'Ann', email: 'ann@example.com' })
  await page.says('or not', { name: 'Bob', email: 'bob@example.com' })
  const [{ contact }] = (await api.get('/conversations')).body.data
  assert.deepEqual([contact.name, contact.email], ['Ann', 'ann@example.com'])
})

test('a message repeated with its client_id is stored once, in any process', async (t) => {
  const world = await startSite(t)
  const { url, page, open, twin, api, db } = world
  const eventsOf = await recordEvents(t, world)
  const client_id = randomUUID()
  const bases = [url, await twin()]
  const answers = await Promise.all(
    Array.from({ length: 6 }, async (_, i) =>
      (await open(page.token, bases[i % 2])).says(`attempt ${i}`, { client_id }),
    ),
  )
  answers.push(await page.says('later', { client_id: client_id.toUpperCase() }))
  const [{ data } = assert.fail()] = answers.map(({ body }) => body)
  for (const { status, body, text } of answers) {
    assert.equal(status, 201, text)
    assert.deepEqual(body, { data })
  }
  assert.deepEqual([data.client_id, data.message_id], [client_id, data.id])
  assert.deepEqual(await page.thread(), [data])
  const events = (await eventsOf()).map(({ event }) => event)
  assert.deepEqual(events, ['contact.created', 'conversation.created', 'message.received'])

  // The client_id is scoped to the visitor: for another visitor it is another message.
  const other = (await (await open()).says('mine', { client_id })).body.data
  assert.notEqual(other.id, data.id)
  await page.says('no name')
  assert.equal((await db`select 1 from messages where workspace_id = ${api.workspaceId}`).length, 3)
  assert.deepEqual(pluck(await page.thread(), 'client_id'), [undefined, client_id])
  const [conversation] = (await api.get('/conversations')).body.data
  const [seen] = (await api.get(`/conversations/${conversation.id}/messages`)).body.data
  assert.equal('client_id' in seen, false)
  for (const wrong of ['x', 5, '']) {
    assertBadRequest(await page.says('hi', { client_id: wrong }), /^client_id: /)
  }
})

test('new visitors are limited by address across all processes', async (t) => {
  const { url, siteId, twin, db } = await startSite(t)
  const bases = [url, await twin()]
  const visit = (place: number, address: string) =>
    fetch(`${bases[place % 2]}/web-chat/${siteId}/visitors`, {
      method: 'POST',
      headers: { origin, 'x-forwarded-for': `203.0.113.9, ${address}` },
    })
  const statuses = await Promise.all(Array.from({ length: 34 }, async (_, i) => (await visit(i, '192.0.2.1')).status))
  assert.equal(statuses.filter((status) => status === 201).length, 30, statuses.join())
  const refused = await visit(0, '192.0.2.1')
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  assert.equal(refused.headers.get('access-control-allow-origin'), '*')
  assert.equal((await visit(0, '192.0.2.2')).status, 201)
  await db`update visitor_windows set started_at = started_at - interval '61 seconds' where key like ${`${siteId} %`}`
  assert.equal((await visit(0, '192.0.2.1')).status, 201)
  await sweepVisitors(db)
  assert.equal((await db`select 1 from visitor_windows where key like ${`${siteId} %`}`).length, 1)
})

test('an untrusted proxy cannot set the address of its visitors', async (t) => {
  const { url, siteId } = await startSite(t, ['10.0.0.0/8'])
  const visit = async (client: number) => {
    const headers = { origin, 'x-forwarded-for': `198.51.100.${client}` }
    return (await fetch(`${url}/web-chat/${siteId}/visitors`, { method: 'POST', headers })).status
  }
  // One of the 30 is the page that `startSite` opened.
  const statuses = await Promise.all(Array.from({ length: 30 }, (_, client) => visit(client)))
  assert.equal(statuses.filter((status) => status === 201).length, 29, statuses.join())
})

test('members configure the appearance of the chat, and every page may read it', async (t) => {
  const { url, siteId, browser, page, workspace } = await startSite(t)
  const looks = () => page.call('GET', '/settings')
  const look = { title: null, greeting: null, color: '#5442dc', position: 'right', ask_details: 'never' }
  const plain = { ...look, reply_time: null, hint: null }
  assert.deepEqual((await looks()).body, { data: plain })
  const set = (changes: Json) => browser.call('PATCH', '/channels/web/widget', changes)
  const changed = await set({ title: ' Help ', color: '#FFD400', position: 'left', ask_details: 'optional' })
  const now = { ...look, title: 'Help', color: '#ffd400', position: 'left', ask_details: 'optional' }
  const team = { member_names: 'first', show_reply_time: true }
  const stored = { ...now, ...team, id: siteId, allowed_origins: [], identity_secret_at: null }
  assert.deepEqual(changed.body.data, stored)
  assert.deepEqual((await looks()).body.data, { ...now, reply_time: null, hint: null })
  assert.deepEqual((await set({ title: ' ' })).body.data.title, null)
  assert.deepEqual((await browser.call('PUT', '/channels/web', {})).status, 200)
  assert.equal((await looks()).body.data.color, '#ffd400', 'connecting again changes nothing of it')
  for (const [changes, message] of [
    [{ title: 'x'.repeat(61) }, 'title: must have at most 60 characters'],
    [{ greeting: 'x'.repeat(301) }, 'greeting: must have at most 300 characters'],
    [{ color: 'red' }, /^color: /],
    [{ color: '#fff;}' }, /^color: /],
    [{ position: 'top' }, /^position: /],
    [{ ask_details: true }, /^ask_details: /],
    [{ member_names: 'nick' }, /^member_names: /],
    [{ show_reply_time: 'yes' }, /^show_reply_time: /],
    [{ allowed_origins: ['https://a.test', 'b.test'] }, /^allowed_origins\[1\]: /],
    [{ allowed_origins: ['https://a.test/shop'] }, /^allowed_origins\[0\]: /],
    [{ allowed_origins: ['*'] }, /^allowed_origins\[0\]: /],
    [{ allowed_origins: ['javascript:alert(1)'] }, /^allowed_origins\[0\]: /],
    [{ allowed_origins: Array.from({ length: 51 }, () => 'https://a.test') }, /^allowed_origins: /],
  ] as const) {
    assertBadRequest(await set(changes), message)
  }
  const agent = await createMember(browser, 'agent')
  assert.equal((await agent.call('GET', '/channels/web/widget')).status, 200)
  assertRefused(await agent.call('PATCH', '/channels/web/widget', { color: '#000000' }), 403, 'forbidden')
  const stranger = createBrowser(url)
  await stranger.signIn((await workspace()).owner)
  assertRefused(await stranger.call('PATCH', '/channels/web/widget', { color: '#000000' }), 404, 'not_found')
  const [entry] = (await browser.call('GET', '/audit')).body.data.filter(
    ({ action }: Json) => action === 'widget.changed',
  )
  assert.deepEqual([entry.subject_id, entry.summary], [siteId, 'title'])
})

test('with a list of allowed sites, calls from other sites are rejected', async (t) => {
  const { url, siteId, browser, page } = await startSite(t)
  await page.says('hello')
  const shop = 'https://shop.test'
  await browser.call('PATCH', '/channels/web/widget', { allowed_origins: [`${shop}/`, 'http://127.0.0.1:8080'] })
  const paths: [string, string, Json?][] = [
    ['GET', '/settings'],
    ['POST', '/visitors'],
    ['POST', '/messages', { text: 'hi' }],
    ['POST', '/messages', { text: '' }],
    ['GET', '/messages'],
    ['POST', '/identity', { token: 'x' }],
    ['POST', '/typing', { is_typing: true }],
    ['POST', '/seen', { message_id: randomUUID() }],
    ['GET', `/stream?token=${encodeURIComponent(page.token)}`],
    ['OPTIONS', '/messages'],
  ]
  const strangers = [
    ...['https://evil.test', 'http://shop.test', 'https://shop.test.evil.test', 'https://www.shop.test', 'null', '*'],
    ...[
      'https://shop.test.',
      'https://shop.test:8443',
      'HTTPS://SHOP.TEST',
      'https://shop.test, https://evil.test',
      undefined,
    ],
  ]
  const call = async (origin: string | undefined, method: string, path: string, body?: Json) => {
    const abort = new AbortController()
    const response = await fetch(`${url}/web-chat/${siteId}${path}`, {
      method,
      headers: {
        'x-visitor-token': page.token,
        ...(origin === undefined ? {} : { origin }),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: abort.signal,
    })
    const { status, headers } = response
    abort.abort()
    return { status, allowed: headers.get('access-control-allow-origin'), vary: headers.get('vary') }
  }
  for (const [method, path, body] of paths) {
    const allowed = await call(shop, method, path, body)
    assert.notEqual(allowed.status, 403, `${method} ${path}`)
    assert.deepEqual([allowed.allowed, allowed.vary], [shop, 'origin'], `${method} ${path}`)
    for (const origin of strangers) {
      const refused = await call(origin, method, path, body)
      assert.deepEqual(refused, { status: 403, allowed: null, vary: 'origin' }, `${method} ${path} of ${origin}`)
    }
  }
  // A browser leaves the origin out where a page of our own reads.
  await browser.call('PATCH', '/channels/web/widget', { allowed_origins: ['http://parley.test'] })
  assert.equal((await call(undefined, 'GET', '/messages')).status, 200)
  assert.equal((await call(undefined, 'POST', '/visitors')).status, 403)
})

const seconds = () => Math.floor(Date.now() / 1_000)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** An identity token as a site's server signs it. */
function signIdentity(
  secret: string,
  claims: Json,
  header: Json = { alg: 'HS256', typ: 'JWT' },
  hash = 'sha256',
): string {
  const signed = `${encode(header)}.${encode({ exp: seconds() + 600, ...claims })}`
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}

/** A site whose server can sign identities. `identify` returns the page of the customer in another browser. */
async function startSignedSite(t: TestContext) {
  const site = await startSite(t)
  const secret: string = dataOf(await site.browser.call('POST', '/channels/web/identity-secret'), 201).secret
  const send = (token: string) => site.page.call('POST', '/identity', { token })
  const identify = async (claims: Json) =>
    site.open(dataOf(await send(signIdentity(secret, claims)), 201).visitor_token)
  return { ...site, secret, send, identify }
}

test(
  'a customer whom the site signs in has one conversation on all devices, apart from the anonymous visitor',
  main,
  async (t) => {
    const { page, identify, api, answers, browser } = await startSignedSite(t)
    await page.says('before the sign-in')
    const customer = { sub: 'customer 4711/ä', name: 'Ann Lee', email: 'ann@example.com' }
    const phone = await identify(customer)
    const { conversation_id } = (await phone.says('from my phone', { name: 'Mallory', email: 'm@example.com' })).body
      .data
    const laptop = await identify(customer)
    const stream = await laptop.stream()
    assert.deepEqual(pluck(await laptop.thread(), 'content_text'), ['from my phone'])
    await answers(conversation_id, 'welcome back')
    assert.deepEqual(await stream.texts(1), ['welcome back'])
    await laptop.says('from my laptop')
    const texts = ['from my laptop', 'welcome back', 'from my phone']
    assert.deepEqual(pluck(await phone.thread(), 'content_text'), texts)
    assert.deepEqual(pluck(await page.thread(), 'content_text'), ['before the sign-in'])

    const { contact } = (await api.get(`/conversations/${conversation_id}`)).body.data
    assert.deepEqual(
      [contact.name, contact.email],
      ['Ann Lee', 'ann@example.com'],
      'the signed values, not those of the page',
    )
    await phone.says('here', { page: { url: 'https://shop.test/orders' } })
    const visit = (await browser.call('GET', `/contacts/${contact.id}/visit`)).body.data
    assert.equal(visit.customer_id, customer.sub)

    const other = await identify({ sub: 'customer 4712' })
    assert.deepEqual(await other.thread(), [])
    assert.notEqual((await other.says('hi')).body.data.conversation_id, conversation_id)
  },
)

test('an identity that is unsigned, wrongly signed, expired or of another site is refused with the reason', async (t) => {
  const { secret, send, identify, page, siteId, workspace, connect, url } = await startSignedSite(t)
  const victim = await identify({ sub: 'victim' })
  await victim.says('secret')
  const claims = { sub: 'victim' }
  const good = signIdentity(secret, claims)
  const [header = '', payload = '', signature = ''] = good.split('.')
  const cases: [token: string, reason: RegExp][] = [
    ['', /not a JSON Web Token/],
    ['a.b', /not a JSON Web Token/],
    [`${encode([])}.${payload}.${signature}`, /not a JSON Web Token/],
    [`${encode({ alg: 'none' })}.${payload}.`, /not a JSON Web Token/],
    [`${encode({ alg: 'none' })}.${payload}.${signature}`, /alg must be HS256/],
    [signIdentity(secret, claims, { alg: 'HS512' }, 'sha512'), /alg must be HS256/],
    [signIdentity(secret, claims, { alg: 'HS256', crit: ['x'] }), /crit is not supported/],
    [signIdentity('', claims), /wrong signature/],
    [signIdentity(secret.slice(6), claims), /wrong signature/],
    [`${header}.${encode({ sub: 'victim', exp: seconds() + 60 })}.${signature}`, /wrong signature/],
    [`${header}.${payload}.${signature.slice(0, -4)}`, /wrong signature/],
    [signIdentity(secret, { ...claims, exp: seconds() - 1 }), /it has expired/],
    [signIdentity(secret, { ...claims, exp: seconds() + 90_000 }), /at most 24 hours/],
    [signIdentity(secret, { ...claims, exp: undefined }), /exp is required/],
    [signIdentity(secret, { ...claims, exp: '2099-01-01' }), /exp is required/],
    [signIdentity(secret, { ...claims, nbf: seconds() + 600 }), /not valid yet/],
    [signIdentity(secret, { ...claims, nbf: 'tomorrow' }), /nbf must be a number/],
    [signIdentity(secret, { ...claims, aud: randomUUID() }), /aud must be the id of this site/],
    [signIdentity(secret, { sub: 4711 }), /sub must be a string/],
    [signIdentity(secret, { sub: ' ' }), /sub is required/],
    [signIdentity(secret, {}), /sub is required/],
    [signIdentity(secret, { sub: 'x'.repeat(201) }), /sub must have at most 200/],
    [signIdentity(secret, { sub: 'a\0b' }), /cannot be stored/],
    [signIdentity(secret, { ...claims, name: {} }), /name must be a string/],
  ]
  for (const [token, reason] of cases) {
    const refused = await send(token)
    assertRefused(refused, 401, 'unauthorized', /^identity token: /)
    assert.match(refused.body.error.message, reason, token)
  }
  assertBadRequest(await page.call('POST', '/identity', {}), /^token: /)
  assertBadRequest(await send('x'.repeat(8_001)), /^token: /)
  assert.equal((await send(signIdentity(secret, { ...claims, aud: [siteId] }))).status, 201)

  // A token may be used again, and leads to the same customer. It is no visitor token.
  const [one, two] = [dataOf(await send(good), 201), dataOf(await send(good), 201)]
  assert.equal(one.visitor_id, two.visitor_id)
  assert.equal((await page.call('GET', '/messages', undefined, { 'x-visitor-token': good })).status, 401)

  // Another workspace refuses the token and the session, with and without a secret of its own.
  const { owner, api: theirApi } = await workspace()
  const otherId = (await connect({ workspaceId: theirApi.workspaceId })).connections.web.id
  const elsewhere = async (path: string, token: string, method = 'POST') =>
    fetch(`${url}/web-chat/${otherId}${path}`, {
      method,
      headers: { origin, 'content-type': 'application/json', 'x-visitor-token': one.visitor_token },
      ...(method === 'POST' ? { body: JSON.stringify({ token }) } : {}),
    })
  const without = await elsewhere('/identity', good)
  assert.match(await without.text(), /the site has no identity secret/)
  const stranger = createBrowser(url)
  await stranger.signIn(owner)
  const theirs: string = dataOf(await stranger.call('POST', '/channels/web/identity-secret'), 201).secret
  assert.equal((await elsewhere('/identity', good)).status, 401)
  assert.equal((await elsewhere('/messages', '', 'GET')).status, 401)
  const twin = await elsewhere('/identity', signIdentity(theirs, claims))
  const twinVisitor: Json = await twin.json()
  assert.notEqual(twinVisitor.data.visitor_id, one.visitor_id, 'the same customer id elsewhere is another visitor')
})

test('a session ends when its identity token expires, and with the identity secret, which is shown once', async (t) => {
  const { browser, secret, send, identify, page, open, db, api, url, workspace } = await startSignedSite(t)
  const brief = await identify({ sub: 'a', exp: seconds() + 2 })
  assert.equal((await brief.call('GET', '/messages')).status, 200)
  const stream = await brief.stream()
  await stream.ended
  await until('the end of the session', async () => (await brief.call('GET', '/messages')).status === 401)
  assertRefused(await brief.says('hi'), 401, 'unauthorized')

  const session = await identify({ sub: 'a' })
  const old = signIdentity(secret, { sub: 'a' })
  const [row] = await db<{ identity_secret: string }[]>`
    select identity_secret from channel_connections where workspace_id = ${api.workspaceId} and channel = 'web'`
  assert.match(row?.identity_secret ?? '', /^v2\./)
  assert.equal(row?.identity_secret.includes(secret), false)
  const widget = (await browser.call('GET', '/channels/web/widget')).body.data
  assert.equal(JSON.stringify(widget).includes('idsec_'), false)
  assert.ok(Date.parse(widget.identity_secret_at) <= Date.now())
  assert.equal((await browser.call('PUT', '/channels/web', {})).status, 200)
  assert.equal((await session.call('GET', '/messages')).status, 200, 'connecting again keeps the secret')

  const streams = { customer: await session.stream(), visitor: await page.stream() }
  const next: string = dataOf(await browser.call('POST', '/channels/web/identity-secret'), 201).secret
  assert.notEqual(next, secret)
  await streams.customer.ended
  await page.says('marker')
  assert.deepEqual(await streams.visitor.texts(1), ['marker'], 'the stream of an anonymous visitor stays open')
  assert.equal((await session.call('GET', '/messages')).status, 401)
  assertRefused(await send(old), 401, 'unauthorized', /wrong signature/)
  const renewed = await open(dataOf(await send(signIdentity(next, { sub: 'a' })), 201).visitor_token)
  assert.equal((await browser.call('DELETE', '/channels/web/identity-secret')).status, 200)
  assert.equal((await renewed.call('GET', '/messages')).status, 401)
  assertRefused(await send(signIdentity(next, { sub: 'a' })), 401, 'unauthorized', /no identity secret/)
  assert.equal((await page.says('still here')).status, 201, 'anonymous visitors keep their sessions')

  const agent = await createMember(browser, 'agent')
  assertRefused(await agent.call('POST', '/channels/web/identity-secret'), 403, 'forbidden')
  const stranger = createBrowser(url)
  await stranger.signIn((await workspace()).owner)
  assertRefused(await stranger.call('POST', '/channels/web/identity-secret'), 404, 'not_found')
  const actions = pluck((await browser.call('GET', '/audit')).body.data, 'action')
  assert.equal(actions.filter((action) => action === 'widget.secret_created').length, 2)
  assert.ok(actions.includes('widget.secret_deleted'))
})

test("a visitor sees the member's name, that a member types, and that a member has read their message", async (t) => {
  const { page, answers, browser, open } = await startSite(t)
  assert.equal((await browser.call('PATCH', '/profile', { name: 'Ann Miller' })).status, 200)
  const { conversation_id } = (await page.says('question')).body.data
  const stream = await page.stream()
  const last = (event: string) => stream.received.findLast((one) => one.event === event)?.data
  const report = (typing: string | null, state = 'open') =>
    browser.call('POST', '/presence', { page_id: '0'.repeat(32), conversation_id, typing, state })
  await report('reply')
  await until('the member types', async () => last('typing')?.is_typing === true)
  assert.deepEqual(last('typing'), { is_typing: true, name: 'Ann' })
  // A visitor with another conversation sees nothing of it.
  const other = await open()
  await other.says('hello')
  const quiet = await other.stream()
  await report('note')
  await until('the member stopped', async () => last('typing')?.is_typing === false)
  await report(null, 'closed')
  assert.equal((await browser.call('POST', `/conversations/${conversation_id}/read`)).status, 200)
  await until('the message is seen', async () => last('seen'))
  const [seen] = await page.thread()
  assert.equal(seen?.status, 'read')
  assert.ok(Date.parse(last('seen')?.up_to) >= Date.parse(seen?.created_at))
  await page.says('later')
  assert.equal((await page.thread())[0]?.status, 'received')

  await answers(conversation_id, 'answer')
  await until('the reply', async () => stream.received.some(({ data }) => data.content_text === 'answer'))
  // A reply says that the messages before it were read.
  const later = (await page.thread())[1]
  assert.deepEqual([later?.content_text, later?.status], ['later', 'read'])
  await until('it is seen', async () => Date.parse(last('seen')?.up_to) >= Date.parse(later?.created_at))
  const listed = async (name: string) => {
    await browser.call('PATCH', '/channels/web/widget', { member_names: name })
    return (await page.thread())[0]?.sender
  }
  assert.deepEqual(last('message')?.sender, { name: 'Ann' })
  assert.deepEqual(await listed('first'), { name: 'Ann' })
  assert.deepEqual(await listed('full'), { name: 'Ann Miller' })
  assert.equal(await listed('hidden'), null)
  // A stream that is open follows the setting.
  await until('a reply without a name', async () => {
    const { id } = await answers(conversation_id, 'nameless')
    const shown = await until('the reply', async () => stream.received.find(({ data }) => data.id === id))
    return shown.data.sender === null
  })
  await other.says('marker')
  assert.deepEqual(await quiet.texts(1), ['marker'])
})

test('members see that a visitor types, with one row for any number of signals', async (t) => {
  const { page, open, browser, db, api, url } = await startSite(t)
  const typing = (isTyping: boolean, from = page) => from.call('POST', '/typing', { is_typing: isTyping })
  const rows = () => db<{ conversation_id: string }[]>`
    select conversation_id from visitor_presence where workspace_id = ${api.workspaceId}`
  const strangerTypes = await typing(true, await open())
  assert.deepEqual([strangerTypes.status, (await rows()).length], [204, 0], 'a visitor who has not written has no row')
  const { conversation_id } = (await page.says('question')).body.data
  const stream = await openStream(t, `${url}/app/api/stream`, { cookie: browser.cookie(), origin: publicUrl })
  const visitors = () => stream.received.findLast(({ event }) => event === 'presence')?.data.visitors
  // 60 a minute: the minute may begin in between.
  const statuses: number[] = []
  while (statuses.length <= 120 && statuses.at(-1) !== 429) statuses.push((await typing(true)).status)
  assert.deepEqual([statuses[0], statuses.at(-1)], [204, 429])
  assert.deepEqual(pluck(await rows(), 'conversation_id'), [conversation_id])
  await until('members see it', async () => visitors()?.includes(conversation_id))
  // The page of the visitor vanished: the next report of a member's page removes the row.
  await db`update visitor_presence set typing_until = now() where workspace_id = ${api.workspaceId}`
  await browser.call('POST', '/presence', { page_id: '1'.repeat(32), conversation_id: null, state: 'open' })
  await until('members no longer see it', async () => visitors()?.length === 0)
  assert.equal((await rows()).length, 0)
})

test('read marks of a visitor reach the members, and replies in the web chat do not lower the delivery rate', async (t) => {
  const { page, open, answers, browser } = await startSite(t)
  const { conversation_id } = (await page.says('question')).body.data
  const one = await answers(conversation_id, 'one')
  const two = await answers(conversation_id, 'two')
  const other = await open()
  await other.says('not mine')
  assert.equal((await other.call('POST', '/seen', { message_id: two.id })).status, 204)
  assertBadRequest(await other.call('POST', '/seen', { message_id: 'x' }), /^message_id: /)
  assert.equal((await page.call('POST', '/seen', { message_id: one.id })).status, 204)
  const statuses = async () =>
    (await browser.call('GET', `/conversations/${conversation_id}/messages`)).body.data.map(
      ({ status }: Json) => status,
    )
  assert.deepEqual(await statuses(), ['sent', 'read', 'received'])
  assert.equal((await page.thread())[1]?.status, 'read')
  const { funnel } = (await browser.call('GET', '/overview?days=7')).body.data
  assert.deepEqual(funnel, { sent: 0, delivered: 0, read: 0, failed: 0 })
})

test('visitors see how soon members usually reply, once there are enough replies', async (t) => {
  const { page, browser, db, api } = await startSite(t)
  const replyTime = async () => {
    const { reply_time, hint } = dataOf(await page.call('GET', '/settings?language=en'))
    return [reply_time, hint]
  }
  await db`
    insert into message_periods (workspace_id, at, channel, connection_id, inbound, outbound, answers, answer_seconds,
      within_five_minutes, within_one_hour, within_one_day)
    values (${api.workspaceId}, now(), 'web', gen_random_uuid(), 9, 9, 9, 9000, 2, 5, 9)`
  assert.deepEqual(await replyTime(), ['hour', 'We usually reply within 1 hour'])
  await browser.call('PATCH', '/channels/web/widget', { show_reply_time: false })
  assert.deepEqual(await replyTime(), [null, null])
})

test('while it is closed, visitors see when members answer, in their language and time', async (t) => {
  const { page, browser, siteId } = await startSite(t)
  // Open for one minute a week, which begins two days from now.
  const opens = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 + 2 * 86_400_000 + 9 * 3_600_000)
  const periods = [{ day: (opens.getUTCDay() + 6) % 7, from: '09:00', to: '09:01' }]
  const schedule = { name: 'Rare', time_zone: 'UTC', periods, connection_ids: [siteId] }
  await browser.ask('POST', '/schedules', schedule, 201)
  const day = new Intl.DateTimeFormat('de', { weekday: 'long', timeZone: 'UTC' }).format(opens)
  const hint = async (query: string, headers = {}) =>
    dataOf(await page.call('GET', `/settings?language=de&${query}`, undefined, headers)).hint
  assert.equal(await hint('time_zone=Europe/Moscow'), `Wir antworten ab ${day}, 12:00`)
  assert.equal(await hint('time_zone=Mars/Base', { 'accept-language': '%%%' }), `Wir antworten ab ${day}, 09:00`)
  assert.equal(await hint('', { 'accept-language': 'de-AT,de;q=0.9' }), `Wir antworten ab ${day}, 09:00`)
})

test('marking as unread and merging do not show a visitor more than members have read', async (t) => {
  const { page, open, browser, api } = await startSite(t)
  const { conversation_id } = (await page.says('read')).body.data
  const statuses = async (from = page) => pluck(await from.thread(), 'status')
  const mark = async (what: 'read' | 'unread', id = conversation_id) =>
    assert.equal((await browser.call('POST', `/conversations/${id}/${what}`)).status, 200)
  const other = await open()
  const unread = (await other.says('no member opens this')).body.data.conversation_id
  await page.says('read, and later than the message of the other visitor')
  await mark('read')
  assert.deepEqual(await statuses(), ['read', 'read'])
  await mark('unread')
  assert.deepEqual(await statuses(), ['read', 'read'], 'a visitor does not see that members want to return to it')
  await page.says('new')
  assert.deepEqual(await statuses(), ['received', 'read', 'read'])

  const contactOf = async (id: string) => (await api.get(`/conversations/${id}`)).body.data.contact.id
  const [toId, fromId] = [await contactOf(conversation_id), await contactOf(unread)]
  const merged = await browser.call('POST', `/contacts/${toId}/merge`, { contact_id: fromId })
  assert.equal(merged.status, 200, merged.text)
  assert.deepEqual(await statuses(other), ['received'], 'no member has read it')
  await mark('read')
  assert.deepEqual([await statuses(other), await statuses()], [['read'], ['read', 'read', 'read']])
})

test('members do not see that a blocked visitor types', async (t) => {
  const { page, browser, db, api } = await startSite(t)
  const { conversation_id } = (await page.says('question')).body.data
  assert.equal((await browser.call('POST', `/conversations/${conversation_id}/block`)).status, 200)
  assert.equal((await page.call('POST', '/typing', { is_typing: true })).status, 204)
  assert.equal((await db`select from visitor_presence where workspace_id = ${api.workspaceId}`).length, 0)
})
