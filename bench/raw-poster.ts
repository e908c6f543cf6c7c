/**
 * Baseline of webhook delivery: a loop that signs and posts prepared bodies and stores nothing. Reads `Posting` as JSON from
 * standard input and prints the number of accepted posts per second.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Agent } from 'undici'
import { signatureOf } from '../common/webhook-request.ts'

export type Posting = {
  origin: string
  /** Paths to post to, in a cycle. */
  paths: string[]
  bodies: string[]
  secret: string
  /** Posts in flight. */
  concurrency: number
  seconds: number
  warmUpSeconds: number
}

const posting: Posting = JSON.parse(await text(process.stdin))
const { origin, paths, bodies, secret } = posting
const ca = readFileSync(join(import.meta.dirname, '../tests/fixtures/tls.crt'))
const agent = new Agent({ connect: { ca }, pipelining: 1 })
const start = performance.now() + posting.warmUpSeconds * 1000
const end = start + posting.seconds * 1000
let next = 0
let accepted = 0

await Promise.all(Array.from({ length: posting.concurrency }, post))
console.log(JSON.stringify({ perSecond: accepted / posting.seconds }))
process.exit(0)

async function post(): Promise<void> {
  while (performance.now() < end) {
    const i = next++
    const body = bodies[i % bodies.length] ?? ''
    const t = Math.floor(Date.now() / 1000)
    const signature = `t=${t},v1=${signatureOf(secret, t, body)}`
    const answer = await agent.request({
      origin,
      path: paths[i % paths.length] ?? '/',
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Parley-Webhooks/1',
        'x-service-event': 'contact.created',
        'x-service-webhook-id': '01890000-0000-7000-8000-000000000001',
        'x-service-signature': signature,
        'x-legacy-event': 'contact.created',
        'x-legacy-webhook-id': '01890000-0000-7000-8000-000000000001',
        'x-legacy-signature': signature,
      },
    })
    await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`the receiver answered ${answer.statusCode}`)
    const now = performance.now()
    if (now >= start && now < end) accepted++
  }
}
