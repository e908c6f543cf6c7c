/**
 * One attempt: sign, post once, report the outcome.
 *
 * A budget of five seconds covers DNS, connect, TLS, request and response. The
 * status line decides: a 2xx is a success even if the body breaks off. The body
 * is read for the log only, for at most a second. Redirects are not followed.
 * The connection goes to an address that the guard has just approved, and its
 * remote address is checked again once it is open.
 *
 * An attempt sends at most one request, so an event is posted at most as often
 * as it is attempted. A request that breaks is not repeated here, not even on a
 * kept connection that the receiver may have closed before it read anything:
 * the queue retries it. Another address of the host is tried only while no TLS
 * session exists, because until then no byte of the request can be sent.
 */
import { isIP } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { signatureOf, webhookHeaders } from '../../common/webhook-request.ts'
import { nowMs } from '../lib/clock.ts'
import type { Guard } from './guard.ts'
import type { ClaimedDelivery } from './queue.ts'
import type { AttemptResult } from './settle.ts'

export type Poster = {
  post(
    delivery: Pick<ClaimedDelivery, 'url' | 'body' | 'event' | 'endpoint_id'>,
    /** The current one is the last. */
    secrets: readonly string[],
  ): Promise<AttemptResult>
  stop(): Promise<void>
}

export type PosterOptions = {
  guard: Guard
  /** Additional trusted certificates, for tests. */
  ca?: string | Buffer | undefined
  budgetMs?: number
}

/** The log keeps this much of a response body. */
const maxResponseBytes = 16 * 1024
/** This many addresses of a host are tried. Each but the last gets this share of the budget to connect. */
const maxAddresses = 3
const connectShare = 0.3
/** The body is read for at most this long after the status line. */
const maxResponseMs = 1_000
/**
 * An idle connection is closed after this time, unless the receiver names another in `Keep-Alive`. Common servers close
 * theirs after 5 s or more. Closing first avoids posting on a connection that is just being closed, which costs an attempt.
 */
const keepAliveMs = 4_000

class RefusedAddressError extends Error {}

export function createPoster({ guard, ca, budgetMs = 5_000 }: PosterOptions): Poster {
  const connecting = { allowH2: false, ...(ca ? { ca } : {}) }
  const connectTo = buildConnector({ ...connecting, timeout: budgetMs })
  const connectSoon = buildConnector({ ...connecting, timeout: budgetMs * connectShare })
  const connect: buildConnector.connector = (options, done) => {
    const deadline = performance.now() + budgetMs
    const tryNext = ([address = '', ...others]: readonly string[], firstFault?: Error): void => {
      // The certificate must be for the name; the connection goes to the approved address.
      const servername = isIP(options.hostname.replace(/^\[|\]$/g, '')) ? '' : options.hostname
      const target = { ...options, hostname: address, ...(servername ? { servername } : {}) }
      const connectOne = others.length > 0 ? connectSoon : connectTo
      connectOne(target, (error, socket) => {
        if (error) {
          // The first fault is reported: later addresses may be of a family that this machine has no route for.
          const fault = firstFault ?? error
          return others.length > 0 && performance.now() < deadline ? tryNext(others, fault) : done(fault, null)
        }
        if (!guard.isAllowed(socket.remoteAddress ?? '')) {
          socket.destroy()
          return done(new RefusedAddressError(`${socket.remoteAddress} is not a public address`), null)
        }
        done(null, socket)
      })
    }
    guard.resolve(options.hostname).then(
      (resolved) => {
        if (resolved.ok) return tryNext(resolved.addresses.slice(0, maxAddresses))
        done(resolved.isRefused ? new RefusedAddressError(resolved.reason) : new Error(resolved.reason), null)
      },
      (error) => done(error, null),
    )
  }
  const agent = new Agent({
    connect,
    // The scheduler limits concurrency. A limit per origin would make endpoints on the same host wait for each other.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: budgetMs,
    bodyTimeout: budgetMs,
    maxHeaderSize: 32 * 1024,
  })

  return {
    post({ url, body, event, endpoint_id }, secrets) {
      const t = Math.floor(nowMs() / 1000)
      const signature = `t=${t}${secrets.map((secret) => `,v1=${signatureOf(secret, t, body)}`).join('')}`
      const target = new URL(url)
      const request = {
        origin: target.origin,
        path: target.pathname + target.search,
        method: 'POST' as const,
        body,
        headers: webhookHeaders(event, endpoint_id, signature),
      }
      return new Promise((resolve) => agent.dispatch(request, new Attempt(budgetMs, resolve)))
    },
    stop: () => agent.destroy(),
  }
}

/** Follows one request through the callbacks of the HTTP client. Cheaper than its streams and abort signals. */
class Attempt implements Dispatcher.DispatchHandler {
  private readonly resolve: (result: AttemptResult) => void
  private readonly budgetMs: number
  private readonly startedAt = performance.now()
  private readonly parts: Buffer[] = []
  private readonly budgetTimer: NodeJS.Timeout
  private bodyTimer: NodeJS.Timeout | undefined
  private controller: Dispatcher.DispatchController | undefined
  private status: number | null = null
  private size = 0
  private isOver = false

  constructor(budgetMs: number, resolve: (result: AttemptResult) => void) {
    this.budgetMs = budgetMs
    this.resolve = resolve
    this.budgetTimer = setTimeout(() => this.abort(), budgetMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // The connection opened after the budget was spent. Aborting here keeps the request from being written.
    if (this.isOver) controller.abort(new Error('aborted'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.status = status
    this.bodyTimer = setTimeout(() => this.abort(), maxResponseMs)
  }

  onResponseData(_: Dispatcher.DispatchController, part: Buffer): void {
    if (this.isOver) return
    this.parts.push(part)
    this.size += part.length
    if (this.size >= maxResponseBytes) this.abort()
  }

  onResponseEnd(): void {
    this.end(null)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.end(error)
  }

  /** Ends the attempt with what has been received so far, and closes the connection. */
  private abort(): void {
    this.end(null)
    this.controller?.abort(new Error('aborted'))
  }

  private end(error: Error | null): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.budgetTimer)
    clearTimeout(this.bodyTimer)
    this.resolve({ ...this.outcomeOf(error), duration_ms: Math.round(performance.now() - this.startedAt) })
  }

  /** A received status decides, whatever happened to the body. */
  private outcomeOf(error: Error | null): Omit<AttemptResult, 'duration_ms'> {
    const status = this.status
    if (status === null) {
      const isTimeout = error === null || isTimeoutError(error)
      return {
        outcome: error instanceof RefusedAddressError ? 'failed' : 'again',
        http_status: null,
        error: isTimeout ? `no answer within ${this.budgetMs / 1000} s` : describeError(error),
        response: null,
      }
    }
    const isSuccess = status >= 200 && status < 300
    return {
      outcome: isSuccess ? 'delivered' : isTransient(status) ? 'again' : 'failed',
      http_status: status,
      error: isSuccess ? null : `answered ${status}`,
      response: textOf(this.parts),
    }
  }
}

/** Worth a retry. */
const isTransient = (status: number): boolean => status >= 500 || status === 408 || status === 429

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? ''

/** The HTTP client has timers of its own, which may fire just before ours. */
const isTimeoutError = (error: unknown): boolean =>
  ['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT'].includes(codeOf(error))

/** The beginning of a body, as text that PostgreSQL accepts. */
function textOf(parts: readonly Buffer[]): string {
  const text = Buffer.concat(parts).subarray(0, maxResponseBytes).toString('utf8')
  return text.replaceAll('\0', '\uFFFD').toWellFormed()
}

function describeError(error: unknown): string {
  const { message } = error as { message?: string }
  const words: Record<string, string> = {
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'connection lost before a response',
    EPIPE: 'connection lost before a response',
    UND_ERR_SOCKET: 'connection lost before a response',
    CERT_HAS_EXPIRED: 'the certificate has expired',
    ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
    SELF_SIGNED_CERT_IN_CHAIN: 'the certificate has an unknown issuer',
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate has an unknown issuer',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate has an unknown issuer',
  }
  return words[codeOf(error)] ?? (message?.slice(0, 500) || 'failed')
}
