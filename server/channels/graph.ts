/**
 * The provider's HTTP dialect, which `msgapp` and `social` share: where a call
 * goes, what an error says, what became of a send.
 *
 * A send is settled by what is certain. Without a connection the provider never
 * saw it. A throttle code means that nothing was sent, whatever the HTTP status
 * around it. After a 5xx, a broken connection or silence the outcome is unknown.
 * Anything else the provider refused.
 */
import type { Http, HttpFailure } from '../lib/http.ts'
import type { CheckStep, Connection, Sent } from './channel.ts'
import { type Json, recordOf, textOf } from './reading.ts'

const maxMessage = 1_000

export type Call = {
  method: 'GET' | 'POST'
  /** Segments behind the version, taken literally. */
  path: readonly string[]
  query?: Record<string, string>
  body?: Json
  timeoutMs: number
  maxBytes?: number
}

export type Answer =
  /** `value` is undefined when the body is no JSON. */
  { ok: true; status: number; value: unknown } | HttpFailure

export async function ask(http: Http, connection: Connection, call: Call): Promise<Answer> {
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

/** The error of an answer that is none of 2xx, or undefined. */
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

/** Code and text, each once: `131047: Re-engagement message. More than 24 hours have passed…`. Empty when it says nothing. */
export function describeError(error: Json): string {
  const code = codeOf(error.code)
  const text = textOf(error.message) ?? textOf(error.title)
  const words = text?.replace(/^\(#\d+\)\s*/, '').trim() || null
  const details = textOf(recordOf(error.error_data)?.details) ?? textOf(error.error_data)
  const isNews = details && plain(details) !== plain(words ?? '')
  const said = [words, isNews ? details : null].filter((part) => part !== null)
  const sentence = said.map((part, i) => (i < said.length - 1 ? part.replace(/\.$/, '') : part)).join('. ')
  return textOf([code, sentence].filter((part) => part !== null && part !== '').join(': '), maxMessage) ?? ''
}

/** Words without what only looks different. */
const plain = (text: string): string => text.toLowerCase().replace(/\.$/, '')

/** What became of a send, of which `read` finds the proof in an answer that is not an error. */
export function settle(
  answer: Answer,
  throttleCodes: readonly number[],
  read: (value: unknown) => Extract<Sent, { ok: true }> | undefined,
): Sent {
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

export const refuse = (message: string): Sent => ({ ok: false, outcome: 'rejected', again: false, code: null, message })

/** A read that a check makes; `field` is the setting that is wrong when the provider knows no such thing. */
export type Probe = { step: string; field: string; path: readonly string[]; query: Record<string, string> }

/**
 * Make reads until one fails, in steps that name the setting to mend. The first of them also shows whether anybody is
 * there who speaks the provider's language, and whether the token is good.
 */
export async function probe(http: Http, connection: Connection, probes: readonly Probe[]): Promise<CheckStep[]> {
  const passed: CheckStep[] = []
  const reach = 'Reach the provider'
  const token = 'Access token is valid'
  for (const { step, field, path, query } of probes) {
    const answer = await ask(http, connection, { method: 'GET', path, query, timeoutMs: 15_000 })
    const fail = (step: string, field: string | null, message: string) => [
      ...passed,
      { step, ok: false, field, message },
    ]
    if (!answer.ok) return fail(reach, 'base_url', `${connection.base_url}: ${answer.message}`)
    const error = errorOf(answer)
    const value = recordOf(answer.value)
    if (!value || (error ? !recordOf(value.error) : 'error' in value)) {
      return fail(
        reach,
        'base_url',
        `${connection.base_url} answers, but not as the provider does: HTTP ${answer.status}`,
      )
    }
    if (error?.code === unknownPath) return fail(reach, 'api_version', error.message)
    if (passed.length === 0) passed.push({ step: reach, ok: true, field: null, message: 'The provider answers.' })
    if (error && (error.status === 401 || isTokenCode(error.code))) return fail(token, 'access_token', error.message)
    // The provider's own trouble is no setting's fault.
    if (error && (error.status >= 500 || error.status === 429)) return fail(step, null, error.message)
    if (passed.length === 1) passed.push({ step: token, ok: true, field: null, message: 'The provider accepts it.' })
    if (error) return fail(step, isPermissionCode(error.code) ? 'access_token' : field, error.message)
    passed.push({ step, ok: true, field: null, message: nameOf(answer.value) ?? 'Found.' })
  }
  return passed
}

const unknownPath = 2500
const isTokenCode = (code: number | null) => code === 0 || code === 190
const isPermissionCode = (code: number | null) =>
  code === 3 || code === 10 || (code !== null && code >= 200 && code < 300)

/** What the provider calls the thing that was read, for a person to recognise it by. */
function nameOf(value: unknown): string | null {
  const { verified_name, name, username, display_phone_number } = recordOf(value) ?? {}
  const words = [verified_name ?? name ?? username, display_phone_number].map((part) => textOf(part, 200))
  return words.filter((part) => part !== null).join(', ') || null
}

function codeOf(value: unknown): number | null {
  const code = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return typeof code === 'number' && Number.isSafeInteger(code) ? code : null
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
