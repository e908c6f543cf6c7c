/**
 * Writes of the public API, by one caller and by 32, against a plain implementation that does the same one statement after the other
 * (`plain-writes.ts`), in alternating rounds on databases of their own. `POST /contacts` also with one endpoint, whose deliveries arrive.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../scripts/free-port.ts'
import { type Cpu, cpuPer, readCpu } from './cpu.ts'
import { addEndpoint, countOf, settings, startReceiver } from './endpoints.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './load.ts'
import { insertConversations, insertPeople } from './people.ts'
import { createKeys, discard, measureLoad, type Service, startPlain, startService, toRequest } from './service.ts'

const rounds = 3
const people = 2_000
const tag = 'Bench'

/** `perRound`: how many requests 32 callers send. One caller sends a tenth. `callers`: other numbers of callers. */
type Write = {
  what: string
  perRound: number
  expected: number
  callers?: readonly number[]
  request(n: number, service: Prepared): Parts
}
type Parts = { method?: string; path: string; body: unknown }
type Prepared = Service & {
  port: number
  keys: string[]
  contacts: string[]
  conversations: string[]
  endpoint: string
}
type Result = Measured & { cpu: Cpu }

const pick = (ids: readonly string[], n: number) => ids[n % ids.length] ?? ''

const writes: Write[] = [
  {
    what: 'POST /contacts',
    ...{ perRound: 2_000, expected: 201 },
    request: (n) => ({ path: '/contacts', body: { phone: `+1415${3_000_000 + n}`, name: `Person ${n}`, tags: [tag] } }),
  },
  {
    what: 'PATCH /contacts/{id}',
    ...{ perRound: 2_000, expected: 200 },
    request: (n, { contacts }) => ({
      ...{ method: 'PATCH', path: `/contacts/${pick(contacts, n)}`, body: { name: `Renamed ${n}` } },
    }),
  },
  {
    what: 'PATCH /conversations/{id}',
    ...{ perRound: 2_000, expected: 200 },
    request: (n, { conversations }) => ({
      ...{ method: 'PATCH', path: `/conversations/${pick(conversations, n)}` },
      body: { status: n % (2 * conversations.length) < conversations.length ? 'closed' : 'open' },
    }),
  },
  {
    what: 'POST /conversations/{id}/notes',
    ...{ perRound: 2_000, expected: 201 },
    request: (n, { conversations }) => ({
      path: `/conversations/${pick(conversations, n)}/notes`,
      body: { text: `Called about order ${n}` },
    }),
  },
  {
    what: 'POST /segments',
    // The service counts the members of a segment as a search, and admits few searches of a workspace at once.
    ...{ perRound: 1_000, expected: 201, callers: [1] },
    request: (n) => ({
      path: '/segments',
      body: {
        ...{ name: `Segment ${n}`, kind: 'dynamic' },
        filter: { match: 'all', rules: [{ field: 'tag', op: 'has', value: tag }] },
      },
    }),
  },
  {
    what: 'PATCH /webhooks/{id}',
    ...{ perRound: 500, expected: 200 },
    request: (n, { endpoint }) => ({
      ...{
        method: 'PATCH',
        path: `/webhooks/${endpoint}`,
        body: { events: [n % 2 ? 'message.received' : 'message.status_updated'] },
      },
    }),
  },
]

export async function benchWrites(): Promise<Figure[]> {
  const service = await prepare(await startService(undefined, settings))
  const store = await startService(undefined, { ROLES: 'api' })
  const plainPort = await freePort()
  const plainServer = await startPlain(store, plainPort)
  const plain = { ...(await prepare(store)), port: plainPort, pid: plainServer.pid }
  const figures: Figure[] = []
  for (const write of writes) {
    for (const connections of write.callers ?? [1, 32]) {
      const results: { plain: Result; parley: Result }[] = []
      for (let round = 0; round < rounds; round++)
        results.push({
          plain: await measure(plain, write, connections),
          parley: await measure(service, write, connections),
        })
      figures.push(describe(write, connections, results))
    }
  }
  await plainServer.stop()
  await store.stop()
  discard(store)
  figures.push(...(await measureWithEndpoint(service)))
  await service.stop()
  discard(service)
  return figures
}

async function prepare(service: Service): Promise<Prepared> {
  const { db, workspaceId } = service
  await insertPeople(db, workspaceId, 0, people)
  await insertConversations(db, workspaceId)
  await db`
    insert into tags (workspace_id, id, name, name_key, color, created_at)
    values (${workspaceId}, uuidv7(), ${tag}, ${tag.toLowerCase()}, '#2f6fde', now())`
  const idsOf = async (table: string) =>
    (
      await db<
        { id: string }[]
      >`select id from ${db(table)} where workspace_id = ${workspaceId} order by id limit ${people}`
    ).map(({ id }) => id)
  const [endpoint] = await db<{ id: string }[]>`
    insert into webhook_endpoints (workspace_id, id, url, events, secret, created_at)
    values (${workspaceId}, uuidv7(), 'https://bench.test', array['message.received'], '', now()) returning id`
  return {
    ...service,
    keys: await createKeys(service, 2_000),
    contacts: await idsOf('contacts'),
    conversations: await idsOf('conversations'),
    endpoint: endpoint?.id ?? '',
  }
}

/** The requests of all rounds differ. */
let next = 0

async function measure(service: Prepared, write: Write, connections: number): Promise<Result> {
  await service.db`truncate api_key_windows`
  const count = connections === 1 ? write.perRound / 10 : write.perRound
  const requests = Array.from({ length: count }, () => {
    const { method, path, body } = write.request(next++, service)
    const token = pick(service.keys, next)
    return toRequest({ ...(method ? { method } : {}), path: `/v1${path}`, token, body: JSON.stringify(body) })
  })
  const before = readCpu(service)
  const load = { port: service.port, requests, once: true, expected: write.expected, connections, seconds: 120 }
  const measured = await measureLoad({ ...load, warmUpSeconds: 0 })
  if (measured.failures > 0 || measured.requests < count) throw new Error(`${write.what}: calls were refused`)
  // What follows a call costs, too.
  await sleep(1_000)
  return { ...measured, cpu: cpuPer(before, readCpu(service), count) }
}

function describe({ what }: Write, connections: number, results: { plain: Result; parley: Result }[]): Figure {
  const median = (read: (result: (typeof results)[number]) => number) =>
    results.map(read).toSorted((a, b) => a - b)[rounds >> 1] ?? 0
  const inWords = (name: 'plain' | 'parley') =>
    `${Math.round(median((r) => r[name].perSecond))}/s, p50 ${median((r) => r[name].p50).toFixed(1)} ms, ${Math.round(median((r) => r[name].cpu.node))} µs of Node and ${Math.round(median((r) => r[name].cpu.database))} µs of PostgreSQL`
  return {
    what: `${what}, ${connections === 1 ? 'one caller' : `${connections} callers`}, multiple of a plain implementation (median of ${rounds})`,
    value: median(({ plain, parley }) => parley.perSecond / plain.perSecond),
    unit: '×',
    goal: { atLeast: 3 },
    note: `${inWords('parley')}; plain ${inWords('plain')}`,
  }
}

/** `POST /contacts` with an endpoint, until the last delivery arrives. */
async function measureWithEndpoint(service: Prepared): Promise<Figure[]> {
  const [write] = writes
  if (!write) throw new Error('there is no write')
  const receiver = await startReceiver()
  await addEndpoint(service, `${receiver.origin}/contacts`)
  const results: Result[] = []
  for (let round = 0; round < rounds; round++) {
    const expected = (await countOf(receiver)).count + write.perRound
    const before = readCpu(service)
    const result = await measure(service, write, 32)
    while ((await countOf(receiver)).count < expected) await sleep(100)
    results.push({ ...result, cpu: cpuPer(before, readCpu(service), write.perRound) })
  }
  await receiver.stop()
  const median = (read: (result: Result) => number) => results.map(read).toSorted((a, b) => a - b)[rounds >> 1] ?? 0
  const what = `${write.what} with one endpoint and its delivery, 32 callers`
  const [node, database] = [median(({ cpu }) => cpu.node), median(({ cpu }) => cpu.database)]
  return [
    { what, value: median(({ perSecond }) => perSecond), unit: 'calls/s', goal: { atLeast: 800 } },
    {
      what: `CPU time of ${what}`,
      value: (node + database) / 1_000,
      unit: 'ms',
      goal: { below: 2 },
      note: `${Math.round(node)} µs of Node and ${Math.round(database)} µs of PostgreSQL`,
    },
  ]
}
