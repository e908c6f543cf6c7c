/** A receiver of the simulator's callbacks, and a client of its API: what its tests use. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { SimulatorAccount } from '../simulator/simulator.ts'
import { pluck } from './assertions.ts'
import { listen } from './listen.ts'
import { until } from './until.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of any shape, looked at by assertions
export type Json = any
export type Answer = { status: number; body: Json; headers: Headers }
export type Callback = { headers: IncomingHttpHeaders; raw: string; body: Json }

export const log = { info() {}, warn() {}, error: (o: object, m?: string) => console.error(m, o) }

/** Takes callbacks, answering with `answers` for the next ones, then 200. Its files are under `/media/`. */
export async function startReceiver(t: TestContext) {
  const callbacks: Callback[] = []
  const answers: number[] = []
  const server = createServer((request, response) => {
    if (request.method === 'GET') return serveFile(request, response)
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      const raw = Buffer.concat(parts).toString()
      callbacks.push({ headers: request.headers, raw, body: JSON.parse(raw) })
      response.writeHead(answers.shift() ?? 200).end()
    })
  })
  const url = `${await listen(t, server)}/channels/msgapp/1`
  const values = () => callbacks.flatMap(({ body }) => body.entry ?? []).flatMap((entry: Json) => entry.changes ?? [])
  const statuses = (id?: string): Json[] =>
    values()
      .flatMap(({ value }: Json) => value.statuses ?? [])
      .filter((status: Json) => id === undefined || status.id === id)
  const messaging = (): Json[] =>
    callbacks.flatMap(({ body }) => body.entry ?? []).flatMap((entry: Json) => entry.messaging ?? [])
  return {
    url,
    callbacks,
    answers,
    statuses,
    messaging,
    messages: (): Json[] => values().flatMap(({ value }: Json) => value.messages ?? []),
    /** Wait for exactly these statuses of a message, in this order. */
    async ladder(id: string, ...names: string[]): Promise<Json[]> {
      await until(`${names} of ${id}`, () => statuses(id).length >= names.length)
      assert.deepEqual(pluck(statuses(id), 'status'), names)
      return statuses(id)
    },
  }
}
/** Files of the service: a picture, and all that a download must not wait for, follow or keep. */
function serveFile({ url }: IncomingMessage, response: ServerResponse) {
  response.setHeader('content-type', 'image/jpeg')
  if (url === '/media/picture.jpg') return response.end('bytes of a picture')
  if (url === '/media/moved') return response.writeHead(302, { location: '/media/picture.jpg' }).end()
  if (url === '/media/slow') return response.write('a byte')
  response.end(url === '/media/huge' ? Buffer.alloc(5_000) : '')
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

export function accountsFor(callbackUrl: string, messagesPerSecond = 1000): [SimulatorAccount, SimulatorAccount] {
  const common = {
    workspace_id: randomUUID(),
    business_name: 'Acme',
    app_secret: 'app secret',
    verify_token: 'verify',
    callback_url: callbackUrl,
    messages_per_second: messagesPerSecond,
    is_default: true,
  }
  const number = { phone_number_id: '2002', display_phone_number: '15550001111' }
  return [
    { ...common, channel: 'msgapp', account_id: '1001', access_token: 'token', ...number },
    {
      ...common,
      channel: 'social',
      account_id: '17841400000000000',
      access_token: 'ig',
      phone_number_id: '',
      display_phone_number: '',
    },
  ]
}

/** How a test speaks to a simulator that is at `origin`. */
export function clientOf(origin: string) {
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const isBytes = body instanceof Uint8Array || body instanceof FormData
    const response = await fetch(`${origin}/simulator${path}`, {
      method,
      headers: { ...(body === undefined || isBytes ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text.startsWith('{') ? JSON.parse(text) : text }
  }
  const graph = (method: string, path: string, body?: unknown, token = 'token') =>
    call(method, `/graph/v25.0/${path}`, body, { authorization: `Bearer ${token}` })
  return {
    origin,
    call,
    graph,
    control: (method: string, path: string, body?: unknown) => call(method, `/control/${path}`, body),
    send: (message: Json) => graph('POST', '2002/messages', { messaging_product: 'whatsapp', ...message }),
    template: (to: string, name = 'hello_world', components?: unknown, more: Json = {}) =>
      graph('POST', '2002/messages', {
        messaging_product: 'whatsapp',
        to,
        type: 'template',
        template: { name, language: { code: 'en_US' }, ...(components === undefined ? {} : { components }) },
        ...more,
      }),
    social: (id: string, message: Json, more: Json = {}) =>
      graph('POST', 'me/messages', { recipient: { id }, message, ...more }, 'ig'),
  }
}
export type Client = ReturnType<typeof clientOf>

export const idOf = ({ body }: Answer): string => body.messages[0].id

export function assertFailure(answer: Answer, status: number, code: number, details?: RegExp): void {
  assert.equal(answer.body?.error?.code, code, JSON.stringify(answer.body))
  assert.equal(answer.status, status)
  assert.ok(answer.body.error.message && answer.body.error.type && answer.body.error.fbtrace_id)
  if (details) assert.match(answer.body.error.error_data?.details ?? answer.body.error.message, details)
}

export const number = (i: number) => `+1415555${String(i).padStart(4, '0')}`
export const dayAgo = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1000 - 60_000).toISOString()
