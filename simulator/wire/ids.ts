/** The provider's identifiers (message ids, numbers, user ids) and its JSON encoding. */
import { randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(16 * 1024)
let used = pool.length

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += bytes
  return pool.toString('hex', used - bytes, used).toUpperCase()
}

/** `wamid.` and base64 of the customer's number and a random id: 18 hex digits from the business, 20 from the customer. */
export function createWamid(number: string, from: 'business' | 'customer'): string {
  const id = from === 'business' ? randomHex(9) : `3A${randomHex(9)}`
  const direction = from === 'business' ? '\x11' : '\x12'
  const length = String.fromCharCode
  return `wamid.${btoa(`\x1c\x18${length(number.length)}${number}\x15\x02\x00${direction}\x18${length(id.length)}${id}\x00`)}`
}

/** A message id of the social channel. */
export function createMid(accountId: string): string {
  return `aWdfZAG1faXRlbToxOklHTWVzc2FnZAUlEOj${btoa(`${accountId}:${randomHex(16)}`).replaceAll('=', '')}ZD`
}

/** An object id: digits only. */
export function createObjectId(): string {
  return `1${BigInt(`0x${randomHex(6)}`)
    .toString()
    .padStart(15, '0')}`
}

/** `+1 (415) 555-0100` → `14155550100`. A text that is no number stays unchanged. */
export function keyOf(to: string): string {
  const trimmed = to.trim()
  return /^\+?[\d\s().-]+$/.test(trimmed) ? trimmed.replace(/\D/g, '') : trimmed
}

/** The network's form of a number: Mexican mobile numbers get a 1 after the country code, Brazilian ones a 9. */
export function waIdOf(digits: string): string {
  if (digits.length !== 12) return digits
  if (digits.startsWith('52')) return `521${digits.slice(2)}`
  if (digits.startsWith('55') && /[6-9]/.test(digits.charAt(4))) return `${digits.slice(0, 4)}9${digits.slice(4)}`
  return digits
}

export const userIdPattern = /^[A-Z]{2}\.(ENT\.)?[0-9A-Za-z]{1,128}$/

// biome-ignore format: a table
const countries: Record<string, string> = {
  1: 'US', 7: 'RU', 20: 'EG', 27: 'ZA', 31: 'NL', 32: 'BE', 33: 'FR', 34: 'ES', 39: 'IT', 41: 'CH', 43: 'AT', 44: 'GB',
  45: 'DK', 46: 'SE', 47: 'NO', 48: 'PL', 49: 'DE', 51: 'PE', 52: 'MX', 54: 'AR', 55: 'BR', 56: 'CL', 57: 'CO',
  61: 'AU', 62: 'ID', 65: 'SG', 81: 'JP', 90: 'TR', 91: 'IN', 234: 'NG', 254: 'KE', 351: 'PT', 353: 'IE', 971: 'AE',
}

/** The user id that a business sees for a number. It is stable per business. */
export function userIdOf(accountId: string, waId: string): string {
  const country = countries[waId.slice(0, 3)] ?? countries[waId.slice(0, 2)] ?? countries[waId.slice(0, 1)] ?? 'XX'
  const low = hash(waId, hash(accountId, 0))
  const high = hash(waId, low)
  return `${country}.${String(high).padStart(10, '1')}${String(low).padStart(10, '0')}`
}

/** FNV-1a over the characters, 32 bits. */
export function hash(text: string, seed = 0): number {
  let value = 0x811c9dc5 ^ seed
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}

/**
 * JSON as the provider writes it: `/` is escaped, and characters beyond ASCII
 * are \uXXXX. A receiver that verifies the signature over re-serialised JSON
 * fails with it, as it would in production.
 */
export function wireJson(value: unknown): string {
  const json = (JSON.stringify(value) ?? 'null').replaceAll('/', '\\/')
  return /[\u0080-\uffff]/.test(json) ? json.replace(/[\u0080-\uffff]/g, escapeCharacter) : json
}

const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
