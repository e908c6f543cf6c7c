/** Events followed by the SDK, from a service that is made up here: what a line can do to whoever holds it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createFrameReader } from '../sdk/src/frames.ts'
import { type Fetch, Parley, ParleyError, type StreamedEvent, type StreamOptions } from '../sdk/src/index.ts'
import { idAt } from '../server/lib/id.ts'
import { until } from './support.ts'

const at = Date.now()
const [a, b, c] = [idAt(at), idAt(at + 1), idAt(at + 2)]
const bodyOf = (id: string) => `{ "id":"${id}", "event":"contact.created", "data":{"name":"é\u2028😀"} }`
const ready = `id: ${a}\nevent: ready\ndata: {"listener_id":"l"}\n\n`
const frameOf = (id: string) => `id: ${id}\nevent: contact.created\ndata: ${bodyOf(id)}\n\n`

type Line = { write(text: string): void; end(): void; break(): void; isOpen(): boolean }
type Asked = { url: string; headers: Headers; line: Line | undefined }

/** A service that answers so, one each and the last again; a list of texts is a line that stays open. */
function createFake(...answers: (Response | Error | readonly string[])[]) {
  const asked: Asked[] = []
  const fetch: Fetch = async (url, { headers, signal }) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)]
    const made = Array.isArray(answer) ? createLine(answer, signal) : undefined
    asked.push({ url, headers: new Headers(headers), line: made?.line })
    if (made) return new Response(made.body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
    if (answer instanceof Response) return answer.clone()
    throw answer
  }
  return { asked, parley: new Parley({ apiKey: 'svc_live_x', baseUrl: 'https://parley.test/v1', fetch }) }
}

/** One byte a part, so that no part is a whole of anything. */
function createLine(texts: readonly string[], signal: AbortSignal | null | undefined) {
  let isOpen = true
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const close = () => {
    isOpen = false
  }
  const keep = (given: ReadableStreamDefaultController<Uint8Array>) => {
    controller = given
  }
  const body = new ReadableStream<Uint8Array>({ start: keep, cancel: close })
  signal?.addEventListener('abort', close)
  const line: Line = {
    write: (text) => {
      for (const byte of new TextEncoder().encode(text)) controller?.enqueue(Uint8Array.of(byte))
    },
    end: () => controller?.close(),
    break: () => controller?.error(new TypeError('terminated')),
    isOpen: () => isOpen,
  }
  for (const text of texts) line.write(text)
  return { body, line }
}

/** No wait is waited for: those between attempts, and silence, are over at once. */
function hurry(t: TestContext): void {
  const { setTimeout } = globalThis
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => setTimeout(run, ms === 60_000 ? ms : 0))
}

/** Follow until so many came. */
async function follow(parley: Parley, count: number, options: StreamOptions = {}): Promise<StreamedEvent[]> {
  const came: StreamedEvent[] = []
  for await (const frame of parley.events.stream({}, options).frames()) if (came.push(frame) === count) break
  return came
}

const idsOf = (came: StreamedEvent[]) => came.map(({ event }) => event.id)
const refusal = (status: number, code: string) => Response.json({ error: { code, message: 'because' } }, { status })
const failureOf = (call: Promise<unknown>): Promise<ParleyError> =>
  call.then(
    () => assert.fail('nothing was thrown'),
    (error) => (error instanceof ParleyError ? error : assert.fail(error)),
  )

test('a broken line is taken up where it was, and each event comes once and to the byte', async (t) => {
  hurry(t)
  const down = refusal(503, 'internal')
  const again = [`id: ${b}\nevent: ready\ndata: {"listener_id":"l2"}\n\n`, frameOf(a), frameOf(b), frameOf(c)]
  const { asked, parley } = createFake(
    [': welcome\n\n', ready, frameOf(a), frameOf(b)],
    down,
    new TypeError('x'),
    again,
  )
  const said: unknown[] = []
  const options = {
    onReady: ({ listener_id }) => said.push(listener_id),
    onBreak: ({ code }) => said.push(code),
    onReturn: (awayMs) => said.push(typeof awayMs),
  } satisfies StreamOptions

  const came = await follow(parley, 3, options)

  assert.deepEqual(idsOf(came), [a, b, c])
  assert.deepEqual(
    came.map(({ body, lastEventId }) => [body, lastEventId]),
    [a, b, c].map((id) => [bodyOf(id), id]),
  )
  // Nothing came for a while, and nobody waited for it here.
  assert.deepEqual(said, ['l', 'timeout', 'internal', 'network_error', 'number'])
  assert.deepEqual(
    asked.map(({ headers }) => headers.get('last-event-id')),
    [null, b, b, b],
  )
  assert.deepEqual(new Set(asked.map(({ url }) => url)), new Set(['https://parley.test/v1/events/stream']))
})

test('a line that breaks, ends or says nothing is a break; whoever refuses is believed', async (t) => {
  for (const what of ['break', 'end'] as const) {
    const { asked, parley } = createFake([ready, frameOf(a)], refusal(401, 'unauthorized'))
    const breaks: string[] = []
    const onBreak = (error: ParleyError) => void breaks.push(error.code)
    const ended = failureOf(follow(parley, 2, { onBreak, onReady: () => asked[0]?.line?.[what]() }))
    assert.equal((await ended).code, 'unauthorized')
    assert.deepEqual([breaks, asked.length], [['network_error'], 2])
  }
  hurry(t)
  const refusals: [Parameters<typeof createFake>[0], string][] = [
    [refusal(403, 'forbidden'), 'forbidden'],
    [Response.json({ data: [] }), 'unexpected_response'],
    [new Response('<h1>Welcome</h1>'), 'unexpected_response'],
    [['event: contact.created\ndata: {"id":1}\n\n'], 'unexpected_response'],
    [['event: ready\ndata: {\n\n'], 'unexpected_response'],
  ]
  for (const [answer, code] of refusals) {
    const { asked, parley } = createFake(answer)
    assert.deepEqual([(await failureOf(follow(parley, 1))).code, asked.length], [code, 1])
  }
})

test('a first attempt that fails is repeated as any other call is', async (t) => {
  hurry(t)
  const { asked, parley } = createFake(new TypeError('fetch failed'))
  assert.equal((await failureOf(follow(parley, 1))).code, 'network_error')
  assert.equal(asked.length, 3)
  await failureOf(follow(parley, 1, { maxRetries: 0, lastEventId: c }))
  assert.equal(asked.length, 4)
  assert.equal(asked[3]?.headers.get('last-event-id'), c)
  const late = createFake(refusal(429, 'rate_limited'), [ready, frameOf(a)])
  assert.deepEqual(idsOf(await follow(late.parley, 1)), [a])
})

test('whoever leaves, or whose signal says so, is gone from the line', async () => {
  const { asked, parley } = createFake([ready, frameOf(a), frameOf(b)])
  const stream = parley.events.stream({ events: ['contact.created', 'message.received'] })
  assert.equal(asked.length, 0, 'nothing is asked before')
  for await (const { id } of stream) {
    assert.equal(id, a)
    break
  }
  assert.equal(asked[0]?.line?.isOpen(), false)
  assert.match(asked[0]?.url ?? '', /\?events=contact\.created%2Cmessage\.received$/)

  assert.deepEqual(await follow(parley, 1, { signal: AbortSignal.abort() }), [])
  assert.equal(asked.length, 1)

  // With an event, waiting for one, and waiting to come back.
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
  assert.equal(asked[2]?.line?.isOpen(), false)
  const away = new AbortController()
  const dead = createFake([ready], refusal(503, 'internal'))
  await follow(dead.parley, 1, {
    signal: away.signal,
    onReady: () => dead.asked[0]?.line?.end(),
    onBreak: () => away.abort(),
  })
  assert.equal(dead.asked.length, 1)
})

test('what a listener throws is thrown, and taken for no break', async () => {
  const { asked, parley } = createFake([ready, frameOf(a)])
  const onReady = () => assert.fail('mine')
  await assert.rejects(follow(parley, 1, { onReady }), /mine/)
  assert.equal(asked.length, 1)
  assert.equal(asked[0]?.line?.isOpen(), false)
})

test('lines end in every way that they may, wherever the bytes are parted', () => {
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
    assert.deepEqual(frames, expected, `parts of ${size}`)
  }
})
