/**
 * Receive webhooks with Node: check the signature, answer at once, act once.
 *
 * Copy `verifyWebhook` as it is. It wants the body byte for byte as it came:
 * JSON that was parsed and written again has other bytes. The rest is an
 * example: PARLEY_WEBHOOK_SECRET=whsec_… node verify.ts
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

/** Whether a body was signed with this secret within the last five minutes. */
export function verifyWebhook(
  secret: string,
  header: string | string[] | undefined,
  body: Uint8Array,
  now = Math.floor(Date.now() / 1000),
): boolean {
  const [, t, v1] = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})(?:,|$)/.exec(String(header)) ?? []
  if (!secret || !t || !v1 || Math.abs(now - Number(t)) > 300) return false
  const expected = createHmac('sha256', secret).update(`${t}.`).update(body).digest()
  return timingSafeEqual(expected, Buffer.from(v1, 'hex'))
}

type Event = { id: string; event: string; occurred_at: string; account_id: string; data: Record<string, unknown> }

/** Yours to write. By now the event is answered for: if this fails, trying again is up to you. */
async function handle({ id, event, data }: Event): Promise<void> {
  console.log(id, event, JSON.stringify(data))
}

/** Better a table whose key is the id: keep the event there, answer, then work it off. A restart forgets this set. */
const seen = new Set<string>()

function start(secret: string, port: number): void {
  const server = createServer(async (request, response) => {
    try {
      let body = Buffer.alloc(0)
      for await (const part of request) {
        body = Buffer.concat([body, part])
        if (body.length > 1_048_576) throw new Error('no delivery is this long')
      }
      if (!verifyWebhook(secret, request.headers['x-service-signature'], body)) {
        response.writeHead(401).end()
        return
      }
      const event: Event = JSON.parse(body.toString())
      const isNew = !seen.has(event.id)
      seen.add(event.id)
      response.writeHead(204).end()
      if (isNew) await handle(event)
    } catch (error) {
      console.error(error)
      response.destroy()
    }
  })
  server.listen(port, '127.0.0.1')
}

if (process.argv[1] === import.meta.filename) {
  const { PARLEY_WEBHOOK_SECRET, PORT = '8000' } = process.env
  if (!PARLEY_WEBHOOK_SECRET) throw new Error('PARLEY_WEBHOOK_SECRET is not set')
  start(PARLEY_WEBHOOK_SECRET, Number(PORT))
}
