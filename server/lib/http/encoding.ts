/**
 * Content codings: decodes compressed request bodies and compresses responses.
 *
 * Only responses to GET are compressed. A response to a POST is small, and it may hold a secret next to text of the caller:
 * the length after compression would leak the secret (BREACH).
 */
import { Readable, type Transform } from 'node:stream'
import {
  type BrotliOptions,
  brotliCompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gzip,
  type ZlibOptions,
} from 'node:zlib'
import { errorCodes, type onSendHookHandler, type preParsingHookHandler } from 'fastify'
import { ApiError, badRequest } from '../errors.ts'

const decoders: Record<string, (() => Transform & { bytesWritten: number }) | undefined> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Decodes the body. The body limit applies to the decoded bytes. */
export const decodeBody: preParsingHookHandler = (request, _reply, payload, done) => {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity') return done(null, payload)
  const decoder = decoders[encoding]?.()
  if (!decoder) {
    const accepted = { 'accept-encoding': 'gzip, deflate, br' }
    return done(new ApiError('bad_request', 'content-encoding: must be gzip, deflate or br', accepted))
  }
  const body = Readable.from(decode(payload, decoder, encoding, request.routeOptions.bodyLimit), { objectMode: false })
  // Fastify compares it with `Content-Length`.
  Object.defineProperty(body, 'receivedEncodedLength', { get: () => decoder.bytesWritten })
  done(null, body)
}

/** Reads `payload` only when it is itself read. It leaves `payload` open: destroying that would close the connection. */
async function* decode(payload: NodeJS.ReadableStream, decoder: Transform, encoding: string, limit: number) {
  const abort = () => decoder.destroy(new Error('the connection was lost'))
  payload.once('error', abort)
  payload.once('close', () => {
    if (!decoder.writableEnded) abort()
  })
  payload.pipe(decoder)
  let size = 0
  try {
    for await (const chunk of decoder) {
      size += chunk.length
      if (size > limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()
      yield chunk
    }
  } catch (error) {
    throw size > limit ? error : badRequest(`body: not valid ${encoding}`)
  } finally {
    payload.unpipe(decoder)
    payload.resume()
  }
}

type Encoding = 'br' | 'gzip'
type Quality = { gzip: ZlibOptions; br: BrotliOptions }

const qualityOf = (gzipLevel: number, brotliQuality: number): Quality => ({
  gzip: { level: gzipLevel },
  br: { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } },
})

/** 28 KB of JSON, a page of 50 rows, take 0.12 ms and become 3.9 KB; at gzip's default level 0.26 ms and 3.3 KB. */
const fast = qualityOf(1, 1)
/** For files that are compressed once and served many times. */
const small = qualityOf(6, 5)

const minBytes = 1024

/** Compresses text above 1 KB, but no streams. Bytes that are sent several times are compressed once. */
export const compressResponse: onSendHookHandler<unknown> = (request, reply, payload, done) => {
  const isBody = typeof payload === 'string' || Buffer.isBuffer(payload)
  if (!isBody || isShort(payload)) return done(null, payload)
  const isEncoded = reply.hasHeader('content-encoding') || reply.hasHeader('content-range')
  if (isEncoded || !isText.test(String(reply.getHeader('content-type')))) return done(null, payload)
  const vary = String(reply.getHeader('vary') ?? '')
  if (!/accept-encoding/i.test(vary)) reply.header('vary', vary ? `${vary}, accept-encoding` : 'accept-encoding')
  const encoding = chooseEncoding(request.headers['accept-encoding'])
  if (!encoding) return done(null, payload)
  const compressed =
    typeof payload === 'string'
      ? compress(payload, encoding, fast)
      : compressOnce(payload, encoding, request.routeOptions.config.isShared ? fast : small)
  compressed.then((bytes) => {
    reply.header('content-encoding', encoding).removeHeader('content-length')
    done(null, bytes)
  }, done)
}

/** Does not count the bytes of a text that is short in any case: a character has at most three. */
const isShort = (body: string | Buffer): boolean => body.length * 3 < minBytes || Buffer.byteLength(body) < minBytes

const isText = /^(text\/|application\/(json|javascript|xml)|image\/svg)/

function compress(body: string | Buffer, encoding: Encoding, quality: Quality): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (error: Error | null, bytes: Buffer) => (error ? reject(error) : resolve(bytes))
    if (encoding === 'br') brotliCompress(body, quality.br, settle)
    else gzip(body, quality.gzip, settle)
  })
}

/** The compressed variants of each file and of each shared response. */
const variantsOf = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>()

function compressOnce(body: Buffer, encoding: Encoding, quality: Quality): Promise<Buffer> {
  const variants = variantsOf.get(body) ?? new Map<Encoding, Promise<Buffer>>()
  const bytes = variants.get(encoding) ?? compress(body, encoding, quality)
  variantsOf.set(body, variants.set(encoding, bytes))
  return bytes
}

/** The best coding that `Accept-Encoding` allows. A weight of 0 forbids one. */
export function chooseEncoding(header: string | string[] | undefined): Encoding | undefined {
  const offers = String(header ?? '')
    .toLowerCase()
    .split(',')
  const accepted = new Set(
    offers.filter((offer) => !/;\s*q=0(\.0*)?\s*$/.test(offer)).map((offer) => offer.split(';')[0]?.trim()),
  )
  return (['br', 'gzip'] as const).find((name) => accepted.has(name))
}
