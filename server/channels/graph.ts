/**
 * Calls to the provider's HTTP API, which `msgapp` and `social` share: requests, errors, and the outcome of a send.
 *
 * Without a connection nothing was sent. A throttle code means that nothing was sent, whatever the HTTP status is. After a
 * 5xx, a lost connection or a timeout the outcome is unknown. Any other error is a refusal.
 */
import type { Http, HttpFailure } from '../lib/http/client.ts'
import { hasTooManyValues } from '../lib/http/json.ts'
import type { BlockAnswer, CheckStep, Connection, SendAnswer } from './channel.ts'
import { type Json, recordOf, textOf } from './reading.ts'

const maxMessage = 1_000

export type Call = {
  method: 'GET' | 'POST' | 'DELETE'
  /** The segments after the version, not encoded yet. */
  path: readonly string[]
  query?: Record<string, string>
  body?: Json
  timeoutMs: number
  maxBytes?: number
}

export type Answer =
  /** `value` is undefined when the body is not JSON, or has more values than an answer of a provider. */
  { ok: true; status: number; value: unknown } | HttpFailure

export async function callProvider(http: Http, connection: Connection, call: Call): Promise<Answer> {
  const { base_url, api_version, access_token, is_private } = connection
  const path = [api_version, ...call.path].map(encodeURIComponent).join('/')
  const query = call.query ? `?${new URLSearchParams(call.query)}` : ''
  const answer = await http.request({
    method: call.method,
    url: `${base_url}/${path}${query}`,
    headers: {
      authorization: `Bearer ${access_token}`,
      ...(call.body ? { 'content-type': 'application/json' } : {}),
    },
    ...(call.body ? { body: JSON.stringify(call.body) } : {}),
    timeoutMs: call.timeoutMs,
    isPrivate: is_private,
    ...(call.maxBytes ? { maxBytes: call.maxBytes } : {}),
  })
  return answer.ok ? { ok: true, status: answer.status, value: parse(answer.body) } : answer
}

export type GraphError = { status: number; code: number | null; subcode: number | null; message: string }

/** The error of an answer whose status is not 2xx, or undefined. */
export function errorOf({ status, value }: { status: number; value: unknown }): GraphError | undefined {
  if (status >= 200 && status < 300) return undefined
  const error = recordOf(recordOf(value)?.error)
  return {
    status,
    code: codeOf(error?.code),
    subcode: codeOf(error?.error_subcode),
    message: (error && describeError(error)) || `HTTP ${status}`,
  }
}

/** Code and texts without repetition: `131047: Re-engagement message. More than 24 hours have passed…`. May be empty. */
export function describeError(error: Json): string {
  const code = codeOf(error.code)
  const text = textOf(error.message) ?? textOf(error.title)
  const title = text?.replace(/^\(#\d+\)\s*/, '').trim() || null
  const details = textOf(recordOf(error.error_data)?.details) ?? textOf(error.error_data)
  const addsDetails = details && normalize(details) !== normalize(title ?? '')
  const sentences = [title, addsDetails ? details : null].filter((part) => part !== null)
  const sentence = sentences.map((part, i) => (i < sentences.length - 1 ? part.replace(/\.$/, '') : part)).join('. ')
  return textOf([code, sentence].filter((part) => part !== null && part !== '').join(': '), maxMessage) ?? ''
}

/** For comparing texts that differ only in case or a final full stop. */
const normalize = (text: string): string => text.toLowerCase().replace(/\.$/, '')

/** The outcome of a send. `read` returns the message id of an answer that is not an error. */
export function toSendAnswer(
  answer: Answer,
  throttleCodes: readonly number[],
  read: (value: unknown) => Extract<SendAnswer, { ok: true }> | undefined,
): SendAnswer {
  if (!answer.ok) {
    const message = textOf(answer.message, maxMessage) ?? 'no answer'
    return { ok: false, outcome: answer.isWritten ? 'unknown' : 'unsent', message }
  }
  const error = errorOf(answer)
  if (!error) {
    return (
      read(answer.value) ?? { ok: false, outcome: 'unknown', message: `HTTP ${answer.status} without a message id` }
    )
  }
  const { status, code, message } = error
  const isThrottled = status === 429 || (code !== null && throttleCodes.includes(code))
  if (status >= 500 && !isThrottled) return { ok: false, outcome: 'unknown', message }
  const isDenied = code === null && (status === 401 || status === 403)
  return { ok: false, outcome: 'rejected', again: isThrottled, code, message, ...(isDenied ? { isDenied } : {}) }
}

/** The outcome of a call that blocks a person. */
export function toBlockAnswer(answer: Answer): BlockAnswer {
  if (!answer.ok) return { ok: false, isRefused: !answer.isWritten, message: answer.message }
  const error = errorOf(answer)
  return error ? { ok: false, isRefused: error.status < 500, message: error.message } : { ok: true }
}

export const refuse = (message: string): SendAnswer => ({
  ok: false,
  outcome: 'rejected',
  again: false,
  code: null,
  message,
})

/** A request of a connection check. `field` is the setting that is wrong when the provider finds no such object. */
export type ReadCheck = { step: string; field: string; path: readonly string[]; query: Record<string, string> }

/**
 * Sends the requests until one fails. Each step names the setting to fix. The first request also checks that the provider
 * answers at this URL and accepts the token.
 */
export async function checkReads(
  http: Http,
  connection: Connection,
  probes: readonly ReadCheck[],
): Promise<CheckStep[]> {
  const passed: CheckStep[] = []
  const reach = 'Reach the provider'
  const token = 'Access token is valid'
  for (const { step, field, path, query } of probes) {
    const answer = await callProvider(http, connection, { method: 'GET', path, query, timeoutMs: 15_000 })
    const fail = (step: string, field: string | null, message: string) => [
      ...passed,
      { step, ok: false, field, message },
    ]
    if (!answer.ok) return fail(reach, 'base_url', `${connection.base_url}: ${answer.message}`)
    const error = errorOf(answer)
    const value = recordOf(answer.value)
    if (!value || (error ? !recordOf(value.error) : 'error' in value)) {
      return fail(reach, 'base_url', `${connection.base_url} answers, but not like the provider: HTTP ${answer.status}`)
    }
    if (error?.code === unknownPath) return fail(reach, 'api_version', error.message)
    if (passed.length === 0) passed.push({ step: reach, ok: true, field: null, message: 'The provider answers.' })
    if (error && (error.status === 401 || isTokenCode(error.code))) return fail(token, 'access_token', error.message)
    // An outage of the provider is not the fault of a setting.
    if (error && (error.status >= 500 || error.status === 429)) return fail(step, null, error.message)
    if (passed.length === 1) passed.push({ step: token, ok: true, field: null, message: 'The provider accepts it.' })
    if (error) return fail(step, isPermissionCode(error.code) ? 'access_token' : field, error.message)
    passed.push({ step, ok: true, field: null, message: nameOf(answer.value) ?? 'Found.' })
  }
  return passed
}

/** One field of the connection's number or account. */
export async function fetchField(
  http: Http,
  connection: Connection,
  id: string,
  field: string,
): Promise<string | undefined> {
  const answer = await callProvider(http, connection, {
    method: 'GET',
    path: [id],
    query: { fields: field },
    timeoutMs: 15_000,
  })
  if (!answer.ok || errorOf(answer)) return undefined
  return textOf(recordOf(answer.value)?.[field], 200) ?? undefined
}

const unknownPath = 2500
const isTokenCode = (code: number | null) => code === 0 || code === 190
const isPermissionCode = (code: number | null) =>
  code === 3 || code === 10 || (code !== null && code >= 200 && code < 300)

/** The name of the object at the provider, so that a member recognizes it. */
function nameOf(value: unknown): string | null {
  const { verified_name, name, username, display_phone_number } = recordOf(value) ?? {}
  const names = [verified_name ?? name ?? username, display_phone_number].map((part) => textOf(part, 200))
  return names.filter((part) => part !== null).join(', ') || null
}

function codeOf(value: unknown): number | null {
  const code = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return typeof code === 'number' && Number.isSafeInteger(code) ? code : null
}

function parse(body: Buffer): unknown {
  if (hasTooManyValues(body)) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
