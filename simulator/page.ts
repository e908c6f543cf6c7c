/**
 * Serves the phone page.
 *
 * Scripts and styles come from this origin only. Browsers keep the files that
 * are named by their content, and revalidate the page itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BuiltFile, readBuilt } from '../common/pages.ts'
import { sendNotFound } from './wire/http.ts'

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https: http:; media-src 'self' blob:; " +
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
}

let files: Map<string, BuiltFile> | undefined

/** Sends the file of the page with this name, such as `index.html`. */
export function sendPage(name: string, request: IncomingMessage, response: ServerResponse): void {
  files ??= readBuilt('phone')
  const file = files.get(`/${name}`)
  if (!file) {
    sendNotFound(response)
    return
  }
  const isGzipped = file.isCompressible && /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const body = file.bodies[isGzipped ? 'gzip' : 'identity']
  response.writeHead(200, {
    ...headers,
    'content-type': file.type,
    'content-length': body.length,
    'cache-control': name.startsWith('assets/') ? 'private, max-age=31536000, immutable' : 'no-cache',
    ...(isGzipped ? { 'content-encoding': 'gzip' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
