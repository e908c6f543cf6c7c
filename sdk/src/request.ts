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
import { createPatience, failed, type Outcome, wait, waitMs } from './attempt.ts'
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
type Request = { url: string; init: RequestInit; timeoutMs: number; signal: AbortSignal | undefined }

const longestRetryAfterSeconds = 60

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
      ...headersOf(settings, 'application/json'),
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
    if (outcome.ok) return outcome.value
    const { error, isFinal } = outcome
    if (mayHaveHappened && method === 'DELETE' && error.code === 'not_found' && body === undefined) {
      return { data: { id: params?.id?.toLowerCase(), deleted: true } }
    }
    // Said this way round, a limit that is no number repeats nothing.
    if (isFinal || !(attempt < maxRetries)) throw error
    mayHaveHappened ||= error.status !== 429
    await wait(waitMs(error, attempt), signal)
  }
}

/** Who asks, and for what kind of answer. */
export const headersOf = ({ apiKey }: Settings, accept: string): Record<string, string> => ({
  authorization: `Bearer ${apiKey}`,
  accept,
})

/** An id names one thing: it must not lead elsewhere, as dots in a URL do. */
function fillIn(path: string, params: Record<string, string> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name}: not an id`)
    return encodeURIComponent(value)
  })
}

export function toSearch(query: Record<string, unknown> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  const text = search.toString()
  return text && `?${text}`
}

async function tryOnce(fetch: Fetch, { url, init, timeoutMs, signal }: Request): Promise<Outcome<Answer>> {
  const patience = createPatience(signal)
  try {
    if (signal?.aborted) return patience.failureOf(undefined)
    patience.allow(timeoutMs, noAnswerWithin(timeoutMs))
    const response = await fetch(url, { ...init, signal: patience.signal })
    return read(response, await response.text())
  } catch (cause) {
    return patience.failureOf(cause)
  } finally {
    patience.end()
  }
}

export const noAnswerWithin = (timeoutMs: number): string => `no complete answer within ${timeoutMs} ms`

/** What the service answered: the data of a success, or why there is none. */
export function read(response: Response, text: string): Outcome<Answer> {
  const { status, headers } = response
  const body = parse(text)
  if (response.ok && isObject(body) && 'data' in body) return { ok: true, value: body as Answer }
  const about = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: readRetryAfter(headers.get('retry-after') ?? ''),
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

/** In seconds: the service says so many, a proxy before it may name a date instead. */
function readRetryAfter(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  const at = text.endsWith('GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(Math.ceil((at - Date.now()) / 1_000), 0)
}

export function parse(text: string): unknown {
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
