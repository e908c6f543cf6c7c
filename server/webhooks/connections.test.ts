/** The reader of HTTP/1.1 responses, without a network. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { until } from '../../tests/until.ts'
import { createConnections, type Exchange } from './connections.ts'

/** The other end pushes bytes; what is written is kept. */
class FakeSocket extends Duplex {
  written = ''
  override _read(): void {}
  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.written += chunk.toString()
    done()
  }
}

const origin = { hostname: 'example.test', host: 'example.test', port: '' }

function startConnections(t: TestContext, addressMs = 60_000) {
  const sockets: FakeSocket[] = []
  const connections = createConnections((_, done) => {
    const socket = new FakeSocket()
    sockets.push(socket)
    done(null, socket as unknown as Socket)
  }, addressMs)
  t.after(() => connections.stop())
  return { sockets, send: (exchange: Exchange) => connections.send(origin, 'request', exchange) }
}

class Recorder implements Exchange {
  isOver = false
  status: number | undefined
  body = ''
  ending: string | undefined
  onSend(): void {}
  onPause(): void {}
  onStatus(status: number): void {
    this.status = status
  }
  onBody(part: Buffer): void {
    this.body += part.toString('latin1')
  }
  onEnd(error: Error | null): void {
    assert.equal(this.ending, undefined, 'an exchange ends once')
    this.ending = error ? error.message : 'complete'
  }
}

/** Lets the events of streams happen. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

const head = (...headers: string[]) => ['HTTP/1.1 200 OK', ...headers, '', ''].join('\r\n')
const chunked = head('Transfer-Encoding: chunked')

type Case = {
  name: string
  bytes: string
  status?: number
  body?: string
  ending?: string
  /** Whether the connection carries the next request. */
  isKept: boolean
}

const cases: Case[] = [
  { name: 'a length', bytes: `${head('content-length: 2')}ok`, body: 'ok', isKept: true },
  { name: 'an empty body', bytes: head('Content-Length: 0'), isKept: true },
  {
    name: 'chunks',
    bytes: `${chunked}2\r\nok\r\nA;name="x"\r\n0123456789\r\n0\r\n\r\n`,
    body: 'ok0123456789',
    isKept: true,
  },
  { name: 'a trailer', bytes: `${chunked}1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n`, body: 'x', isKept: true },
  { name: 'no content', bytes: 'HTTP/1.1 204 No Content\r\n\r\n', status: 204, isKept: true },
  { name: 'no reason phrase', bytes: 'HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', isKept: true },
  {
    name: 'an earlier status',
    bytes: `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${head('content-length: 1')}x`,
    body: 'x',
    isKept: true,
  },
  { name: 'connection: close', bytes: `${head('content-length: 1', 'Connection: close')}x`, body: 'x', isKept: false },
  { name: 'HTTP/1.0', bytes: 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx', body: 'x', isKept: false },
  {
    name: 'a short keep-alive',
    bytes: `${head('content-length: 1', 'Keep-Alive: timeout=1')}x`,
    body: 'x',
    isKept: false,
  },
  {
    name: 'surplus bytes',
    bytes: `${head('content-length: 1')}x${head('content-length: 0')}`,
    body: 'x',
    isKept: false,
  },
  { name: 'surplus bytes after chunks', bytes: `${chunked}0\r\n\r\nHTTP`, isKept: false },
  {
    name: 'a length and chunks',
    bytes: `${head('content-length: 9', 'transfer-encoding: chunked')}1\r\nx\r\n0\r\n\r\n`,
    body: 'x',
    isKept: false,
  },
  {
    name: 'two lengths',
    bytes: `${head('content-length: 1', 'content-length: 1')}xy`,
    body: 'xy',
    ending: 'closed',
    isKept: false,
  },
  { name: 'a negative length', bytes: `${head('content-length: -1')}xy`, body: 'xy', ending: 'closed', isKept: false },
  { name: 'no length', bytes: `${head()}xy`, body: 'xy', ending: 'closed', isKept: false },
  {
    name: 'an unknown encoding',
    bytes: `${head('transfer-encoding: gzip, chunked')}xy`,
    body: 'xy',
    ending: 'closed',
    isKept: false,
  },
  {
    name: 'a chunk without a size',
    bytes: `${chunked}\r\n`,
    ending: 'the response has an invalid chunk',
    isKept: false,
  },
  {
    name: 'a chunk longer than its size',
    bytes: `${chunked}1\r\nxyz\r\n`,
    body: 'x',
    ending: 'the response has an invalid chunk',
    isKept: false,
  },
  {
    name: 'a chunk line without end',
    bytes: `${chunked}1;${'y'.repeat(2_000)}`,
    ending: 'the response has an invalid chunk',
    isKept: false,
  },
  {
    name: 'another protocol',
    bytes: 'SSH-2.0-OpenSSH_9.6\r\n',
    status: 0,
    ending: 'the response is not HTTP',
    isKept: false,
  },
  { name: 'HTTP/2', bytes: 'HTTP/2 200\r\n\r\n', status: 0, ending: 'the response is not HTTP', isKept: false },
  {
    name: 'an upgrade',
    bytes: 'HTTP/1.1 101 Switching\r\n\r\n',
    status: 0,
    ending: 'the response is not HTTP',
    isKept: false,
  },
  {
    name: 'a head without end',
    bytes: `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(33_000)}`,
    status: 0,
    ending: 'the head of the response is too long',
    isKept: false,
  },
  {
    name: 'earlier statuses without end',
    bytes: 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(11),
    status: 0,
    ending: 'the response does not begin',
    isKept: false,
  },
]

for (const { name, bytes, status = 200, body = '', ending = 'complete', isKept } of cases) {
  // One byte at a time, except for the longest.
  const sizes = bytes.length > 5_000 ? [bytes.length, 1_000] : [bytes.length, 1]
  test(`a response with ${name}`, async (t) => {
    for (const size of sizes) {
      const { sockets, send } = startConnections(t)
      const [first, second] = [new Recorder(), new Recorder()]
      send(first)
      const [socket] = sockets
      assert.ok(socket)
      for (let at = 0; at < bytes.length; at += size) {
        if (!socket.destroyed) socket.push(Buffer.from(bytes.slice(at, at + size)))
        await settled()
      }
      if (ending === 'closed') {
        assert.equal(first.ending, undefined)
        socket.push(null)
        await settled()
      }
      const expected = ending === 'closed' ? 'complete' : ending
      assert.deepEqual([first.status ?? 0, first.body, first.ending], [status, body, expected], `${size} at a time`)
      send(second)
      assert.deepEqual([sockets.length, socket.destroyed], isKept ? [1, false] : [2, true])
    }
  })
}

test('a connection that is closed or receives bytes while idle carries no request', async (t) => {
  for (const event of ['bytes', 'end', 'error'] as const) {
    const { sockets, send } = startConnections(t)
    send(new Recorder())
    const [socket] = sockets
    socket?.push(`${head('content-length: 0')}`)
    await settled()
    if (event === 'bytes') socket?.push(head('content-length: 0'))
    else if (event === 'end') socket?.push(null)
    else socket?.destroy(new Error('reset'))
    await settled()
    const next = new Recorder()
    send(next)
    assert.deepEqual([sockets.length, next.ending], [2, undefined], event)
  }
})

test('a connection lost before or within a response ends the exchange with an error', async (t) => {
  for (const bytes of ['', 'HTTP/1.1 200 OK\r\ncontent-le', `${head('content-length: 3')}ab`, `${chunked}1\r\n`]) {
    const { sockets, send } = startConnections(t)
    const exchange = new Recorder()
    send(exchange)
    if (bytes) sockets[0]?.push(bytes)
    sockets[0]?.push(null)
    await settled()
    assert.equal(exchange.ending, 'connection lost before a response')
  }
})

test('a connection that opens too late serves the next request', (t) => {
  const opening: ((socket: FakeSocket) => void)[] = []
  const connections = createConnections(
    (_, done) => opening.push((socket) => done(null, socket as unknown as Socket)),
    60_000,
  )
  t.after(() => connections.stop())
  const [late, first, second] = [new Recorder(), new Recorder(), new Recorder()]
  connections.send(origin, 'late', late)
  late.isOver = true
  const one = new FakeSocket()
  opening.shift()?.(one)
  assert.equal(one.written, '')
  connections.send(origin, 'first', first)
  assert.deepEqual([one.written, opening.length], ['first', 0])
  connections.send(origin, 'second', second)
  one.push(head('content-length: 0'))
  return settled().then(() => {
    assert.deepEqual([first.ending, one.written], ['complete', 'firstsecond'])
    // The one that was opened for the second request is kept.
    const other = new FakeSocket()
    opening.shift()?.(other)
    connections.send(origin, 'third', new Recorder())
    assert.equal(other.written, 'third')
  })
})

test('a connection carries no request when its address was checked too long ago, also one that waits', async (t) => {
  const addressMs = 500
  const startedAt = performance.now()
  const { sockets, send } = startConnections(t, addressMs)
  const [first, second, third] = [new Recorder(), new Recorder(), new Recorder()]
  send(first)
  sockets[0]?.push(head('content-length: 0', 'keep-alive: timeout=60'))
  await settled()
  send(second)
  assert.deepEqual([sockets.length, first.ending], [1, 'complete'])
  await until('the address to be too old', async () => performance.now() - startedAt > addressMs)
  // The response of the second request is complete only now.
  sockets[0]?.push(head('content-length: 0', 'keep-alive: timeout=60'))
  await settled()
  assert.deepEqual([second.ending, sockets[0]?.destroyed], ['complete', true])
  send(third)
  assert.equal(sockets.length, 2)
})
