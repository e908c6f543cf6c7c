/**
 * One API call with retries.
 *
 * Every call is safe to retry: GET, PATCH and DELETE are idempotent, and each POST carries an `Idempotency-Key`. The SDK retries
 * when there is no response, and on 429, 500, 502, 503 and 504. It does not retry a send that failed at the channel
 * (`platform_error`) or a response that the service replayed, because the next response would be the same.
 *
 * The delay is `Retry-After`, or 0.5 s, doubled after each attempt up to 8 s, minus a random part of up to half (jitter). If
 * `Retry-After` exceeds a minute, the call fails at once.
 */
import { createAttemptTimeout, failed, type Outcome, retryDelayMs, wait } from './attempt.ts'
import type { Calls } from './calls.ts'
import { clientErrors, ParleyError } from './errors.ts'
import type { ErrorBody } from './types.ts'

export type Route = keyof Calls
export type InputOf<Name extends Route> = Omit<Calls[Name], 'data' | 'item'>

export type CallOptions = {
  /** Aborts the call, including the delays between attempts and further pages. */
  signal?: AbortSignal | undefined
  /** The timeout of each attempt. */
  timeoutMs?: number | undefined
  maxRetries?: number | undefined
}

export type PostOptions = CallOptions & {
  /** 1 to 255 characters. Random by default. Your own key also covers retries after a crash of your program. */
  idempotencyKey?: string | undefined
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export type Settings = {
  apiKey: string
  baseUrl: string
  fetch: Fetch
  timeoutMs: number
  maxRetries: number
}

export type ResponseBody = { data: unknown; meta?: { next_cursor: string | null } }
type Input = { params?: Record<string, string>; query?: Record<string, unknown>; body?: unknown }
type Request = { url: string; init: RequestInit; timeoutMs: number; signal: AbortSignal | undefined }

const maxRetryAfterSeconds = 60

const retryableStatuses = new Set([429, 500, 502, 503, 504])
const finalCodes = new Set(['platform_error', 'template_malformed'])

export async function send<Name extends Route>(
  settings: Settings,
  route: Name,
  input: InputOf<Name>,
  options: PostOptions = {},
): Promise<ResponseBody> {
  const { timeoutMs = settings.timeoutMs, maxRetries = settings.maxRetries, signal } = options
  const [method = '', path = ''] = route.split(' ')
  const { body, params, query } = input as Input
  const url = settings.baseUrl + fillPath(path, params) + toSearch(query)
  const init: RequestInit = {
    method,
    // Created outside the attempt: an invalid header throws at once instead of counting as a network error.
    headers: new Headers({
      ...headersOf(settings, 'application/json'),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'POST' ? { 'idempotency-key': options.idempotencyKey ?? crypto.randomUUID() } : {}),
    }),
    // Following a redirect would turn a POST into a GET.
    redirect: 'manual',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  let mayBeApplied = false
  for (let attempt = 0; ; attempt++) {
    const outcome = await attemptCall(settings.fetch, { url, init, timeoutMs, signal })
    if (outcome.ok) return outcome.value
    const { error, isFinal } = outcome
    // An earlier attempt may have deleted the resource, so 404 counts as success.
    if (mayBeApplied && method === 'DELETE' && error.code === 'not_found' && body === undefined) {
      return { data: { id: params?.id?.toLowerCase(), deleted: true } }
    }
    // This form also stops if `maxRetries` is NaN.
    if (isFinal || !(attempt < maxRetries)) throw error
    mayBeApplied ||= error.status !== 429
    await wait(retryDelayMs(error, attempt), signal)
  }
}

export const headersOf = ({ apiKey }: Settings, accept: string): Record<string, string> => ({
  authorization: `Bearer ${apiKey}`,
  accept,
})

/** Rejects empty ids, `.` and `..`: in a URL they would address another resource. */
function fillPath(path: string, params: Record<string, string> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name}: must be an id`)
    return encodeURIComponent(value)
  })
}

export function toSearch(query: Record<string, unknown> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  const text = search.toString()
  return text && `?${text}`
}

async function attemptCall(fetch: Fetch, { url, init, timeoutMs, signal }: Request): Promise<Outcome<ResponseBody>> {
  const timeout = createAttemptTimeout(signal)
  try {
    if (signal?.aborted) return timeout.toFailure(undefined)
    timeout.start(timeoutMs, timeoutMessage(timeoutMs))
    const response = await fetch(url, { ...init, signal: timeout.signal })
    return parseResponse(response, await response.text())
  } catch (cause) {
    return timeout.toFailure(cause)
  } finally {
    timeout.end()
  }
}

export const timeoutMessage = (timeoutMs: number): string => `no complete response within ${timeoutMs} ms`

/** Parses a response into its data or an error. */
export function parseResponse(response: Response, text: string): Outcome<ResponseBody> {
  const { status, headers } = response
  const body = parseJson(text)
  if (response.ok && isObject(body) && 'data' in body) return { ok: true, value: body as ResponseBody }
  const details = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: parseRetryAfter(headers.get('retry-after') ?? ''),
  }
  const error = isErrorBody(body)
    ? new ParleyError(body.error.code, body.error.message, { ...details, details: body.error.details })
    : new ParleyError('unexpected_response', `${clientErrors.unexpected_response}: HTTP ${status}`, details)
  const isFinal =
    !retryableStatuses.has(status) ||
    finalCodes.has(error.code) ||
    headers.get('idempotent-replayed') === 'true' ||
    (details.retryAfter ?? 0) > maxRetryAfterSeconds
  return failed(error, isFinal)
}

/** Returns seconds. The service sends seconds; a proxy may send an HTTP date. */
function parseRetryAfter(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  const at = text.endsWith('GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(Math.ceil((at - Date.now()) / 1_000), 0)
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
const isErrorBody = (body: unknown): body is ErrorBody =>
  isObject(body) &&
  isObject(body.error) &&
  typeof body.error.code === 'string' &&
  typeof body.error.message === 'string'
