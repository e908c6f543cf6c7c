/**
 * One attempt: sign, post once, report the outcome.
 *
 * A budget of five seconds covers DNS, connect, TLS, request and response. The
 * status line decides: a 2xx is a success even if the body breaks off. The body
 * is read for the log only, for at most a second. Redirects are not followed.
 * The connection goes to an address that the guard has just approved, and its
 * remote address is checked again once it is open. A kept connection is used for
 * at most a minute, then the name is resolved again.
 *
 * An attempt sends at most one request, so an event is posted at most as often
 * as it is attempted. A request that breaks is not repeated here, not even on a
 * kept connection that the receiver may have closed before it read anything:
 * the queue retries it. Another address of the host is tried only while no TLS
 * session exists, because until then no byte of the request can be sent.
 */
import { isIP } from 'node:net'
import { buildConnector } from 'undici'
import type { Times } from '../../common/times.ts'
import { signatureOf, webhookHeaders } from '../../common/webhook-request.ts'
import { nowMs } from '../lib/clock.ts'
import { type Connect, type Connection, createConnections, type Exchange, type Origin } from './connections.ts'
import type { Guard } from './guard.ts'
import type { ClaimedDelivery, ClaimedEndpoint } from './queue.ts'
import type { AttemptResult } from './settle.ts'

export type Poster = {
  post(
    delivery: Pick<ClaimedDelivery, 'body' | 'event' | 'endpoint_id'> & { endpoint: Pick<ClaimedEndpoint, 'url'> },
    /** The current one is the last. */
    secrets: readonly string[],
  ): Promise<AttemptResult>
  stop(): Promise<void>
}

export type PosterOptions = {
  guard: Guard
  /** Additional trusted certificates, for tests. */
  ca?: string | Buffer | undefined
  times: Pick<Times['webhooks'], 'postMs' | 'bodyMs' | 'addressMs'>
}

/** The log keeps this much of a response body. */
const maxResponseBytes = 16 * 1024
/** This many addresses of a host are tried. Each but the last gets this share of the budget to connect. */
const maxAddresses = 3
const connectShare = 0.3
/** Parsed URLs in memory. */
const maxTargets = 2_000

class RefusedAddressError extends Error {}

export function createPoster({ guard, ca, times }: PosterOptions): Poster {
  const { postMs } = times
  const connecting = { allowH2: false, ...(ca ? { ca } : {}) }
  const connectTo = buildConnector({ ...connecting, timeout: postMs })
  const connectSoon = buildConnector({ ...connecting, timeout: postMs * connectShare })
  const connect: Connect = (origin, done) => {
    const deadline = performance.now() + postMs
    const tryNext = ([address = '', ...others]: readonly string[], firstFault?: Error): void => {
      // The certificate must be for the name; the connection goes to the approved address.
      const servername = isIP(origin.hostname.replace(/^\[|\]$/g, '')) ? '' : origin.hostname
      const target = { ...origin, protocol: 'https:', hostname: address, ...(servername ? { servername } : {}) }
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
    guard.resolve(origin.hostname).then(
      (resolved) => {
        if (resolved.ok) return tryNext(resolved.addresses.slice(0, maxAddresses))
        done(resolved.isRefused ? new RefusedAddressError(resolved.reason) : new Error(resolved.reason), null)
      },
      (error) => done(error, null),
    )
  }
  // The scheduler limits concurrency. A limit per origin would make endpoints on the same host wait for each other.
  const connections = createConnections(connect, times.addressMs)
  const targets = new Map<string, Target>()

  function targetOf(url: string): Target {
    let target = targets.get(url)
    if (target) return target
    target = toTarget(new URL(url))
    if (targets.size >= maxTargets) targets.clear()
    targets.set(url, target)
    return target
  }

  return {
    post({ endpoint: { url }, body, event, endpoint_id }, secrets) {
      const t = Math.floor(nowMs() / 1000)
      const signature = `t=${t}${secrets.map((secret) => `,v1=${signatureOf(secret, t, body)}`).join('')}`
      const { origin, head } = targetOf(url)
      let request = head
      const headers = webhookHeaders(event, endpoint_id, signature)
      for (const name in headers) request += `${name}: ${headers[name]}\r\n`
      request += `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
      return new Promise((resolve) => connections.send(origin, request, new Attempt(times, resolve)))
    },
    stop: async () => connections.stop(),
  }
}

/** `head`: the beginning of a request. */
type Target = { origin: Origin; head: string }

const toTarget = ({ hostname, host, port, pathname, search }: URL): Target => ({
  origin: { hostname, host, port },
  head: `POST ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\n`,
})

/** Follows one request to its outcome. */
class Attempt implements Exchange {
  isOver = false
  private readonly resolve: (result: AttemptResult) => void
  private readonly times: PosterOptions['times']
  private readonly startedAt = performance.now()
  private readonly parts: Buffer[] = []
  private readonly budgetTimer: NodeJS.Timeout
  private bodyTimer: NodeJS.Timeout | undefined
  private connection: Connection | undefined
  private status: number | null = null
  private size = 0

  constructor(times: PosterOptions['times'], resolve: (result: AttemptResult) => void) {
    this.times = times
    this.resolve = resolve
    this.budgetTimer = setTimeout(() => this.abort(), times.postMs)
  }

  onSend(connection: Connection): void {
    this.connection = connection
  }

  onStatus(status: number): void {
    this.status = status
  }

  onBody(part: Buffer): void {
    this.parts.push(part)
    this.size += part.length
    if (this.size >= maxResponseBytes) this.abort()
  }

  onPause(): void {
    if (this.status !== null) this.bodyTimer ??= setTimeout(() => this.abort(), this.times.bodyMs)
  }

  /** A received status decides, whatever happened to the body. */
  onEnd(error: Error | null): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.budgetTimer)
    if (this.bodyTimer) clearTimeout(this.bodyTimer)
    const duration_ms = Math.round(performance.now() - this.startedAt)
    this.resolve(
      this.status === null
        ? unansweredResult(error, duration_ms, this.times.postMs)
        : answeredResult(this.status, duration_ms, textOf(this.parts)),
    )
  }

  /** Ends the attempt with what has been received so far, and closes the connection. */
  private abort(): void {
    this.connection?.destroy()
    this.onEnd(null)
  }
}

/** No error: the budget is spent. */
function unansweredResult(error: Error | null, duration_ms: number, postMs: number): AttemptResult {
  const isTimeout = error === null || isTimeoutError(error)
  return {
    outcome: error instanceof RefusedAddressError ? 'failed' : 'again',
    http_status: null,
    duration_ms,
    error: isTimeout ? `no answer within ${postMs / 1000} s` : describeError(error),
    response: null,
  }
}

function answeredResult(status: number, duration_ms: number, response: string): AttemptResult {
  const isSuccess = status < 300
  return {
    outcome: isSuccess ? 'delivered' : isTransient(status) ? 'again' : 'failed',
    http_status: status,
    duration_ms,
    error: isSuccess ? null : `answered ${status}`,
    response,
  }
}

/** Worth a retry. */
const isTransient = (status: number): boolean => status >= 500 || status === 408 || status === 429

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? ''

/** Connecting has a timer of its own, which may fire just before ours. */
const isTimeoutError = (error: unknown): boolean => ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'].includes(codeOf(error))

/** The beginning of a body, as text that PostgreSQL accepts. */
function textOf(parts: readonly Buffer[]): string {
  const [first] = parts
  if (!first) return ''
  const bytes = parts.length === 1 ? first : Buffer.concat(parts)
  const text = bytes.subarray(0, maxResponseBytes).toString('utf8')
  return text.replaceAll('\0', '\uFFFD').toWellFormed()
}

function describeError(error: unknown): string {
  const { message } = error as { message?: string }
  const words: Record<string, string> = {
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'connection lost before a response',
    EPIPE: 'connection lost before a response',
    CERT_HAS_EXPIRED: 'the certificate has expired',
    ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
    SELF_SIGNED_CERT_IN_CHAIN: 'the certificate has an unknown issuer',
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate has an unknown issuer',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate has an unknown issuer',
  }
  return words[codeOf(error)] ?? (message?.slice(0, 500) || 'failed')
}
