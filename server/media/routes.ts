/**
 * `/media/{token}`: what customers sent, and what members send, to whoever has
 * the link. A browser is told to show only what cannot run, and to run nothing.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Db, Sql } from '../lib/db.ts'
import { errorBody, notFound } from '../lib/errors.ts'
import type { App } from '../lib/server.ts'
import type { ByteRange, Store } from '../lib/store.ts'
import { bareType, cleanName, unknownType } from './media.ts'

export const mediaRoutes =
  ({ db, store }: { db: Db; store: Store }) =>
  async (app: App) => {
    type Asked = { Params: { token: string; filename?: string } }
    const serve = async (request: FastifyRequest<Asked>, reply: FastifyReply) => {
      const media = await getStoredMedia(db, request.params.token)
      if (!media) throw notFound('media')
      // We hand out nothing that `If-Range` could name, so who asks with it has another file in mind, and gets all.
      const range = request.headers['if-range'] ? 'all' : readRange(request.headers.range, media.size_bytes)
      reply.headers({ ...safeHeaders, 'accept-ranges': 'bytes' })
      if (range === 'outside') {
        reply.code(416).header('content-range', `bytes */${media.size_bytes}`)
        return reply.send(errorBody('bad_request', `range: the file has ${media.size_bytes} bytes`))
      }
      const found = await store.get(media.id, range === 'all' ? undefined : range)
      if (!found) {
        request.log.error({ media: media.id }, 'the store does not have what it should')
        throw notFound('media')
      }
      reply.headers(describeMedia(media))
      if (range === 'all') reply.header('content-length', found.size_bytes)
      else {
        reply.code(206).headers({
          'content-range': `bytes ${range.start}-${range.end}/${found.size_bytes}`,
          'content-length': range.end - range.start + 1,
        })
      }
      return reply.send(found.bytes)
    }
    app.get<Asked>('/media/:token', { handlerTimeout: sendingMs }, serve)
    app.get<Asked>('/media/:token/:filename', { handlerTimeout: sendingMs }, serve)
  }

/** A large file may take its time on a slow line, but not for ever: 100 MB at 1.4 Mbit/s. */
const sendingMs = 10 * 60_000

type StoredMedia = { id: string; mime_type: string | null; filename: string | null; size_bytes: number }

/** By its token alone: it is what says whose it is. */
async function getStoredMedia(sql: Sql, token: string): Promise<StoredMedia | undefined> {
  if (!/^[0-9A-Za-z]{43}$/.test(token)) return undefined
  const [media] = await sql<StoredMedia[]>`
    select id, mime_type, filename, size_bytes::int as size_bytes from media
    where token = ${token} and state = 'stored'
    union all
    select id, mime_type, filename, size_bytes::int from uploads where token = ${token}`
  return media
}

/**
 * `cross-origin`, because a link is given to API clients, whose pages are
 * elsewhere and show it: it opens nothing to a page that does not already have
 * the secret, and no cookie plays a part. No page passes the secret on.
 */
const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
}

/** Only what a browser shows without running it keeps its type; everything else is a file to save. */
function describeMedia({ mime_type, filename }: StoredMedia): Record<string, string> {
  const type = bareType(mime_type)
  const isShown = /^(image|audio|video)\/(?!.*(svg|xml))/.test(type) || type === 'application/pdf'
  const isText = type === 'text/plain'
  const name = cleanName(filename)
  const ascii = name?.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  return {
    'content-security-policy': policyOf(type),
    'content-type': isShown ? type : isText ? 'text/plain; charset=utf-8' : unknownType,
    'content-disposition': [
      isShown ? 'inline' : 'attachment',
      ...(name ? [`filename="${ascii}"`, `filename*=UTF-8''${encodeExtended(name)}`] : []),
    ].join('; '),
    // For ever, as the bytes behind a link never change; private, as no shared cache should have them.
    'cache-control': 'private, max-age=31536000, immutable',
  }
}

/**
 * Nothing runs and nothing is loaded. Two kinds need room to be opened by
 * themselves: a sound or film loads itself into the browser's player, with our
 * origin as the sender; a PDF gets a viewer that has no part in our origin,
 * and that any sandbox keeps from starting (Chrome, Safari).
 */
function policyOf(type: string): string {
  if (type === 'application/pdf') return "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'"
  if (/^(audio|video)\//.test(type)) {
    return "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin"
  }
  return "default-src 'none'; sandbox"
}

/** RFC 5987, which leaves fewer characters as they are than a URL does. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}

/** One range of bytes. Several, or what is no range, are ignored, as RFC 9110 allows: the answer is all of it. */
function readRange(header: string | undefined, size: number): ByteRange | 'all' | 'outside' {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (!first && !last)) return 'all'
  const start = first ? Number(first) : Math.max(0, size - Number(last))
  const end = first && last ? Math.min(Number(last), size - 1) : size - 1
  if (first && last && Number(last) < Number(first)) return 'all'
  return start > end ? 'outside' : { start, end }
}
