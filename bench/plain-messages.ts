/**
 * Baseline: `POST /v1/messages` and its reports as most teams would write them, one statement after the other. The same durable
 * work as the service: contact, conversation, quota, `pending`, call, settle; then each report with its counter and its event.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Sql, TransactionSql } from 'postgres'
import { Agent, request } from 'undici'
import { type PlainMessage, type PlainProfile, storePlainMessage } from './plain-inbound.ts'

export type PlainProvider = {
  workspaceId: string
  /** The provider's address for messages. */
  url: string
  token: string
  appSecret: string
}

type Send = { to: string; template: { name: string; language: string; params: string[] } }
type Status = { id: string; status: string; timestamp: string; errors?: { title: string }[] }
type Value = { statuses?: Status[]; messages?: PlainMessage[]; contacts?: PlainProfile[] }
type Callback = { entry: { changes: { value: Value }[] }[] }

const ranks = ['pending', 'sent', 'failed', 'delivered', 'read']

export function addPlainMessages(app: FastifyInstance, sql: Sql, provider: PlainProvider): void {
  const dispatcher = new Agent({ connections: 256, pipelining: 1 })

  app.post<{ Body: Send }>('/v1/messages', async ({ workspaceId, body }, reply) => {
    const { to, template } = body
    const [identity] = await sql`
      select contact_id from contact_identities
      where workspace_id = ${workspaceId} and channel = 'msgapp' and external_id = ${to}`
    if (!identity) return reply.code(404).send({ error: { code: 'not_found', message: 'contact: not found' } })
    const [contact] = await sql`
      select id, name from contacts where workspace_id = ${workspaceId} and id = ${identity.contact_id}`
    const [conversation] = await sql`
      select id, last_inbound_at from conversations
      where workspace_id = ${workspaceId} and contact_id = ${contact?.id} and channel = 'msgapp'`
    const [known] = await sql`
      select components from templates
      where workspace_id = ${workspaceId} and name = ${template.name} and language = ${template.language}`
    if (!known) return reply.code(400).send({ error: { code: 'bad_request', message: 'template: not found' } })
    const id = randomUUID()
    const text = template.params.join(' ')
    const isWithinPlan = await sql.begin((tx) => prepare(tx, workspaceId, conversation?.id, id, text, template))
    if (!isWithinPlan) return reply.code(402).send({ error: { code: 'plan_limit_reached', message: 'used up' } })

    const parameters = template.params.map((param) => ({ type: 'text', text: param }))
    const answer = await request(provider.url, {
      dispatcher,
      method: 'POST',
      headers: { authorization: `Bearer ${provider.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        to,
        type: 'template',
        template: {
          name: template.name,
          language: { code: template.language },
          components: [{ type: 'body', parameters }],
        },
        biz_opaque_callback_data: id,
      }),
    })
    const sent = (await answer.body.json()) as { messages?: { id: string }[] }
    const externalId = sent.messages?.[0]?.id ?? null
    await sql`
      update messages set status = ${externalId ? 'sent' : 'failed'}, external_id = ${externalId}
      where workspace_id = ${workspaceId} and conversation_id = ${conversation?.id} and id = ${id}`
    await countOutcome(sql, workspaceId, externalId ? 'sent' : 'failed')
    reply.code(externalId ? 201 : 502)
    const data = {
      message_id: id,
      msgapp_message_id: externalId,
      conversation_id: conversation?.id,
      contact_id: contact?.id,
    }
    return { data: { ...data, contact_created: false } }
  })

  app.register(async (callbacks) => {
    callbacks.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    )
    callbacks.post<{ Body: Buffer }>('/callback', async ({ headers, body }, reply) => {
      const expected = createHmac('sha256', provider.appSecret).update(body).digest('hex')
      const given = String(headers['x-hub-signature-256'] ?? '').replace('sha256=', '')
      if (given.length !== expected.length || !timingSafeEqual(Buffer.from(given), Buffer.from(expected)))
        return reply.code(401).send()
      const { entry }: Callback = JSON.parse(body.toString())
      for (const { changes } of entry) {
        for (const { value } of changes) {
          for (const status of value.statuses ?? [])
            await sql.begin((tx) => applyStatus(tx, provider.workspaceId, status))
          for (const message of value.messages ?? [])
            await sql.begin((tx) => storePlainMessage(tx, provider.workspaceId, message, value.contacts ?? []))
        }
      }
      return { ok: true }
    })
    callbacks.get('/callback', async ({ query }) => (query as Record<string, string>)['hub.challenge'])
  })
}

/** Counts the message against the plan and stores it. */
async function prepare(
  sql: TransactionSql,
  workspaceId: string,
  conversationId: string,
  id: string,
  text: string,
  template: Send['template'],
): Promise<boolean> {
  const [workspace] = await sql`select plan_messages_per_month as messages from workspaces where id = ${workspaceId}`
  const [usage] = await sql`
    insert into plan_usage as u (workspace_id, month, message_count)
    values (${workspaceId}, date_trunc('month', now() at time zone 'utc')::date, 1)
    on conflict (workspace_id, month) do update set message_count = u.message_count + 1
    returning message_count`
  if (workspace?.messages !== null && usage?.message_count > workspace?.messages) return false
  await sql`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, content,
      template_name, status, created_at)
    values (${workspaceId}, ${conversationId}, ${id}, 'outbound', 'agent', 'template', ${text}, ${sql.json(template)},
      ${template.name}, 'pending', now())`
  await sql`
    update conversations set last_message_text = ${text}, last_message_at = now(), updated_at = now()
    where workspace_id = ${workspaceId} and id = ${conversationId}`
  return true
}

async function applyStatus(sql: TransactionSql, workspaceId: string, { id, status, errors }: Status): Promise<void> {
  const [message] = await sql`
    select conversation_id, id, status from messages
    where workspace_id = ${workspaceId} and external_id = ${id} for no key update`
  if (!message) return
  if (ranks.indexOf(status) > ranks.indexOf(message.status)) {
    await sql`
      update messages set status = ${status}, error = ${errors?.[0]?.title ?? null}
      where workspace_id = ${workspaceId} and conversation_id = ${message.conversation_id} and id = ${message.id}`
    await countOutcome(sql, workspaceId, status)
  }
  const endpoints = await sql`
    select id from webhook_endpoints
    where workspace_id = ${workspaceId} and is_active and 'message.status_updated' = any(events)`
  if (endpoints.length > 0) throw new Error('the benchmark has no endpoints')
}

async function countOutcome(sql: Sql | TransactionSql, workspaceId: string, status: string): Promise<void> {
  await sql`
    insert into message_outcomes as o (workspace_id, day, shard, sent, delivered, read, failed)
    values (${workspaceId}, (now() at time zone 'utc')::date, 0, ${Number(status === 'sent')},
      ${Number(status === 'delivered')}, ${Number(status === 'read')}, ${Number(status === 'failed')})
    on conflict (workspace_id, day, shard) do update set sent = o.sent + excluded.sent,
      delivered = o.delivered + excluded.delivered, read = o.read + excluded.read, failed = o.failed + excluded.failed`
}
