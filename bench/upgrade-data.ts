/** Fills a database of a released schema by SQL: contacts, conversations, messages, webhooks, broadcasts and media. */
import pino from 'pino'
import type { Db } from '../server/lib/postgres/db.ts'
import { keepEventDays } from '../server/webhooks/partitions.ts'
import { insertConversations, insertPeople } from './people.ts'

export type Size = { contacts: number; messages: number; events: number }

const workspaceId = '01890000-0000-7000-8000-0000000000aa'
const endpointId = '01890000-0000-7000-8000-0000000000ab'
const broadcastId = '01890000-0000-7000-8000-0000000000ac'
const chunk = 500_000

/** An id of today with the number of the SQL expression. */
const idOf = (number: string) =>
  `(overlay(lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') placing '-' from 9 for 0) || '-7000-8' ||
    overlay(lpad(to_hex(${number}), 15, '0') placing '-' from 4 for 0))::uuid`

/** Columns that every release has. Foreign keys are not checked, so that filling takes minutes. */
export async function fillUpgrade(db: Db, { contacts, messages, events }: Size): Promise<void> {
  await keepEventDays(db, pino({ level: 'silent' }))
  await db`
    insert into workspaces (id, name, default_country, created_at) values (${workspaceId}, 'Upgrade', 'US', now())`
  await db`
    insert into webhook_endpoints (workspace_id, id, url, events, secret, created_at)
    values (${workspaceId}, ${endpointId}, 'https://receiver.test', '{message.received}', 'sealed', now())`
  await db`
    insert into broadcasts (workspace_id, id, name, status, template_name, template_language, params, is_filled, created_at)
    values (${workspaceId}, ${broadcastId}, 'Sale', 'sent', 'sale', 'en_US', '[]', true, now())`
  const restore = await dropIndexes(db, [
    'contacts',
    'contact_identities',
    'conversations',
    'messages',
    'message_words',
  ])
  for (let from = 0; from < contacts; from += chunk / 2) {
    await insertPeople(db, workspaceId, from, Math.min(contacts, from + chunk / 2))
  }
  await insertConversations(db, workspaceId)
  await db`
    create unlogged table numbered_conversations as
    select row_number() over (order by id) - 1 as position, id from conversations where workspace_id = ${workspaceId}`
  await db`create unique index on numbered_conversations (position)`
  const perConversation = Math.ceil(messages / contacts)
  for (let from = 0; from < messages; from += chunk) await insertMessages(db, from, perConversation)
  await insertFollowers(db)
  await restore()
  for (let from = 0; from < events; from += chunk) await insertEvents(db, from)
  await db`
    update conversations v set status = (array['open', 'pending', 'closed'])[least(p.position % 10 + 1, 3)],
      last_message_text = 'Thanks!', last_message_at = now(), last_inbound_at = now(), unread_count = p.position % 2
    from numbered_conversations p where v.workspace_id = ${workspaceId} and v.id = p.id`
  await db`drop table numbered_conversations`
  for (const table of ['messages', 'conversations', 'message_words', 'broadcast_recipients', 'webhook_attempts']) {
    await db`vacuum analyze ${db(table)}`
  }
}

/** The next messages, in order of conversations. */
async function insertMessages(db: Db, from: number, perConversation: number): Promise<void> {
  await withoutForeignKeys(
    db,
    `insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, external_id,
      status, created_at)
    select '${workspaceId}', p.id, ${idOf('i')}, case when i % 2 = 0 then 'outbound' else 'inbound' end,
      case when i % 2 = 0 then 'agent' else 'customer' end, 'text', 'Thanks! When will it be here? ' || i,
      'wamid.' || i, case when i % 2 = 0 then 'read' else 'received' end, now()
    from generate_series(${from}::bigint, ${from + chunk - 1}::bigint) as i
    join numbered_conversations p on p.position = i / ${perConversation}
    order by i`,
  )
}

/** Every tenth message has media, is in the search index and belongs to a broadcast. */
async function insertFollowers(db: Db): Promise<void> {
  const tenth = `substring(external_id from 7)::int % 10 = 0`
  await withoutForeignKeys(
    db,
    `insert into message_words (workspace_id, conversation_id, id, words)
    select workspace_id, conversation_id, id, to_tsvector('simple', content_text) from messages where ${tenth}`,
    `insert into media (workspace_id, id, conversation_id, message_id, channel, source, state, token, next_attempt_at, created_at)
    select workspace_id, id, conversation_id, id, 'msgapp', '{}', 'stored', id::text, now(), now() from messages
    where ${tenth}`,
    `insert into broadcast_recipients (workspace_id, broadcast_id, place, status, message_id)
    select workspace_id, '${broadcastId}', substring(external_id from 7)::int, 'read', id from messages where ${tenth}`,
  )
}

async function insertEvents(db: Db, from: number): Promise<void> {
  const numbers = `generate_series(${from}::bigint, ${from + chunk - 1}::bigint) as i`
  await withoutForeignKeys(
    db,
    `insert into webhook_events (workspace_id, id, event, body, occurred_at)
    select '${workspaceId}', ${idOf('i')}, 'message.received', repeat('x', 400), now() from ${numbers}`,
    `insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, is_first)
    select '${workspaceId}', '${endpointId}', id, id, id, 'message.received', 1, 'delivered', true
    from (select ${idOf('i')} as id from ${numbers}) as attempt`,
    `insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
    select '${workspaceId}', '${endpointId}', id, id
    from (select ${idOf('i')} as id from ${numbers} limit 1000) as delivery`,
  )
}

/** Drops the indexes without a constraint. Returns a function that restores them. */
async function dropIndexes(db: Db, tables: readonly string[]): Promise<() => Promise<void>> {
  const indexes = await db<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes
    where tablename = any(${tables}) and indexname not in (select conname from pg_constraint)`
  for (const { name } of indexes) await db.unsafe(`drop index ${name}`)
  return async () => {
    for (const { definition } of indexes) {
      await db.begin(async (sql) => {
        await sql`set local maintenance_work_mem = '1GB'`
        await sql.unsafe(definition)
      })
    }
  }
}

/** Runs the statements in a transaction that fires no triggers, and so checks no foreign keys. */
async function withoutForeignKeys(db: Db, ...statements: string[]): Promise<void> {
  await db.begin(async (sql) => {
    await sql`set local session_replication_role = replica`
    for (const statement of statements) await sql.unsafe(statement)
  })
}
