/**
 * The baseline of delivery: a loop that signs and posts ready-made bodies and
 * keeps nothing. Takes `Posting` as JSON on its standard input, answers how
 * many were taken in a second.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Agent } from 'undici'
import { signatureOf } from '../common/webhook-request.ts'

export type Posting = {
  origin: string
  /** Each posted to in turn. */
  paths: string[]
  bodies: string[]
  secret: string
  /** Posts under way at once. */
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
let taken = 0

await Promise.all(Array.from({ length: posting.concurrency }, post))
console.log(JSON.stringify({ perSecond: taken / posting.seconds }))
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
    if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`)
    const now = performance.now()
    if (now >= start && now < end) taken++
  }
}
