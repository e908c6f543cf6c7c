/**
 * The client for outgoing HTTP requests, with limits on time, size and connections.
 *
 * A failure of the other side is a value. Redirects are not followed. Addresses that are not public are refused when the
 * connection is opened, unless the caller allows private addresses.
 */
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { createPublicLookup, type DnsResolver, isPublicAddress, notPublic } from '../../common/address.ts'

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

type HttpOptions = {
  /** The most connections to one origin. */
  connections?: number
  /** For tests. */
  resolver?: DnsResolver
}

export function createHttp({ connections = 256, resolver }: HttpOptions = {}): Http {
  const shared = { ...limits, connections }
  const guardedAgent = new Agent({ ...shared, connect: { timeout: 5_000, lookup: createPublicLookup(resolver) } })
  const openAgent = new Agent({ ...shared, connect: { timeout: 5_000, rejectUnauthorized: false } })
  const guarded = guardedAgent.compose(noteWriting)
  const open = openAgent.compose(noteWriting)

  /** The address of a request, or the reason why it may not be called. */
  function readTarget({ url, isPrivate = false }: HttpRequest): URL | HttpFailure {
    const refuse = (message: string): HttpFailure => ({ ok: false, message, isWritten: false })
    const target = URL.parse(url)
    if (!target || !/^https?:$/.test(target.protocol)) return refuse('not an http address')
    const host = target.hostname.replace(/^\[|\]$/g, '')
    // A literal address is not resolved, so the guarded lookup does not see it.
    return !isPrivate && isIP(host) && !isPublicAddress(host) ? refuse(notPublic(host)) : target
  }

  return {
    async request({ maxBytes = 1024 * 1024, ...request }) {
      const target = readTarget(request)
      if (!(target instanceof URL)) return target
      const agent = request.isPrivate ? openAgent : guardedAgent
      return exchange(agent, toOptions(target, request), request.timeoutMs, maxBytes)
    },
    async stream(request) {
      const target = readTarget(request)
      if (!(target instanceof URL)) return target
      const agent = request.isPrivate ? open : guarded
      // `AbortSignal.timeout` cannot be cleared: its timers would all fire, long after the response.
      const abort = new AbortController()
      const { signal } = abort
      const timer = setTimeout(() => abort.abort(), request.timeoutMs)
      const progress: Progress = { isWritten: false }
      try {
        const response = await agent.request({ ...toOptions(target, request), signal, opaque: progress })
        const { statusCode: status, headers, body } = response
        body.once('close', () => clearTimeout(timer))
        return { ok: true, status, headers, body }
      } catch (error) {
        clearTimeout(timer)
        const message = signal.aborted ? lateAnswer(request.timeoutMs) : describeError(error)
        return { ok: false, message, ...progress }
      }
    },
    async stop() {
      await Promise.all([guardedAgent.destroy(), openAgent.destroy()])
    },
  }
}

const toOptions = ({ origin, pathname, search }: URL, { method, headers, body }: HttpRequest) => ({
  origin,
  path: pathname + search,
  method: method as Dispatcher.HttpMethod,
  headers: { 'user-agent': 'Parley/1', ...headers },
  ...(body === undefined ? {} : { body }),
})

/**
 * Sends a request and collects the response through the agent's callbacks. Every send of a message calls this, and the agent's
 * `request` would add a stream, a signal and several promises to each.
 */
function exchange(
  agent: Agent,
  options: Dispatcher.DispatchOptions,
  timeoutMs: number,
  maxBytes: number,
): Promise<HttpResponse> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined
    let [isWritten, isDone] = [false, false]
    let status = 0
    let headers: Record<string, string | string[] | undefined> = {}
    const parts: Buffer[] = []
    let size = 0
    const finish = (response: HttpResponse) => {
      isDone = true
      clearTimeout(timer)
      resolve(response)
    }
    const fail = (message: string) => finish({ ok: false, message, isWritten })
    const timer = setTimeout(() => {
      fail(lateAnswer(timeoutMs))
      controller?.abort(new Error('timeout'))
    }, timeoutMs)
    agent.dispatch(options, {
      onRequestStart(started) {
        controller = started
        // The timeout ended while the request waited for a connection: not a byte of it is sent.
        if (isDone) started.abort(new Error('timeout'))
        else isWritten = true
      },
      onResponseStart(_, statusCode, responseHeaders) {
        // 100 Continue and the like come before the response.
        if (statusCode >= 200) [status, headers] = [statusCode, responseHeaders]
      },
      onResponseData(response, part) {
        size += part.length
        if (size <= maxBytes) parts.push(part)
        else {
          fail(`the answer is over ${maxBytes} bytes`)
          response.abort(new Error('too long'))
        }
      },
      onResponseEnd() {
        finish({ ok: true, status, headers, body: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts) })
      },
      onResponseError: (_, error) => fail(describeError(error)),
    })
  })
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

const lateAnswer = (timeoutMs: number): string => `no answer within ${timeoutMs / 1000} s`

function describeError(error: unknown): string {
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
