import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { createMetrics } from '../process/metrics.ts'
import { createCoalescedRunner, createOpenLimits, createStreamRegistry, type EventStream } from './event-stream.ts'
import { createServer } from './server.ts'

/** A server whose `/stream` hands each stream to `serve`, and clients that do not read. */
async function startStreams(t: TestContext, serve: (stream: EventStream) => Promise<void>, drainTimeoutMs: number) {
  const app = createServer({ log: pino({ level: 'silent' }), metrics: createMetrics() })
  const streams = createStreamRegistry(app, { drainTimeoutMs })
  app.get('/stream', async (_request, reply) => {
    streams.enter(reply, [])
    void serve(streams.open(reply, { heartbeatMs: 60_000, retryMs: 3_000 }))
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const address = app.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    open: () => {
      const socket = connect({ host: '127.0.0.1', port })
      t.after(() => socket.destroy())
      socket.on('error', () => {})
      socket.write('GET /stream HTTP/1.1\r\nhost: x\r\n\r\n')
      return socket
    },
  }
}

const megabyte = 'x'.repeat(1_000_000)

test('a client that does not read blocks its sender and is disconnected after the timeout', async (t) => {
  let sent = 0
  const ended = Promise.withResolvers<void>()
  const { open } = await startStreams(
    t,
    async (stream) => {
      stream.onClose(ended.resolve)
      while (stream.isOpen()) {
        await stream.sendText('message', megabyte)
        sent++
      }
    },
    300,
  )
  const socket = open()
  socket.pause()
  await ended.promise
  // What the kernel buffers for a connection; without back-pressure it would be some thousands.
  assert.ok(sent < 50, `${sent} MB sent`)
})

test('a client that reads receives every event in order, however slowly', async (t) => {
  const events = 40
  const { open } = await startStreams(
    t,
    async (stream) => {
      for (let i = 0; i < events; i++) await stream.sendText('message', `${i} ${megabyte.slice(0, 200_000)}`, `${i}`)
      stream.end(10)
    },
    1_000,
  )
  const socket = open()
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (part) => {
    text += part
    // Slower than the service sends.
    socket.pause()
    setTimeout(() => socket.resume(), 2)
  })
  while (!text.includes('retry: 10\n')) await once(socket, 'data')
  const ids = Array.from(text.matchAll(/^id: (\d+)$/gm), ([, id]) => Number(id))
  assert.deepEqual(ids, [...Array(events).keys()])
})

test('open responses are limited by key and in total, until they end', () => {
  const limits = createOpenLimits(3, 'streams')
  const enter = (key: string) => {
    let close = () => {}
    const raw = { once: (_event: string, run: () => void) => (close = run) }
    limits.enter({ raw } as unknown as Parameters<typeof limits.enter>[0], [{ key, most: 2 }])
    return () => close()
  }
  const [leave] = [enter('a'), enter('a')]
  assert.throws(() => enter('a'), /too many/)
  enter('b')
  assert.throws(() => enter('c'), /too many/, 'the process is full')
  leave?.()
  enter('a')
  assert.throws(() => enter('b'), /too many/)
})

test('calls during a run cause exactly one more', async () => {
  let runs = 0
  const first = Promise.withResolvers<void>()
  const call = createCoalescedRunner({
    run: async () => {
      runs++
      if (runs === 1) await first.promise
    },
    isOpen: () => true,
    onError: (error) => assert.fail(String(error)),
  })
  const running = call()
  for (let i = 0; i < 5; i++) void call()
  first.resolve()
  await running
  assert.equal(runs, 2)
})
