/**
 * One-time passwords by time (RFC 6238) as all authenticator apps support them: HMAC-SHA-1, 6 digits, periods of 30 s.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const periodMs = 30_000
/** Accepted before and after the current period, for clocks that differ. */
const tolerance = 1
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A new secret in base32: 160 random bits, as RFC 4226 recommends. */
export const newTotpSecret = (): string => [...randomBits(32)].map((value) => alphabet[value]).join('')

/** `count` random numbers of 5 bits each. 256 is a multiple of 32, so all are equally likely. */
export const randomBits = (count: number): Uint8Array => randomBytes(count).map((byte) => byte & 31)

export const totpStepOf = (timeMs: number): number => Math.floor(timeMs / periodMs)

export function totpCodeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', decode(secret)).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** The period of a code that is valid now. */
export function findTotpStep(secret: string, code: string, timeMs: number): number | undefined {
  const now = totpStepOf(timeMs)
  const entered = Buffer.from(code)
  let found: number | undefined
  for (let step = now - tolerance; step <= now + tolerance; step++) {
    const expected = Buffer.from(totpCodeOf(secret, step))
    if (expected.length === entered.length && timingSafeEqual(expected, entered)) found = step
  }
  return found
}

/** The text of the QR code that authenticator apps read. */
export function totpUrlOf({ issuer, account, secret }: { issuer: string; account: string; secret: string }): string {
  // A colon separates the two names.
  const label = [issuer, account].map((name) => encodeURIComponent(name.replaceAll(':', ' '))).join(':')
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer.replaceAll(':', ' '))}`
}

/** Bytes of base32 without padding. */
function decode(text: string): Buffer {
  const bytes: number[] = []
  let bits = 0
  let value = 0
  for (const character of text) {
    value = ((value << 5) | alphabet.indexOf(character)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((value >> bits) & 255)
  }
  return Buffer.from(bytes)
}
