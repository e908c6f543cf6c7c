/**
 * One attempt: sign, post, and see what came of it.
 *
 * One budget of five seconds covers name, connection, TLS, request and answer.
 * The status line decides: a 2xx is a success whatever becomes of its body,
 * which is read only for the log, and not for long. Redirects are not
 * followed. A connection goes to an address that was just checked, and is
 * checked again once it is there. Of a host with several addresses the next is
 * tried when one cannot be reached: nothing was sent by then.
 */
import { createHmac } from 'node:crypto'
import { isIP } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import type { Guard } from './guard.ts'
import type { Attempted, Claimed } from './queue.ts'

export type Answered = Pick<Attempted, 'outcome' | 'http_status' | 'duration_ms' | 'error' | 'response'>

export type Poster = {
  post(delivery: Pick<Claimed, 'url' | 'body' | 'event' | 'endpoint_id'>, secret: string): Promise<Answered>
  stop(): Promise<void>
}

export type Posting = {
  guard: Guard
  /** Certificates to trust besides the usual ones; a test has its own. */
  ca?: string | Buffer | undefined
  budgetMs?: number
}

/** What the log keeps of an answer. */
const maxResponseBytes = 16 * 1024
/** So many addresses of a host are tried; whoever is not the last has this part of the budget to be reached. */
const maxAddresses = 3
const hurry = 0.3
/** Who talks on after the status is listened to this long. */
const maxResponseMs = 1_000

class RefusedAddress extends Error {}

export function createPoster({ guard, ca, budgetMs = 5_000 }: Posting): Poster {
  /** What broke a connection that had answered before. */
  const lateBreaks = new WeakSet<Error>()
  const connecting = { allowH2: false, ...(ca ? { ca } : {}) }
  const connectTo = buildConnector({ ...connecting, timeout: budgetMs })
  const connectSoon = buildConnector({ ...connecting, timeout: budgetMs * hurry })
  const connect: buildConnector.connector = (options, done) => {
    const lateFrom = performance.now() + budgetMs
    const tryNext = ([address = '', ...others]: readonly string[], faultBefore?: Error): void => {
      // The certificate is for the name, the connection goes to the address that was checked.
      const servername = isIP(options.hostname.replace(/^\[|\]$/g, '')) ? '' : options.hostname
      const target = { ...options, hostname: address, ...(servername ? { servername } : {}) }
      const connectOne = others.length > 0 ? connectSoon : connectTo
      connectOne(target, (error, socket) => {
        if (error) {
          // The first says most: further ones may be of a kind that we have no way to.
          const fault = faultBefore ?? error
          return others.length > 0 && performance.now() < lateFrom ? tryNext(others, fault) : done(fault, null)
        }
        if (!guard.isAllowed(socket.remoteAddress ?? '')) {
          socket.destroy()
          return done(new RefusedAddress(`${socket.remoteAddress} is not a public address`), null)
        }
        socket.once('error', (error) => {
          if (socket.bytesRead > 0) lateBreaks.add(error)
        })
        done(null, socket)
      })
    }
    guard.resolve(options.hostname).then(
      (resolved) => {
        if (resolved.ok) return tryNext(resolved.addresses.slice(0, maxAddresses))
        done(resolved.isRefused ? new RefusedAddress(resolved.reason) : new Error(resolved.reason), null)
      },
      (error) => done(error, null),
    )
  }
  const agent = new Agent({
    connect,
    // The engine has its own limits. One here would let endpoints of the same host wait for each other.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    headersTimeout: budgetMs,
    bodyTimeout: budgetMs,
    maxHeaderSize: 32 * 1024,
  })

  return {
    post({ url, body, event, endpoint_id }, secret) {
      const t = Math.floor(Date.now() / 1000)
      const signature = `t=${t},v1=${signatureOf(secret, t, body)}`
      const target = new URL(url)
      const request = {
        origin: target.origin,
        path: target.pathname + target.search,
        method: 'POST' as const,
        body,
        headers: headersOf(event, endpoint_id, signature),
      }
      return new Promise((resolve) => {
        const ask = (attempt: Attempt) => agent.dispatch(request, attempt)
        const isStale = (error: Error) => lateBreaks.has(error) && isBroken(error)
        ask(new Attempt({ budgetMs, ask, isStale, resolve }))
      })
    },
    stop: () => agent.destroy(),
  }
}

/** What goes along with a body. */
export const headersOf = (event: string, endpointId: string, signature: string): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'Parley-Webhooks/1',
  'x-service-event': event,
  'x-service-webhook-id': endpointId,
  'x-service-signature': signature,
  'x-legacy-event': event,
  'x-legacy-webhook-id': endpointId,
  'x-legacy-signature': signature,
})

type Asking = {
  budgetMs: number
  ask: (attempt: Attempt) => void
  /** A kept connection that the other side closed as we took it. */
  isStale: (error: Error) => boolean
  resolve: (answered: Answered) => void
}

/** A request from its beginning to its end, as the client reports it: no stream and no signal to listen to. */
class Attempt implements Dispatcher.DispatchHandler {
  private readonly asking: Asking
  private readonly startedAt = performance.now()
  private readonly parts: Buffer[] = []
  private readonly budget: NodeJS.Timeout
  private patience: NodeJS.Timeout | undefined
  private controller: Dispatcher.DispatchController | undefined
  private status: number | null = null
  private size = 0
  private isHeard = false
  private isRepeated = false
  private isOver = false

  constructor(asking: Asking) {
    this.asking = asking
    this.budget = setTimeout(() => this.giveUp(), asking.budgetMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // The connection came too late.
    if (this.isOver) controller.abort(new Error('given up'))
  }

  onResponseStarted(): void {
    this.isHeard = true
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.status = status
    this.patience = setTimeout(() => this.giveUp(), maxResponseMs)
  }

  onResponseData(_: Dispatcher.DispatchController, part: Buffer): void {
    if (this.isOver) return
    this.parts.push(part)
    this.size += part.length
    if (this.size >= maxResponseBytes) this.giveUp()
  }

  onResponseEnd(): void {
    this.end(null)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    // Not a byte about this request: it goes out once more.
    if (!this.isOver && !this.isRepeated && !this.isHeard && this.asking.isStale(error)) {
      this.isRepeated = true
      this.asking.ask(this)
    } else this.end(error)
  }

  /** Enough was heard, or enough time has passed. */
  private giveUp(): void {
    this.end(null)
    this.controller?.abort(new Error('given up'))
  }

  private end(error: Error | null): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.budget)
    clearTimeout(this.patience)
    this.asking.resolve({ ...this.outcomeOf(error), duration_ms: Math.round(performance.now() - this.startedAt) })
  }

  /** Once the status was said it counts, whatever became of the rest. */
  private outcomeOf(error: Error | null): Omit<Answered, 'duration_ms'> {
    const status = this.status
    if (status === null) {
      const isTooLate = error === null || isLate(error)
      return {
        outcome: error instanceof RefusedAddress ? 'failed' : 'again',
        http_status: null,
        error: isTooLate ? `no answer within ${this.asking.budgetMs / 1000} s` : inWords(error),
        response: null,
      }
    }
    const isSuccess = status >= 200 && status < 300
    return {
      outcome: isSuccess ? 'delivered' : isPassing(status) ? 'again' : 'failed',
      http_status: status,
      error: isSuccess ? null : `answered ${status}`,
      response: textOf(this.parts),
    }
  }
}

/** Hex HMAC-SHA256 over `<t>.<body>`, keyed with the secret as it is written. */
export function signatureOf(secret: string, t: number, body: string): string {
  return createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')
}

/** It may go well later. */
const isPassing = (status: number): boolean => status >= 500 || status === 408 || status === 429

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? ''

const isBroken = (error: unknown): boolean => ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error))

/** The client's own timers, which may run out a moment before ours. */
const isLate = (error: unknown): boolean =>
  ['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT'].includes(codeOf(error))

/** The beginning of a body, as text the database can hold. */
function textOf(parts: readonly Buffer[]): string {
  const text = Buffer.concat(parts).subarray(0, maxResponseBytes).toString('utf8')
  return text.replaceAll('\0', '\uFFFD').toWellFormed()
}

function inWords(error: unknown): string {
  const { message } = error as { message?: string }
  const words: Record<string, string> = {
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'the connection broke',
    EPIPE: 'the connection broke',
    UND_ERR_SOCKET: 'the connection broke',
    CERT_HAS_EXPIRED: 'its certificate has expired',
    ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by nobody we know',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by nobody we know',
  }
  return words[codeOf(error)] ?? (message?.slice(0, 500) || 'failed')
}
