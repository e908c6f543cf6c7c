/**
 * `parley listen` and `parley tail`: a workspace's events on a developer's own
 * machine.
 *
 * What is forwarded is what a webhook would post: the same bytes, the same
 * headers, signed the same way by the same code. The secret is derived from
 * the key, so it is entered once; it never leaves this machine, and tells
 * nothing of the key.
 */
import { createHmac } from 'node:crypto'
import { request } from 'undici'
import type { Parley, StreamOptions, WebhookEvent } from '../sdk/src/index.ts'
import { headersOf, signatureOf } from '../server/webhooks/post.ts'
import { toFailure } from './api.ts'
import type { Output } from './output.ts'
import { Failure } from './target.ts'

export type Listening = {
  parley: Parley
  /** Of the service, for words about it. */
  url: string
  key: string
  output: Output
  signal: AbortSignal
  events?: string | undefined
  forward?: string | undefined
}

/** As long as a webhook has. */
const forwardMs = 5_000

/** Post every event to `forward`, or show it where there is none. */
export async function listen({ parley, url, key, output, signal, events, forward }: Listening): Promise<void> {
  const target = forward === undefined ? undefined : requireTarget(forward)
  const { account } = await parley.me({ signal })
  const secret = secretOf(key)
  let webhookId = ''
  const onReady = ({ listener_id }: { listener_id: string }) => {
    webhookId = listener_id
    const ready = { type: 'ready', account_id: account.id, secret, forward: target ?? null }
    output.print(ready, [
      `Listening to the events of ${account.name}.`,
      `Their secret is ${secret}`,
      ...(target ? [`They go to ${target}`] : []),
    ])
  }
  const stream = parley.events.stream(only(events), { signal, onReady, ...withNotes(output, url) })
  for await (const { event, body } of stream.frames()) {
    if (!target) {
      output.print({ type: 'event', body: event }, [lineOf(event), indented(event)])
      continue
    }
    const t = Math.floor(Date.now() / 1000)
    const signature = `t=${t},v1=${signatureOf(secret, t, body)}`
    const came = await post(target, { body, headers: headersOf(event.event, webhookId, signature), signal })
    if (signal.aborted) return
    const { status, error, duration_ms } = came
    const outcome = error === null ? `answered ${status} after ${duration_ms} ms` : `failed: ${error}`
    output.print({ type: 'forwarded', id: event.id, event: event.event, status, error, duration_ms }, [
      `${lineOf(event)}\n  ${outcome}`,
    ])
  }
}

/** One line for each event. */
export async function tail({ parley, url, output, signal, events }: Omit<Listening, 'key' | 'forward'>): Promise<void> {
  const onReady = () => output.note('Waiting for events.')
  const stream = parley.events.stream(only(events), { signal, onReady, ...withNotes(output, url) })
  for await (const { event, body } of stream.frames()) output.print(body, [lineOf(event)])
}

const only = (events: string | undefined) => (events === undefined ? {} : { events: events.split(',') })

/** As long as events are kept for whoever is away. */
const keptMs = 60_000

/** A line that is gone is told of once, however often we try. */
function withNotes(output: Output, url: string): StreamOptions {
  let isBroken = false
  return {
    onBreak(error) {
      if (!isBroken) output.note(`The line broke (${toFailure(error, url).message}); trying again.`)
      isBroken = true
    },
    onReturn(awayMs) {
      output.note(`The line is back; ${awayMs < keptMs ? 'nothing is lost' : mayBeLost}.`)
      isBroken = false
    },
  }
}

const mayBeLost = 'it was away for so long that something of what happened meanwhile may be missing'

/** As a webhook's secret looks. */
const secretOf = (key: string): string =>
  `whsec_${createHmac('sha256', key).update('parley listen').digest('base64url').replaceAll(/[-_]/g, '0')}`

type Came = { status: number | null; error: string | null; duration_ms: number }

type Posting = { body: string; headers: Record<string, string>; signal: AbortSignal }

async function post(url: string, { body, headers, signal }: Posting): Promise<Came> {
  const startedAt = performance.now()
  const since = () => Math.round(performance.now() - startedAt)
  try {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(forwardMs)])
    const answer = await request(url, { method: 'POST', body, headers, signal: patience })
    const duration_ms = since()
    // Its words are nobody's business here, but its connection is used again.
    await answer.body.dump().catch(() => {})
    const isSuccess = answer.statusCode >= 200 && answer.statusCode < 300
    return { status: answer.statusCode, error: isSuccess ? null : `answered ${answer.statusCode}`, duration_ms }
  } catch (error) {
    const { name, code, message } = error as { name?: string; code?: string; message?: string }
    const isLate = name === 'TimeoutError'
    const words = isLate
      ? `no answer within ${forwardMs / 1000} s`
      : code === 'ECONNREFUSED'
        ? 'nothing answers'
        : message
    return { status: null, error: words || String(error), duration_ms: since() }
  }
}

function requireTarget(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Failure('bad_option', `--forward: not an address: ${text} (such as http://localhost:3000/hook)`)
  }
  return url.href
}

/** When, what, and about what, for a terminal: what customers write must not steer it. Resources are left to the whole body. */
function lineOf({ event, occurred_at, data }: WebhookEvent): string {
  const keys = Object.entries(data).filter(([, value]) => typeof value !== 'object' || value === null)
  const about = keys.map(([name, value]) => `${name}=${plain(value)}`)
  return [occurred_at, event.padEnd('message.status_updated'.length), ...about].join(' ')
}

const plain = (value: unknown): string => {
  const text = typeof value === 'string' && /^[\w+.:@/-]+$/.test(value) ? value : JSON.stringify(value)
  return harmless(text)
}

const indented = (event: WebhookEvent): string => harmless(JSON.stringify(event, null, 2)).replaceAll(/^/gm, '  ')

/** JSON leaves some characters alone that a terminal acts upon. */
const harmless = (text: string): string =>
  text.replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
