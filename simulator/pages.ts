/**
 * The phone page and the files it shows. Scripts and styles come only from
 * here; a file that somebody uploaded can run nothing.
 */
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import type { MediaStore } from './media.ts'

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
  if (!bytes) return sendNothing(response)
  response.writeHead(200, { ...pageHeaders, 'content-type': `${type}; charset=utf-8`, 'content-length': bytes.length })
  response.end(bytes)
}

/** A file by its id, for the page and for the social channel, whose links are open. */
export async function sendMedia(store: MediaStore, id: string, response: ServerResponse): Promise<void> {
  const media = store.get(id)
  const bytes = media && (await store.bytes(media))
  if (!media || !bytes) return sendNothing(response)
  response.writeHead(200, {
    'content-type': media.mime_type,
    'content-length': bytes.length,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, max-age=3600',
  })
  response.end(bytes)
}

export function sendNothing(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n')
}
