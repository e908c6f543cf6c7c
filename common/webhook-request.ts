/** The signature and headers of a webhook request. `parley listen` forwards events with the same ones as the service. */
import { createHmac } from 'node:crypto'

/** Hex HMAC-SHA256 over `<t>.<body>`. The key is the text of the secret, `whsec_` included. */
export function signatureOf(secret: string, t: number, body: string): string {
  return createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')
}

export const webhookHeaders = (event: string, endpointId: string, signature: string): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'Parley-Webhooks/1',
  'x-service-event': event,
  'x-service-webhook-id': endpointId,
  'x-service-signature': signature,
  'x-legacy-event': event,
  'x-legacy-webhook-id': endpointId,
  'x-legacy-signature': signature,
})
