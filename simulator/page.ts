/**
 * The phone page and the files it shows. Scripts and styles come only from this
 * folder; an uploaded file can run nothing.
 */
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import type { Media, MediaStore } from './state/media.ts'

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

/** Types that a browser shows without running anything. HTML and SVG are not among them. */
const shownTypes =
  /^(image\/(png|jpeg|gif|webp)|audio\/(mpeg|mp4|aac|amr|ogg|webm|wav)|video\/(mp4|3gpp|webm|ogg)|application\/pdf)(?=\s*(;|$))/i

/**
 * Headers of a file that customers or the business sent. It shares its origin with the dashboard, so what a browser could
 * run is offered as a download only.
 */
export function fileHeaders({ mime_type }: Pick<Media, 'mime_type'>, bytes: Buffer): Record<string, string | number> {
  const shown = shownTypes.exec(mime_type)?.[0].toLowerCase()
  return {
    'content-type': shown ?? 'application/octet-stream',
    ...(shown ? {} : { 'content-disposition': 'attachment' }),
    'content-length': bytes.length,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  }
}

/** A file by its id, for the phone page, or by a signed link of the social channel. */
export function sendMedia(store: MediaStore, id: string, query: URLSearchParams, response: ServerResponse) {
  const isGood = !query.has('hash') || store.isLinkGood(id, query, Date.now())
  const media = isGood ? store.get(id) : undefined
  const bytes = media && store.bytes(media)
  if (!media || !bytes) return sendNothing(response)
  response.writeHead(200, { ...fileHeaders(media, bytes), 'cache-control': 'private, max-age=3600' })
  response.end(bytes)
}

export function sendNothing(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n')
}
