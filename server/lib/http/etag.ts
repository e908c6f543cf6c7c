/**
 * Entity tags: a client that has the newest version of a response gets 304 without a body.
 *
 * A tag is a hash of the response, so the server does the same work; the client saves the transfer. It is weak (`W/`), because
 * the compressed response may have the same tag.
 */
import { createHash } from 'node:crypto'
import type { onSendHookHandler } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The response has an entity tag. */
    hasEtag?: boolean
  }
}

/** Runs before the response is compressed. */
export const compareEtag: onSendHookHandler<unknown> = (request, reply, payload, done) => {
  const isBody = typeof payload === 'string' || Buffer.isBuffer(payload)
  if (!isBody || reply.statusCode !== 200) return done(null, payload)
  const etag = etagOf(payload)
  reply.header('etag', etag)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'private, no-cache')
  if (!isKnown(request.headers['if-none-match'], etag)) return done(null, payload)
  reply.code(304).removeHeader('content-type').removeHeader('content-length').removeHeader('content-encoding')
  done(null, null)
}

/** `If-None-Match` compares weakly: with or without `W/`. */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  const tags = header.split(',').map((tag) => tag.trim())
  return tags.some((tag) => tag === '*' || tag === etag || `W/${tag}` === etag)
}

/** The tags of bodies that are sent several times. */
const known = new WeakMap<Buffer, string>()

function etagOf(body: string | Buffer): string {
  const etag = (Buffer.isBuffer(body) && known.get(body)) || hash(body)
  if (Buffer.isBuffer(body)) known.set(body, etag)
  return etag
}

const hash = (body: string | Buffer): string =>
  `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
