import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import pino from 'pino'
import { createServer } from '../lib/http/server.ts'
import { createMetrics } from '../lib/process/metrics.ts'
import { simulatorMount } from './mount.ts'

type Handle = Parameters<typeof simulatorMount>[0]['handle']

async function mount(t: TestContext, handle: Handle, metrics = createMetrics()): Promise<string> {
  const app = createServer({ log: pino({ level: 'silent' }), metrics, limits: { responseTimeoutMs: 50 } })
  // No database: callers on this machine need no session.
  const options = { db: undefined as never, publicUrl: 'http://127.0.0.1:1', isExposed: false }
  await app.register(simulatorMount({ handle, ...options }))
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

test('the simulator gets every request under /simulator with an unread body of any type and size', async (t) => {
  const url = await mount(t, async (request, response) => {
    let size = 0
    for await (const part of request) size += part.length
    response.writeHead(418).end(JSON.stringify([request.method, request.url, size]))
  })
  const body = 'x'.repeat(3 * 1024 * 1024)
  for (const [method, path, options] of [
    ['GET', '/simulator', {}],
    ['POST', '/simulator/graph/v25.0/1/messages?x=%2F', { body, headers: { 'content-type': 'application/json' } }],
    ['POST', '/simulator/graph', { body, headers: { 'content-type': 'image/png' } }],
    ['PUT', '/simulator/control/accounts', { body }],
    ['DELETE', '/simulator/control/faults', {}],
  ] as const) {
    const answer = await fetch(url + path, { method, ...options })
    assert.equal(answer.status, 418)
    assert.deepEqual(await answer.json(), [method, path, 'body' in options ? body.length : 0])
  }
  assert.equal((await fetch(`${url}/simulators`)).status, 404)
})

test('the response timeout does not end a stream of the simulator', async (t) => {
  const url = await mount(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n')
    setTimeout(() => response.end('data: two\n\n'), 200)
  })
  const answer = await fetch(`${url}/simulator/stream`)
  assert.equal(await answer.text(), 'data: one\n\ndata: two\n\n')
})

test('simulated failures are not counted as errors of the service, and each method has a series', async (t) => {
  const metrics = createMetrics()
  const url = await mount(t, (request, response) => response.writeHead(Number(request.url?.slice(-3))).end(), metrics)
  for (const [method, path] of [
    ['GET', '/simulator/200'],
    ['POST', '/simulator/200'],
    ['POST', '/simulator/500'],
    ['POST', '/simulator/503'],
  ] as const) {
    await (await fetch(url + path, { method })).text()
  }
  const count = 'parley_http_requests_total'
  const counted = (await metrics.read())
    .split('\n')
    .filter((line) => line.startsWith(`${count}{`) && !line.endsWith(' 0'))
  const expected = ['GET', 'POST'].map((method) => `${count}{method="${method}",route="/simulator/*",status="200"} 1`)
  assert.deepEqual(counted.toSorted(), expected)
})
