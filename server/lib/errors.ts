/**
 * The error shape of the API and the table of its codes.
 *
 * A caller's mistake is thrown as an `ApiError`. The HTTP server turns it into `{ error: { code, message } }` with the status
 * below, and with `details` where the code has some. Codes are public and never change; messages are for people and may change. Any other
 * error is a bug or an outage (`process/outage.ts`): the response is `internal` and reveals no details.
 */

export const statusOf = {
  bad_request: 400,
  invalid_request: 400,
  msgapp_not_configured: 400,
  template_malformed: 400,
  unauthorized: 401,
  plan_limit_reached: 402,
  subscription_lapsed: 402,
  forbidden: 403,
  not_found: 404,
  rate_limited: 429,
  internal: 500,
  platform_error: 502,
} as const

export type ErrorCode = keyof typeof statusOf

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Record<string, string>
  /** For programs: facts of the message, as fields. */
  readonly details: object | undefined
  /** The request has changed something before it failed, so its response is stored for repeats. */
  readonly hasEffect: boolean

  constructor(
    code: ErrorCode,
    message: string,
    headers: Record<string, string> = {},
    details?: object,
    hasEffect = false,
  ) {
    super(message)
    this.code = code
    this.status = statusOf[code]
    this.headers = headers
    this.details = details
    this.hasEffect = hasEffect
  }
}

export const badRequest = (message: string) => new ApiError('bad_request', message)
export const forbidden = (message: string) => new ApiError('forbidden', message)
export const notFound = (what: string) => new ApiError('not_found', `${what} not found`)

/** The body of every error response. */
export const errorBody = (code: ErrorCode, message: string, details?: object) => ({
  error: { code, message, ...(details ? { details } : {}) },
})
