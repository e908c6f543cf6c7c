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
import type { DatabaseAddress } from '../server/lib/embedded/postgres.ts'
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
    const job = await sql.begin(async (tx) => {
      const [due] = await tx`
        select workspace_id, endpoint_id, id, event_id, attempt_count + 1 as attempt_count
        from webhook_deliveries
        where next_attempt_at <= now() and (leased_until is null or leased_until <= now())
        order by next_attempt_at
        limit 1
        for update skip locked`
      if (!due) return undefined
      await tx`
        update webhook_deliveries
        set leased_until = now() + interval '30 seconds', attempt_count = ${due.attempt_count}
        where workspace_id = ${due.workspace_id} and endpoint_id = ${due.endpoint_id} and id = ${due.id}`
      return due
    })
    if (!job) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      continue
    }
    const { workspace_id, endpoint_id, id, event_id, attempt_count } = job
    const [endpoint] = await sql`
      select url from webhook_endpoints where workspace_id = ${workspace_id} and id = ${endpoint_id} and is_active`
    const [found] = await sql`
      select event, body from webhook_events where workspace_id = ${workspace_id} and id = ${event_id}`
    if (!endpoint || !found) throw new Error('the benchmark deletes no endpoint or event')
    const { url } = endpoint
    const { event, body } = found
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
