/**
 * How the provider of `msgapp` and `social` proves that a callback is its own:
 * an HMAC over the raw bytes, and once, when the address is entered, a token.
 *
 * Both are compared in constant time. Without a secret nothing is proven, so
 * an empty one matches nothing.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Callback, Connection } from './channel.ts'

/** `X-Hub-Signature-256: sha256=<hex>`. Over the bytes as they came: the provider escapes what our JSON would not. */
export function isSigned({ app_secret }: Connection, { headers, body }: Callback): boolean {
  const [, hex] = /^sha256=([0-9a-f]{64})$/i.exec(String(headers['x-hub-signature-256'] ?? '')) ?? []
  if (!hex || app_secret === '') return false
  return timingSafeEqual(createHmac('sha256', app_secret).update(body).digest(), Buffer.from(hex, 'hex'))
}

/** The challenge to send back as it came, or undefined when this is no handshake or its token is not ours. */
export function answerHandshake({ verify_token }: Connection, query: Record<string, unknown>): string | undefined {
  const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query
  if (mode !== 'subscribe' || typeof token !== 'string' || typeof challenge !== 'string') return undefined
  return verify_token !== '' && isSame(token, verify_token) && challenge.length <= 1000 ? challenge : undefined
}

/** Hashed first, so that the lengths are equal and do not tell. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}
