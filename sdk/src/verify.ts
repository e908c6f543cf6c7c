/**
 * Webhook verification.
 *
 * `X-Service-Signature` is `t=<unix seconds>,v1=<hex>`. `v1` is the HMAC-SHA256 of `<t>.<body>`, keyed with the endpoint's
 * secret. During a rotation of the secret there are several `v1`, and one must match. The body must be the raw bytes: parsing and serialising JSON changes them. Timestamps outside the tolerance, past or
 * future, are rejected to prevent replay attacks.
 */
import { clientErrors, ParleyError } from './errors.ts'
import { isEvent, type WebhookEvent } from './events.ts'

export type Delivery = {
  /** The raw body: `await request.text()`, or its bytes. */
  payload: string | Uint8Array | ArrayBuffer
  /** The `X-Service-Signature` header, in the form your framework provides. */
  signature: string | readonly string[] | null | undefined
  /** The endpoint's secret, including `whsec_`. */
  secret: string | undefined
  /** The maximum age of a signature. Default: 300. */
  toleranceSeconds?: number | undefined
}

/** Returns the event. Throws a `ParleyError` with code `invalid_signature` or `invalid_payload`. */
export async function verifyWebhook(delivery: Delivery): Promise<WebhookEvent> {
  const body = toBytes(delivery.payload)
  if (!body) throw new ParleyError('invalid_signature', `${clientErrors.invalid_signature}: ${notRaw}`)
  if (!(await isSigned(body, delivery))) throw new ParleyError('invalid_signature', clientErrors.invalid_signature)
  try {
    const event: unknown = JSON.parse(new TextDecoder().decode(body))
    if (isEvent(event)) return event
  } catch (cause) {
    throw new ParleyError('invalid_payload', clientErrors.invalid_payload, { cause })
  }
  throw new ParleyError('invalid_payload', clientErrors.invalid_payload)
}

/** Passing a parsed body is a common mistake. It is not a TypeError, because an unauthenticated sender can cause it. */
const notRaw = 'the payload is neither text nor bytes; pass the raw request body'

async function isSigned(body: Uint8Array, { signature, secret, toleranceSeconds = 300 }: Delivery): Promise<boolean> {
  const [time = '', ...signatures] = String(signature).split(',')
  const t = /^t=([0-9]{1,12})$/.exec(time)?.[1]
  // An empty secret would accept signatures that anyone can create.
  if (!secret || t === undefined) return false
  const ageSeconds = Math.abs(Math.floor(Date.now() / 1_000) - Number(t))
  // This form also rejects if `toleranceSeconds` is NaN.
  if (!(ageSeconds <= toleranceSeconds)) return false
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encode(secret), hmac, false, ['sign'])
  const expected = `v1=${toHex(await crypto.subtle.sign(hmac, key, concat(encode(`${t}.`), body)))}`
  return signatures.some((each) => isEqual(each, expected))
}

/** Compares in constant time. */
function isEqual(received: string, expected: string): boolean {
  if (received.length !== expected.length) return false
  let difference = 0
  for (let index = 0; index < expected.length; index++) {
    difference |= received.charCodeAt(index) ^ expected.charCodeAt(index)
  }
  return difference === 0
}

function toBytes(payload: Delivery['payload']): Uint8Array<ArrayBuffer> | undefined {
  if (typeof payload === 'string') return encode(payload)
  const isBytes = ArrayBuffer.isView(payload) || Object.prototype.toString.call(payload) === '[object ArrayBuffer]'
  return isBytes ? new Uint8Array(payload) : undefined
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

const toHex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(first.length + second.length)
  joined.set(first)
  joined.set(second, first.length)
  return joined
}
