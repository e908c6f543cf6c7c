/**
 * Webhooks: who sent this, and what is in it.
 *
 * `X-Service-Signature` is `t=<unix seconds>,v1=<hex>`: an HMAC-SHA256 keyed
 * with the secret of the endpoint, over `<t>.<body>`. The body is what came,
 * byte for byte: JSON that was parsed and written again has other bytes. What
 * is older than the tolerance, or as far in the future, is refused, so a
 * delivery that somebody recorded cannot be played back later.
 */
import { clientErrors, ParleyError } from './errors.ts'
import { isEvent, type WebhookEvent } from './events.ts'

export type Delivery = {
  /** The body as it came: `await request.text()`, or its bytes. */
  payload: string | Uint8Array | ArrayBuffer
  /** The header `X-Service-Signature`, as the framework gives it. */
  signature: string | readonly string[] | null | undefined
  /** Of the endpoint, `whsec_` included. */
  secret: string | undefined
  /** How old a signature may be; 300 when absent. */
  toleranceSeconds?: number | undefined
}

/** The event, if it is genuine; otherwise a `ParleyError` whose code is `invalid_signature`. */
export async function verifyWebhook(delivery: Delivery): Promise<WebhookEvent> {
  const body = toBytes(delivery.payload)
  if (!body) throw new ParleyError('invalid_signature', `${clientErrors.invalid_signature}: ${notAsItCame}`)
  if (!(await isSigned(body, delivery))) throw new ParleyError('invalid_signature', clientErrors.invalid_signature)
  try {
    const event: unknown = JSON.parse(new TextDecoder().decode(body))
    if (isEvent(event)) return event
  } catch (cause) {
    throw new ParleyError('invalid_payload', clientErrors.invalid_payload, { cause })
  }
  throw new ParleyError('invalid_payload', clientErrors.invalid_payload)
}

/** The usual mistake is to give what somebody parsed. It is no reason to throw what a stranger could make a server throw. */
const notAsItCame = 'its payload is neither text nor bytes, give the body as it came'

async function isSigned(body: Uint8Array, { signature, secret, toleranceSeconds = 300 }: Delivery): Promise<boolean> {
  const [, t, v1] = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})(?:,|$)/.exec(String(signature)) ?? []
  // What was signed with no secret is signed by nobody.
  if (!secret || t === undefined || v1 === undefined) return false
  const ageSeconds = Math.abs(Math.floor(Date.now() / 1_000) - Number(t))
  // Said this way round, a tolerance that is no number lets nothing in.
  if (!(ageSeconds <= toleranceSeconds)) return false
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encode(secret), hmac, false, ['verify'])
  // Compares in a time that says nothing of where they differ.
  return crypto.subtle.verify(hmac, key, fromHex(v1), concat(encode(`${t}.`), body))
}

function toBytes(given: Delivery['payload']): Uint8Array<ArrayBuffer> | undefined {
  if (typeof given === 'string') return encode(given)
  const isBytes = ArrayBuffer.isView(given) || Object.prototype.toString.call(given) === '[object ArrayBuffer]'
  return isBytes ? new Uint8Array(given) : undefined
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: hex.length / 2 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  )
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}
