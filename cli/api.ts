/**
 * The service as the commands call it: by the SDK, as any program outside
 * would. Whoever sits before a command is told at once what went wrong, with
 * the API's code and words where it has some, and decides whether to try again.
 */
import { Parley, ParleyError } from '../sdk/src/index.ts'
import { Failure, type SimulatorTarget, type Target } from './target.ts'

export const openParley = ({ key, baseUrl }: Pick<Target, 'key' | 'baseUrl'>): Parley =>
  new Parley({ apiKey: key, baseUrl, maxRetries: 0 })

/** Codes of failures that may be over the next time. */
const passing = new Set<string>(['network_error', 'timeout', 'rate_limited', 'internal'])
export const isPassing = (error: unknown): boolean =>
  error instanceof ParleyError && (passing.has(error.code) || (error.code === 'unexpected_response' && isDown(error)))

const isDown = ({ status }: ParleyError): boolean => status >= 500

/** A failure of a call, in words; whatever else was thrown, as it is. */
export const inWords = (error: unknown, url: string): unknown =>
  error instanceof ParleyError ? toFailure(error, url) : error

export function toFailure(error: ParleyError, url: string): Failure {
  if (error.code === 'timeout') return new Failure('no_answer', `${url} did not answer in time`)
  if (error.code === 'network_error') return notReached(error.cause ?? error, url)
  if (error.code !== 'unexpected_response') return new Failure(error.code, error.message)
  return isDown(error)
    ? new Failure('no_answer', `${url} answers ${error.status}`)
    : new Failure('no_api', `what answers at ${url} is not the API (HTTP ${error.status})`)
}

/** The channel is given 15 seconds, and may be asked three times. */
const answerMs = 60_000

/** A control call of the simulator, which needs no key: with a body it is a POST. Signs in where it asks for that. */
export async function control({ url, owner }: SimulatorTarget, call: string, body?: unknown): Promise<unknown> {
  const ask = (headers: Record<string, string> = {}) => callJson(`${url}/control/${call}`, headers, body)
  let response = await ask()
  if (response.status === 401 && owner) {
    const { origin } = new URL(url)
    const signedIn = await callJson(`${origin}/app/api/session`, { origin }, owner)
    const cookie = signedIn.headers.getSetCookie().map((each) => each.split(';')[0])
    if (signedIn.ok) response = await ask({ cookie: cookie.join('; ') })
  }
  // Any JSON may come back: it is read as an object.
  const answer: { data?: unknown; error?: { code: string; message: string } } = Object(
    await response.json().catch(() => undefined),
  )
  if (response.ok && 'data' in answer) return answer.data
  const code = answer.error?.code ?? (response.status >= 500 ? 'no_answer' : 'no_api')
  const words = answer.error?.message ?? `${url} answers ${response.status}`
  throw new Failure(code, response.status === 404 || code === 'no_api' ? `${words}; ${whereItIs}` : words)
}

function callJson(url: string, headers: Record<string, string>, body: unknown): Promise<Response> {
  return fetch(url, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    signal: AbortSignal.timeout(answerMs),
  }).catch((cause) => {
    throw notReached(cause, url.replace(/\/(control|app)\/.*$/, ''))
  })
}

const whereItIs = 'the simulator answers while the service runs with DEMO=1, or is named with --simulator'

/** What kept a request from being answered; `fetch` says it in a cause, and for several addresses in a list of them. */
function notReached(error: unknown, url: string): Failure {
  const { name, message, cause } = error as {
    name?: string
    message?: string
    cause?: { code?: string; message?: string }
  }
  if (name === 'TimeoutError') return new Failure('no_answer', `${url} did not answer in time`)
  if (cause?.code === 'ECONNREFUSED') {
    return new Failure('no_answer', `nothing answers at ${url}: is the service running?`)
  }
  return new Failure('no_answer', `${url}: ${cause?.message || cause?.code || message || String(error)}`)
}
