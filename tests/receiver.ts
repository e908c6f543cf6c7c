/** A customer's HTTPS server with scripted answers, which records what it receives. */
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type EventName, eventNames } from '../server/webhooks/emit.ts'
import { type Json, type Owner, until, type World } from './support.ts'

export type Received = {
  headers: IncomingHttpHeaders
  /** The names as they came over the wire. */
  headerNames: string[]
  raw: string
  body: Json
  at: number
  path: string
  socket: Socket
  /** Break the connection without a goodbye. */
  reset(): void
}

/** A status, or whatever one does with a response. */
export type Behaviour = number | ((response: ServerResponse, received: Received) => void)

export type Receiver = {
  url: string
  port: number
  received: Received[]
  /** Answer the next requests so, one each; afterwards with the last one again. */
  answers(...behaviours: Behaviour[]): void
  /** Wait until so many requests came. */
  until(count: number, withinMs?: number): Promise<Received[]>
  /** Connections that are open. */
  sockets: Set<Socket>
}

export type Receiving = {
  /** Of `fixtures`, without `.crt`. */
  certificate?: 'tls' | 'expired' | 'stranger' | 'receiver'
  /** The address to listen on, which the certificate must name. */
  host?: string
  /** Instead of reading the request: what to do when its head is there. */
  onHead?: (request: IncomingMessage, response: ServerResponse) => void
}

const folder = join(import.meta.dirname, 'fixtures')
const key = readFileSync(join(folder, 'tls.key'))

export async function startReceiver(
  t: Owner,
  { certificate = 'tls', host = '127.0.0.1', onHead }: Receiving = {},
): Promise<Receiver> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  let script: Behaviour[] = [200]
  const cert = readFileSync(join(folder, `${certificate}.crt`))
  const server = createServer({ cert, key }, (request, response) => {
    if (onHead) return onHead(request, response)
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      const raw = Buffer.concat(parts).toString('utf8')
      const one = {
        headers: request.headers,
        headerNames: request.rawHeaders.filter((_, i) => i % 2 === 0),
        raw,
        body: JSON.parse(raw),
        at: Date.now(),
        path: request.url ?? '',
        socket: request.socket,
        reset: () => [...sockets].find(({ remotePort }) => remotePort === request.socket.remotePort)?.resetAndDestroy(),
      }
      received.push(one)
      const behaviour = (script.length > 1 ? script.shift() : script[0]) ?? 200
      if (typeof behaviour === 'number') response.writeHead(behaviour).end(`answer ${behaviour}`)
      else behaviour(response, one)
    })
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  server.on('secureConnection', (socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `https://${host}:${port}/hook`,
    port,
    received,
    sockets,
    answers(...behaviours) {
      script = behaviours
    },
    until: (count, withinMs = 60_000) =>
      until(`${count} requests`, async () => received.length >= count && received.slice(), withinMs),
  }
}

/** Subscribe a workspace to all events, and read those recorded so far, in their order, each checked by the document. */
export async function recordEvents(
  t: TestContext,
  { api, db, contract }: Pick<World, 'api' | 'db' | 'contract'>,
): Promise<EventsOf> {
  const { url } = await startReceiver(t)
  const created = await api.post('/webhooks', { url, events: [...eventNames] })
  if (created.status !== 201) throw new Error(created.text)
  return async (event) => {
    const rows = await db<{ body: string }[]>`
      select body from webhook_events where workspace_id = ${api.workspaceId} order by id`
    const events: Json[] = rows.map(({ body }) => JSON.parse(body))
    for (const one of events) contract.holdEvent(one)
    return events.filter((one) => !event || one.event === event)
  }
}

/** The `data` of an event without the resources in it. */
export const withoutResources = ({ message, contact, conversation, ...keys }: Json): Json => keys

export type EventsOf = (event?: EventName) => Promise<Json[]>
