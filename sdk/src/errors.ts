/**
 * The error class of this package.
 *
 * Branch on `code`. Most codes come from the service and are listed in its API reference. The six codes below are the SDK's
 * own; the service uses none of them.
 */
import type { ErrorBody, PlatformErrorDetails } from './types.ts'

/** Error codes of the service. */
export type ServiceErrorCode = ErrorBody['error']['code']

/** Error codes of the SDK with their messages. */
export const clientErrors = {
  network_error: 'the service could not be reached, or the connection was lost before the response was complete',
  timeout: 'no complete response within `timeoutMs`',
  aborted: 'the signal of the call was aborted; `cause` holds its reason',
  unexpected_response: 'the response did not come from a Parley service; check `baseUrl`, proxies and redirects',
  invalid_signature: 'the webhook was not signed with this secret, or its timestamp is outside the tolerance',
  invalid_payload: 'the webhook is signed correctly, but its payload is not an event',
} as const

export type ClientErrorCode = keyof typeof clientErrors

/** Newer versions of the service may add codes. */
export type ErrorCode = ServiceErrorCode | ClientErrorCode | (string & Record<never, never>)

type ErrorDetails = {
  status?: number | undefined
  requestId?: string | undefined
  retryAfter?: number | undefined
  details?: PlatformErrorDetails | undefined
  cause?: unknown
}

export class ParleyError extends Error {
  override readonly name = 'ParleyError'
  readonly code: ErrorCode
  /** The HTTP status, or 0 if there was no response. */
  readonly status: number
  /** The response's `X-Request-Id`. Include it in support requests. */
  readonly requestId: string | undefined
  /** The response's `Retry-After` in seconds. */
  readonly retryAfter: number | undefined
  /** With the code `platform_error` of a send: the outcome, the id of the message and the channel's code. */
  readonly details: PlatformErrorDetails | undefined

  constructor(
    code: ErrorCode,
    message: string,
    { status = 0, requestId, retryAfter, details, cause }: ErrorDetails = {},
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
    this.status = status
    this.requestId = requestId
    this.retryAfter = retryAfter
    this.details = details
  }
}
