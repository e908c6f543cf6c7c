/**
 * The client for outgoing HTTP requests, with limits on time, size and connections.
 *
 * A failure of the other side is a value. Redirects are not followed. Addresses that are not public are refused when the
 * connection is opened, unless the caller allows private addresses.
 */
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { createPublicLookup, type DnsResolver, isPublicAddress, notPublic } from '../../../common/address.ts'

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

/** Of all agents. A connection carries one request at a time. */
export const agentLimits = {
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
  const shared = { ...agentLimits, connections }
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
      const limits = { timeoutMs: request.timeoutMs, maxBytes }
      const { error, isWritten, ...response } = await exchange(agent, toOptions(target, request), limits)
      return error ? { ok: false, message: describeError(error), isWritten } : { ok: true, ...response }
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

/** How a request ended. One whose response broke off has a status and an error. */
type Exchange = {
  /** 0: no response began. */
  status: number
  headers: Record<string, string | string[] | undefined>
  /** The part of the body that was read, at most `maxBytes`. */
  body: Buffer
  error: Error | null
  isWritten: boolean
}

/** `bodyMs`: the body is read for at most this long after the status, within `timeoutMs`. */
type ExchangeLimits = { timeoutMs: number; bodyMs?: number; maxBytes: number }

/**
 * Sends a request and collects the response through the agent's callbacks. Every send of a message and every post of a webhook
 * calls this, and the agent's `request` would add a stream, a signal and several promises to each.
 */
export function exchange(
  agent: Agent,
  options: Dispatcher.DispatchOptions,
  { timeoutMs, bodyMs, maxBytes }: ExchangeLimits,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const endsAt = performance.now() + timeoutMs
    let controller: Dispatcher.DispatchController | undefined
    let [isWritten, isDone] = [false, false]
    let status = 0
    let headers: Exchange['headers'] = {}
    const parts: Buffer[] = []
    let size = 0
    const finish = (error: Error | null) => {
      if (isDone) return
      isDone = true
      clearTimeout(timer)
      const read = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
      const body = size > maxBytes ? read.subarray(0, maxBytes) : read
      resolve({ status, headers, body, error, isWritten })
    }
    const abort = (message: string) => {
      const error = new Error(message)
      finish(error)
      controller?.abort(error)
    }
    const expire = () => abort(lateAnswer(timeoutMs))
    let timer = setTimeout(expire, timeoutMs)
    agent.dispatch(options, {
      onRequestStart(started) {
        controller = started
        // The timeout ended while the request waited for a connection: not a byte of it is sent.
        if (isDone) started.abort(new Error('timeout'))
        else isWritten = true
      },
      onResponseStart(_, statusCode, responseHeaders) {
        // Early hints and the like come before the response.
        if (statusCode < 200) return
        status = statusCode
        headers = responseHeaders
        if (bodyMs === undefined) return
        clearTimeout(timer)
        timer = setTimeout(expire, Math.min(bodyMs, endsAt - performance.now()))
      },
      onResponseData(_, part) {
        parts.push(part)
        size += part.length
        if (size > maxBytes) abort(`the answer is over ${maxBytes} bytes`)
      },
      onResponseEnd: () => finish(null),
      onResponseError: (_, error) => finish(error),
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

export const lateAnswer = (timeoutMs: number): string => `no answer within ${timeoutMs / 1000} s`

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
