/** The event stream of the SDK against a fake service that breaks connections. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createFrameReader } from '../sdk/src/frames.ts'
import { type Fetch, Parley, ParleyError, type StreamedEvent, type StreamOptions } from '../sdk/src/index.ts'
import { idAt } from './internals.ts'
import { pluck, until } from './support.ts'

const at = Date.now()
const [a, b, c] = [idAt(at), idAt(at + 1), idAt(at + 2)]
const bodyOf = (id: string) => `{ "id":"${id}", "event":"contact.created", "data":{"name":"é\u2028😀"} }`
const ready = `id: ${a}\nevent: ready\ndata: {"listener_id":"l"}\n\n`
const frameOf = (id: string) => `id: ${id}\nevent: contact.created\ndata: ${bodyOf(id)}\n\n`

type Connection = { write(text: string): void; end(): void; break(): void; isOpen(): boolean }
type ReceivedRequest = { url: string; headers: Headers; connection: Connection | undefined }

/** A fake service with one response per request; the last one repeats. An array of texts is a stream that stays open. */
function createFake(...answers: (Response | Error | readonly string[])[]) {
  const requests: ReceivedRequest[] = []
  const fetch: Fetch = async (url, { headers, signal }) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)]
    const opened = Array.isArray(answer) ? createConnection(answer, signal) : undefined
    requests.push({ url, headers: new Headers(headers), connection: opened?.connection })
    if (opened) return new Response(opened.body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
    if (answer instanceof Response) return answer.clone()
    throw answer
  }
  return { requests, parley: new Parley({ apiKey: 'svc_live_x', baseUrl: 'https://parley.test/v1', fetch }) }
}

/** A stream that sends one byte per chunk, so that no chunk is a complete frame. */
function createConnection(texts: readonly string[], signal: AbortSignal | null | undefined) {
  let isOpen = true
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const close = () => {
    isOpen = false
  }
  const start = (opened: ReadableStreamDefaultController<Uint8Array>) => {
    controller = opened
  }
  const body = new ReadableStream<Uint8Array>({ start, cancel: close })
  signal?.addEventListener('abort', close)
  const connection: Connection = {
    write: (text) => {
      for (const byte of new TextEncoder().encode(text)) controller?.enqueue(Uint8Array.of(byte))
    },
    end: () => controller?.close(),
    break: () => controller?.error(new TypeError('terminated')),
    isOpen: () => isOpen,
  }
  for (const text of texts) connection.write(text)
  return { body, connection }
}

/** Lets retry delays and the idle timeout expire at once. */
function skipDelays(t: TestContext): void {
  const { setTimeout } = globalThis
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => setTimeout(run, ms === 60_000 ? ms : 0))
}

/** Reads `count` events from a stream. */
async function follow(parley: Parley, count: number, options: StreamOptions = {}): Promise<StreamedEvent[]> {
  const frames: StreamedEvent[] = []
  for await (const frame of parley.events.stream({}, options).frames()) if (frames.push(frame) === count) break
  return frames
}

const idsOf = (frames: StreamedEvent[]) => frames.map(({ event }) => event.id)
const refusal = (status: number, code: string) => Response.json({ error: { code, message: 'because' } }, { status })
const failureOf = (call: Promise<unknown>): Promise<ParleyError> =>
  call.then(
    () => assert.fail('the call did not fail'),
    (error) => (error instanceof ParleyError ? error : assert.fail(error)),
  )

test('a lost connection resumes, and each event arrives once with its exact bytes', async (t) => {
  skipDelays(t)
  const down = refusal(503, 'internal')
  const again = [`id: ${b}\nevent: ready\ndata: {"listener_id":"l2"}\n\n`, frameOf(a), frameOf(b), frameOf(c)]
  const begin = [': welcome\n\n', ready, frameOf(a), frameOf(b)]
  const { requests, parley } = createFake(begin, down, new TypeError('x'), again)
  const calls: unknown[] = []
  const options = {
    onReady: ({ listener_id }) => calls.push(listener_id),
    onBreak: ({ code }) => calls.push(code),
    onReturn: (awayMs) => calls.push(typeof awayMs),
  } satisfies StreamOptions

  const frames = await follow(parley, 3, options)

  assert.deepEqual(idsOf(frames), [a, b, c])
  const expected = [a, b, c].map((id) => [bodyOf(id), id])
  assert.deepEqual(pluck(frames, 'body', 'lastEventId'), expected)
  // The first connection stays silent until the idle timeout, which expires at once here.
  assert.deepEqual(calls, ['l', 'timeout', 'internal', 'network_error', 'number'])
  const lastIds = requests.map(({ headers }) => headers.get('last-event-id'))
  assert.deepEqual(lastIds, [null, b, b, b])
  assert.deepEqual(new Set(requests.map(({ url }) => url)), new Set(['https://parley.test/v1/events/stream']))
})

test('a failed, ended or silent connection is retried; a rejection is final', async (t) => {
  for (const failure of ['break', 'end'] as const) {
    const { requests, parley } = createFake([ready, frameOf(a)], refusal(401, 'unauthorized'))
    const breaks: string[] = []
    const onBreak = (error: ParleyError) => void breaks.push(error.code)
    const ended = failureOf(follow(parley, 2, { onBreak, onReady: () => requests[0]?.connection?.[failure]() }))
    assert.equal((await ended).code, 'unauthorized')
    assert.deepEqual([breaks, requests.length], [['network_error'], 2])
  }
  skipDelays(t)
  const refusals: [Parameters<typeof createFake>[0], string][] = [
    [refusal(403, 'forbidden'), 'forbidden'],
    [Response.json({ data: [] }), 'unexpected_response'],
    [new Response('<h1>Welcome</h1>'), 'unexpected_response'],
    [['event: contact.created\ndata: {"id":1}\n\n'], 'unexpected_response'],
    [['event: ready\ndata: {\n\n'], 'unexpected_response'],
  ]
  for (const [answer, code] of refusals) {
    const { requests, parley } = createFake(answer)
    assert.deepEqual([(await failureOf(follow(parley, 1))).code, requests.length], [code, 1])
  }
})

test('a failed first connection is retried like any other call', async (t) => {
  skipDelays(t)
  const { requests, parley } = createFake(new TypeError('fetch failed'))
  assert.equal((await failureOf(follow(parley, 1))).code, 'network_error')
  assert.equal(requests.length, 3)
  await failureOf(follow(parley, 1, { maxRetries: 0, lastEventId: c }))
  assert.equal(requests.length, 4)
  assert.equal(requests[3]?.headers.get('last-event-id'), c)
  const late = createFake(refusal(429, 'rate_limited'), [ready, frameOf(a)])
  assert.deepEqual(idsOf(await follow(late.parley, 1)), [a])
})

test('leaving the loop or aborting the signal closes the connection', async () => {
  const { requests, parley } = createFake([ready, frameOf(a), frameOf(b)])
  const stream = parley.events.stream({ events: ['contact.created', 'message.received'] })
  assert.equal(requests.length, 0, 'no request is sent before the loop starts')
  for await (const { id } of stream) {
    assert.equal(id, a)
    break
  }
  assert.equal(requests[0]?.connection?.isOpen(), false)
  assert.match(requests[0]?.url ?? '', /\?events=contact\.created%2Cmessage\.received$/)

  assert.deepEqual(await follow(parley, 1, { signal: AbortSignal.abort() }), [])
  assert.equal(requests.length, 1)

  // Abort while processing an event, while waiting for one, and during the retry delay.
  const within = new AbortController()
  for await (const _ of parley.events.stream({}, { signal: within.signal })) within.abort()
  const idle = new AbortController()
  const came: string[] = []
  const listen = async () => {
    for await (const { id } of parley.events.stream({}, { signal: idle.signal })) came.push(id)
  }
  const ended = listen()
  await until('both events', async () => came.length === 2)
  idle.abort()
  await ended
  assert.equal(requests[2]?.connection?.isOpen(), false)
  const away = new AbortController()
  const dead = createFake([ready], refusal(503, 'internal'))
  await follow(dead.parley, 1, {
    signal: away.signal,
    onReady: () => dead.requests[0]?.connection?.end(),
    onBreak: () => away.abort(),
  })
  assert.equal(dead.requests.length, 1)
})

test('an exception in a callback is thrown and does not count as a lost connection', async () => {
  const { requests, parley } = createFake([ready, frameOf(a)])
  const onReady = () => assert.fail('mine')
  await assert.rejects(follow(parley, 1, { onReady }), /mine/)
  assert.equal(requests.length, 1)
  assert.equal(requests[0]?.connection?.isOpen(), false)
})

test('the frame reader handles all line endings, wherever the chunks split', () => {
  const text =
    '\ufeffid: 1\r\nevent:x\r\ndata: é\r\n\r\n: a comment\n\ndata:two\ndata: lines\n\nid\rdata\r\rdata: \n\nretry: 9\n\nda'
  const expected = [
    { name: 'x', id: '1', data: 'é' },
    { name: '', id: '1', data: 'two\nlines' },
    { name: '', id: '', data: '' },
    { name: '', id: '', data: '' },
  ]
  const bytes = new TextEncoder().encode(text)
  for (let size = 1; size <= bytes.length; size++) {
    const read = createFrameReader()
    const frames = []
    for (let from = 0; from < bytes.length; from += size) frames.push(...read(bytes.subarray(from, from + size)))
    assert.deepEqual(frames, expected, `chunks of ${size}`)
  }
})
