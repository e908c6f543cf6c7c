/**
 * Parameters of a call of the provider's API.
 *
 * They are in the query and in the body (JSON, form or multipart); the body
 * takes precedence. A structured value may be JSON text, in a form and in JSON.
 */
import type { IncomingMessage } from 'node:http'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { isObject, type Json, maxBodyBytes, maxUploadBytes, queryOf, readBody } from './http.ts'

export type UploadedFile = { filename: string | undefined; mime_type: string; bytes: Buffer }

export type Params = {
  values: Json
  files: ReadonlyMap<string, UploadedFile>
  /** The body as received, if it is JSON and holds all parameters. */
  raw: string | undefined
}

/** Parameters whose text is parsed as JSON. All others stay text. */
const structured = [
  ...['text', 'image', 'video', 'audio', 'document', 'sticker', 'location', 'contacts', 'reaction', 'interactive'],
  ...['template', 'context', 'typing_indicator', 'recipient', 'message', 'reply_to', 'payload'],
  ...['components', 'websites', 'block_users', 'fields', 'ice_breakers', 'persistent_menu', 'calling', 'batch'],
]

/** Query parameters that authenticate the caller. */
const credentials = new Set(['access_token', 'appsecret_proof'])

const noFiles: ReadonlyMap<string, UploadedFile> = new Map()
const isMultipart = (type: string) => /^multipart\/form-data\b/i.test(type)
const isUrlEncoded = (type: string) => /^application\/x-www-form-urlencoded\b/i.test(type)

/** Reads the parameters. `done` gets `undefined` if the body is too large or malformed. */
export function readParams(
  request: IncomingMessage,
  done: (params: Params | undefined) => void,
  maxBytes = isMultipart(request.headers['content-type'] ?? '') ? maxUploadBytes : maxBodyBytes,
): void {
  const { url = '', headers } = request
  const type = headers['content-type'] ?? ''
  readBody(request, maxBytes, (bytes) => {
    if (!bytes) done(undefined)
    else if (isMultipart(type)) void parseMultipart(type, bytes).then((form) => done(form && paramsOf(url, form)))
    else if (isUrlEncoded(type)) {
      const values = Object.fromEntries(new URLSearchParams(bytes.toString('utf8')))
      done(paramsOf(url, { values, files: noFiles }))
    } else {
      const text = bytes.toString('utf8')
      done(paramsOf(url, { values: text === '' ? {} : tryParse(text), files: noFiles }, text))
    }
  })
}

type Body = { values: unknown; files: ReadonlyMap<string, UploadedFile> }

function paramsOf(url: string, body: Body, json = ''): Params | undefined {
  if (!isObject(body.values)) return undefined
  let values = body.values
  let isChanged = json === ''
  for (const [name, value] of url.includes('?') ? queryOf(url) : []) {
    if (credentials.has(name) || Object.hasOwn(values, name)) continue
    values = { ...values, [name]: value }
    isChanged = true
  }
  for (const name of structured) {
    const value = values[name]
    const parsed = typeof value === 'string' && /^\s*[{[]/.test(value) ? tryParse(value) : undefined
    if (typeof parsed !== 'object' || parsed === null) continue
    values = { ...values, [name]: parsed }
    isChanged = true
  }
  return { values, files: body.files, raw: isChanged ? undefined : json }
}

/** Resolves to `undefined` if the body is malformed. */
function parseMultipart(type: string, body: Buffer): Promise<Body | undefined> {
  return new Promise((resolve) => {
    const values: Json = {}
    const files = new Map<string, UploadedFile>()
    const parser = createParser(type)
    if (!parser) return resolve(undefined)
    parser.on('field', (name, value) => {
      values[name] = value
    })
    parser.on('file', (name, stream, filename, _encoding, mime_type) => {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => files.set(name, { filename, mime_type, bytes: Buffer.concat(parts) }))
    })
    parser.on('error', () => resolve(undefined))
    parser.on('finish', () => resolve({ values, files }))
    parser.end(body)
  })
}

function createParser(type: string): BusboyInstance | undefined {
  try {
    return new Busboy({
      headers: { 'content-type': type },
      limits: { fieldSize: maxUploadBytes },
      // Some clients send a file without a file name.
      isPartAFile: (name, _type, filename) => filename !== undefined || name === 'file' || name === 'filedata',
    })
  } catch {
    // The content type has no boundary.
    return undefined
  }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
