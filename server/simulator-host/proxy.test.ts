import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createSocketProxy, proxyRequest, serveSocket } from './proxy.ts'

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A process that proxies to the host. */
async function startProxy(t: TestContext, host: RequestListener): Promise<string> {
  const target = new URL(await listen(t, host))
  return listen(t, (request, response) => proxyRequest(target, request, response))
}

test('a request is proxied unchanged, and so is its answer', async (t) => {
  const url = await startProxy(t, async (request, response) => {
    let size = 0
    for await (const part of request) size += part.length
    const received = [request.method, request.url, request.headers['content-type'], size]
    response.writeHead(418, { 'x-answer': 'yes' }).end(JSON.stringify(received))
  })
  const body = 'x'.repeat(3 * 1024 * 1024)
  for (const [method, path, options] of [
    ['GET', '/simulator/control/sent?to=+1415', {}],
    ['POST', '/simulator/graph/v25.0/1/messages?x=%2F', { body, headers: { 'content-type': 'image/png' } }],
    ['POST', '/simulator//odd', { body: new Blob([body]).stream(), duplex: 'half' }],
    ['DELETE', '/simulator/control/faults', {}],
  ] as const) {
    const answer = await fetch(url + path, { method, ...options })
    assert.deepEqual([answer.status, answer.headers.get('x-answer')], [418, 'yes'])
    const type = 'headers' in options ? options.headers['content-type'] : null
    assert.deepEqual(await answer.json(), [method, path, type, 'body' in options ? body.length : 0])
  }
})

test('a stream is proxied as it is written, and either side can end it', async (t) => {
  let write = (_text: string) => {}
  let disconnect = () => {}
  const closed = Promise.withResolvers<void>()
  const url = await startProxy(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    response.once('close', closed.resolve)
    write = (text) => void response.write(text)
    disconnect = () => response.destroy()
  })
  const abort = new AbortController()
  const first = await fetch(url, { signal: abort.signal })
  write('data: one\n\n')
  const events = first.body?.getReader()
  assert.equal(new TextDecoder().decode((await events?.read())?.value), 'data: one\n\n')
  abort.abort()
  await closed.promise

  const second = await fetch(url)
  disconnect()
  await assert.rejects(second.text())
})

test('a host that does not answer is a 502 with a message', async (t) => {
  const broken = await startProxy(t, (request) => request.socket.destroy())
  const absent = await listen(t, (request, response) => proxyRequest(new URL('http://127.0.0.1:1'), request, response))
  for (const url of [broken, absent]) {
    const answer = await fetch(`${url}/simulator`, { method: 'POST', body: 'x' })
    assert.equal(answer.status, 502)
    const { error } = (await answer.json()) as { error: { code: string; message: string } }
    assert.equal(error.code, 'simulator_unreachable')
    assert.match(error.message, /^the simulator at http:\/\/127\.0\.0\.1:\d+ does not answer: /)
  }
})

test('the process that answers on the socket file leaves closing the connection to the other', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-proxy-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const socketPath = join(dir, 'simulator.sock')
  let answered: ServerResponse | undefined
  const handle: RequestListener = (request, response) => {
    answered = response
    request.resume().once('end', () => response.end('answered'))
  }
  t.after((await serveSocket({ handle }, socketPath)).stop)
  const url = await listen(t, createSocketProxy(socketPath).handle)

  const answer = await fetch(url, { method: 'POST', body: 'hello' })
  assert.equal(await answer.text(), 'answered')
  assert.equal(answered?.shouldKeepAlive, true)
})
