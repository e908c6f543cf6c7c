/**
 * What a message, an event and a broadcast recipient cost: CPU time, bytes of the database's log and bytes on disk. The model in
 * `docs/scaling.md` multiplies these figures.
 *
 * Each figure includes the work that the engines do later: reports, counters, the word index, deliveries.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Parley } from '../sdk/src/index.ts'
import { eventNames } from '../server/webhooks/emit.ts'
import { cpuPer, readCpu, untilIdle } from './cpu.ts'
import { localReceivers, startReceiver } from './endpoints.ts'
import type { Figure } from './figure.ts'
import { postCallbacks } from './inbound.ts'
import { sendTo } from './messages.ts'
import { insertConversations, insertPeople, phoneOf } from './people.ts'
import {
  connectTo,
  createKeys,
  discard,
  measureLoad,
  type Service,
  startService,
  startSimulator,
  toRequest,
} from './service.ts'

const people = 20_000
const connections = 32
const runs = 3

type Cost = { node: number; database: number; walBytes: number; diskBytes: number; tables: Record<string, number> }

export async function benchCapacity(): Promise<Figure[]> {
  const service = await startService(undefined, localReceivers)
  const simulator = await startSimulator()
  const receiver = await startReceiver()
  const connection = await connectTo(simulator.url, service)
  await insertPeople(service.db, service.workspaceId, 0, people)
  await insertConversations(service.db, service.workspaceId)
  const keys = await createKeys(service, 2_000)
  const parley = new Parley({ apiKey: keys[0] ?? '', baseUrl: `${service.url}/v1` })
  const sendAll = async () => {
    const requests = Array.from({ length: people }, (_, i) =>
      toRequest({ path: '/v1/messages', token: keys[i % keys.length] ?? '', body: sendTo(phoneOf(i)) }),
    )
    await service.db`truncate api_key_windows`
    const load = {
      port: service.port,
      requests,
      once: true,
      connections,
      seconds: 600,
      warmUpSeconds: 0,
      expected: 201,
    }
    const { failures } = await measureLoad(load)
    if (failures > 0) throw new Error(`${failures} sends were refused`)
  }
  const receiveAll = () => postCallbacks(service, connection, people)
  const broadcastAll = async () => {
    const filter = { match: 'all' as const, rules: [{ field: 'phone' as const, op: 'is_set' as const }] }
    const segment = await parley.segments.create({ name: `All ${Date.now()}`, kind: 'dynamic', filter })
    const template = {
      name: 'order_confirmed',
      language: 'en_US',
      params: ['{{contact.name|there}}', 'A-10042'],
      contact_fields: true,
    }
    const { id } = await parley.broadcasts.create({ name: 'All', template, segment_id: segment.id })
    while ((await parley.broadcasts.get(id)).status !== 'sent') await sleep(1_000)
  }

  // The first statements on an empty database are planned without statistics.
  await sendAll()
  await receiveAll()
  await untilIdle(service)
  await service.db`vacuum analyze`
  const sent = await measureCost(service, people, sendAll)
  const received = await measureCost(service, people, receiveAll)
  const recipient = await measureCost(service, people, broadcastAll)
  await parley.webhooks.create({ url: `${receiver.origin}/all`, events: [...eventNames] })
  const before = await countEvents(service)
  const watched = await measureCost(service, people, sendAll)
  const eventsPerMessage = ((await countEvents(service)) - before) / (people * runs)

  await simulator.stop()
  await service.stop()
  await receiver.stop()
  discard(service)
  return [
    ...toFigures('a message sent, with its three reports', sent),
    ...toFigures("a customer's message, in a callback of its own", received),
    ...toFigures('a recipient of a broadcast, with its three reports', recipient),
    ...toFigures(
      `an event that one endpoint receives (${eventsPerMessage.toFixed(1)} for each message sent)`,
      divide(subtract(watched, sent), eventsPerMessage),
    ),
  ]
}

/**
 * The cost of each of `size` operations that `run` does, as the mean of three runs with a vacuum after each, so that rows that
 * were replaced leave room for later ones.
 */
async function measureCost(service: Service, size: number, run: () => Promise<unknown>): Promise<Cost> {
  const { db } = service
  const count = size * runs
  await untilIdle(service)
  await db`checkpoint`
  const [start] = await db<{ lsn: string }[]>`select pg_current_wal_lsn() as lsn`
  const sizes = await readSizes(service)
  const cpu = readCpu(service)
  for (let i = 0; i < runs; i++) {
    await run()
    await untilIdle(service)
    await db`vacuum analyze`
  }
  const { node, database } = cpuPer(cpu, readCpu(service), count)
  const [end] = await db<{ bytes: number }[]>`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), ${start?.lsn ?? ''}::pg_lsn)::float8 as bytes`
  const tables: Record<string, number> = {}
  for (const [table, bytes] of Object.entries(await readSizes(service))) {
    tables[table] = (bytes - (sizes[table] ?? 0)) / count
  }
  const diskBytes = Object.values(tables).reduce((sum, bytes) => sum + bytes, 0)
  return { node, database, walBytes: (end?.bytes ?? 0) / count, diskBytes, tables }
}

/** Bytes of each table with its indexes. Partitions count for their table. */
async function readSizes({ db }: Service): Promise<Record<string, number>> {
  const rows = await db<{ name: string; bytes: number }[]>`
    select coalesce(parent.relname, c.relname) as name, sum(pg_total_relation_size(c.oid))::float8 as bytes
    from pg_class c
    left join pg_inherits i on i.inhrelid = c.oid
    left join pg_class parent on parent.oid = i.inhparent
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
    group by 1`
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]))
}

async function countEvents({ db }: Service): Promise<number> {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from webhook_events`
  return row?.n ?? 0
}

const combine = (one: Cost, other: Cost, how: (a: number, b: number) => number): Cost => ({
  node: how(one.node, other.node),
  database: how(one.database, other.database),
  walBytes: how(one.walBytes, other.walBytes),
  diskBytes: how(one.diskBytes, other.diskBytes),
  tables: Object.fromEntries(
    Object.entries(one.tables).map(([table, bytes]) => [table, how(bytes, other.tables[table] ?? 0)]),
  ),
})
const subtract = (one: Cost, other: Cost) => combine(one, other, (a, b) => a - b)
const divide = (one: Cost, by: number) => combine(one, one, (a) => a / by)

function toFigures(what: string, { node, database, walBytes, diskBytes, tables }: Cost): Figure[] {
  const largest = Object.entries(tables)
    .filter(([, bytes]) => bytes >= 10)
    .sort(([, a], [, b]) => b - a)
    .map(([table, bytes]) => `${table} ${Math.round(bytes)}`)
  return [
    { what: `${what}: CPU time of Node`, value: node, unit: 'µs' },
    { what: `${what}: CPU time of PostgreSQL`, value: database, unit: 'µs' },
    { what: `${what}: log of PostgreSQL`, value: walBytes, unit: 'bytes' },
    { what: `${what}: disk`, value: diskBytes, unit: 'bytes', note: largest.join(', ') },
  ]
}
