/** The signature and headers of a webhook request. `parley listen` forwards events with the same ones as the service. */
import { createHmac } from 'node:crypto'

/** Hex HMAC-SHA256 over `<t>.<body>`. The key is the text of the secret, `whsec_` included. */
export function signatureOf(secret: string, t: number, body: string): string {
  return createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')
}

/** Header names are compared without regard to case, but receivers that read raw bytes look for the documented spelling. */
export const webhookHeaders = (event: string, endpointId: string, signature: string): Record<string, string> => ({
  'Content-Type': 'application/json',
  'User-Agent': 'Parley-Webhooks/1',
  'X-Service-Event': event,
  'X-Service-Webhook-Id': endpointId,
  'X-Service-Signature': signature,
  'X-Legacy-Event': event,
  'X-Legacy-Webhook-Id': endpointId,
  'X-Legacy-Signature': signature,
})
