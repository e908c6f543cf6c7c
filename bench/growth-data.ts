/** Fills the database of a service with up to fifty million messages, as the service would have stored them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../server/lib/postgres/db.ts'
import { insertConversations, insertPeople } from './people.ts'
import type { Service } from './service.ts'

export type Size = { conversations: number; messages: number }

const chunk = 1_000_000
/** More messages than this are digested by a statement: the service would need hours. */
const maxDigested = 100_000

export async function fill({ db, workspaceId }: Service, size: Size): Promise<void> {
  await insertPeople(db, workspaceId, 0, size.conversations)
  await insertConversations(db, workspaceId)
  await withoutDigest(db, () => insertMessages(db, workspaceId, size))
  await (size.messages > maxDigested ? insertDigest(db, workspaceId) : digestAll(db))
  await db`
    insert into connection_outcomes (workspace_id, day, connection_id, shard, sent, delivered, read, failed)
    select workspace_id, (created_at at time zone 'utc')::date, ${numberOf(db, workspaceId)}, 1, count(*), count(*), count(*), 0
    from messages where workspace_id = ${workspaceId} and direction = 'outbound' group by 1, 2 on conflict do nothing`
  await insertBroadcast(db, workspaceId, size.messages / 50)
  await insertEvents(db, workspaceId, size.messages / 50)
  for (const table of ['message_words', 'message_periods', 'message_slices']) await db`vacuum analyze ${db(table)}`
}

/** The connection of the conversations. */
const numberOf = (db: Db, workspaceId: string) =>
  db`(select id from channel_connections where workspace_id = ${workspaceId} and channel = 'msgapp')`

/** Keeps the service from digesting messages while they have no indexes. */
async function withoutDigest(db: Db, work: () => Promise<void>): Promise<void> {
  await db.begin(async (sql) => {
    await sql`set local idle_in_transaction_session_timeout = 0`
    await sql`select from message_digest for update`
    await work()
  })
}

/** The broadcast and the webhook endpoint of `fill`. */
export const broadcastId = '01890000-0000-7000-8000-00000000000b'
export const endpointId = '01890000-0000-7000-8000-00000000000e'

async function insertBroadcast(db: Db, workspaceId: string, recipients: number): Promise<void> {
  await db`
    insert into broadcasts (workspace_id, id, name, status, template_name, template_language, params, total_count, filled_count,
      is_filled, position, created_at, started_at, completed_at)
    values (${workspaceId}, ${broadcastId}, 'All', 'sent', 'order_confirmed', 'en_US', '[]', ${recipients}, ${recipients}, true,
      ${recipients}, now(), now(), now())`
  await db`
    insert into broadcast_recipients (workspace_id, broadcast_id, place, phone, status)
    select ${workspaceId}, ${broadcastId}, i, '+1415' || 2000000 + i, (array['read', 'delivered', 'failed'])[1 + i % 3]
    from generate_series(0, ${recipients - 1}::int) as i`
  await db`vacuum analyze broadcast_recipients`
}

/** Events of the last minutes, each with a delivery. */
async function insertEvents(db: Db, workspaceId: string, count: number): Promise<void> {
  await db`
    insert into webhook_endpoints (workspace_id, id, url, events, is_active, secret, created_at)
    values (${workspaceId}, ${endpointId}, 'https://receiver.example/', array['message.received'], false, '', now())`
  await db`
    with event as (
      insert into webhook_events (workspace_id, id, event, body, occurred_at)
      select ${workspaceId}, uuidv7(interval '-1 minute'), 'message.received',
        json_build_object('event', 'message.received', 'data', repeat(md5(i::text), 25))::text, now()
      from generate_series(1, ${count}::int) as i
      returning id
    )
    insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, http_status,
      duration_ms, is_first)
    select ${workspaceId}, ${endpointId}, uuidv7(), uuidv7(), id, 'message.received', 1,
      case when random() < 0.1 then 'failed' else 'delivered' end, 200, 10, true
    from event`
  for (const table of ['webhook_events', 'webhook_attempts']) await db`vacuum analyze ${db(table)}`
}

/** Makes the service digest all messages, although their ids are old. */
async function digestAll(db: Db): Promise<void> {
  await db`
    update message_digest set looked_back_at = timestamptz 'epoch', position = '00000000-0000-0000-0000-000000000000'`
  for (;;) {
    const [digest] = await db<{ is_over: boolean }[]>`
      select looked_back_at > timestamptz 'epoch' as is_over from message_digest`
    if (digest?.is_over) return
    await sleep(50)
  }
}

const sliceSize = 25_000
/** Prefix of the external ids of the benchmark's messages. The demo's history is already digested. */
const ours = 'wamid.HBgLMTQxNTI'

/** The words of the texts below, except the number. */
const ourWords = ['hi', 'ada', 'abbott', 'your', 'order', 'a', 'is', 'confirmed']
const theirWords = ['thanks', 'when', 'will', 'it', 'be', 'here']

/** Inserts what the digest would write. The text of a message contains its number. */
async function insertDigest(db: Db, workspaceId: string): Promise<void> {
  const [digest] = await db<{ base: number }[]>`
    update message_digest set slice_count = slice_count + 10000 returning slice_count - 9999 as base`
  const base = digest?.base ?? 0
  const restore = await dropIndexes(db, 'message_words')
  for (let from: string | undefined = '00000000-0000-0000-0000-000000000000'; from !== undefined; ) {
    const [last]: { id: string }[] = await db<{ id: string }[]>`
      -- The next chunk of messages, with the search slice of each.
      with read as (
        select m.conversation_id, m.id, m.direction, n.number, ${base} + n.number::bigint / ${sliceSize} as slice
        from messages m, lateral (select substring(m.content_text from '[0-9]+') as number) n
        where m.id > ${from} and starts_with(m.external_id, ${ours}) order by m.id limit ${chunk}
      ),
      -- The words of each message, prefixed with the slice.
      words as (
        insert into message_words (workspace_id, conversation_id, id, words)
        select ${workspaceId}, conversation_id, id, array_to_tsvector(array(
          select slice || '.' || word
          from unnest(number || case when direction = 'outbound' then ${ourWords}::text[] else ${theirWords}::text[] end) word
        ))
        from read
      ),
      -- The first message of each slice.
      slices as (
        insert into message_slices as s (workspace_id, from_id, slice, last_id, message_count)
        select distinct on (slice) ${workspaceId}::uuid, id, slice, id, ${sliceSize} from read order by slice, id
        on conflict do nothing
      )
      select id from read order by id desc limit 1`
    from = last?.id
  }
  await restore()
  await db`delete from message_periods where workspace_id = ${workspaceId}`
  await db`
    insert into message_periods (workspace_id, at, channel, connection_id, inbound, outbound, answers, answer_seconds,
      within_five_minutes, within_one_hour, within_one_day)
    select ${workspaceId}, date_bin('15 minutes', created_at, timestamptz 'epoch'), 'msgapp', ${numberOf(db, workspaceId)}, count(*), count(*), count(*),
      60 * count(*), count(*), count(*), count(*)
    from messages where workspace_id = ${workspaceId} group by 2`
}

/**
 * Spreads the messages evenly over the conversations, in an order unrelated to theirs: message `i` belongs to conversation
 * `i * prime` modulo their number. Drops the indexes meanwhile, because inserts with indexes take much longer.
 */
async function insertMessages(db: Db, workspaceId: string, { conversations, messages }: Size): Promise<void> {
  await db`
    create unlogged table numbered_conversations as
    select row_number() over (order by id) - 1 as position, id from conversations where workspace_id = ${workspaceId}`
  await db`create unique index on numbered_conversations (position)`
  await db`analyze numbered_conversations`
  const restore = await dropIndexes(db, 'messages')
  for (let from = 0; from < messages; from += chunk) {
    await db`
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text,
        template_name, external_id, status, sent_at, created_at)
      select ${workspaceId}, p.id,
        (substr(time, 1, 8) || '-' || substr(time, 9) || '-7' || substr(noise, 1, 3) || '-8' || substr(noise, 4, 3) || '-' ||
          substr(noise, 7, 12))::uuid,
        case when is_ours then 'outbound' else 'inbound' end, case when is_ours then 'agent' else 'customer' end,
        case when is_ours then 'template' else 'text' end,
        case when is_ours then 'Hi Ada Abbott, your order A-' || i || ' is confirmed.' else 'Thanks! When will it be here? ' || i end,
        case when is_ours then 'order_confirmed' end, ${ours} || upper(noise),
        case when is_ours then 'read' else 'received' end, case when not is_ours then moment end, moment
      from generate_series(${from}::bigint, ${Math.min(messages, from + chunk) - 1}::bigint) as i
      join numbered_conversations p on p.position = i * 7919 % ${conversations},
        lateral (select now() - interval '10 minutes' - (${messages}::bigint - i) * interval '0.7 seconds' as moment, md5(i::text) as noise,
          i / ${conversations} % 2 = 0 as is_ours) as message,
        lateral (select lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') as time) as stamped
      order by i`
  }
  await restore()
  // The last message of each conversation, in order of time. A tenth is open, a tenth is pending, the rest is closed.
  for (let from = messages - conversations; from < messages; from += 10_000) {
    await db`
      update conversations v set status = (array['open', 'pending', 'closed'])[least(last.position % 10 + 1, 3)],
        last_message_text = 'Thanks! When will it be here?', last_message_at = moment, last_inbound_at = moment, inbox_at = moment,
        updated_at = moment
      from (
        select p.id, p.position, now() - interval '10 minutes' - (${messages}::bigint - i) * interval '0.7 seconds' as moment
        from generate_series(${from}::bigint, ${Math.min(messages, from + 10_000) - 1}::bigint) as i
        join numbered_conversations p on p.position = i * 7919 % ${conversations}
      ) last
      where v.workspace_id = ${workspaceId} and v.id = last.id`
  }
  await db`drop table numbered_conversations`
  for (const table of ['messages', 'conversations']) await db`vacuum analyze ${db(table)}`
}

/** Drops the indexes and keys of a table. Returns a function that restores them. */
async function dropIndexes(db: Db, table: string): Promise<() => Promise<void>> {
  const constraints = await db<{ table: string; name: string; definition: string }[]>`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where ${table}::regclass in (conrelid, confrelid) and contype in ('p', 'f')`
  const indexes = await db<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes
    where tablename = ${table} and indexname not in (select conname from pg_constraint)`
  // Foreign keys depend on the primary key, so they are dropped first.
  const dropOrder = [...constraints].sort((one, other) => rank(one.definition) - rank(other.definition))
  for (const { table, name } of dropOrder) await db.unsafe(`alter table ${table} drop constraint ${name}`)
  for (const { name } of indexes) await db.unsafe(`drop index ${name}`)
  return async () => {
    const connection = await db.reserve()
    await connection.unsafe(`set maintenance_work_mem = '1GB'; set statement_timeout = 0`)
    for (const { definition } of indexes) await connection.unsafe(definition)
    for (const { table, name, definition } of dropOrder.reverse()) {
      await connection.unsafe(`alter table ${table} add constraint ${name} ${definition}`)
    }
    await connection.unsafe('reset maintenance_work_mem; reset statement_timeout')
    connection.release()
  }
}

const rank = (definition: string): number => (definition.startsWith('FOREIGN KEY') ? 0 : 1)
