/** Whether a request that failed may have reached the other side. */
import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createHttp } from './http.ts'

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
  const unknown = await fail(t, 'http://none.invalid')
  assert.equal(unknown.isWritten, false)
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
  assert.deepEqual(
    answers.map((answer) => !answer.ok && answer.isWritten),
    [true, false],
  )
})
