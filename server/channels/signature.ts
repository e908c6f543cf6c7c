/**
 * Verifies that a callback comes from the provider of `msgapp` and `social`: an HMAC over the raw bytes, and a token in the
 * handshake when the callback URL is registered.
 *
 * Both are compared in constant time. An empty secret matches nothing.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { randomToken } from '../lib/crypto.ts'
import type { Callback, Connection } from './channel.ts'

/** `X-Hub-Signature-256: sha256=<hex>`, over the raw bytes: the provider escapes characters that our JSON does not. */
export function isSigned({ app_secret }: Connection, { headers, body }: Callback): boolean {
  const [, hex] = /^sha256=([0-9a-f]{64})$/i.exec(String(headers['x-hub-signature-256'] ?? '')) ?? []
  if (!hex || app_secret === '') return false
  return timingSafeEqual(createHmac('sha256', app_secret).update(body).digest(), Buffer.from(hex, 'hex'))
}

/** The challenge to return unchanged, or undefined when this is not a handshake or the token is wrong. */
export function answerHandshake({ verify_token }: Connection, query: Record<string, unknown>): string | undefined {
  const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = query
  if (mode !== 'subscribe' || typeof token !== 'string' || typeof challenge !== 'string') return undefined
  return verify_token !== '' && isSame(token, verify_token) && challenge.length <= 1000 ? challenge : undefined
}

/** The start of the challenges with which the operator checks a callback URL. The provider's challenges are digits. */
const checkPrefix = 'parley-check-'

export const newCheckChallenge = (): string => checkPrefix + randomToken()

export const isCheckChallenge = (challenge: string): boolean => challenge.startsWith(checkPrefix)

/** Compares hashes, so that the lengths are equal and reveal nothing. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}
