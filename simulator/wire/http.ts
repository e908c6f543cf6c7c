/**
 * HTTP helpers: read bodies, send JSON. No framework.
 *
 * Load tests run against the simulator, so the common path allocates little.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isText = (value: unknown): value is string => typeof value === 'string'

/** The objects in an array; none for another value. */
export const objectsIn = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : [])

export const objectOf = (value: unknown): Json => (isObject(value) ? value : {})

export const isHttpUrl = (value: unknown): value is string =>
  isText(value) && /^https?:$/.test(URL.parse(value)?.protocol ?? '')

export const maxBodyBytes = 4 * 1024 * 1024
export const maxUploadBytes = 20 * 1024 * 1024

/** An error of a control call, sent as `{ error: { code, message } }`. */
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
 * Reads the whole body. Calls `done` with `undefined` as soon as the body exceeds the limit, and disconnects the client
 * at twice the limit. `done` is not called when the client disconnects.
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

export const readWholeBody = (request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> =>
  new Promise((resolve) => readBody(request, maxBytes, resolve))

export function sendJson(response: ServerResponse, status: number, json: string): void {
  const bytes = Buffer.byteLength(json)
  response.writeHead(status, ['content-type', 'application/json; charset=UTF-8', 'content-length', String(bytes)])
  response.end(json)
}

export const sendObject = (response: ServerResponse, body: object): void =>
  sendJson(response, 200, JSON.stringify(body))

export function sendControlError(response: ServerResponse, { status, code, message }: ControlError): void {
  sendJson(response, status, JSON.stringify({ error: { code, message } }))
}

export const sendData = (response: ServerResponse, data: unknown): void => sendObject(response, { data })

/** The query parameters. A raw `+` stays a plus sign, because callers often write E.164 numbers unescaped. */
export function queryOf(url: string): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1).replaceAll('+', '%2B'))
}

/** Returns a media type such as `image/png` or `audio/ogg; codecs=opus`, or `undefined` if the text is none. */
export const parseMimeType = (text: string): string | undefined =>
  /^[\w.+-]+\/[\w.+-]+\s*(;[\x20-\x7e]*)?$/.test(text) && text.length <= 200 ? text : undefined

export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString('utf8'))
}

/** The caller's token, from the header or the query. */
export function tokenOf(request: IncomingMessage): string | undefined {
  const header = request.headers.authorization
  if (header?.startsWith('Bearer ')) return header.slice(7)
  return queryOf(request.url ?? '').get('access_token') ?? undefined
}

export function sendNotFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n')
}
