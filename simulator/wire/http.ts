/**
 * HTTP as the simulator needs it: bodies in, JSON out, no framework.
 *
 * It is one side of load tests, so the common path makes few objects.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const maxBodyBytes = 4 * 1024 * 1024
export const maxUploadBytes = 20 * 1024 * 1024

/** A mistake in a control call: `{ error: { code, message } }`. */
export class ControlError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export const badRequest = (message: string) => new ControlError(400, 'bad_request', message)

/**
 * Reads the whole body; calls `done` with `undefined` as soon as it is over the limit. A client that goes on sending is
 * disconnected after twice the limit. When the client goes away, `done` is never called.
 */
export function readBody(request: IncomingMessage, maxBytes: number, done: (bytes: Buffer | undefined) => void): void {
  let first: Buffer | undefined
  let parts: Buffer[] | undefined
  let size = 0
  request.on('data', (part: Buffer) => {
    const isFirstOver = size <= maxBytes && size + part.length > maxBytes
    size += part.length
    if (isFirstOver) done(undefined)
    if (size > 2 * maxBytes) request.destroy()
    else if (size > maxBytes) parts = undefined
    else if (!first) first = part
    else {
      parts ??= [first]
      parts.push(part)
    }
  })
  request.on('end', () => {
    if (size <= maxBytes) done(parts ? Buffer.concat(parts) : (first ?? Buffer.alloc(0)))
  })
}

export const readWhole = (request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> =>
  new Promise((resolve) => readBody(request, maxBytes, resolve))

export function sendJson(response: ServerResponse, status: number, json: string): void {
  const bytes = Buffer.byteLength(json)
  response.writeHead(status, ['content-type', 'application/json; charset=UTF-8', 'content-length', String(bytes)])
  response.end(json)
}

export function sendControlError(response: ServerResponse, { status, code, message }: ControlError): void {
  sendJson(response, status, JSON.stringify({ error: { code, message } }))
}

export const sendData = (response: ServerResponse, data: unknown): void =>
  sendJson(response, 200, JSON.stringify({ data }))

/** The query, with a raw `+` kept: numbers in E.164 are often put in an address as they are. */
export function queryOf(url: string): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1).replaceAll('+', '%2B'))
}

/** A media type such as `image/png` or `audio/ogg; codecs=opus`; undefined when it is none. */
export const readType = (text: string): string | undefined =>
  /^[\w.+-]+\/[\w.+-]+\s*(;[\x20-\x7e]*)?$/.test(text) && text.length <= 200 ? text : undefined

export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString('utf8'))
}

/** The caller's token: a header as a rule, a query value at times. */
export function tokenOf(request: IncomingMessage): string | undefined {
  const header = request.headers.authorization
  if (header?.startsWith('Bearer ')) return header.slice(7)
  return queryOf(request.url ?? '').get('access_token') ?? undefined
}
