import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { handOn } from './host.ts'

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Another process in front of a host. */
async function inFrontOf(t: TestContext, host: RequestListener): Promise<string> {
  const target = new URL(await listen(t, host))
  return listen(t, (request, response) => handOn(target, request, response))
}

test('a request is handed on as it came, and so is its answer', async (t) => {
  const url = await inFrontOf(t, async (request, response) => {
    let size = 0
    for await (const part of request) size += part.length
    const said = [request.method, request.url, request.headers['content-type'], size]
    response.writeHead(418, { 'x-said': 'so' }).end(JSON.stringify(said))
  })
  const body = 'x'.repeat(3 * 1024 * 1024)
  for (const [method, path, options] of [
    ['GET', '/simulator/control/sent?to=+1415', {}],
    ['POST', '/simulator/graph/v25.0/1/messages?x=%2F', { body, headers: { 'content-type': 'image/png' } }],
    ['POST', '/simulator//odd', { body: new Blob([body]).stream(), duplex: 'half' }],
    ['DELETE', '/simulator/control/faults', {}],
  ] as const) {
    const answer = await fetch(url + path, { method, ...options })
    assert.deepEqual([answer.status, answer.headers.get('x-said')], [418, 'so'])
    const type = 'headers' in options ? options.headers['content-type'] : null
    assert.deepEqual(await answer.json(), [method, path, type, 'body' in options ? body.length : 0])
  }
})

test('a stream comes through as it is written, and its end on either side is passed on', async (t) => {
  let write = (_text: string) => {}
  let cut = () => {}
  const left = Promise.withResolvers<void>()
  const url = await inFrontOf(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    response.once('close', left.resolve)
    write = (text) => void response.write(text)
    cut = () => response.destroy()
  })
  const leaving = new AbortController()
  const first = await fetch(url, { signal: leaving.signal })
  write('data: one\n\n')
  const events = first.body?.getReader()
  assert.equal(new TextDecoder().decode((await events?.read())?.value), 'data: one\n\n')
  leaving.abort()
  await left.promise

  const second = await fetch(url)
  cut()
  await assert.rejects(second.text())
})

test('where nobody answers, or only begins to, the caller is told in words', async (t) => {
  const broken = await inFrontOf(t, (request) => request.socket.destroy())
  const nobody = await listen(t, (request, response) => handOn(new URL('http://127.0.0.1:1'), request, response))
  for (const url of [broken, nobody]) {
    const answer = await fetch(`${url}/simulator`, { method: 'POST', body: 'x' })
    assert.equal(answer.status, 502)
    const { error } = (await answer.json()) as { error: { code: string; message: string } }
    assert.equal(error.code, 'simulator_unreachable')
    assert.match(error.message, /^the simulator is at http:\/\/127\.0\.0\.1:\d+, where nobody answers: /)
  }
})
