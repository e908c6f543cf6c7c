/**
 * `/media/{token}`: serves the files of customers and members to any client that has the link.
 *
 * The type and content of a customer's file are not trusted. The headers let a browser display only types that cannot run
 * code, and forbid scripts in all of them.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorBody, notFound } from '../lib/errors.ts'
import type { App } from '../lib/http/server.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import type { ByteRange, Store } from '../lib/store.ts'
import { bareType, cleanName, unknownType } from './media.ts'

export const mediaRoutes =
  ({ db, store }: { db: Db; store: Store }) =>
  async (app: App) => {
    type MediaRequest = { Params: { token: string; filename?: string } }
    const serve = async (request: FastifyRequest<MediaRequest>, reply: FastifyReply) => {
      const media = await getStoredMedia(db, request.params.token)
      if (!media) throw notFound('media')
      // Our responses have no validator, so an `If-Range` refers to another file: the response is the whole file.
      const range = request.headers['if-range'] ? 'all' : readRange(request.headers.range, media.size_bytes)
      reply.headers({ ...safeHeaders, 'accept-ranges': 'bytes' })
      if (range === 'outside') {
        reply.code(416).header('content-range', `bytes */${media.size_bytes}`)
        return reply.send(errorBody('bad_request', `range: the file has ${media.size_bytes} bytes`))
      }
      const found = await store.get(media.id, range === 'all' ? undefined : range)
      if (!found) {
        request.log.error({ media: media.id }, 'the store does not have the file of a media row')
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
    app.get<MediaRequest>('/media/:token', { handlerTimeout: downloadTimeoutMs }, serve)
    app.get<MediaRequest>('/media/:token/:filename', { handlerTimeout: downloadTimeoutMs }, serve)
  }

/** 100 MB at 1.4 Mbit/s. */
const downloadTimeoutMs = 10 * 60_000

type StoredMedia = { id: string; mime_type: string | null; filename: string | null; size_bytes: number }

/** Finds a file by its token alone; the token is the credential. */
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
 * `cross-origin`, because pages of API clients on other origins display the files. That is safe: a page needs the token,
 * and no cookie is involved. `no-referrer` keeps the token out of other requests.
 */
const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
}

/** Types that a browser displays without running code keep their type. Everything else is a download. */
function describeMedia({ mime_type, filename }: StoredMedia): Record<string, string> {
  const type = bareType(mime_type)
  const isDisplayed = /^(image|audio|video)\/(?!.*(svg|xml))/.test(type) || type === 'application/pdf'
  const isText = type === 'text/plain'
  const name = cleanName(filename)
  const ascii = name?.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  return {
    'content-security-policy': policyOf(type),
    'content-type': isDisplayed ? type : isText ? 'text/plain; charset=utf-8' : unknownType,
    'content-disposition': [
      isDisplayed ? 'inline' : 'attachment',
      ...(name ? [`filename="${ascii}"`, `filename*=UTF-8''${encodeExtended(name)}`] : []),
    ].join('; '),
    // Immutable, because the file of a link never changes; private, so that no shared cache stores it.
    'cache-control': 'private, max-age=31536000, immutable',
  }
}

/**
 * Blocks scripts and all loading, with two exceptions for files that are opened directly. The browser's player loads audio
 * and video from our origin. The PDF viewer of Chrome and Safari does not start in a sandbox, and runs outside our origin.
 */
function policyOf(type: string): string {
  if (type === 'application/pdf') return "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'"
  if (/^(audio|video)\//.test(type)) {
    return "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin"
  }
  return "default-src 'none'; sandbox"
}

/** RFC 5987, which escapes more characters than a URL. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}

/** Parses a single byte range. Several or malformed ranges are ignored, as RFC 9110 allows: the response is the whole file. */
function readRange(header: string | undefined, size: number): ByteRange | 'all' | 'outside' {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (!first && !last)) return 'all'
  const start = first ? Number(first) : Math.max(0, size - Number(last))
  const end = first && last ? Math.min(Number(last), size - 1) : size - 1
  if (first && last && Number(last) < Number(first)) return 'all'
  return start > end ? 'outside' : { start, end }
}
