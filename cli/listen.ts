/**
 * `parley listen` and `parley tail`: the workspace's events on a developer's machine.
 *
 * Forwarded events have the same bytes, headers and signature as webhooks. The signing secret is an HMAC of the API key: it
 * stays the same for a key, never leaves this machine and does not reveal the key.
 */
import { createHmac } from 'node:crypto'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { signatureOf, webhookHeaders } from '../common/webhook-request.ts'
import type { Parley, StreamOptions, WebhookEvent } from '../sdk/src/index.ts'
import { toCommandError } from './api.ts'
import type { Output } from './output.ts'
import { CommandError, parseUrl } from './target.ts'

type ListenOptions = {
  parley: Parley
  /** The service's URL, for error messages. */
  url: string
  key: string
  output: Output
  signal: AbortSignal
  events?: string | undefined
  forward?: string | undefined
}

/** The timeout of a webhook. */
const forwardTimeoutMs = 5_000

/** Posts every event to `forward`. Without it, prints every event. */
export async function listen({ parley, url, key, output, signal, events, forward }: ListenOptions): Promise<void> {
  const target = forward === undefined ? undefined : requireHttpUrl(forward)
  const { account } = await parley.me({ signal })
  const secret = deriveSecret(key)
  let listenerId = ''
  const onReady = ({ listener_id }: { listener_id: string }) => {
    listenerId = listener_id
    const ready = { type: 'ready', account_id: account.id, secret, forward: target ?? null }
    output.print(ready, [
      `Listening for events of ${account.name}.`,
      `Webhook secret: ${secret}`,
      ...(target ? [`Forwarding to ${target}`] : []),
    ])
  }
  const stream = parley.events.stream(toQuery(events), { signal, onReady, ...reportConnection(output, url) })
  for await (const { event, body } of stream.frames()) {
    if (!target) {
      output.print({ type: 'event', body: event }, [summaryOf(event), indented(event)])
      continue
    }
    const t = Math.floor(Date.now() / 1000)
    const signature = `t=${t},v1=${signatureOf(secret, t, body)}`
    const result = await post(target, { body, headers: webhookHeaders(event.event, listenerId, signature), signal })
    if (signal.aborted) return
    const { status, error, duration_ms } = result
    const outcome = error === null ? `HTTP ${status} after ${duration_ms} ms` : `failed: ${error}`
    output.print({ type: 'forwarded', id: event.id, event: event.event, status, error, duration_ms }, [
      `${summaryOf(event)}\n  ${outcome}`,
    ])
  }
}

/** Prints one line per event. */
export async function tail(options: Omit<ListenOptions, 'key' | 'forward'>): Promise<void> {
  const { parley, url, output, signal, events } = options
  const onReady = () => output.note('Waiting for events.')
  const stream = parley.events.stream(toQuery(events), { signal, onReady, ...reportConnection(output, url) })
  for await (const { event, body } of stream.frames()) output.print(body, [summaryOf(event)])
}

const toQuery = (events: string | undefined) => (events === undefined ? {} : { events: events.split(',') })

/** The service keeps the events of a disconnected stream for this long. */
const retentionMs = 60_000

/** Reports a lost connection once, however many attempts it takes to reconnect. */
function reportConnection(output: Output, url: string): StreamOptions {
  let isLost = false
  return {
    onBreak(error) {
      if (!isLost) output.note(`Connection lost. Reconnecting… (${toCommandError(error, url).message})`)
      isLost = true
    },
    onReturn(awayMs) {
      const consequence = awayMs < retentionMs ? 'No events were lost.' : 'Some events may have been lost.'
      output.note(`Reconnected after ${Math.round(awayMs / 1000)} s. ${consequence}`)
      isLost = false
    },
  }
}

/** Has the format of a webhook's secret. */
const deriveSecret = (key: string): string =>
  `whsec_${createHmac('sha256', key).update('parley listen').digest('base64url').replaceAll(/[-_]/g, '0')}`

type ForwardResult = { status: number | null; error: string | null; duration_ms: number }

type ForwardRequest = { body: string; headers: Record<string, string>; signal: AbortSignal }

async function post(url: string, { body, headers, signal }: ForwardRequest): Promise<ForwardResult> {
  const startedAt = performance.now()
  const durationMs = () => Math.round(performance.now() - startedAt)
  const timeout = AbortSignal.timeout(forwardTimeoutMs)
  try {
    const status = await requestStatus(url, { body, headers, signal: AbortSignal.any([signal, timeout]) })
    const isSuccess = status >= 200 && status < 300
    return { status, error: isSuccess ? null : `HTTP ${status}`, duration_ms: durationMs() }
  } catch (error) {
    const reason = timeout.aborted ? `no response within ${forwardTimeoutMs / 1000} s` : describePostError(error)
    return { status: null, error: reason, duration_ms: durationMs() }
  }
}

/** Posts and returns the status. `fetch` would add headers that a webhook does not have. */
function requestStatus(url: string, { body, headers, signal }: ForwardRequest): Promise<number> {
  const request = url.startsWith('https:') ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const onResponse = (response: IncomingMessage) => {
      // Reading the body to its end lets the connection be reused. The status is the result, also if the body fails.
      response.on('error', () => {}).resume()
      resolve(response.statusCode ?? 0)
    }
    const length = { 'content-length': Buffer.byteLength(body) }
    request(url, { method: 'POST', headers: { ...headers, ...length }, signal }, onResponse)
      .on('error', reject)
      .end(body)
  })
}

function describePostError(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string }
  if (code === 'ECONNREFUSED') return 'connection refused'
  return message || String(error)
}

function requireHttpUrl(text: string): string {
  const url = parseUrl(text)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new CommandError('bad_option', `--forward: must be a URL such as http://localhost:3000/hook, not ${text}`)
  }
  return url.href
}

/** One line with time, name and plain values. Nested resources are only in the full body. */
function summaryOf({ event, occurred_at, data }: WebhookEvent): string {
  const entries = Object.entries(data).filter(([, value]) => typeof value !== 'object' || value === null)
  const values = entries.map(([name, value]) => `${name}=${format(value)}`)
  return [occurred_at, event.padEnd('message.status_updated'.length), ...values].join(' ')
}

const format = (value: unknown): string => {
  const text = typeof value === 'string' && /^[\w+.:@/-]+$/.test(value) ? value : JSON.stringify(value)
  return escapeControls(text)
}

const indented = (event: WebhookEvent): string => escapeControls(JSON.stringify(event, null, 2)).replaceAll(/^/gm, '  ')

/** Customers' texts must not control the terminal. JSON does not escape these control and direction characters. */
const escapeControls = (text: string): string =>
  text.replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
