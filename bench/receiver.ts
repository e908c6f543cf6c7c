/**
 * Webhook receiver over https. It answers every request with 200, except paths that start with `/hang`, which it never
 * answers. Runs in its own process. Over the IPC channel it reports how many requests arrived and, for recorded requests,
 * when each arrived, by the phone number in its body.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'

export type Query = 'count' | 'startRecording' | 'stopRecording'
export type Report = { port: number } | { count: number; at: number } | { recorded: [phone: string, at: number][] }

const fixtures = join(import.meta.dirname, '../tests/fixtures')
const [cert, key] = ['tls.crt', 'tls.key'].map((name) => readFileSync(join(fixtures, name)))
let count = 0
let recorded: [string, number][] | undefined

const now = (): number => performance.timeOrigin + performance.now()
const report = (message: Report) => process.send?.(message)

const server = createServer({ cert, key }, (request, response) => {
  const parts: Buffer[] = []
  if (recorded) request.on('data', (part) => parts.push(part))
  else request.resume()
  request.on('end', () => {
    count++
    const [, phone] = recorded ? (/"phone":"(\+\d+)"/.exec(parts.join('')) ?? []) : []
    if (phone) recorded?.push([phone, now()])
    if (!request.url?.startsWith('/hang')) response.writeHead(200).end('ok')
  })
})
server.on('tlsClientError', () => {})
server.on('secureConnection', (socket) => socket.on('error', () => {}))
server.keepAliveTimeout = 60_000
server.requestTimeout = 0
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') report({ port: address.port })
})

process.on('disconnect', () => process.exit())
process.on('message', (query: Query) => {
  if (query === 'count') report({ count, at: now() })
  else {
    report({ recorded: recorded ?? [] })
    recorded = query === 'startRecording' ? [] : undefined
  }
})
