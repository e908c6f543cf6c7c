/**
 * A customer's https server: answers 200 whatever is posted, but for paths that
 * begin with `/hang`, which it never answers. Runs as a process of its own and
 * is asked over its channel: how many have come, and when each of those that
 * were noted came, by the phone number in its body.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'

export type Asked = 'count' | 'note' | 'noted'
export type Told = { port: number } | { count: number; at: number } | { noted: [phone: string, at: number][] }

const fixtures = join(import.meta.dirname, '../tests/fixtures')
const [cert, key] = ['tls.crt', 'tls.key'].map((name) => readFileSync(join(fixtures, name)))
let count = 0
let noted: [string, number][] | undefined

const now = (): number => performance.timeOrigin + performance.now()
const tell = (told: Told) => process.send?.(told)

const server = createServer({ cert, key }, (request, response) => {
  const parts: Buffer[] = []
  if (noted) request.on('data', (part) => parts.push(part))
  else request.resume()
  request.on('end', () => {
    count++
    const [, phone] = noted ? (/"phone":"(\+\d+)"/.exec(parts.join('')) ?? []) : []
    if (phone) noted?.push([phone, now()])
    if (!request.url?.startsWith('/hang')) response.writeHead(200).end('ok')
  })
})
server.on('tlsClientError', () => {})
server.on('secureConnection', (socket) => socket.on('error', () => {}))
server.keepAliveTimeout = 60_000
server.requestTimeout = 0
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') tell({ port: address.port })
})

process.on('disconnect', () => process.exit())
process.on('message', (asked: Asked) => {
  if (asked === 'count') tell({ count, at: now() })
  else {
    tell({ noted: noted ?? [] })
    noted = asked === 'note' ? [] : undefined
  }
})
