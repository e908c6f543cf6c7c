/**
 * One call: sent, sent again where that is safe, and read.
 *
 * Every call may be repeated. GET changes nothing, PATCH and DELETE do the same
 * twice, and each POST carries an `Idempotency-Key`: whatever became of the
 * first attempt, the service acts once. So a call is repeated when it got no
 * answer, and for 429, 500, 502, 503 and 504; not when the channel refused a
 * message (`platform_error`) or the service replays an answer it has kept,
 * because the next answer would be the same.
 *
 * The wait is what `Retry-After` says, or half a second, doubled each time up
 * to eight, with a random half taken off so that callers do not come back all
 * at once. Whoever is asked to wait longer than a minute is told so instead.
 */
import type { Calls } from './calls.ts'
import { clientErrors, ParleyError } from './errors.ts'
import type { ErrorBody } from './types.ts'

export type Route = keyof Calls
export type InputOf<Name extends Route> = Omit<Calls[Name], 'data' | 'item'>

export type CallOptions = {
  /** Ends the call, its waiting and further pages included. */
  signal?: AbortSignal | undefined
  /** For each attempt. */
  timeoutMs?: number | undefined
  maxRetries?: number | undefined
}

export type PostOptions = CallOptions & {
  /** 1 to 255 characters; made up for each call when absent. Yours outlives a crash of your program. */
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

export type Answer = { data: unknown; meta?: { next_cursor: string | null } }
type Input = { params?: Record<string, string>; query?: Record<string, unknown>; body?: unknown }
type Outcome = { ok: true; answer: Answer } | { ok: false; error: ParleyError; isFinal: boolean }
type Request = { url: string; init: RequestInit; timeoutMs: number; signal: AbortSignal | undefined }

const firstWaitMs = 500
const longestWaitMs = 8_000
const longestRetryAfterSeconds = 60
/** A timer told to wait longer fires at once. */
const longestTimerMs = 2 ** 31 - 1

const passing = new Set([429, 500, 502, 503, 504])
const refusals = new Set(['platform_error', 'template_malformed'])

export async function send<Name extends Route>(
  settings: Settings,
  route: Name,
  input: InputOf<Name>,
  options: PostOptions = {},
): Promise<Answer> {
  const { timeoutMs = settings.timeoutMs, maxRetries = settings.maxRetries, signal } = options
  const [method = '', path = ''] = route.split(' ')
  const { body, params, query } = input as Input
  const url = settings.baseUrl + fillIn(path, params) + toSearch(query)
  const init: RequestInit = {
    method,
    // Made here, so that a header no request may have is thrown at once and not taken for a broken line.
    headers: new Headers({
      authorization: `Bearer ${settings.apiKey}`,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'POST' ? { 'idempotency-key': options.idempotencyKey ?? crypto.randomUUID() } : {}),
    }),
    // Followed, a POST would become a GET.
    redirect: 'manual',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  let mayHaveHappened = false
  for (let attempt = 0; ; attempt++) {
    const outcome = await tryOnce(settings.fetch, { url, init, timeoutMs, signal })
    if (outcome.ok) return outcome.answer
    const { error, isFinal } = outcome
    if (mayHaveHappened && method === 'DELETE' && error.code === 'not_found' && body === undefined) {
      return { data: { id: params?.id?.toLowerCase(), deleted: true } }
    }
    if (isFinal || attempt >= maxRetries) throw error
    mayHaveHappened ||= error.status !== 429
    await wait(waitMs(error, attempt), signal)
  }
}

/** An id names one thing: it must not lead elsewhere, as dots in a URL do. */
function fillIn(path: string, params: Record<string, string> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name}: not an id`)
    return encodeURIComponent(value)
  })
}

function toSearch(query: Record<string, unknown> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  const text = search.toString()
  return text && `?${text}`
}

async function tryOnce(fetch: Fetch, { url, init, timeoutMs, signal }: Request): Promise<Outcome> {
  if (signal?.aborted) return failed(abortedBy(signal), true)
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  let isLate = false
  const timer = setTimeout(
    () => {
      isLate = true
      controller.abort()
    },
    Math.min(timeoutMs, longestTimerMs),
  )
  signal?.addEventListener('abort', abort)
  try {
    const response = await fetch(url, { ...init, signal: controller.signal })
    return read(response, await response.text())
  } catch (cause) {
    if (signal?.aborted) return failed(abortedBy(signal), true)
    if (isLate) return failed(new ParleyError('timeout', `no complete answer within ${timeoutMs} ms`, { cause }))
    const reason = cause instanceof Error ? cause.message : String(cause)
    return failed(new ParleyError('network_error', `${clientErrors.network_error}: ${reason}`, { cause }))
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

const failed = (error: ParleyError, isFinal = false): Outcome => ({ ok: false, error, isFinal })
const abortedBy = (signal: AbortSignal) => new ParleyError('aborted', 'the call was aborted', { cause: signal.reason })

function read(response: Response, text: string): Outcome {
  const { status, headers } = response
  const body = parse(text)
  if (response.ok && isObject(body) && 'data' in body) return { ok: true, answer: body as Answer }
  const seconds = headers.get('retry-after') ?? ''
  const about = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: /^\d+$/.test(seconds) ? Number(seconds) : undefined,
  }
  const error = isErrorBody(body)
    ? new ParleyError(body.error.code, body.error.message, about)
    : new ParleyError('unexpected_response', `${clientErrors.unexpected_response}: HTTP ${status}`, about)
  const isFinal =
    !passing.has(status) ||
    refusals.has(error.code) ||
    headers.get('idempotent-replayed') === 'true' ||
    (about.retryAfter ?? 0) > longestRetryAfterSeconds
  return failed(error, isFinal)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
const isErrorBody = (body: unknown): body is ErrorBody =>
  isObject(body) &&
  isObject(body.error) &&
  typeof body.error.code === 'string' &&
  typeof body.error.message === 'string'

function waitMs({ retryAfter }: ParleyError, attempt: number): number {
  const backoff = Math.min(firstWaitMs * 2 ** attempt, longestWaitMs) * (1 - Math.random() / 2)
  return retryAfter === undefined ? backoff : retryAfter * 1_000 + Math.random() * firstWaitMs
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(abortedBy(signal))
      else resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
}
