/**
 * Parameters of a call of the provider's API.
 *
 * They come in the query and in a body of JSON, form or multipart; the body
 * wins. In a form a structured value is JSON text, and so it may be in JSON.
 */
import type { IncomingMessage } from 'node:http'
import { isObject, type Json, maxBodyBytes, maxUploadBytes, queryOf, readBody } from './http.ts'
import { type Part, parseMultipart } from './multipart.ts'

export type Params = {
  values: Json
  files: ReadonlyMap<string, Part>
  /** The body as it came, when it is JSON and all there is; otherwise the values are written anew. */
  raw: string | undefined
}

/** Parameters with structure; all others stay text, whatever it looks like. */
const structured = [
  ...['text', 'image', 'video', 'audio', 'document', 'sticker', 'location', 'contacts', 'reaction', 'interactive'],
  ...['template', 'context', 'typing_indicator', 'recipient', 'message', 'reply_to', 'payload'],
  ...['components', 'websites', 'block_users', 'fields', 'ice_breakers', 'persistent_menu', 'calling', 'batch'],
]

/** Not about the object: who calls. */
const credentials = new Set(['access_token', 'appsecret_proof'])

const isForm = (type: string) => /^(multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type)

/** Reads the body; `done` gets `undefined` when it is too large or cannot be read. */
export function readParams(request: IncomingMessage, done: (params: Params | undefined) => void): void {
  const isMultipart = /^multipart\//i.test(request.headers['content-type'] ?? '')
  readBody(request, isMultipart ? maxUploadBytes : maxBodyBytes, (bytes) => done(bytes && paramsOf(request, bytes)))
}

export function paramsOf({ url = '', headers }: IncomingMessage, bytes: Buffer): Params | undefined {
  const type = headers['content-type'] ?? ''
  const text = bytes.length === 0 || isForm(type) ? '' : bytes.toString('utf8')
  const body = isForm(type) ? readForm(type, bytes) : { values: text === '' ? {} : tryParse(text), files: noFiles }
  if (!body || !isObject(body.values)) return undefined
  let values = body.values
  let isChanged = text === ''
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
  return { values, files: body.files, raw: isChanged ? undefined : text }
}

const noFiles: ReadonlyMap<string, Part> = new Map()

function readForm(type: string, bytes: Buffer): { values: Json; files: ReadonlyMap<string, Part> } | undefined {
  if (!/^multipart\//i.test(type)) {
    return { values: Object.fromEntries(new URLSearchParams(bytes.toString('utf8'))), files: noFiles }
  }
  const parts = parseMultipart(type, bytes)
  if (!parts) return undefined
  const isFile = ([name, { filename }]: [string, Part]) =>
    filename !== undefined || name === 'file' || name === 'filedata'
  const fields = [...parts].filter((part) => !isFile(part))
  return {
    values: Object.fromEntries(fields.map(([name, { bytes: value }]) => [name, value.toString('utf8')])),
    files: new Map([...parts].filter(isFile)),
  }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
