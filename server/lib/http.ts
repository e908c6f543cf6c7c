/**
 * The client for outgoing HTTP requests, with limits on time, size and connections.
 *
 * A failure of the other side is a value. Redirects are not followed. Addresses that are not public are refused when the
 * connection is opened, unless the caller allows private addresses.
 */
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { isPublicAddress, notPublic, publicLookup } from '../../common/address.ts'

export type HttpRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** From the start of the request to the last byte of the response. */
  timeoutMs: number
  /** The operator chose the address: it may be private, and its certificate self-signed. */
  isPrivate?: boolean
}

/** `isWritten`: false if no byte of the request was sent, so the other side cannot have received it. */
export type HttpFailure = { ok: false; message: string; isWritten: boolean }

type HttpResponse =
  | { ok: true; status: number; headers: Record<string, string | string[] | undefined>; body: Buffer }
  | HttpFailure

type HttpStream =
  | { ok: true; status: number; headers: Record<string, string | string[] | undefined>; body: Readable }
  | HttpFailure

export type Http = {
  /** Sends a request and reads the whole response, up to `maxBytes` (default 1 MiB). */
  request(request: HttpRequest & { maxBytes?: number }): Promise<HttpResponse>
  /** Sends a request and returns the body as a stream, which fails when the timeout ends. */
  stream(request: HttpRequest): Promise<HttpStream>
  stop(): Promise<void>
}

const limits = {
  headersTimeout: 30_000,
  bodyTimeout: 30_000,
  maxHeaderSize: 32 * 1024,
  pipelining: 1,
}

/** `connections`: the most connections to one origin. */
export function createHttp({ connections = 256 } = {}): Http {
  const shared = { ...limits, connections }
  const guardedAgent = new Agent({ ...shared, connect: { timeout: 5_000, lookup: publicLookup } })
  const openAgent = new Agent({ ...shared, connect: { timeout: 5_000, rejectUnauthorized: false } })
  const guarded = guardedAgent.compose(noteWriting)
  const open = openAgent.compose(noteWriting)

  async function send({ method, url, headers, body, timeoutMs, isPrivate = false }: HttpRequest) {
    const target = URL.parse(url)
    const refuse = (message: string) => ({ ok: false as const, message, isWritten: false })
    if (!target || !/^https?:$/.test(target.protocol)) return refuse('not an http address')
    const host = target.hostname.replace(/^\[|\]$/g, '')
    // A literal address is not resolved, so the guarded lookup does not see it.
    if (!isPrivate && isIP(host) && !isPublicAddress(host)) return refuse(notPublic(host))
    // `AbortSignal.timeout` cannot be cleared: its timers would all fire, long after the response.
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(), timeoutMs)
    const { signal } = abort
    const progress: Progress = { isWritten: false }
    try {
      const response = await (isPrivate ? open : guarded).request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: method as Dispatcher.HttpMethod,
        signal,
        opaque: progress,
        headers: { 'user-agent': 'Parley/1', ...headers },
        ...(body === undefined ? {} : { body }),
      })
      return { ok: true as const, response, signal, timer }
    } catch (error) {
      clearTimeout(timer)
      return { ok: false as const, message: describeError(error, signal, timeoutMs), ...progress }
    }
  }

  return {
    async request({ maxBytes = 1024 * 1024, ...request }) {
      const sent = await send(request)
      if (!sent.ok) return sent
      const { statusCode: status, headers, body } = sent.response
      try {
        const parts: Buffer[] = []
        let size = 0
        for await (const part of body) {
          size += part.length
          if (size > maxBytes) {
            body.destroy()
            return { ok: false, message: `the answer is over ${maxBytes} bytes`, isWritten: true }
          }
          parts.push(part)
        }
        return { ok: true, status, headers, body: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts) }
      } catch (error) {
        return { ok: false, message: describeError(error, sent.signal, request.timeoutMs), isWritten: true }
      } finally {
        clearTimeout(sent.timer)
      }
    },
    async stream(request) {
      const sent = await send(request)
      if (!sent.ok) return sent
      const { statusCode: status, headers, body } = sent.response
      body.once('close', () => clearTimeout(sent.timer))
      return { ok: true, status, headers, body }
    },
    async stop() {
      await Promise.all([guardedAgent.destroy(), openAgent.destroy()])
    },
  }
}

type Progress = { isWritten: boolean }

/**
 * Sets `isWritten` of a request's `opaque` when the client starts to write it to a connection. Before that it waits for a
 * connection. A request whose timeout ended by then is aborted before its first byte.
 */
const noteWriting: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const { opaque } = options as { opaque?: Progress }
  const start = handler.onRequestStart?.bind(handler)
  handler.onRequestStart = (controller, context) => {
    start?.(controller, context)
    if (opaque && !controller.aborted) opaque.isWritten = true
  }
  return dispatch(options, handler)
}

function describeError(error: unknown, signal: AbortSignal, timeoutMs: number): string {
  if (signal.aborted) return `no answer within ${timeoutMs / 1000} s`
  const { code, message } = error as { code?: string; message?: string }
  const words: Record<string, string> = {
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'connection lost',
    UND_ERR_SOCKET: 'connection lost',
    UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
    ENOTFOUND: 'no such host',
  }
  return words[code ?? ''] ?? message ?? 'failed'
}
