/**
 * Calls to the service through the SDK, and to the simulator's control API.
 *
 * Calls are not retried: the user sees the error at once and decides. Errors keep the code and message of the API.
 */
import { Parley, ParleyError } from '../sdk/src/index.ts'
import { CommandError, type SimulatorTarget, type Target } from './target.ts'

export const createClient = ({ key, baseUrl }: Pick<Target, 'key' | 'baseUrl'>): Parley =>
  new Parley({ apiKey: key, baseUrl, maxRetries: 0 })

const retryableCodes = new Set<string>(['network_error', 'timeout', 'rate_limited', 'internal'])

/** Whether the same call may succeed later. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof ParleyError &&
  (retryableCodes.has(error.code) || (error.code === 'unexpected_response' && isServerError(error)))

const isServerError = ({ status }: ParleyError): boolean => status >= 500

/** Converts an SDK error into an error for the user. Returns other errors unchanged. */
export const toUserError = (error: unknown, url: string): unknown =>
  error instanceof ParleyError ? toCommandError(error, url) : error

export function toCommandError(error: ParleyError, url: string): CommandError {
  if (error.code === 'timeout') return noResponse(url)
  if (error.code === 'network_error') return toNetworkError(error.cause ?? error, url)
  if (error.code !== 'unexpected_response') return new CommandError(error.code, error.message, error.details)
  return isServerError(error)
    ? new CommandError('no_answer', `${url} responded with HTTP ${error.status}.`)
    : new CommandError('no_api', `${url} is not a Parley API (HTTP ${error.status}). Check --url or PARLEY_URL.`)
}

const noResponse = (url: string) => new CommandError('no_answer', `${url} did not respond in time.`)

/** The service gives the channel 15 seconds and up to three attempts. */
const timeoutMs = 60_000

/** Calls the simulator's control API: POST with a body, else GET. After a 401 it signs in as the demo's owner. */
export async function callSimulator({ url, owner }: SimulatorTarget, path: string, body?: unknown): Promise<unknown> {
  const call = (headers: Record<string, string> = {}) => fetchJson(`${url}/control/${path}`, headers, body)
  let response = await call()
  if (response.status === 401 && owner) {
    const { origin } = new URL(url)
    const session = await fetchJson(`${origin}/app/api/session`, { origin }, owner)
    const cookies = session.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
    if (session.ok) response = await call({ cookie: cookies.join('; ') })
  }
  // The response may be any JSON value, or no JSON.
  const answer: { data?: unknown; error?: { code: string; message: string } } = Object(
    await response.json().catch(() => undefined),
  )
  if (response.ok && 'data' in answer) return answer.data
  const code = answer.error?.code ?? (response.status >= 500 ? 'no_answer' : 'no_api')
  const message = answer.error?.message ?? `${url} responded with HTTP ${response.status}`
  throw new CommandError(code, response.status === 404 || code === 'no_api' ? `${message}. ${simulatorHint}` : message)
}

function fetchJson(url: string, headers: Record<string, string>, body: unknown): Promise<Response> {
  return fetch(url, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((cause) => {
    throw toNetworkError(cause, url.replace(/\/(control|app)\/.*$/, ''))
  })
}

const simulatorHint =
  'The simulator runs inside the service with DEMO=1. For a separate simulator, pass its URL with --simulator.'

/** `fetch` throws a generic error; the reason is in its `cause`. */
function toNetworkError(error: unknown, url: string): CommandError {
  const { name, message, cause } = error as {
    name?: string
    message?: string
    cause?: { code?: string; message?: string }
  }
  if (name === 'TimeoutError') return noResponse(url)
  if (cause?.code === 'ECONNREFUSED') {
    return new CommandError('no_answer', `${url} refused the connection. Is the service running?`)
  }
  return new CommandError('no_answer', `${url}: ${cause?.message || cause?.code || message || String(error)}`)
}
