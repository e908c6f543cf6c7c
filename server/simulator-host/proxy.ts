/**
 * The way of a request to the simulator: an API process passes it on to the process `simulator` of its service, on a socket file. That
 * process forwards it to another service if the simulator runs there. A connection that the simulator drops is dropped for the caller too.
 */
import { rmSync } from 'node:fs'
import {
  Agent,
  type ClientRequest,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream'
import type { Simulator } from '../../simulator/simulator.ts'

/** Marks a forwarded request. The receiver does not forward it again, so requests cannot loop. */
const forwardedHeader = 'x-simulator-handed-on'

export const isForwarded = ({ headers }: IncomingMessage): boolean => headers[forwardedHeader] !== undefined

/** The simulator in the process that listens on the socket file. */
export function createSocketProxy(socketPath: string): Pick<Simulator, 'handle'> {
  const agent = new Agent({ keepAlive: true })
  return {
    handle(request, response) {
      const { method, url: path } = request
      const headers = endToEndHeaders(request.headers)
      const upstream = httpRequest({ socketPath, agent, method, path, headers })
      relay(upstream, request, response, 'the process that runs the simulator')
    },
  }
}

/** Handles the requests that arrive on the socket file. The processes that send them have checked who may use the simulator. */
export async function serveSocket({ handle }: Pick<Simulator, 'handle'>, socketPath: string): Promise<Server> {
  // A kept connection that closes at the moment it is reused would fail a request.
  const server = createServer({ keepAliveTimeout: 0 }, handle)
  // Of a process that was killed.
  rmSync(socketPath, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Exclusive: not shared with the other processes.
    server.listen({ path: socketPath, exclusive: true }, resolve)
  })
  return server
}

/**
 * Sends the request to the service that runs the simulator. The caller has checked `Host` and `Origin` against our own addresses. It
 * opens a connection per request: the other service may close a kept one at the moment it is reused. The certificate is our own, so
 * it is not verified.
 */
export function forwardRequest(host: URL, request: IncomingMessage, response: ServerResponse): void {
  const { method, url: path } = request
  const { origin: _, ...endToEnd } = endToEndHeaders(request.headers)
  // The client of `node:http` ends a request with an empty write. If the receiver had answered and closed before it, that write
  // would fail with EPIPE, and the answer would be lost.
  const headers = { ...endToEnd, host: host.host, connection: 'keep-alive', [forwardedHeader]: '1' }
  const options = { method, path, headers, agent: false as const, rejectUnauthorized: false }
  const upstream = host.protocol === 'https:' ? httpsRequest(host, options) : httpRequest(host, options)
  relay(upstream, request, response, `the simulator at ${host.origin}`)
}

/** Errors of a connection that was open. */
const dropped: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE'])

function relay(upstream: ClientRequest, request: IncomingMessage, response: ServerResponse, name: string): void {
  upstream.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer.headers))
    // An event stream may send nothing for a long time.
    response.flushHeaders()
    pipeline(answer, response, () => {})
  })
  upstream.once('error', (error: NodeJS.ErrnoException) => {
    if (response.headersSent || dropped.has(error.code)) response.destroy()
    else sendUnreachable(response, `${name} does not answer: ${error.message}`)
  })
  response.once('close', () => upstream.destroy())
  request.pipe(upstream)
}

export function sendUnreachable(response: ServerResponse, message: string): void {
  const json = JSON.stringify({ error: { code: 'simulator_unreachable', message } })
  response.writeHead(502, { 'content-type': 'application/json; charset=utf-8' }).end(json)
}

/** The headers without those of the connection. */
function endToEndHeaders({
  connection: _,
  'keep-alive': __,
  upgrade: ___,
  expect: ____,
  ...headers
}: IncomingHttpHeaders) {
  return headers
}
