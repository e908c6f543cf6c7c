/**
 * The identity of a visitor who is signed in on the customer's site: a JSON Web Token (HS256) that the site's server signs with
 * the identity secret of its web chat.
 *
 * The customer's id on the site becomes the visitor's id, so the customer has one conversation on all devices. A token is a
 * bearer token: it may be used again until it expires, and always leads to the same customer. The secret belongs to one site, so
 * a token of another site or workspace has a wrong signature.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { nowMs } from '../lib/clock.ts'
import { ApiError } from '../lib/errors.ts'
import { lengthOf } from '../lib/text.ts'

export type Identity = {
  /** The customer's id on the site. */
  customer_id: string
  name: string | null
  email: string | null
  expires_at_ms: number
}

export const maxTokenLength = 8_000
const maxCustomerId = 200
const maxName = 200
const maxEmail = 320
/** A stolen token must end soon. The widget asks the page for a new one. */
const maxLifeMs = 24 * 60 * 60 * 1_000
/** How far the clock of the site's server may be ahead. */
const skewMs = 5 * 60 * 1_000

/** Throws 401 with the reason if the token does not prove an identity on this site. */
export function readIdentity(secret: string | undefined, siteId: string, token: string): Identity {
  if (secret === undefined) throw refused('the site has no identity secret; create one in the settings of the web chat')
  const [, signed = '', header = '', payload = '', signature = ''] =
    /^(([\w-]+)\.([\w-]+))\.([\w-]+)$/.exec(token) ?? []
  const claimedHeader = parsePart(header)
  if (!claimedHeader) throw refused('not a JSON Web Token')
  if (claimedHeader.alg !== 'HS256') throw refused('alg must be HS256')
  if (claimedHeader.crit !== undefined) throw refused('crit is not supported')
  if (!isSigned(secret, signed, signature))
    throw refused('wrong signature; sign it with the identity secret of this site')
  const claims = parsePart(payload)
  if (!claims) throw refused('its payload is not a JSON object')
  return { ...readTimes(claims), ...readCustomer(claims, siteId) }
}

/**
 * The visitor's id of a signed customer, a UUID as that of any visitor. It contains the site: another site may give the same id
 * to another person.
 */
export function visitorIdOf(siteId: string, customerId: string): string {
  const hex = hash('sha256', JSON.stringify([siteId, customerId]), 'hex')
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** In constant time: the time does not show how much of a signature is right. */
function isSigned(secret: string, signed: string, signature: string): boolean {
  const expected = createHmac('sha256', secret).update(signed).digest()
  const given = Buffer.from(signature, 'base64url')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

type Claims = Record<string, unknown>

function parsePart(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : undefined
  } catch {
    return undefined
  }
}

function readTimes({ exp, nbf }: Claims): Pick<Identity, 'expires_at_ms'> {
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw refused('exp is required, in seconds since 1970')
  const expires_at_ms = exp * 1_000
  if (expires_at_ms <= nowMs()) throw refused('it has expired')
  if (expires_at_ms > nowMs() + maxLifeMs + skewMs) throw refused('exp must be at most 24 hours from now')
  if (nbf !== undefined && typeof nbf !== 'number') throw refused('nbf must be a number, in seconds since 1970')
  if (nbf !== undefined && nbf * 1_000 > nowMs() + skewMs) throw refused('it is not valid yet (nbf)')
  return { expires_at_ms }
}

function readCustomer({ sub, aud, name, email }: Claims, siteId: string): Omit<Identity, 'expires_at_ms'> {
  if (aud !== undefined && ![aud].flat().includes(siteId)) throw refused('aud must be the id of this site')
  const customer_id = readText('sub', sub, maxCustomerId)
  if (customer_id === null || customer_id.trim() === '')
    throw refused('sub is required: the id of the customer on your site')
  return { customer_id, name: readText('name', name, maxName), email: readText('email', email, maxEmail) }
}

function readText(claim: string, value: unknown, max: number): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw refused(`${claim} must be a string`)
  if (lengthOf(value) > max) throw refused(`${claim} must have at most ${max} characters`)
  if (value.includes('\0') || !value.isWellFormed()) throw refused(`${claim} has characters that cannot be stored`)
  return value
}

const refused = (reason: string) => new ApiError('unauthorized', `identity token: ${reason}`)
