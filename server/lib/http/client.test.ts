/** Whether a request that failed may have reached the other side. */
import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createHttp } from './client.ts'

async function listen(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}

async function fail(t: TestContext, url: string, timeoutMs = 5_000) {
  const http = createHttp()
  t.after(() => http.stop())
  const answer = await http.request({ method: 'POST', url, body: 'x', timeoutMs, isPrivate: true })
  if (answer.ok) throw new Error('it was answered')
  return answer
}

test('a request without a connection was not written', async (t) => {
  const refused = await fail(t, 'http://127.0.0.1:1')
  assert.deepEqual([refused.isWritten, refused.message], [false, 'connection refused'])
  assert.equal((await fail(t, 'http://none.invalid')).isWritten, false)
  const plain = await listen(t, (socket) => void socket.end('no TLS here'))
  const tls = await fail(t, plain.replace('http:', 'https:'))
  assert.equal(tls.isWritten, false, tls.message)
  assert.equal((await fail(t, 'ftp://127.0.0.1')).isWritten, false)
})

test('a request whose connection was lost or silent may have been received', async (t) => {
  const broken = await listen(t, (socket) => socket.once('data', () => socket.destroy()))
  assert.equal((await fail(t, broken)).isWritten, true)
  const silent = await listen(t, () => {})
  const late = await fail(t, silent, 100)
  assert.deepEqual([late.isWritten, late.message], [true, 'no answer within 0.1 s'])
})

test('a request that timed out while it waited for a connection was not written', async (t) => {
  const silent = await listen(t, () => {})
  const http = createHttp({ connections: 1 })
  t.after(() => http.stop())
  const ask = (timeoutMs: number) =>
    http.request({ method: 'POST', url: silent, body: 'x', timeoutMs, isPrivate: true })
  const answers = await Promise.all([ask(200), ask(100)])
  const written = answers.map((answer) => !answer.ok && answer.isWritten)
  assert.deepEqual(written, [true, false])
})

test('names that do not resolve delay no other name, and only public addresses are called', async (t) => {
  const never = new Promise<string[]>(() => {})
  const addresses: Record<string, string> = { 'private.test': '10.0.0.1', 'metadata.test': '169.254.169.254' }
  const resolver = {
    resolve4: async (host: string) => (host.startsWith('slow') ? never : [addresses[host] ?? '0.0.0.0']),
    resolve6: async () => [],
  }
  const http = createHttp({ resolver })
  t.after(() => http.stop())
  const ask = (host: string, isPrivate = false) =>
    http.request({ method: 'GET', url: `http://${host}`, timeoutMs: 5_000, isPrivate })
  let settled = 0
  const slow = Array.from({ length: 300 }, (_, i) => ask(`slow${i}.test`).finally(() => settled++))
  for (const [host, address] of Object.entries(addresses)) {
    assert.deepEqual(await ask(host), { ok: false, message: `${address} is not a public address`, isWritten: false })
  }
  assert.equal(settled, 0)
  for (const answer of await Promise.all(slow)) {
    assert.deepEqual(answer, { ok: false, message: 'no such host', isWritten: false })
  }
  const refused = { ok: false, message: 'localhost is not a public address', isWritten: false }
  assert.deepEqual(await ask('localhost'), refused)
  const local = await listen(t, (socket) => void socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
  const answer = await ask(local.replace('http://127.0.0.1', 'localhost'), true)
  assert.equal(answer.ok && answer.status, 204, 'the operator may name a host of the hosts file')
})
