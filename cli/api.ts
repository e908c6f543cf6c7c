/**
 * The public API as the commands use it: a call answers its `data`, and
 * whatever else comes is a `Failure` with the API's code and words.
 */
import { Failure, type Target } from './target.ts'

export type Api = {
  /** The `data` of an answer. */
  call<Data>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Data>
  /** The whole answer: a list has its cursor beside its data. */
  read(path: string): Promise<unknown>
  /** An answer that stays open. */
  open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>
}

export type Me = { account: { id: string; name: string }; key: { id: string; scopes: string[] } }

/** Codes of failures that may be over the next time. */
const passing = new Set(['no_answer', 'rate_limited', 'internal'])
export const isPassing = (error: unknown): boolean => error instanceof Failure && passing.has(error.code)

/** The channel is given 15 seconds, and may be asked three times. */
const answerMs = 60_000

export function createApi({ key, baseUrl }: Pick<Target, 'key' | 'baseUrl'>): Api {
  const ask = async (
    method: string,
    path: string,
    { signal, body, headers }: { signal: AbortSignal; body?: unknown; headers?: Record<string, string> | undefined },
  ): Promise<Response> => {
    const request = {
      method,
      signal,
      redirect: 'error' as const,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    const response = await fetch(baseUrl + path, request).catch((cause) => {
      throw toFailure(cause, baseUrl)
    })
    if (!response.ok) throw await readFailure(response, baseUrl)
    return response
  }
  const answerOf = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const response = await ask(method, path, { signal: AbortSignal.timeout(answerMs), body, headers })
    return response.json().catch(() => {
      throw new Failure('no_api', `what answers at ${baseUrl} is not the API`)
    })
  }
  return {
    call: async <Data>(method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      ((await answerOf(method, path, body, headers)) as { data: Data }).data,
    read: (path) => answerOf('GET', path),
    open: async (path, headers, signal) => {
      const response = await ask('GET', path, { signal, headers })
      if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
        throw new Failure('no_api', `what answers at ${baseUrl} has no stream of events`)
      }
      return response.body
    },
  }
}

/** A control call of the simulator, which needs no key: with a body it is a POST. */
export async function control(simulatorUrl: string, call: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${simulatorUrl}/control/${call}`, {
    ...(body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(answerMs),
  }).catch((cause) => {
    throw toFailure(cause, simulatorUrl)
  })
  if (response.ok) return ((await response.json()) as { data: unknown }).data
  const failure = await readFailure(response, simulatorUrl)
  const hint = 'it answers while the service runs with DEMO=1, or is named with --simulator'
  throw response.status === 404 ? new Failure(failure.code, `${failure.message}; ${hint}`) : failure
}

async function readFailure(response: Response, url: string): Promise<Failure> {
  const text = await response.text().catch(() => '')
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } }
    return new Failure(error.code, error.message)
  } catch {
    return new Failure(response.status >= 500 ? 'no_answer' : 'no_api', `${url} answers ${response.status}`)
  }
}

/** What kept a request from being answered, in words. */
export function toFailure(error: unknown, url: string): Failure {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } }
  if (name === 'TimeoutError') return new Failure('no_answer', `${url} did not answer in time`)
  if (cause?.code === 'ECONNREFUSED') {
    return new Failure('no_answer', `nothing answers at ${url}: is the service running?`)
  }
  return new Failure('no_answer', `${url}: ${cause?.message || cause?.code || String(error)}`)
}
