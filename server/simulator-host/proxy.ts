/**
 * HTTP between processes: probes the host of the simulator, and proxies requests to it.
 *
 * API processes that share a port also share an address. The first of them talks to the host; the others pass requests to it on a
 * socket file, unchanged.
 */
import { rmSync } from 'node:fs'
import {
  type ClientRequest,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream'
import { urlToHttpOptions } from 'node:url'
import type { Times } from '../../common/times.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { Connection } from '../channels/channel.ts'

/**
 * Asks the receiver to leave the connection open. The client of `node:http` ends a request with an empty write. If the receiver had
 * answered and closed before it, that write would fail with EPIPE, and the answer would be lost.
 */
const keptOpen = { connection: 'keep-alive' }

/** Marks a proxied request. The receiver does not proxy it again, so requests cannot loop. */
const proxiedHeader = 'x-simulator-handed-on'

export const isProxied = ({ headers }: IncomingMessage): boolean => headers[proxiedHeader] !== undefined

/** `silent`: there is no answer in time; the process may be busy. */
type ProbeResult = 'answers' | 'absent' | 'silent'

/** Whether a simulator with this connection answers. One of another database does not know the connection. */
export function probe(
  { base_url, api_version, account_id, access_token }: Connection,
  { probeMs }: Pick<Times['simulatorHost'], 'probeMs'>,
): Promise<ProbeResult> {
  const url = new URL(`${base_url}/${api_version}/${account_id}?fields=id`)
  // A token that was sealed with another key cannot be read; a simulator then shows itself by refusing the call.
  const headers = access_token ? { authorization: `Bearer ${access_token}` } : {}
  return new Promise((resolve) => {
    const request = createRequest(url, { headers })
    const timer = setTimeout(() => {
      resolve('silent')
      request.destroy()
    }, probeMs)
    request.once('close', () => clearTimeout(timer))
    request.once('error', () => resolve('absent'))
    request.once('response', (response) => {
      resolve(response.statusCode === (access_token ? 200 : 401) ? 'answers' : 'absent')
      response.resume()
    })
    request.end()
  })
}

/** Sends the request to the host and returns its answer. The caller has checked `Origin` against our own addresses. */
export function proxyRequest(host: URL, request: IncomingMessage, response: ServerResponse): void {
  const { method = 'GET', url = '/' } = request
  const { origin: _, ...headers } = endToEndHeaders(request.headers)
  const upstream = createRequest(new URL(url, host), { method, path: url, headers })
  relay(upstream, request, response, `the simulator at ${host.origin}`)
}

/** The simulator of another process that listens on the socket file. */
export const createSocketProxy = (socketPath: string): Pick<Simulator, 'handle'> => ({
  handle(request, response) {
    const { method, url: path } = request
    const headers = { ...endToEndHeaders(request.headers), ...keptOpen }
    const upstream = httpRequest({ socketPath, method, path, headers, agent: false })
    relay(upstream, request, response, 'the process that runs the simulator')
  },
})

/** Handles the requests that arrive on the socket file. The processes that send them have checked who may use the simulator. */
export async function serveSocket({ handle }: Pick<Simulator, 'handle'>, socketPath: string) {
  const server = createServer(handle)
  // Of a process that was killed.
  rmSync(socketPath, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Exclusive: not shared with the other processes.
    server.listen({ path: socketPath, exclusive: true }, resolve)
  })
  return {
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function relay(upstream: ClientRequest, request: IncomingMessage, response: ServerResponse, name: string): void {
  upstream.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, endToEndHeaders(answer.headers))
    // An event stream may send nothing for a long time.
    response.flushHeaders()
    pipeline(answer, response, () => {})
  })
  upstream.once('error', (error) => {
    if (response.headersSent) response.destroy()
    else sendUnreachable(response, `${name} does not answer: ${error.message}`)
  })
  response.once('close', () => upstream.destroy())
  request.pipe(upstream)
}

export function sendUnreachable(response: ServerResponse, message: string): void {
  const json = JSON.stringify({ error: { code: 'simulator_unreachable', message } })
  response.writeHead(502, { 'content-type': 'application/json; charset=utf-8' }).end(json)
}

/**
 * Opens a connection per request: the host may close a kept one at the moment it is reused. The certificate is our
 * own, so it is not verified.
 */
function createRequest(url: URL, options: RequestOptions): ClientRequest {
  const headers = { ...options.headers, ...keptOpen, host: url.host, [proxiedHeader]: '1' }
  const all = { ...urlToHttpOptions(url), ...options, headers, agent: false, rejectUnauthorized: false }
  return url.protocol === 'https:' ? httpsRequest(all) : httpRequest(all)
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
