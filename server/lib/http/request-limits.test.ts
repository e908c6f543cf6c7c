import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import pino from 'pino'
import { createMetrics } from '../process/metrics.ts'
import { createServer } from './server.ts'

/** More than the kernel takes for a client that reads nothing. */
const body = 'x'.repeat(32 * 1024 * 1024)

test('a connection whose response is not read is closed', async (t) => {
  const limits = { responseTimeoutMs: 50 }
  const app = createServer({ log: pino({ level: 'silent' }), metrics: createMetrics(), limits })
  app.get('/large', async (_request, reply) => reply.type('text/plain').send(body))
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const client = connect(port, '127.0.0.1').pause()
  t.after(() => client.destroy())
  client.on('error', () => {})
  client.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
  const [socket] = await once(app.server, 'connection')
  await once(socket, 'close')
  assert.ok(client.bytesRead < body.length)
})
