/**
 * Secrets: tokens, passwords and sealed texts.
 *
 * Tokens that the service issues have 256 random bits, so a plain SHA-256 is stored of them. Passwords are chosen by people,
 * so they are hashed with argon2id and the parameters that OWASP recommends. Secrets that the service must use itself are
 * sealed with AES-256-GCM: unreadable without the key, and any change is detected. Each is bound to the row it belongs to.
 */
import { argon2, createCipheriv, createDecipheriv, createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const argon2Async = promisify(argon2)

export const sha256 = (data: string | Buffer): string => hash('sha256', data, 'hex')

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 256 random bits as 43 base62 characters (62^43 > 2^256). */
export const randomToken = (): string => toBase62(randomBytes(32))

/** Derives a token from the key (64 hex characters), so that it need not be stored: 131 bits as 22 base62 characters. */
export function deriveToken(keyHex: string, purpose: string): string {
  return toBase62(createHmac('sha256', Buffer.from(keyHex, 'hex')).update(purpose).digest()).slice(-22)
}

/** Compares two tokens in constant time. */
export function isSameToken(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}

/** 32 bytes as 43 characters. */
function toBase62(bytes: Buffer): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let i = 0; i < 43; i++) {
    text = base62.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}

/** A password for a person to copy: 20 base62 characters, 119 bits. */
export const randomPassword = (): string => randomToken().slice(-20)

const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

/** Returns the standard `$argon2id$…` text. It includes the parameters, so that they can be raised later. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const tag = await argon2Async('argon2id', { ...cost, message: password, nonce: salt })
  const parameters = `m=${cost.memory},t=${cost.passes},p=${cost.parallelism}`
  return `$argon2id$v=19$${parameters}$${base64(salt)}$${base64(tag)}`
}

/** Checks a password. Without a stored hash it takes the same time, so the time does not reveal which accounts exist. */
export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(stored ?? '')
  if (!parts) {
    await hashPassword(password)
    return false
  }
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts
  const expected = Buffer.from(tag, 'base64')
  const actual = await argon2Async('argon2id', {
    message: password,
    nonce: Buffer.from(salt, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  })
  return timingSafeEqual(actual, expected)
}

/** What a sealed text is bound to: a table and the key of its row, or the purpose of a token. */
export type SealContext = readonly [table: string, ...key: string[]]

export type Sealer = {
  seal(text: string, context: SealContext): string
  /** Throws a `SealError` if the text was sealed with another key or for another context, or was changed. */
  open(sealed: string, context: SealContext): string
}

export class SealError extends Error {}

const nonceBytes = 12
const tagBytes = 16

/**
 * The key has 64 hex characters. A sealed text is `v2.` and base64url of nonce, cipher text and tag. The tag also covers the context,
 * so a text copied to another row does not open. `v1.` had no context; no release wrote it, and it is refused.
 */
export function createSealer(keyHex: string): Sealer {
  if (!/^[0-9a-f]{64}$/i.test(keyHex)) throw new SealError('the encryption key must be 64 hex characters')
  const key = Buffer.from(keyHex, 'hex')
  const toAad = (context: SealContext) => Buffer.from(JSON.stringify(context))
  return {
    seal(text, context) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes }).setAAD(toAad(context))
      const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
      return `v2.${Buffer.concat(parts).toString('base64url')}`
    },
    open(sealed, context) {
      const [, body = ''] = /^v2\.([\w-]+)$/.exec(sealed) ?? []
      const bytes = Buffer.from(body, 'base64url')
      if (bytes.length < nonceBytes + tagBytes) throw new SealError('not a sealed text')
      try {
        const nonce = bytes.subarray(0, nonceBytes)
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
        decipher.setAuthTag(bytes.subarray(-tagBytes)).setAAD(toAad(context))
        const text = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
        return Buffer.concat([text, decipher.final()]).toString('utf8')
      } catch (cause) {
        throw new SealError(
          'cannot be opened: it was sealed with another ENCRYPTION_KEY or for another row, or was changed',
          { cause },
        )
      }
    },
  }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')
