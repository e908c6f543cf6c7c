/**
 * HTTP to the outside: one client, bounded in every way.
 *
 * A failure of the other side is a value, because we expect it. No redirect is
 * followed. An address that is not public is refused, at connect, unless the
 * caller vouches for it.
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
  /** From the first byte out to the last byte in. */
  timeoutMs: number
  /** The operator vouches for the address: it may be private, and its certificate its own. */
  isPrivate?: boolean
}

/** `isWritten`: false when no byte of the request left, so that the other side cannot have seen it. */
export type HttpFailure = { ok: false; message: string; isWritten: boolean }

type HttpAnswer =
  | { ok: true; status: number; headers: Record<string, string | string[] | undefined>; body: Buffer }
  | HttpFailure

type HttpStream =
  | { ok: true; status: number; headers: Record<string, string | string[] | undefined>; body: Readable }
  | HttpFailure

export type Http = {
  /** Ask, and read the whole answer, up to `maxBytes` (1 MiB). */
  request(request: HttpRequest & { maxBytes?: number }): Promise<HttpAnswer>
  /** Ask, and hand over the body as it comes; it ends with an error when the time is over. */
  stream(request: HttpRequest): Promise<HttpStream>
  stop(): Promise<void>
}

const limits = {
  headersTimeout: 30_000,
  bodyTimeout: 30_000,
  maxHeaderSize: 32 * 1024,
  pipelining: 1,
}

/** `connections`: at most this many to one origin. */
export function createHttp({ connections = 256 } = {}): Http {
  const shared = { ...limits, connections }
  const guardedAgent = new Agent({ ...shared, connect: { timeout: 5_000, lookup: publicLookup } })
  const openAgent = new Agent({ ...shared, connect: { timeout: 5_000, rejectUnauthorized: false } })
  const guarded = guardedAgent.compose(noteWriting)
  const open = openAgent.compose(noteWriting)

  async function ask({ method, url, headers, body, timeoutMs, isPrivate = false }: HttpRequest) {
    const target = URL.parse(url)
    const refuse = (message: string) => ({ ok: false as const, message, isWritten: false })
    if (!target || !/^https?:$/.test(target.protocol)) return refuse('not an http address')
    const host = target.hostname.replace(/^\[|\]$/g, '')
    // A literal address is not looked up, so the connector never sees it.
    if (!isPrivate && isIP(host) && !isPublicAddress(host)) return refuse(notPublic(host))
    // A timer that is cleared: those of `AbortSignal.timeout` all go off, 15 s after the answer.
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(), timeoutMs)
    const { signal } = abort
    const progress: Progress = { isWritten: false }
    try {
      const answer = await (isPrivate ? open : guarded).request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: method as Dispatcher.HttpMethod,
        signal,
        opaque: progress,
        headers: { 'user-agent': 'Parley/1', ...headers },
        ...(body === undefined ? {} : { body }),
      })
      return { ok: true as const, answer, signal, timer }
    } catch (error) {
      clearTimeout(timer)
      return { ok: false as const, message: inWords(error, signal, timeoutMs), ...progress }
    }
  }

  return {
    async request({ maxBytes = 1024 * 1024, ...request }) {
      const asked = await ask(request)
      if (!asked.ok) return asked
      const { statusCode: status, headers, body } = asked.answer
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
        return { ok: false, message: inWords(error, asked.signal, request.timeoutMs), isWritten: true }
      } finally {
        clearTimeout(asked.timer)
      }
    },
    async stream(request) {
      const asked = await ask(request)
      if (!asked.ok) return asked
      const { statusCode: status, headers, body } = asked.answer
      body.once('close', () => clearTimeout(asked.timer))
      return { ok: true, status, headers, body }
    },
    async stop() {
      await Promise.all([guardedAgent.destroy(), openAgent.destroy()])
    },
  }
}

type Progress = { isWritten: boolean }

/**
 * Sets `isWritten` of a request's `opaque` when the client starts to write it to a connection. Until then it waited for a
 * connection. A request whose time was over by then is started and aborted at once, without a byte.
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

function inWords(error: unknown, signal: AbortSignal, timeoutMs: number): string {
  if (signal.aborted) return `no answer within ${timeoutMs / 1000} s`
  const { code, message } = error as { code?: string; message?: string }
  const words: Record<string, string> = {
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'the connection broke',
    UND_ERR_SOCKET: 'the connection broke',
    UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
    ENOTFOUND: 'no such host',
  }
  return words[code ?? ''] ?? message ?? 'failed'
}
