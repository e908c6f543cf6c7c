/**
 * Baseline: storing a customer's message as most teams would write it, one statement after the other in a transaction: contact,
 * identities, conversation, message, the conversation's last message, and the endpoints of each event.
 */
import type { TransactionSql } from 'postgres'
import { newId } from '../server/lib/id.ts'

export type PlainMessage = {
  from: string
  from_user_id: string
  id: string
  timestamp: string
  type: string
  text: { body: string }
}
export type PlainProfile = { wa_id: string; profile: { name: string } }

export async function storePlainMessage(
  sql: TransactionSql,
  workspaceId: string,
  { from, from_user_id, id: externalId, timestamp, type, text }: PlainMessage,
  profiles: readonly PlainProfile[],
): Promise<void> {
  const phone = `+${from}`
  const [known] = await sql`
    select id from messages where workspace_id = ${workspaceId} and external_id = ${externalId}`
  if (known) return
  const name = profiles.find(({ wa_id }) => wa_id === from)?.profile.name ?? null
  const contactId =
    (await findContact(sql, workspaceId, [phone, from_user_id])) ??
    (await createContact(sql, workspaceId, phone, from_user_id, name))
  const [found] = await sql`
    select id from conversations
    where workspace_id = ${workspaceId} and contact_id = ${contactId} and channel = 'msgapp' for no key update`
  const conversationId = found?.id ?? (await createConversation(sql, workspaceId, contactId))
  await sql`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text,
      external_id, status, sent_at, created_at)
    values (${workspaceId}, ${conversationId}, ${newId()}, 'inbound', 'customer', ${type}, ${text.body}, ${externalId},
      'received', to_timestamp(${Number(timestamp)}), now())`
  await sql`
    update conversations set unread_count = unread_count + 1, last_message_text = ${text.body}, last_message_at = now(),
      last_inbound_at = now(), last_inbound_identity = ${phone}, inbox_at = now(), status = 'open',
      waiting_since = coalesce(waiting_since, now()), updated_at = now()
    where workspace_id = ${workspaceId} and id = ${conversationId}`
  await requireNoEndpoints(sql, workspaceId, 'message.received')
}

async function findContact(sql: TransactionSql, workspaceId: string, identities: string[]): Promise<string | null> {
  const [identity] = await sql`
    select contact_id from contact_identities
    where workspace_id = ${workspaceId} and channel = 'msgapp' and external_id = any(${identities})`
  return identity?.contact_id ?? null
}

async function createContact(
  sql: TransactionSql,
  workspaceId: string,
  phone: string,
  userId: string,
  name: string | null,
): Promise<string> {
  const id = newId()
  await sql`
    insert into contacts (workspace_id, id, phone, name, name_key, created_at, updated_at)
    values (${workspaceId}, ${id}, ${phone}, ${name}, ${name?.toLowerCase() ?? null}, now(), now())`
  for (const identity of [phone, userId]) {
    await sql`
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      values (${workspaceId}, 'msgapp', ${identity}, ${id})`
  }
  await requireNoEndpoints(sql, workspaceId, 'contact.created')
  return id
}

async function createConversation(sql: TransactionSql, workspaceId: string, contactId: string): Promise<string> {
  const id = newId()
  await sql`
    insert into conversations (workspace_id, id, contact_id, channel, created_at, updated_at)
    values (${workspaceId}, ${id}, ${contactId}, 'msgapp', now(), now())`
  await requireNoEndpoints(sql, workspaceId, 'conversation.created')
  return id
}

/** An event would be stored for these endpoints. */
export async function requireNoEndpoints(sql: TransactionSql, workspaceId: string, event: string): Promise<void> {
  const endpoints = await sql`
    select id from webhook_endpoints where workspace_id = ${workspaceId} and is_active and ${event} = any(events)`
  if (endpoints.length > 0) throw new Error('the benchmark has no endpoints')
}
