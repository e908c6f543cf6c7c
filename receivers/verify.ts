/**
 * Webhook receiver for Node: verify the signature, respond at once, process each event once.
 *
 * Copy `verifyWebhook` unchanged. Pass it the raw request body: JSON that was parsed and serialized again has different
 * bytes. The rest of the file is an example server: PARLEY_WEBHOOK_SECRET=whsec_… node verify.ts
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

/**
 * Returns whether `body` was signed with `secret` within the last five minutes. During a rotation of the secret the header has
 * several signatures, and one must match.
 */
export function verifyWebhook(
  secret: string,
  header: string | string[] | undefined,
  body: Uint8Array,
  now = Math.floor(Date.now() / 1000),
): boolean {
  const [time = '', ...signatures] = String(header).split(',')
  const t = /^t=([0-9]{1,12})$/.exec(time)?.[1]
  if (!secret || !t || Math.abs(now - Number(t)) > 300) return false
  const hex = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
  const expected = Buffer.from(`v1=${hex}`)
  return signatures.some((signature) => {
    const received = Buffer.from(signature)
    return received.length === expected.length && timingSafeEqual(received, expected)
  })
}

type Event = { id: string; event: string; occurred_at: string; account_id: string; data: Record<string, unknown> }

/** Replace this with your code. The event is already acknowledged, so retrying a failure is up to you. */
async function handle({ id, event, data }: Event): Promise<void> {
  console.log(id, event, JSON.stringify(data))
}

/** In production, insert the event into a table with its id as primary key before you respond: a restart clears this set. */
const seen = new Set<string>()

function start(secret: string, port: number): void {
  const server = createServer(async (request, response) => {
    try {
      let body = Buffer.alloc(0)
      for await (const part of request) {
        body = Buffer.concat([body, part])
        if (body.length > 1_048_576) throw new Error('the body is larger than 1 MiB')
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
