import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFolder } from '../../tests/folder.ts'
import { listen } from '../../tests/listen.ts'
import { createSocketProxy, forwardRequest, serveSocket } from './proxy.ts'

function stopAfter(t: TestContext, server: Server): void {
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
}

/** An API process: it passes requests on to the process `simulator`, which forwards them to another service. */
async function startProxy(t: TestContext, host: RequestListener): Promise<string> {
  const target = new URL(await listen(t, createServer(host)))
  return passOn(t, (request, response) => forwardRequest(target, request, response))
}

async function passOn(t: TestContext, handle: RequestListener): Promise<string> {
  const dir = createFolder(t)
  const socketPath = join(dir, 'simulator.sock')
  stopAfter(t, await serveSocket({ handle }, socketPath))
  return listen(t, createServer(createSocketProxy(socketPath).handle))
}

test('a request is proxied unchanged, and so is its answer', async (t) => {
  const url = await startProxy(t, async (request, response) => {
    let size = 0
    for await (const part of request) size += part.length
    // Otherwise the last write of the request could fail with EPIPE.
    assert.equal(request.headers.connection, 'keep-alive')
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

test('a connection that the simulator drops is dropped, and a process that is not there is a 502 with a message', async (t) => {
  const post = (url: string) => fetch(`${url}/simulator`, { method: 'POST', body: 'x' })
  await assert.rejects(post(await startProxy(t, (request) => request.socket.destroy())), /fetch failed/)
  const forwarded = await passOn(t, (request, response) =>
    forwardRequest(new URL('http://127.0.0.1:1'), request, response),
  )
  const restarting = await listen(t, createServer(createSocketProxy('/nowhere/simulator.sock').handle))
  for (const [url, name] of [
    [forwarded, 'the simulator at http://127.0.0.1:1'],
    [restarting, 'the process that runs the simulator'],
  ] as const) {
    const answer = await post(url)
    assert.equal(answer.status, 502)
    const { error } = (await answer.json()) as { error: { code: string; message: string } }
    assert.equal(error.code, 'simulator_unreachable')
    assert.ok(error.message.startsWith(`${name} does not answer: `), error.message)
  }
})
