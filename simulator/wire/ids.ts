/**
 * Names of things as the provider writes them: message ids, numbers, user ids.
 */
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

/** `wamid.` and, in base64, the other side's number and an id of 18 (ours) or 20 (theirs) hex digits. */
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

/** `+1 (415) 555-0100` → `14155550100`; anything that is no number stays as it is. */
export function keyOf(to: string): string {
  const trimmed = to.trim()
  return /^\+?[\d\s().-]+$/.test(trimmed) ? trimmed.replace(/\D/g, '') : trimmed
}

/**
 * The number as the network knows it. It writes Mexican mobiles with a 1 after
 * the country code and Brazilian ones with their 9, whatever was dialled.
 */
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

/** The user id that the business sees for a number: always the same for the same business. */
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
 * JSON as the provider writes it: `/` escaped, and every character beyond
 * ASCII as \uXXXX. Whoever checks a signature over parsed and rewritten JSON
 * finds out here.
 */
export function wireJson(value: unknown): string {
  const json = (JSON.stringify(value) ?? 'null').replaceAll('/', '\\/')
  return /[\u0080-\uffff]/.test(json) ? json.replace(/[\u0080-\uffff]/g, escaped) : json
}

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
