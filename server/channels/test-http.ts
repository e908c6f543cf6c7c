/** An `Http` for tests: it records the requests and returns scripted answers in order. Without an answer left, none comes. */
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { ChannelName } from '../contacts/resource.ts'
import type { Http, HttpRequest } from '../lib/http/client.ts'
import type { Connection, OutgoingMessage } from './channel.ts'

export type ScriptedAnswer =
  | { status?: number; headers?: Record<string, string>; body?: unknown }
  | 'silence'
  | 'refused'

export type FakeHttp = Http & { requests: HttpRequest[]; bodies: Readable[]; json(index?: number): unknown }

export function fakeHttp(...answers: ScriptedAnswer[]): FakeHttp {
  const requests: HttpRequest[] = []
  const bodies: Readable[] = []
  const next = (request: HttpRequest) => {
    const answer = answers[requests.push(request) - 1] ?? 'silence'
    if (answer === 'silence') return { ok: false as const, message: 'no answer within 15 s', isWritten: true }
    if (answer === 'refused') return { ok: false as const, message: 'connection refused', isWritten: false }
    const { status = 200, headers = {}, body = '' } = answer
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    return { ok: true as const, status, headers, body: bytes }
  }
  return {
    requests,
    bodies,
    json: (index = 0) => JSON.parse(String(requests[index]?.body)),
    request: async (request) => next(request),
    stream: async (request) => {
      const answer = next(request)
      if (!answer.ok) return answer
      const body = Readable.from([answer.body])
      bodies.push(body)
      return { ...answer, body }
    },
    stop: async () => {},
  }
}

/** A captured payload: `msgapp/text`, `social/answers/sent`. */
export function fixture(name: string): unknown {
  const [channel, ...path] = name.split('/')
  return JSON.parse(readFileSync(new URL(`./${channel}/fixtures/${path.join('/')}.json`, import.meta.url), 'utf8'))
}

/** The connection that the fixtures belong to. */
export function connectionOf(channel: ChannelName, changes: Partial<Connection> = {}): Connection {
  return {
    workspace_id: '019770a0-0000-7000-8000-0000000000aa',
    id: '019770a0-0000-7000-8000-0000000000bb',
    channel,
    name: 'Phone number',
    address: null,
    is_default: true,
    scope: '',
    account_id: { msgapp: '102290129340398', social: '17841400000000000', web: '' }[channel],
    phone_number_id: channel === 'msgapp' ? '106540352242922' : '',
    base_url: 'https://graph.example',
    api_version: 'v25.0',
    access_token: 'the-token',
    app_secret: 'the-secret',
    verify_token: 'the-verify-token',
    messages_per_second: 80,
    is_private: false,
    ...changes,
  }
}

export function outgoing(changes: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    message_id: '019770a0-0000-7000-8000-000000000001',
    to: { phone: '+525512345678', user_id: '1234567890123456', name: null, username: null },
    content: { type: 'text', text: 'Hola' },
    reply_to: null,
    late_reply: false,
    ...changes,
  }
}
