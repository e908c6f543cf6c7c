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
import { Agent, buildConnector } from 'undici'
import type { Times } from '../../common/times.ts'
import { signatureOf, webhookHeaders } from '../../common/webhook-request.ts'
import { nowMs } from '../lib/clock.ts'
import { agentLimits, exchange, lateAnswer } from '../lib/http/client.ts'
import { sentNameOf } from './emit.ts'
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

class RefusedAddressError extends Error {}

export function createPoster({ guard, ca, times }: PosterOptions): Poster {
  const { postMs, bodyMs, addressMs } = times
  // The scheduler limits concurrency. A limit per origin would make endpoints on the same host wait for each other.
  const agent = new Agent({
    ...agentLimits,
    connect: createConnector(guard, postMs, ca),
    // While HTTP/2 is possible, requests wait for the first connection to an origin, and those ignore `clientTtl`.
    allowH2: false,
    clientTtl: addressMs,
    keepAliveMaxTimeout: addressMs,
  })

  return {
    async post({ endpoint: { url }, body, event, endpoint_id }, secrets) {
      const startedAt = performance.now()
      const t = Math.floor(nowMs() / 1000)
      const signature = `t=${t}${secrets.map((secret) => `,v1=${signatureOf(secret, t, body)}`).join('')}`
      const { origin, pathname, search } = new URL(url)
      const headers = webhookHeaders(sentNameOf(event), endpoint_id, signature)
      const { status, error, ...response } = await exchange(
        agent,
        { origin, path: pathname + search, method: 'POST', headers, body },
        { timeoutMs: postMs, bodyMs, maxBytes: maxResponseBytes },
      )
      const duration_ms = Math.round(performance.now() - startedAt)
      // A received status decides, whatever happened to the body.
      return status === 0
        ? unansweredResult(error, duration_ms, postMs)
        : answeredResult(status, duration_ms, textOf(response.body))
    },
    stop: () => agent.destroy(),
  }
}

/** Opens connections to addresses that the guard has approved. */
function createConnector(guard: Guard, postMs: number, ca: PosterOptions['ca']): buildConnector.connector {
  const options = { allowH2: false, ...(ca ? { ca } : {}) }
  const connectLast = buildConnector({ ...options, timeout: postMs })
  const connectSoon = buildConnector({ ...options, timeout: postMs * connectShare })
  return (origin, done) => {
    const deadline = performance.now() + postMs
    const tryNext = ([address = '', ...others]: readonly string[], firstFault?: Error): void => {
      const connect = others.length > 0 ? connectSoon : connectLast
      // The connection goes to the approved address. The certificate must be for the name in `origin.host`.
      connect({ ...origin, hostname: address }, (error, socket) => {
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
}

function unansweredResult(error: Error | null, duration_ms: number, postMs: number): AttemptResult {
  return {
    outcome: error instanceof RefusedAddressError ? 'failed' : 'again',
    http_status: null,
    duration_ms,
    error: describeError(error, postMs),
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

/** The beginning of a body, as text that PostgreSQL accepts. */
const textOf = (body: Buffer): string => body.toString('utf8').replaceAll('\0', '\uFFFD')

function describeError(error: Error | null, postMs: number): string {
  const { code = '', message } = (error ?? {}) as { code?: string; message?: string }
  const words: Record<string, string> = {
    // Connecting has a timer of its own, which may fire just before ours.
    UND_ERR_CONNECT_TIMEOUT: lateAnswer(postMs),
    ETIMEDOUT: lateAnswer(postMs),
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'connection lost before a response',
    EPIPE: 'connection lost before a response',
    UND_ERR_SOCKET: 'connection lost before a response',
    UND_ERR_HEADERS_OVERFLOW: 'the head of the response is too long',
    CERT_HAS_EXPIRED: 'the certificate has expired',
    ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
    SELF_SIGNED_CERT_IN_CHAIN: 'the certificate has an unknown issuer',
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate has an unknown issuer',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate has an unknown issuer',
  }
  return words[code] ?? (message?.slice(0, 500) || 'failed')
}
