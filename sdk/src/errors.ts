/**
 * The one error of this package.
 *
 * `code` is what to branch on. Most are the service's own, listed in its API
 * reference; the six below are made here, and the service has none of their
 * names. `status` is the HTTP status of the answer, 0 when there was none.
 */
import type { ErrorBody } from './types.ts'

/** Codes of the service. */
export type ServiceErrorCode = ErrorBody['error']['code']

/** Codes of this package, with what they mean. */
export const clientErrors = {
  network_error: 'the service was not reached, or the connection broke before its answer was complete',
  timeout: 'no complete answer within `timeoutMs`',
  aborted: 'the signal of the call was aborted; its reason is the `cause`',
  unexpected_response: 'an answer that is not the one of a Parley service, from a proxy for instance, or a redirect',
  invalid_signature: 'a webhook that was not signed with this secret, or not lately',
  invalid_payload: 'a webhook that is signed correctly and is no event',
} as const

export type ClientErrorCode = keyof typeof clientErrors

/** A service newer than this package may have further codes. */
export type ErrorCode = ServiceErrorCode | ClientErrorCode | (string & Record<never, never>)

type About = {
  status?: number | undefined
  requestId?: string | undefined
  retryAfter?: number | undefined
  cause?: unknown
}

export class ParleyError extends Error {
  override readonly name = 'ParleyError'
  readonly code: ErrorCode
  /** 0 when there was no answer. */
  readonly status: number
  /** The `X-Request-Id` of the answer: quote it when you ask for help. */
  readonly requestId: string | undefined
  /** In how many seconds it may go well, where the service said so. */
  readonly retryAfter: number | undefined

  constructor(code: ErrorCode, message: string, { status = 0, requestId, retryAfter, cause }: About = {}) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
    this.status = status
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}
