/** Webhook delivery against well-behaved and faulty receivers. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import type { DnsResolver } from '../../common/address.ts'
import { freePort } from '../../scripts/free-port.ts'
import { dataOf, pluck } from '../../tests/assertions.ts'
import { signIn } from '../../tests/browser.ts'
import {
  addEndpoint,
  attemptsOf,
  causeEvent,
  multiply,
  postpone,
  queueEvents,
  waitForAttempts,
} from '../../tests/deliveries.ts'
import { type Behaviour, type Received, type Receiver, startReceiver } from '../../tests/receiver.ts'
import { file, type Json, main, start, startSignedIn, times, type World, withProvider } from '../../tests/support.ts'
import { until } from '../../tests/until.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { Db } from '../lib/postgres/db.ts'
import { firstIdOf } from '../lib/postgres/partitions.ts'
import { sweepDeliveries } from './cancel.ts'
import { keepEventDays } from './partitions.ts'
import { createPoster } from './post.ts'
import { type Attempt, settleAttempts } from './settle.ts'

const trusted = readFileSync(join(import.meta.dirname, '../../tests/fixtures/tls.crt'))

const everything = ['message.received', 'message.status_updated', 'conversation.created', 'contact.created']

/** Deliveries that a test queues or makes due are found at once. */
const brisk = { times: { ...times, webhooks: { ...times.webhooks, pollMs: 20 } } }

let briskWorld: Promise<World> | undefined
/** A workspace in a brisk service, which most tests of this file share. */
async function startBrisk(): Promise<World> {
  briskWorld ??= start(file, brisk)
  const world = await briskWorld
  return { ...world, ...(await world.workspace()) }
}

/** A resolver of these names; `silent` names never resolve. */
function names(known: Record<string, string | 'silent'>): DnsResolver {
  const answer = (host: string) => {
    const address = known[host]
    if (!address) return Promise.reject(new Error('ENOTFOUND'))
    return address === 'silent' ? new Promise<never>(() => {}) : Promise.resolve([address])
  }
  return { resolve4: answer, resolve6: () => Promise.reject(new Error('ENODATA')) }
}

test('an event is posted with both sets of headers, and its bytes match the signature', main, async (t) => {
  const { api, provider } = await withProvider(start(t, brisk))
  const receiver = await startReceiver(t)
  const { id, secret } = dataOf(await api.post('/webhooks', { url: receiver.url, events: everything }), 201)
  await provider.writes({ from: '+14155550100', name: 'Ann\u2028 😀', text: 'hi "there"' })
  const received = await receiver.until(3)
  const names = received.map(({ body }) => body.event)
  assert.deepEqual(names.toSorted(), ['contact.created', 'conversation.created', 'message.received'])
  for (const one of received) {
    assert.deepEqual(Object.keys(one.body), ['id', 'event', 'occurred_at', 'account_id', 'data'])
    assert.equal(one.body.account_id, api.workspaceId)
    assertSigned(one, id, secret)
    assert.deepEqual(one.headerNames, [
      ...['host', 'connection', 'Content-Type', 'User-Agent', 'X-Service-Event', 'X-Service-Webhook-Id'],
      ...['X-Service-Signature', 'X-Legacy-Event', 'X-Legacy-Webhook-Id', 'X-Legacy-Signature', 'content-length'],
    ])
  }
  const endpoint = await until('the settling', async () => {
    const { data } = (await api.get(`/webhooks/${id}`)).body
    return data.last_delivery_at && data
  })
  assert.deepEqual([endpoint.failure_count, endpoint.is_active], [0, true])
})

function assertSigned({ headers, raw, body }: Received, id: string, secret: string): void {
  for (const set of ['service', 'legacy']) {
    assert.equal(headers[`x-${set}-event`], body.event)
    assert.equal(headers[`x-${set}-webhook-id`], id)
    const [, t1 = '', v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers[`x-${set}-signature`])) ?? []
    assert.equal(v1, createHmac('sha256', secret).update(`${t1}.${raw}`).digest('hex'))
    assert.ok(Math.abs(Number(t1) - Date.now() / 1000) < 60)
  }
}

test('the recorded bytes are sent unchanged: key order, big numbers, spaces, every character', async (t) => {
  const { api, db } = await startBrisk()
  const receiver = await startReceiver(t)
  const { id, secret } = await addEndpoint(api, receiver.url)
  const bodies = [
    '{"z":1,"a":{"10":1,"9":2},"event":"contact.created"}',
    '{"n":12345678901234567890,"f":1.10,"e":1E400,"event":"contact.created"}',
    '{ "event" : "contact.created" ,\n\t"data":[ ] }\n',
    '{"event":"contact.created","text":"\u2028\u2029😀é\u00e9\u0301\\u0000\\ud83d\\/\u00a0\ufeff"}',
    `{"event":"contact.created","text":"${'😀'.repeat(100_000)}"}`,
  ]
  await queueEvents(db, api.workspaceId, [id], bodies)
  const received = await receiver.until(bodies.length)
  assert.deepEqual(received.map(({ raw }) => raw).toSorted(), bodies.toSorted())
  for (const one of received) assertSigned(one, id, secret)
})

test('a failing endpoint is retried and delivered once it recovers, with the same id and a new timestamp', async (t) => {
  const { api, db } = await startBrisk()
  const receiver = await startReceiver(t)
  receiver.answers(500, 200)
  const { id, secret } = await addEndpoint(api, receiver.url)
  await causeEvent(api)
  const [failed] = await receiver.until(1)
  await waitForAttempts(db, id, 1)
  const secondOf = (ms: number) => Math.floor(ms / 1000)
  await until('the next second', async () => secondOf(Date.now()) > secondOf(failed?.at ?? 0))
  await postpone(db, api.workspaceId, 0)
  const [first, second] = await receiver.until(2)
  assert.ok(first && second)
  assert.equal(first.body.id, second.body.id)
  assert.equal(first.raw, second.raw)
  assert.notEqual(first.headers['x-service-signature'], second.headers['x-service-signature'])
  assertSigned(second, id, secret)
})

test('every receiver fault ends the attempt with the right outcome and delays no other endpoint', async (t) => {
  const known: Record<string, string> = { localhost: '127.0.0.1', 'other.test': '127.0.0.1' }
  const { api, db } = await start(t, { ...brisk, resolver: names(known) })
  const elsewhere = await startReceiver(t)
  const raw =
    (...parts: string[]): Behaviour =>
    (_, { socket }) =>
      socket.write(parts.join('\r\n'))
  const drip = (text: string, response: NodeJS.WritableStream) => {
    let i = 0
    const timer = setInterval(() => response.write(text[i++] ?? ' '), 1_000)
    t.after(() => clearInterval(timer))
  }
  let poured = 0
  const pour: Behaviour = (response) => {
    response.writeHead(200, { 'content-length': 2 ** 30 })
    const part = Buffer.alloc(65_536, 'x')
    const more = () => {
      while (!response.destroyed && poured < 2 ** 30 && response.write(part)) poured += part.length
    }
    response.on('drain', more)
    more()
  }

  type Case = {
    name: string
    answers?: Behaviour
    url?: string
    on?: Receiver
    status: 'delivered' | 'pending' | 'failed'
    http_status?: number
    error?: RegExp
    /** How long the attempt takes at least; at once when absent. */
    ms?: number
    requests?: number
  }
  const late = { status: 'pending', error: /^no answer within 5 s$/, ms: 5_000 } as const
  const broken = { status: 'pending', error: /^connection lost before a response$/ } as const
  const ok = { status: 'delivered', http_status: 200 } as const

  const stalled = createServer(() => {}).listen(0, '127.0.0.1')
  t.after(() => stalled.close())
  await new Promise((resolve) => stalled.once('listening', resolve))
  const { port: stalledPort } = stalled.address() as { port: number }
  const named = async (host: string) => {
    const on = await startReceiver(t)
    return { on, url: on.url.replace('127.0.0.1', host) }
  }

  const cases: Case[] = [
    { name: 'well', ...ok },
    { name: 'well by name', ...(await named('localhost')), ...ok },
    { name: 'hang', answers: () => {}, ...late },
    { name: 'head one byte a second', answers: (_, { socket }) => drip('HTTP/1.1 200 OK\r\n\r\n', socket), ...late },
    {
      name: 'body one byte a second after 200',
      answers: (response) => {
        response.writeHead(200).write('first ')
        drip('and a very long story', response)
      },
      ...ok,
      ms: 1_000,
    },
    { name: '1 GB', answers: pour, ...ok },
    { name: 'reset before', answers: (_, { reset }) => reset(), ...broken },
    { name: 'closed before', answers: (_, { socket }) => void socket.end(), ...broken },
    {
      name: 'reset in the head',
      answers: (_, { socket, reset }) => socket.write('HTTP/1.1 200 OK\r\ncontent-le', reset),
      ...broken,
    },
    {
      name: 'reset in the body',
      answers: (_, { socket, reset }) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nabc', () => setTimeout(reset, 500)),
      ...ok,
    },
    {
      name: 'closed in the body',
      answers: (_, { socket }) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nabc'),
      ...ok,
    },
    {
      name: 'closed in the body of a failure',
      answers: (_, { socket }) => void socket.end('HTTP/1.1 500 No\r\ncontent-length: 99\r\n\r\nabc'),
      status: 'pending',
      http_status: 500,
      error: /^answered 500$/,
    },
    {
      name: 'garbage chunks',
      answers: raw('HTTP/1.1 200 OK', 'transfer-encoding: chunked', '', 'ZZZ', 'not a chunk', ''),
      ...ok,
    },
    { name: 'garbage', answers: raw('SSH-2.0-OpenSSH_9.6', ''), status: 'pending', error: /./ },
    {
      name: 'a head without end',
      answers: raw('HTTP/1.1 200 OK', `x: ${'y'.repeat(70_000)}`, '', ''),
      status: 'pending',
      error: /./,
    },
    {
      name: 'NUL and half a character in the answer',
      answers: (response) => response.writeHead(200).end(Buffer.from([0, 0xff, 0xf0, 0x9f])),
      ...ok,
    },
    {
      name: 'answers before the body was read',
      on: await startReceiver(t, { onHead: (_, response) => response.writeHead(200).end('early') }),
      ...ok,
      requests: 0,
    },
    {
      name: 'certificate expired',
      on: await startReceiver(t, { certificate: 'expired' }),
      status: 'pending',
      error: /^the certificate has expired$/,
      requests: 0,
    },
    {
      name: 'certificate of a stranger',
      on: await startReceiver(t, { certificate: 'stranger' }),
      status: 'pending',
      error: /^the certificate is self-signed$/,
      requests: 0,
    },
    {
      name: 'certificate of another host',
      ...(await named('other.test')),
      status: 'pending',
      error: /^the certificate is for another host$/,
      requests: 0,
    },
    { name: 'TLS stalled', url: `https://127.0.0.1:${stalledPort}/`, ...late, requests: 0 },
    {
      name: 'connection refused',
      url: `https://127.0.0.1:${await freePort()}/`,
      status: 'pending',
      error: /^connection refused$/,
      requests: 0,
    },
    ...[201, 202, 204, 206, 299].map((code) => ({
      name: `${code}`,
      answers: code,
      status: 'delivered' as const,
      http_status: code,
    })),
    ...[300, 301, 302, 303, 304, 305, 307, 308].flatMap((code) =>
      ['/hook', elsewhere.url].map((location) => ({
        name: `${code} to ${location}`,
        answers: (response: Parameters<Exclude<Behaviour, number>>[0]) =>
          void response.writeHead(code, { location }).end(),
        status: 'failed' as const,
        http_status: code,
        error: new RegExp(`^answered ${code}$`),
      })),
    ),
    ...[400, 401, 403, 404, 409, 410, 413, 422, 425, 451].map((code) => ({
      name: `${code}`,
      answers: code,
      status: 'failed' as const,
      http_status: code,
      error: new RegExp(`^answered ${code}$`),
    })),
    ...[408, 429, 500, 501, 502, 503, 504, 599].map((code) => ({
      name: `${code}`,
      answers: code,
      status: 'pending' as const,
      http_status: code,
      error: new RegExp(`^answered ${code}$`),
    })),
  ]
  const running: (Case & { receiver: Receiver; id: string })[] = []
  for (const one of cases.toSorted((one, other) => (one.ms ?? 0) - (other.ms ?? 0))) {
    const receiver = one.on ?? (await startReceiver(t))
    if (one.answers) receiver.answers(one.answers)
    running.push({ ...one, receiver, id: (await addEndpoint(api, one.url ?? receiver.url)).id })
  }
  await causeEvent(api)

  const ends: { ms: number; id: string }[] = []
  for (const { name, receiver, id, status, http_status, error, ms = 0, requests = 1 } of running) {
    const [attempt] = await waitForAttempts(db, id, 1)
    assert.ok(attempt)
    await postpone(db, api.workspaceId, 3_600)
    const saw = `${name}: ${JSON.stringify({ ...attempt, response: attempt.response?.length })}`
    assert.deepEqual([attempt.attempt, attempt.status, attempt.http_status], [1, status, http_status ?? null], saw)
    assert.match(attempt.error ?? '', error ?? /^$/, saw)
    assert.ok((attempt.duration_ms ?? -1) >= ms - 100, saw)
    ends.push({ ms, id: attempt.id })
    if (receiver.received.length !== requests) assert.fail(`${name}: ${receiver.received.length} requests`)
  }
  // Ids are in the order of time: all others ended before the first one that waited for a response.
  const waited = ends.flatMap(({ ms, id }) => (ms === late.ms ? [id] : []))
  const others = ends.flatMap(({ ms, id }) => (ms === late.ms ? [] : [id]))
  assert.ok((others.toSorted().at(-1) ?? '') < (waited.toSorted()[0] ?? ''))
  assert.equal(elsewhere.received.length, 0)
  assert.ok(poured < 32 * 2 ** 20, `${poured} bytes were taken`)

  const responseOf = async (name: string) => {
    const id = running.find((one) => one.name === name)?.id ?? ''
    return (await attemptsOf(db, id))[0]?.response
  }
  assert.equal(await responseOf('well'), 'answer 200')
  assert.equal(await responseOf('500'), 'answer 500')
  assert.equal((await responseOf('1 GB'))?.length, 16 * 1024)
  assert.match((await responseOf('body one byte a second after 200')) ?? '', /^first /)
  assert.equal(await responseOf('NUL and half a character in the answer'), '\ufffd\ufffd\ufffd')
  // Connections of abandoned attempts are closed.
  for (const { name, receiver } of running.filter(({ ms = 0 }) => ms > 0)) {
    await until(`${name} to be hung up on`, async () => receiver.sockets.size === 0)
  }
  const waiting = await db<{ endpoint_id: string }[]>`
    select endpoint_id from webhook_deliveries where workspace_id = ${api.workspaceId}`
  assert.deepEqual(
    waiting.map(({ endpoint_id }) => endpoint_id).toSorted(),
    running.flatMap(({ id, status }) => (status === 'pending' ? [id] : [])).toSorted(),
  )
})

test('transient failures are retried up to five attempts, after 3, 6, 12 and 24 seconds, varied by up to a fifth', async (t) => {
  const { api, db } = await startBrisk()
  const receiver = await startReceiver(t)
  receiver.answers((response, { path }) => void response.writeHead(Number(path.slice(1, 4))).end())
  const codes = [408, 429, 500, 502, 503, 504]
  const ids: string[] = []
  for (const code of [...codes, ...codes, ...codes]) {
    ids.push((await addEndpoint(api, receiver.url.replace('hook', `${code}`))).id)
  }
  await causeEvent(api)
  const shares = new Set<number>()
  for (const [i, seconds] of [3, 6, 12, 24].entries()) {
    for (const id of ids) {
      const attempt = (await waitForAttempts(db, id, i + 1)).at(-1)
      assert.ok(attempt)
      assert.deepEqual([attempt.attempt, attempt.status], [i + 1, 'pending'])
      const [row] = await db<{ due: number }[]>`
        select extract(epoch from next_attempt_at)::float8 as due from webhook_deliveries where endpoint_id = ${id}`
      const pause = (row?.due ?? 0) - Date.parse(timeOfId(attempt.id)) / 1000
      assert.ok(pause >= seconds * 0.8 - 0.01 && pause <= seconds * 1.2 + 3, `${pause} s after attempt ${i + 1}`)
      shares.add(Math.round((pause / seconds) * 20))
    }
    await postpone(db, api.workspaceId, 0)
  }
  for (const id of ids) {
    const attempts = await waitForAttempts(db, id, 5)
    assert.deepEqual(pluck(attempts, 'attempt', 'status', 'is_first'), [
      [1, 'pending', true],
      [2, 'pending', false],
      [3, 'pending', false],
      [4, 'pending', false],
      [5, 'failed', false],
    ])
    assert.equal((await api.get(`/webhooks/${id}`)).body.data.failure_count, 1)
  }
  assert.ok(shares.size > 4, 'the pauses are spread')
  assert.equal(receiver.received.length, ids.length * 5)
  assert.equal(new Set(receiver.received.map(({ body }) => body.id)).size, 1)
  assert.equal((await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length, 0)
})

test('a kept connection is used only for a while after its address was checked', async (t) => {
  const addressMs = 300
  const known: Record<string, string> = { localhost: '127.0.0.1' }
  const webhooks = { ...brisk.times.webhooks, addressMs }
  const { api, db } = await start(t, { times: { ...brisk.times, webhooks }, resolver: names(known) })
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url.replace('127.0.0.1', 'localhost'))
  await causeEvent(api)
  await waitForAttempts(db, id, 1)
  const openedAt = performance.now()
  // The name leads elsewhere now, and the receiver keeps the connection open for five seconds.
  known.localhost = '10.0.0.1'
  await until('the address to be too old', async () => performance.now() - openedAt > addressMs)
  await causeEvent(api)
  const [first, second] = await waitForAttempts(db, id, 2)
  assert.deepEqual(
    [first?.status, second?.status, second?.error],
    ['delivered', 'failed', 'localhost is at 10.0.0.1, which is not a public address'],
  )
  assert.equal(receiver.received.length, 1)
})

test('an event is posted at most five times, also over kept-alive connections that fail whenever they are reused', async (t) => {
  const { api, db } = await startBrisk()
  for (const end of ['reset', 'end', 'destroy'] as const) {
    const receiver = await startReceiver(t)
    // Both endpoints share the connections to one origin: each success of the first leaves one for the second to reuse.
    const reused = new Set<Socket>()
    const breaks: Behaviour = (response, received) => {
      if (received.path === '/well') return void response.writeHead(200).end()
      if (receiver.received.some(({ path, socket }) => path === '/well' && socket === received.socket)) {
        reused.add(received.socket)
      }
      if (end === 'reset') received.reset()
      else received.socket[end]()
    }
    receiver.answers(breaks)
    const well = await addEndpoint(api, receiver.url.replace('hook', 'well'))
    const broken = await addEndpoint(api, receiver.url.replace('hook', 'broken'))
    await causeEvent(api)
    await waitForAttempts(db, well.id, 1)
    const [first] = await waitForAttempts(db, broken.id, 1)
    for (let attempt = 2; attempt <= 5; attempt++) {
      await queueEvents(db, api.workspaceId, [well.id], ['{}'])
      await waitForAttempts(db, well.id, attempt)
      await postpone(db, api.workspaceId, 0)
      await waitForAttempts(db, broken.id, attempt)
    }
    const attempts = await attemptsOf(db, broken.id)
    assert.deepEqual(
      pluck(attempts, 'attempt', 'status', 'error', 'delivery_id'),
      [1, 2, 3, 4, 5].map((n) => [
        n,
        n < 5 ? 'pending' : 'failed',
        'connection lost before a response',
        first?.delivery_id,
      ]),
    )
    assert.ok(reused.size >= 3, `${reused.size} connections were reused`)
    assert.equal(receiver.received.filter(({ path }) => path === '/broken').length, 5, end)
    await api.delete(`/webhooks/${well.id}`)
    await api.delete(`/webhooks/${broken.id}`)
  }
})

test('a response before the receiver has read a large body counts', async (t) => {
  const receiver = await startReceiver(t, {
    onHead: (_, response) => response.writeHead(200, { connection: 'close' }).end('early'),
  })
  const answered = await createPosterFor(t).post(receiver.url, 'x'.repeat(8_000_000))
  assert.deepEqual([answered.outcome, answered.http_status], ['delivered', 200])
})

test('a connection to an unexpected address is closed before anything is sent', async (t) => {
  const receiver = await startReceiver(t)
  const answered = await createPosterFor(t, { isAllowed: (address) => address !== '127.0.0.1' }).post(receiver.url)
  assert.deepEqual([answered.outcome, answered.http_status], ['failed', null])
  assert.match(answered.error ?? '', /127\.0\.0\.1 is not a public address/)
  await until('it to be gone', async () => receiver.sockets.size === 0)
  assert.equal(receiver.received.length, 0)
})

test('the next address of a host is tried only if no request was sent', async (t) => {
  const receiver = await startReceiver(t)
  // Accepts connections and never responds.
  const silent = createServer().listen(receiver.port, '127.0.0.9')
  t.after(() => silent.close())
  const post = async (...addresses: string[]) => {
    const url = receiver.url.replace('127.0.0.1', 'localhost')
    const { outcome, error } = await createPosterFor(t, { addresses }).post(url)
    return [outcome, error, receiver.received.splice(0).length]
  }
  assert.deepEqual(await post('127.0.0.2', '127.0.0.3', '127.0.0.1'), ['delivered', null, 1])
  assert.deepEqual(await post('127.0.0.9', '127.0.0.1'), ['delivered', null, 1])
  assert.deepEqual(await post('127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.1'), ['again', 'connection refused', 0])
  receiver.answers((_, { reset }) => reset())
  assert.deepEqual(await post('127.0.0.1', '127.0.0.1'), ['again', 'connection lost before a response', 1])
})

test('a connection that is never idle is replaced when its address was checked too long ago', async (t) => {
  const receiver = await startReceiver(t)
  const { post } = createPosterFor(t, { addressMs: 500 })
  const sockets = () => new Set(receiver.received.map(({ socket }) => socket)).size
  const deadline = performance.now() + 20_000
  while (sockets() < 2 && performance.now() < deadline) await post(receiver.url)
  assert.equal(sockets(), 2)
})

test('bytes after a response are not the response to the next request', async (t) => {
  const receiver = await startReceiver(t)
  const { post } = createPosterFor(t)
  const head = (status: string) => `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`
  receiver.answers((_, { socket }) => socket.write(head('200 OK') + head('410 Gone')), 202)
  const answers = [await post(receiver.url), await post(receiver.url)]
  assert.deepEqual(pluck(answers, 'http_status'), [200, 202])
})

const head = (...headers: string[]) => `${['HTTP/1.1 200 OK', ...headers].join('\r\n')}\r\n\r\n`
const chunked = head('transfer-encoding: chunked')

/** What a server may send, the status of the attempt, and its error. A response with a status counts by it, whatever its body is. */
const responses: Record<string, [bytes: string, status: number | null, error?: RegExp]> = {
  'a length': [`${head('content-length: 2')}ok`, 200],
  'surplus bytes': [`${head('content-length: 2')}okay`, 200],
  'a length and chunks': [
    `${head('content-length: 9', 'transfer-encoding: chunked')}0\r\n\r\n`,
    null,
    /does not match content-length/,
  ],
  'two lengths': [`${head('content-length: 1', 'content-length: 2')}ok`, null, /does not match content-length/],
  'a negative length': [`${head('content-length: -1')}ok`, null, /does not match the HTTP.1.1 protocol/],
  'no length': [`${head()}ok`, 200],
  'an unknown encoding': [`${head('transfer-encoding: gzip')}ok`, 200],
  'less than its length': [`${head('content-length: 9')}ok`, 200],
  'a chunk without a size': [`${chunked}\r\n`, 200],
  'a chunk longer than its size': [`${chunked}1\r\nxyz\r\n`, 200],
  'a chunk line without end': [`${chunked}1;${'y'.repeat(20_000)}`, 200],
  'no reason phrase': ['HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', 200],
  'HTTP/1.0': ['HTTP/1.0 200 OK\r\n\r\nok', 200],
  'HTTP/2': ['HTTP/2 200\r\n\r\n', null, /does not match the HTTP.1.1 protocol/],
  'another protocol': ['SSH-2.0-OpenSSH_9.6\r\n', null, /does not match the HTTP.1.1 protocol/],
  'an upgrade': [
    'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    null,
    /^connection lost before a response$/,
  ],
  'an earlier status': [`HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${head('content-length: 0')}`, 200],
  'earlier statuses without end': [
    'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2_000),
    null,
    /^connection lost before a response$/,
  ],
  'a head without end': [
    `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`,
    null,
    /^the head of the response is too long$/,
  ],
  nothing: ['', null, /^connection lost before a response$/],
  'chunks and a trailer': [`${chunked}2\r\nok\r\n0\r\nx: y\r\n\r\n`, 200],
}

for (const [name, [bytes, status, error]] of Object.entries(responses)) {
  test(`a response with ${name} ${status ? 'counts by its status' : 'is a failed attempt'}, and the next request gets its own`, async (t) => {
    const receiver = await startReceiver(t)
    const { post } = createPosterFor(t)
    receiver.answers((_, { socket }) => socket.end(bytes), 202)
    const attempt = await post(receiver.url)
    assert.equal(attempt.http_status, status)
    assert.match(attempt.error ?? '', error ?? /^$/)
    assert.equal((await post(receiver.url)).http_status, 202)
  })
}

type TestPoster = { isAllowed?: (address: string) => boolean; addresses?: string[]; addressMs?: number }

/** A poster that connects to these loopback addresses and checks them with `isAllowed`. */
function createPosterFor(
  t: TestContext,
  { isAllowed = () => true, addresses = ['127.0.0.1'], addressMs = 60_000 }: TestPoster = {},
) {
  const resolve = async () => ({ ok: true as const, addresses })
  const guard = { isAllowed, resolve, check: resolve }
  const poster = createPoster({ guard, ca: trusted, times: { ...times.webhooks, postMs: 3_000, addressMs } })
  t.after(() => poster.stop())
  return {
    post: (url: string, body = '{}') =>
      poster.post({ endpoint: { url }, body, event: 'contact.created', endpoint_id: newId() }, ['s']),
  }
}

test('a URL that now resolves to a private address fails without a connection', async (t) => {
  const known: Record<string, string> = { localhost: '127.0.0.1' }
  const { api, db } = await start(t, { ...brisk, resolver: names(known) })
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url.replace('127.0.0.1', 'localhost'))
  known.localhost = '10.0.0.1'
  await causeEvent(api)
  const [attempt] = await waitForAttempts(db, id, 1)
  assert.deepEqual([attempt?.attempt, attempt?.status, attempt?.http_status], [1, 'failed', null])
  assert.equal(attempt?.error, 'localhost is at 10.0.0.1, which is not a public address')
  assert.equal((await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length, 0)
  assert.equal((await api.get(`/webhooks/${id}`)).body.data.failure_count, 1)
  delete known.localhost
  await causeEvent(api)
  const [, unknown] = await waitForAttempts(db, id, 2)
  assert.deepEqual([unknown?.status, unknown?.error], ['pending', 'localhost does not resolve'])
  assert.equal(receiver.received.length, 0)
})

test('an event of a rolled-back transaction is not sent', async (t) => {
  const { api, db } = await start(t, { alone: 'creates a trigger' })
  const receiver = await startReceiver(t)
  await addEndpoint(api, receiver.url)
  await db`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`
  await db`create trigger refuse before insert on contact_tags for each row execute function refuse()`
  assert.equal((await api.post('/contacts', { phone: '+14155559999', tags: ['vip'] })).status, 500)
  const id = await causeEvent(api)
  await receiver.until(1)
  assert.equal((await db`select 1 from webhook_events where workspace_id = ${api.workspaceId}`).length, 1)
  await until(
    'the queue to be empty',
    async () => (await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length === 0,
  )
  const contacts = receiver.received.map(({ body }) => body.data.contact_id)
  assert.deepEqual(contacts, [id])
})

test('14 failed events, a success and 14 more leave an endpoint active; the next one deactivates it, once', async (t) => {
  const { api, db, owner, url } = await startBrisk()
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url)
  const endpoint = async () => (await api.get(`/webhooks/${id}`)).body.data
  const happens = async (status: number, count: number) => {
    receiver.answers(status)
    const before = (await attemptsOf(db, id)).length
    await causeEvent(api)
    await waitForAttempts(db, id, before + 1)
    const { failure_count, is_active } = await endpoint()
    assert.deepEqual([failure_count, is_active], [count, count < 15])
  }
  for (let i = 1; i <= 14; i++) await happens(404, i)
  await happens(200, 0)
  for (let i = 1; i <= 14; i++) await happens(i % 2 ? 301 : 400, i)
  // One delivery waits for its retry when the endpoint is deactivated.
  await happens(503, 14)
  await happens(410, 15)
  const last = await until('the canceled one', async () => {
    const attempts = await attemptsOf(db, id)
    return attempts.at(-1)?.status === 'canceled' && attempts.at(-1)
  })
  assert.deepEqual([last.attempt, last.error, last.is_first], [1, 'the endpoint was switched off', false])
  assert.equal((await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length, 0)
  const sent = receiver.received.length
  const browser = await signIn({ url, owner })
  const log = (await browser.call('GET', `/webhooks/${id}/deliveries?limit=100`)).body.data
  const statuses = log.map(({ status }: Json) => status)
  assert.deepEqual(statuses.slice(0, 3), ['failed', 'canceled', 'failed'])
  assert.equal(statuses.length, 31)

  await causeEvent(api)
  assert.equal((await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length, 0)
  assert.deepEqual([(await endpoint()).failure_count, (await endpoint()).is_active], [15, false])
  const on = await api.patch(`/webhooks/${id}`, { is_active: true })
  assert.deepEqual([on.body.data.is_active, on.body.data.failure_count], [true, 0])
  await happens(404, 1)
  assert.equal(receiver.received.length, sent + 1)
})

test('failed test events do not count; a delivered one resets the count', async (t) => {
  const { api, db, ask } = await startSignedIn(t, brisk)
  const receiver = await startReceiver(t)
  const integration = { provider: 'tool_a', url: receiver.url, events: ['contact.created'] }
  const { id } = (await ask('POST', '/integrations', integration, 201)).data
  const endpoint = async () => {
    const { failure_count, is_active } = (await api.get(`/webhooks/${id}`)).body.data
    return [failure_count, is_active]
  }
  receiver.answers(404)
  await queueEvents(db, api.workspaceId, [id], Array<string>(14).fill('{}'))
  await waitForAttempts(db, id, 14)
  assert.deepEqual(await endpoint(), [14, true])
  for (let i = 0; i < 3; i++) await ask('POST', `/integrations/${id}/test`, undefined, 201)
  const [test] = (await waitForAttempts(db, id, 17)).slice(14)
  assert.equal(test?.status, 'failed')
  await ask('POST', `/deliveries/${test?.delivery_id}/redeliver`, undefined, 201)
  await waitForAttempts(db, id, 18)
  assert.deepEqual(await endpoint(), [14, true])

  receiver.answers(200)
  await ask('POST', `/integrations/${id}/test`, undefined, 201)
  await waitForAttempts(db, id, 19)
  assert.deepEqual(await endpoint(), [0, true])
})

/** Claimed deliveries with their outcomes. */
async function claimed(db: Db, workspaceId: string, endpointId: string, outcomes: string): Promise<Attempt[]> {
  const eventIds = await queueEvents(db, workspaceId, [], Array<string>(outcomes.length).fill('{}'))
  const ids = eventIds.map(() => newId())
  const rows = await db<{ id: string; row_location: string }[]>`
    insert into webhook_deliveries as d (workspace_id, endpoint_id, id, event_id, attempt_count, leased_until)
    select ${workspaceId}, ${endpointId}, id, event_id, 1, now() + interval '1 hour'
    from unnest(${ids}::uuid[], ${eventIds}::uuid[]) as d (id, event_id)
    returning d.id, d.ctid::text as row_location`
  return eventIds.map((event_id, i) => {
    const outcome = { s: 'delivered', f: 'failed', a: 'again' }[outcomes[i] ?? ''] as Attempt['outcome']
    return {
      delivery: {
        workspace_id: workspaceId,
        endpoint_id: endpointId,
        id: ids[i] ?? '',
        row_location: rows.find(({ id }) => id === ids[i])?.row_location ?? '',
        event_id,
        event: 'contact.created',
        attempt: 1,
      },
      outcome,
      http_status: outcome === 'delivered' ? 200 : 400,
      duration_ms: 1,
      error: null,
      response: null,
    }
  })
}

test('a settled batch counts its attempts in the order in which they ended', async () => {
  const { api, db } = await startBrisk()
  const f = (times: number) => 'f'.repeat(times)
  for (const [batches, failure_count, is_active] of [
    [[`${f(14)}s${f(14)}`], 14, true],
    [[`${f(7)}s${f(8)}`], 8, true],
    [[`${f(7)}s${f(8)}`, f(6)], 14, true],
    [[`${f(7)}s${f(8)}`, f(7)], 15, false],
    [[f(15)], 15, false],
    [[`${f(15)}s`], 15, false],
    [[`s${f(15)}s`], 15, false],
    [[f(10), `${f(5)}ssss`], 15, false],
    [[f(10), `${f(4)}sf`], 1, true],
    [[`${f(14)}${'a'.repeat(20)}`], 14, true],
    [[`${f(40)}`, f(3)], 15, false],
  ] as const) {
    const { id } = await addEndpoint(api, 'https://127.0.0.1:9/')
    for (const batch of batches) await settleAttempts(db, await claimed(db, api.workspaceId, id, batch), times.webhooks)
    const { data } = (await api.get(`/webhooks/${id}`)).body
    assert.deepEqual([data.failure_count, data.is_active], [failure_count, is_active], batches.join(' | '))
    await api.delete(`/webhooks/${id}`)
  }
})

test('deactivating an endpoint cancels its queued deliveries, also those waiting for a retry', async () => {
  const { api, db } = await startBrisk()
  const { id } = await addEndpoint(api, 'https://127.0.0.1:9/')
  const waiting = await claimed(db, api.workspaceId, id, 'aa')
  const batch = await claimed(db, api.workspaceId, id, `a${'f'.repeat(15)}a`)
  await settleAttempts(db, batch, times.webhooks)
  assert.equal((await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length, 0)
  const attempts = await attemptsOf(db, id)
  const statusesOf = ({ delivery }: Attempt) =>
    attempts.flatMap(({ delivery_id, status }) => (delivery_id === delivery.id ? [status] : []))
  assert.deepEqual(waiting.map(statusesOf), [['canceled'], ['canceled']])
  const statuses = [batch.at(0), batch.at(-1)].map((one) => one && statusesOf(one))
  assert.deepEqual(statuses.flat(), ['pending', 'canceled', 'pending', 'canceled'])
  assert.equal(attempts.filter(({ status }) => status === 'failed').length, 15)
})

test('workers that settle for the same endpoints at once do not deadlock', async () => {
  const { api, db, database } = await startBrisk()
  const { id } = await addEndpoint(api, 'https://127.0.0.1:9/')
  const ids = await multiply(db, id, Array<string>(60).fill('https://127.0.0.1:9/'))
  const pool = database.connect(8)
  for (let round = 0; round < 2; round++) {
    const lists: Attempt[][] = []
    for (let i = 0; i < 8; i++) {
      const batch = (await Promise.all(ids.map((one) => claimed(db, api.workspaceId, one, i % 2 ? 's' : 'f')))).flat()
      lists.push(i % 3 ? batch : batch.reverse())
    }
    await Promise.all(lists.map((list) => settleAttempts(pool, list, times.webhooks)))
  }
  await db`update webhook_endpoints set failure_count = 0 where workspace_id = ${api.workspaceId}`
  const lists = await Promise.all(
    Array.from({ length: 8 }, async () =>
      (await Promise.all(ids.map((one) => claimed(db, api.workspaceId, one, 'f')))).flat(),
    ),
  )
  await Promise.all(lists.map((list) => settleAttempts(pool, list, times.webhooks)))
  const endpoints = await db<{ failure_count: number; is_active: boolean }[]>`
    select failure_count, is_active from webhook_endpoints where workspace_id = ${api.workspaceId}`
  assert.equal(endpoints.filter(({ failure_count }) => failure_count === 8).length, ids.length)
  assert.ok(endpoints.every(({ is_active }) => is_active))
  assert.equal((await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length, 0)
})

test('a deactivated or deleted endpoint receives nothing more, and the log shows the cancellations', async (t) => {
  const { api, db } = await startBrisk()
  for (const end of ['deactivated', 'deleted'] as const) {
    const receiver = await startReceiver(t)
    receiver.answers(500)
    const { id } = await addEndpoint(api, receiver.url)
    for (let i = 0; i < 3; i++) await causeEvent(api)
    await waitForAttempts(db, id, 3)
    // One attempt is in flight: it ends and is not retried.
    let answer = () => {}
    receiver.answers((response) => {
      answer = () => void response.writeHead(500).end()
    })
    await causeEvent(api)
    await receiver.until(4)
    if (end === 'deleted') await api.delete(`/webhooks/${id}`)
    else await api.patch(`/webhooks/${id}`, { is_active: false })
    assert.equal((await db`select 1 from webhook_deliveries where endpoint_id = ${id}`).length, 0)
    answer()
    const canceled = (await attemptsOf(db, id)).filter(({ status }) => status === 'canceled')
    assert.deepEqual(pluck(canceled, 'attempt', 'error'), Array(4).fill([1, `the endpoint was ${end}`]))
    if (end === 'deactivated') await waitForAttempts(db, id, 8)
    await causeEvent(api)
    assert.equal((await db`select 1 from webhook_deliveries where endpoint_id = ${id}`).length, 0)
    assert.equal(receiver.received.length, 4)
  }
})

test('a delivery whose worker crashed in the first attempt is in the log once', async (t) => {
  const { api, db, owner, url } = await startBrisk()
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url)
  const [lost] = await claimed(db, api.workspaceId, id, 's')
  const [dropped] = await claimed(db, api.workspaceId, id, 's')
  assert.ok(lost && dropped)
  await db`update webhook_deliveries set leased_until = null where id = ${lost.delivery.id}`
  await waitForAttempts(db, id, 1)
  // The first worker, taken for crashed, settles late.
  await settleAttempts(db, [lost], times.webhooks)
  await api.patch(`/webhooks/${id}`, { is_active: false })
  const browser = await signIn({ url, owner })
  const log = (await browser.call('GET', `/webhooks/${id}/deliveries`)).body.data
  assert.deepEqual(pluck(log, 'id', 'status', 'attempt_count'), [
    [dropped.delivery.id, 'canceled', 1],
    [lost.delivery.id, 'delivered', 2],
  ])
})

test('after a crash in the fifth attempt there is no sixth: the delivery has failed, and the log says why', async (t) => {
  const { api, db } = await startBrisk()
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url)
  const [lost] = await claimed(db, api.workspaceId, id, 's')
  await db`update webhook_deliveries set attempt_count = 5, leased_until = null where id = ${lost?.delivery.id ?? ''}`
  const [last] = await waitForAttempts(db, id, 1)
  assert.deepEqual([last?.attempt, last?.status, last?.http_status], [5, 'failed', null])
  assert.match(last?.error ?? '', /^the worker stopped during the last attempt/)
  assert.equal((await api.get(`/webhooks/${id}`)).body.data.failure_count, 1)
  assert.equal((await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length, 0)
  assert.equal(receiver.received.length, 0)
})

test('an attempt that ends after its lease is logged and does not count', async () => {
  const { api, db } = await startBrisk()
  const { id } = await addEndpoint(api, 'https://127.0.0.1:9/')
  const batch = await claimed(db, api.workspaceId, id, 'fff')
  const [taken] = batch
  // Another worker holds the first delivery now.
  await db`update webhook_deliveries set attempt_count = 2 where id = ${taken?.delivery.id ?? ''}`
  const late = batch.map((one) => ({ ...one, isLate: true }))
  await settleAttempts(db, late, times.webhooks)
  assert.equal((await api.get(`/webhooks/${id}`)).body.data.failure_count, 2)
  assert.equal((await attemptsOf(db, id)).length, 3)
  const left = await db<{ id: string }[]>`select id from webhook_deliveries where workspace_id = ${api.workspaceId}`
  assert.deepEqual(pluck(left, 'id'), [taken?.delivery.id])
})

test('deliveries that cannot be signed wait without counting, are reported once, and are sent when the secret opens', async (t) => {
  let reportCount = 0
  const log = pino(
    { level: 'error' },
    { write: (line: string) => (reportCount += Number(line.includes('cannot be opened'))) },
  )
  const { api, db, url } = await start(t, { ...brisk, log })
  const [locked, other] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await addEndpoint(api, locked.url)
  const [before] = await db<{ secret: string }[]>`
    select secret from webhook_endpoints where workspace_id = ${api.workspaceId}`
  await db`update webhook_endpoints set secret = 'v2.' || repeat('A', 80) where workspace_id = ${api.workspaceId}`
  await addEndpoint(api, other.url)
  await causeEvent(api)
  await causeEvent(api)
  await other.until(2)
  await until('both to be claimed', async () =>
    /outcome="unopened"} ([2-9]|\d\d)/.test(await (await fetch(`${url}/metrics`)).text()),
  )
  await until('both to be released', async () => {
    const rows = await db<{ attempt_count: number }[]>`
      select attempt_count from webhook_deliveries
      where workspace_id = ${api.workspaceId} and leased_until is null and attempt_count = 0`
    return rows.length === 2
  })
  assert.equal(reportCount, 1)
  assert.deepEqual([locked.received.length, (await attemptsOf(db, id)).length], [0, 0])
  assert.equal((await api.get(`/webhooks/${id}`)).body.data.failure_count, 0)
  // A delivery without its event is removed.
  const gone = firstIdOf(Math.floor(Date.now() / 86_400_000) - 31)
  await db`
    insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
    values (${api.workspaceId}, ${id}, ${newId()}, ${gone})`
  await keepEventDays(db, pino({ level: 'silent' }))
  assert.equal((await db`select 1 from webhook_deliveries where endpoint_id = ${id}`).length, 2)

  await db`update webhook_endpoints set secret = ${before?.secret ?? ''} where id = ${id}`
  await locked.until(2)
  const attempts = await waitForAttempts(db, id, 2)
  assert.deepEqual(pluck(attempts, 'attempt', 'status').flat(), [1, 'delivered', 1, 'delivered'])
})

test('a delivery that was queued while its endpoint was deactivated is canceled by the sweep', async () => {
  const { api, db } = await startBrisk()
  const { id } = await addEndpoint(api, 'https://127.0.0.1:9/')
  await db`update webhook_endpoints set is_active = false where workspace_id = ${api.workspaceId}`
  await queueEvents(db, api.workspaceId, [id], ['{}', '{}'])
  await sweepDeliveries(db)
  assert.deepEqual(
    pluck(await attemptsOf(db, id), 'status', 'error', 'is_first'),
    Array(2).fill(['canceled', 'the endpoint was switched off', true]),
  )
  assert.equal((await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId}`).length, 0)
})

test('an endpoint with many queued deliveries is deactivated in short statements, and nothing of them is sent later', async (t) => {
  const { api, db } = await startBrisk()
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url)
  const count = 12_000
  await db`update webhook_endpoints set is_active = false where workspace_id = ${api.workspaceId} and id = ${id}`
  const [eventId] = await queueEvents(db, api.workspaceId, [id], ['{}'])
  await db`
    insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
    select ${api.workspaceId}, ${id}, gen_random_uuid(), ${eventId ?? ''} from generate_series(2, ${count})`
  assert.equal((await api.patch(`/webhooks/${id}`, { is_active: true })).status, 200)
  // The sweep of the service may have begun to cancel a part of them before the call.
  await until('every delivery to be canceled', async () => {
    const [canceled] = await db`
      select count(*)::int as count from webhook_attempts where workspace_id = ${api.workspaceId} and endpoint_id = ${id} and status = 'canceled'`
    return canceled?.count === count
  })
  await causeEvent(api)
  await receiver.until(1)
  assert.equal(receiver.received.length, 1)
})

test('two workers send each event once', async (t) => {
  const { api, db, twin } = await start(t, brisk)
  await twin()
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url)
  const urls = Array.from({ length: 9 }, (_, i) => receiver.url.replace('hook', `${i}`))
  const ids = await multiply(db, id, urls)
  const events: string[] = []
  for (let i = 0; i < 10; i++) {
    const bodies = Array.from({ length: 5 }, (_, j) => JSON.stringify({ number: i * 5 + j }))
    events.push(...(await queueEvents(db, api.workspaceId, [id, ...ids], bodies)))
    await causeEvent(api)
  }
  await until('all of it', async () => {
    return (await db`select 1 from webhook_deliveries where workspace_id = ${api.workspaceId} limit 1`).length === 0
  })
  const posts = receiver.received.map(({ path, raw }) => `${path} ${raw}`)
  assert.equal(new Set(posts).size, 10 * 60)
  const [log] = await db<{ retries: number; deliveries: number; successes: number }[]>`
    select count(*) filter (where status <> 'delivered')::int as retries, count(distinct delivery_id)::int as deliveries,
      count(*) filter (where status = 'delivered')::int as successes
    from webhook_attempts where workspace_id = ${api.workspaceId}`
  // On a busy machine an attempt may time out; nothing else is posted twice.
  assert.ok(posts.length <= 10 * 60 + (log?.retries ?? 0), `${posts.length} with ${log?.retries} retries`)
  const [stats] = await db`select deadlocks::int from pg_stat_database where datname = current_database()`
  assert.deepEqual(stats, { deadlocks: 0 })
  assert.deepEqual([log?.deliveries, log?.successes], [10 * 60, 10 * 60])
})

test('a long queue of one endpoint gets idle slots, and an event for another endpoint is still posted at once', async (t) => {
  const { api, db } = await startBrisk()
  const [busy, other] = [await startReceiver(t), await startReceiver(t)]
  let inFlight = 0
  let most = 0
  busy.answers((response) => {
    most = Math.max(most, ++inFlight)
    setTimeout(() => {
      inFlight--
      response.end()
    }, 200)
  })
  const { id } = await addEndpoint(api, busy.url)
  await queueEvents(db, api.workspaceId, [id], Array<string>(4_000).fill('{}'))
  await until('more than its fair share', async () => most > 80)
  await addEndpoint(api, other.url)
  const before = busy.received.length
  await causeEvent(api)
  await other.until(1)
  // Not a time, which depends on the machine: about as many as were in flight come first.
  const between = busy.received.length - before
  assert.ok(between < 1_000 && busy.received.length < 4_000, `${between} posts came before`)
  await api.delete(`/webhooks/${id}`)
})

test('host names without a DNS response delay no other endpoint, and are served once they resolve', async (t) => {
  const known: Record<string, string> = { localhost: '127.0.0.1' }
  for (let i = 0; i < 4; i++) known[`silent${i}.test`] = '127.0.0.1'
  const { api, db } = await start(t, { ...brisk, resolver: names(known) })
  const [receiver, dumb] = [await startReceiver(t), await startReceiver(t)]
  const silent: { host: string; id: string }[] = []
  for (const host of ['localhost', 'silent0.test', 'silent1.test', 'silent2.test', 'silent3.test']) {
    silent.push({ host, ...(await addEndpoint(api, dumb.url.replace('127.0.0.1', host))) })
    known[host] = 'silent'
  }
  await addEndpoint(api, receiver.url)
  for (let i = 0; i < 20; i++) {
    await causeEvent(api)
    await receiver.until(i + 1)
  }
  // An event that waited for the names of its other endpoints would come after their attempts.
  const ended = (await Promise.all(silent.map(({ id }) => attemptsOf(db, id)))).flat()
  assert.ok(ended.length < 10 * silent.length, `${ended.length} attempts ended before`)
  for (const { host, id } of silent) {
    const [attempt] = await waitForAttempts(db, id, 1)
    assert.deepEqual([attempt?.status, attempt?.error], ['pending', `${host} does not resolve`])
  }
  known.localhost = '127.0.0.1'
  await postpone(db, api.workspaceId, 0)
  const [served] = await dumb.until(1)
  assert.equal(served?.body.event, 'contact.created')
})
