/** Serves the phone page. Its scripts and styles come from this origin only. */
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { sendNotFound } from './wire/http.ts'

const pageDir = join(import.meta.dirname, 'phone')
const types: Record<string, string> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https: http:; media-src 'self' blob:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
}

export async function sendPage(name: string, response: ServerResponse): Promise<void> {
  const type = types[extname(name)]
  const bytes =
    /^[\w-]+\.\w+$/.test(name) && type ? await readFile(join(pageDir, name)).catch(() => undefined) : undefined
  if (!bytes) return sendNotFound(response)
  response.writeHead(200, { ...pageHeaders, 'content-type': `${type}; charset=utf-8`, 'content-length': bytes.length })
  response.end(bytes)
}
