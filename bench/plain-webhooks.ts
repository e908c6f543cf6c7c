/**
 * Baseline of webhook delivery: a plain implementation with the same driver and database. Each of N loops claims one row, signs
 * and posts its body, then stores the attempt, one statement after the other. Reads `PlainDelivering` as JSON from standard
 * input and delivers until it is killed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import postgres from 'postgres'
import { Agent } from 'undici'
import { signatureOf, webhookHeaders } from '../common/webhook-request.ts'
import type { DatabaseAddress } from '../server/lib/embedded-postgres.ts'
import { newId } from '../server/lib/id.ts'

export type PlainDelivering = {
  database: DatabaseAddress
  /** Signs all deliveries; the stored secrets are sealed. */
  secret: string
  concurrency: number
}

const { database, secret, concurrency }: PlainDelivering = JSON.parse(await text(process.stdin))
const sql = postgres({ ...database, max: 10, connection: { synchronous_commit: 'off' } })
const agent = new Agent({
  connect: { ca: readFileSync(join(import.meta.dirname, '../tests/fixtures/tls.crt')) },
  pipelining: 1,
})

await Promise.all(Array.from({ length: concurrency }, deliver))

async function deliver(): Promise<void> {
  for (;;) {
    const [job] = await sql`
      update webhook_deliveries d set leased_until = now() + interval '30 seconds', attempt_count = attempt_count + 1
      from (
        select d.id, d.endpoint_id, d.workspace_id, v.event, v.body, e.url
        from webhook_deliveries d
        join webhook_endpoints e on e.workspace_id = d.workspace_id and e.id = d.endpoint_id
        join webhook_events v on v.workspace_id = d.workspace_id and v.id = d.event_id
        where d.next_attempt_at <= now() and (d.leased_until is null or d.leased_until <= now()) and e.is_active
        limit 1
        for update of d skip locked
      ) due
      where d.workspace_id = due.workspace_id and d.endpoint_id = due.endpoint_id and d.id = due.id
      returning d.workspace_id, d.endpoint_id, d.id, d.event_id, d.attempt_count, due.event, due.body, due.url`
    if (!job) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      continue
    }
    const { workspace_id, endpoint_id, id, event_id, attempt_count, event, body, url } = job
    const t = Math.floor(Date.now() / 1000)
    const { origin, pathname } = new URL(url)
    const startedAt = performance.now()
    const answer = await agent.request({
      origin,
      path: pathname,
      method: 'POST',
      body,
      headers: webhookHeaders(event, endpoint_id, `t=${t},v1=${signatureOf(secret, t, body)}`),
    })
    const response = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`the receiver answered ${answer.statusCode}`)
    const duration = Math.round(performance.now() - startedAt)
    await sql`
      insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, http_status,
        duration_ms, response, is_first)
      values (${workspace_id}, ${endpoint_id}, ${newId()}, ${id}, ${event_id}, ${event}, ${attempt_count}, 'delivered',
        ${answer.statusCode}, ${duration}, ${response}, true)`
    await sql`
      update webhook_endpoints
      set failure_count = 0, last_delivery_at = now(), last_attempt_at = now(), last_attempt_http_status = ${answer.statusCode}
      where workspace_id = ${workspace_id} and id = ${endpoint_id}`
    await sql`
      delete from webhook_deliveries
      where workspace_id = ${workspace_id} and endpoint_id = ${endpoint_id} and id = ${id}`
  }
}
