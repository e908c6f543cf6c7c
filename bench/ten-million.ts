/**
 * Reads, searches and sends with ten thousand and with ten million messages, in two services, in alternating calls.
 *
 * Messages are in order of time and spread over all conversations; half of them are from customers.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../server/lib/db.ts'
import { encodeCursor } from '../server/lib/page.ts'
import type { Figure } from './figure.ts'
import { sendTo } from './messages.ts'
import { insertConversations, insertPeople, phoneOf } from './people.ts'
import { connectTo, createKeys, discard, type Service, startService, startSimulator } from './service.ts'

const small = { conversations: 100, messages: 10_000 }
const large = { conversations: 100_000, messages: 10_000_000 }
const calls = 150
const chunk = 1_000_000

type Side = {
  service: Service
  keys: string[]
  next: number
  conversations: number
  sample: Sample[]
  /** Session cookie of a member. */
  cookie: string
  digestedPerSecond: number
}
type Sample = { id: string; deep: string }

export async function benchTenMillion(): Promise<Figure[]> {
  const simulator = await startSimulator()
  const sides = [await fill(simulator.url, small), await fill(simulator.url, large)] as const
  const figures: Figure[] = []
  for (const [what, run] of Object.entries(measuredCalls)) {
    const [few, many] = await compare(sides, run)
    figures.push({
      what: `${what}, ${large.messages.toLocaleString('en')} messages against ${small.messages.toLocaleString('en')}`,
      value: many.p50 / few.p50,
      unit: '×',
      goal: { below: what.startsWith('GET /search') ? 10 : 2 },
      note: `${many.p50.toFixed(2)} ms against ${few.p50.toFixed(2)} ms (p50), ${many.p99.toFixed(1)} ms against ${few.p99.toFixed(1)} ms (p99)`,
    })
    if (what.startsWith('GET /search')) {
      figures.push({ what: `${what}, p99`, value: many.p99, unit: 'ms', goal: { below: 100 } })
    }
  }
  figures.push({
    what: 'digest of a backlog, throttled to half speed',
    value: sides[0].digestedPerSecond,
    unit: 'messages/s',
  })
  // The provider has sent all reports by then.
  await sleep(1_500)
  await simulator.stop()
  for (const { service } of sides) {
    await service.stop()
    discard(service)
  }
  return figures
}

const sampleOf = ({ sample }: Side, i: number): Sample => sample[i % sample.length] ?? { id: '', deep: '' }

/** The measured calls by name. `i` selects a conversation or contact that differs from the previous call's. */
const measuredCalls: Record<string, (side: Side, i: number) => Promise<void>> = {
  'GET /conversations, first page': (side) => callApi(side, '/conversations'),
  'GET /conversations, deep page': (side, i) =>
    callApi(side, `/conversations?cursor=${encodeCursor(sampleOf(side, i).id)}`),
  'GET /conversations, first page of those pending': (side) => callApi(side, '/conversations?status=pending'),
  'GET /conversations/{id}/messages, first page': (side, i) =>
    callApi(side, `/conversations/${sampleOf(side, i).id}/messages?limit=20`),
  'GET /conversations/{id}/messages, deep page': (side, i) => {
    const { id, deep } = sampleOf(side, i)
    return callApi(side, `/conversations/${id}/messages?limit=20&cursor=${encodeCursor(deep)}`)
  },
  'POST /messages to a known number': (side, i) =>
    callApi(side, '/messages', sendTo(phoneOf((i * 7919) % side.conversations))),
  // Order numbers: few messages contain each, and one of those is among the oldest.
  'GET /search, a rare word': (side, i) => callAsMember(side, `/search?q=${1_000 + i}`),
  'GET /search, a word of every second message': (side) => callAsMember(side, '/search?q=confirmed'),
  'GET /search, a prefix of a million words': (side, i) => callAsMember(side, `/search?q=${10 + (i % 90)}`),
  'GET /search, a common and a rare word': (side, i) => callAsMember(side, `/search?q=order%20${1_000 + i * 2}`),
  'GET /search, a word without a match': (side, i) => callAsMember(side, `/search?q=unknown${i}`),
  'GET /overview': (side) => callAsMember(side, '/overview?days=90'),
}

type Times = { p50: number; p99: number }

/** Measures both services in alternating calls. */
async function compare(
  sides: readonly [Side, Side],
  run: (side: Side, i: number) => Promise<void>,
): Promise<[Times, Times]> {
  const times: [number[], number[]] = [[], []]
  for (let i = -10; i < calls; i++) {
    for (const index of [0, 1] as const) {
      const began = performance.now()
      await run(sides[index], i + 10)
      if (i >= 0) times[index].push(performance.now() - began)
    }
  }
  const toTimes = (list: number[]): Times => {
    const sorted = list.sort((a, b) => a - b)
    return { p50: sorted[Math.floor(calls * 0.5)] ?? 0, p99: sorted[Math.floor(calls * 0.99)] ?? 0 }
  }
  return [toTimes(times[0]), toTimes(times[1])]
}

async function callAsMember({ service, cookie }: Side, path: string): Promise<void> {
  const answer = await fetch(`${service.url}/app/api${path}`, { headers: { cookie } })
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
}

async function callApi(side: Side, path: string, body?: string): Promise<void> {
  const answer = await fetch(`${side.service.url}/v1${path}`, {
    headers: {
      authorization: `Bearer ${side.keys[side.next++ % side.keys.length]}`,
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
}

async function fill(simulatorUrl: string, size: typeof small): Promise<Side> {
  const service = await startService()
  const { db, workspaceId } = service
  await connectTo(simulatorUrl, service)
  await insertPeople(db, workspaceId, 0, size.conversations)
  await insertConversations(db, workspaceId)
  await insertMessages(db, workspaceId, size)
  const sample = await db<Sample[]>`
    select v.id, m.id as deep
    from conversations v
    cross join lateral (
      select m.id from messages m where m.workspace_id = v.workspace_id and m.conversation_id = v.id
      order by m.id offset 25 limit 1
    ) m
    where v.workspace_id = ${workspaceId}
    order by md5(v.id::text)
    limit 500`
  const keys = await createKeys(service, 100)
  // The service would need most of an hour to digest ten million messages.
  const digestedPerSecond = size === small ? await digestAll(db, size.messages) : await insertDigest(db, workspaceId)
  await db`
    insert into message_outcomes (workspace_id, day, shard, sent, delivered, read, failed)
    select workspace_id, (created_at at time zone 'utc')::date, 1, count(*), count(*), count(*), 0
    from messages where workspace_id = ${workspaceId} and direction = 'outbound' group by 1, 2 on conflict do nothing`
  for (const table of ['message_words', 'message_days', 'message_slices']) await db`vacuum analyze ${db(table)}`
  const cookie = await signIn(service)
  return { service, keys, next: 0, conversations: size.conversations, sample, cookie, digestedPerSecond }
}

/** Makes the service digest all messages, although their ids are old. Returns messages per second. */
async function digestAll(db: Db, messages: number): Promise<number> {
  await db`
    update message_digest set looked_back_at = timestamptz 'epoch', position = '00000000-0000-0000-0000-000000000000'`
  const began = performance.now()
  for (;;) {
    const [digest] = await db<{ is_over: boolean }[]>`
      select looked_back_at > timestamptz 'epoch' as is_over from message_digest`
    if (digest?.is_over) return messages / ((performance.now() - began) / 1000)
    await sleep(50)
  }
}

const sliceSize = 25_000
/** Prefix of the external ids of the benchmark's messages. The demo's history is already digested. */
const ours = 'wamid.HBgLMTQxNTI'

/** Inserts what the digest would write. The text of a message contains its number. */
async function insertDigest(db: Db, workspaceId: string): Promise<number> {
  const [digest] = await db<{ base: number }[]>`
    update message_digest set slice_count = slice_count + 10000 returning slice_count - 9999 as base`
  const base = digest?.base ?? 0
  const restore = await dropIndexes(db, 'message_words')
  for (let from: string | undefined = '00000000-0000-0000-0000-000000000000'; from !== undefined; ) {
    const [last]: { id: string }[] = await db<{ id: string }[]>`
      -- The next chunk of messages, with the search slice of each.
      with read as (
        select m.conversation_id, m.id, m.content_text,
          ${base} + substring(m.content_text from '[0-9]+')::bigint / ${sliceSize} as slice
        from messages m where m.id > ${from} and starts_with(m.external_id, ${ours}) order by m.id limit ${chunk}
      ),
      -- The words of each message, prefixed with the slice.
      words as (
        insert into message_words (workspace_id, conversation_id, id, words)
        select ${workspaceId}, conversation_id, id, array_to_tsvector(array(
          select distinct slice || '.' || word from regexp_split_to_table(lower(content_text), '[^a-z0-9]+') word
          where word <> ''
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
  await db`delete from message_days where workspace_id = ${workspaceId}`
  await db`
    insert into message_days (workspace_id, day, channel, inbound, outbound, answers, answer_seconds, within_five_minutes,
      within_one_hour, within_one_day)
    select ${workspaceId}, (created_at at time zone 'utc')::date, 'msgapp', count(*), count(*), count(*), 60 * count(*),
      count(*), count(*), count(*)
    from messages where workspace_id = ${workspaceId} group by 2`
  return 0
}

async function signIn({ url, dataDir }: Service): Promise<string> {
  const { owner } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  const answer = await fetch(`${url}/app/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify(owner),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

/**
 * Spreads the messages evenly over the conversations, in an order unrelated to theirs: message `i` belongs to conversation
 * `i * prime` modulo their number. Drops the indexes meanwhile, because inserts with indexes take much longer.
 */
async function insertMessages(db: Db, workspaceId: string, { conversations, messages }: typeof small): Promise<void> {
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
  // A tenth is open, a tenth is pending, the rest is closed.
  await db`
    update conversations v set status = (array['open', 'pending', 'closed'])[least(p.position % 10 + 1, 3)],
      last_message_text = 'Thanks! When will it be here?', last_message_at = now(), last_inbound_at = now(),
      inbox_at = now(), updated_at = now()
    from numbered_conversations p where v.workspace_id = ${workspaceId} and v.id = p.id`
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
    await db.unsafe(`set maintenance_work_mem = '1GB'`)
    for (const { definition } of indexes) await db.unsafe(definition)
    for (const { table, name, definition } of dropOrder.reverse()) {
      await db.unsafe(`alter table ${table} add constraint ${name} ${definition}`)
    }
  }
}

const rank = (definition: string): number => (definition.startsWith('FOREIGN KEY') ? 0 : 1)
