/**
 * Provider callbacks: customers' messages and status reports, signed and escaped like the provider's. They are built before
 * the measurement, so that the load generator needs little CPU. Messages also go to a plain implementation that does the same
 * durable work one statement after the other (`plain-inbound.ts`), with a database of its own.
 */
import { createHmac } from 'node:crypto'
import { freePort } from '../scripts/free-port.ts'
import type { Connection } from '../server/channels/channel.ts'
import { createWamid, userIdOf, wireJson } from '../simulator/wire/ids.ts'
import { type Cpu, cpuPer, readCpu, untilIdle } from './cpu.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './load.ts'
import { phoneOf } from './people.ts'
import {
  connectTo,
  discard,
  measureLoad,
  type Service,
  startPlain,
  startService,
  startSimulator,
  toRequest,
} from './service.ts'

const people = 10_000
const perCallback = 100
const connections = 8
const seconds = 60
const rounds = 3
/** Callbacks per round. The plain implementation gets a tenth, because it is slower. */
const callbacks = { first: 30, known: 300 }
const plainShare = 10

/** One of the compared servers: where its callbacks go, and whose CPU time counts. */
export type Subject = {
  port: number
  path: string
  connection: Connection
  cpuOf: { pid: number; postmasterPid: number }
}
export type Result = Measured & { cpu: Cpu }

export async function benchInbound(): Promise<Figure[]> {
  const service = await startService()
  const simulator = await startSimulator()
  const connection = await connectTo(simulator.url, service)
  // Without a worker: only the plain implementation writes to this database.
  const store = await startService(undefined, { ROLES: 'api' })
  const plainConnection = await connectTo(simulator.url, store)
  // The benchmark needs only the accounts.
  await simulator.stop()
  const plainPort = await freePort()
  const plainServer = await startPlain(store, plainPort, {
    ...{ workspaceId: store.workspaceId, url: '', token: '', appSecret: plainConnection.app_secret },
  })
  const parley = toSubject(service, connection)
  const plain: Subject = {
    ...{ port: plainPort, path: '/callback', connection: plainConnection },
    cpuOf: { pid: plainServer.pid, postmasterPid: store.postmasterPid },
  }

  // The first statements on an empty database are planned without statistics.
  const warmUp = 10
  for (const subject of [parley, plain]) await post(subject, write(subject, 0, warmUp), perCallback)
  await store.db`vacuum analyze`
  const before = await countMessages(service)
  const results: { first: [Result, Result]; known: [Result, Result] }[] = []
  for (let round = 0; round < rounds; round++) {
    const from = (warmUp + round * callbacks.first) * perCallback
    const both = async (start: number, count: number): Promise<[Result, Result]> => {
      await untilIdle(service)
      const ours = await post(parley, write(parley, start, count), perCallback)
      return [ours, await post(plain, write(plain, start, count / plainShare), perCallback)]
    }
    const first = await both(from, callbacks.first)
    results.push({ first, known: await both(0, callbacks.known) })
  }
  await requireStored(service, before + rounds * (callbacks.first + callbacks.known) * perCallback)
  await plainServer.stop()
  await store.stop()
  discard(store)
  await untilIdle(service)
  const lone = await post(parley, write(parley, 0, 500, 1), 1, 1)

  const ids = await insertSent(service, 300 * perCallback)
  const reports = (['sent', 'delivered', 'read'] as const).flatMap((status) =>
    Array.from({ length: 300 }, (_, i) =>
      reportOf(connection, status, ids.slice(i * perCallback, (i + 1) * perCallback)),
    ),
  )
  const statuses = await post(parley, reports, perCallback)
  await service.stop()
  discard(service)
  const inbound = `inbound, ${connections} connections, callbacks of ${perCallback} messages`
  return [
    ...compare(
      `${inbound}, known contacts`,
      results.map(({ known }) => known),
      15_000,
    ),
    ...compare(
      `${inbound}, new contacts`,
      results.map(({ first }) => first),
      7_500,
    ),
    {
      what: 'a single callback with one message, p50',
      value: lone.p50,
      unit: 'ms',
      goal: { below: 10 },
      note: `p99 ${lone.p99.toFixed(1)} ms`,
    },
    {
      what: `status reports, ${connections} connections, callbacks of ${perCallback}`,
      value: statuses.perSecond,
      unit: 'reports/s',
      note: `${waits(statuses)}; ${inCpu(statuses.cpu)}`,
    },
  ]
}

/** The rate and the multiple of the plain implementation, as medians of the rounds. */
function compare(what: string, results: readonly [Result, Result][], atLeast: number): Figure[] {
  const median = (read: (result: [Result, Result]) => number) =>
    results.map(read).toSorted((a, b) => a - b)[results.length >> 1] ?? 0
  const cpuOf = (index: 0 | 1): Cpu => ({
    node: median((result) => result[index].cpu.node),
    database: median((result) => result[index].cpu.database),
  })
  const rates = results.map(
    ([ours, plain]) => `${Math.round(ours.perSecond)}/s against ${Math.round(plain.perSecond)}/s`,
  )
  return [
    {
      what: `${what} (median of ${rounds})`,
      value: median(([ours]) => ours.perSecond),
      unit: 'messages/s',
      goal: { atLeast },
      note: `${results[0] ? waits(results[0][0]) : ''}; ${inCpu(cpuOf(0))}`,
    },
    {
      what: 'the same, multiple of a plain implementation',
      value: median(([ours, plain]) => ours.perSecond / plain.perSecond),
      unit: '×',
      goal: { atLeast: 3 },
      note: `${rates.join(', ')}; plain: ${inCpu(cpuOf(1))}`,
    },
  ]
}

const inCpu = ({ node, database }: Cpu): string =>
  `${Math.round(node)} µs of Node and ${Math.round(database)} µs of PostgreSQL each`

/** Callbacks of consecutive people. */
export const write = ({ connection }: Subject, from: number, count: number, size = perCallback): string[] =>
  Array.from({ length: count }, (_, i) => writtenBy(connection, range(from + i * size, size)))

export async function post(
  { port, path, connection, cpuOf }: Subject,
  bodies: string[],
  size: number,
  count = connections,
): Promise<Result> {
  const requests = bodies.map((body) => sign(connection, path, body))
  const before = readCpu(cpuOf)
  const measured = await measureLoad({ port, requests, once: true, connections: count, seconds, warmUpSeconds: 0 })
  const cpu = cpuPer(before, readCpu(cpuOf), bodies.length * size)
  if (measured.failures > 0) throw new Error(`${measured.failures} callbacks were not answered with 200`)
  return { ...measured, perSecond: measured.perSecond * size, cpu }
}

/** Posts a callback with one message from each of the first `count` people. */
export async function postCallbacks(service: Service, connection: Connection, count: number): Promise<void> {
  const subject = toSubject(service, connection)
  await post(subject, write(subject, 0, count, 1), 1)
}

export const toSubject = (service: Service, connection: Connection): Subject => ({
  ...{ port: service.port, path: `/channels/${connection.channel}/${connection.id}`, connection, cpuOf: service },
})

const waits = ({ p50, p99 }: Measured): string => `a callback p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => (from + i) % people)

export function writtenBy(
  connection: Connection,
  writers: readonly number[],
  text = 'Is it still on its way? I’ll be home until six.',
): string {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const named = writers.map((i) => {
    const wa_id = phoneOf(i).slice(1)
    return { wa_id, user_id: userIdOf(connection.account_id, wa_id), profile: { name: `Zoë Number ${i}` } }
  })
  return callback(connection, {
    contacts: named.map(({ profile, wa_id, user_id }) => ({ profile, wa_id, user_id })),
    messages: named.map(({ wa_id, user_id }) => ({
      from: wa_id,
      from_user_id: user_id,
      id: createWamid(wa_id, 'customer'),
      timestamp,
      type: 'text',
      text: { body: text },
    })),
  })
}

type Sent = { external_id: string; phone: string }

function reportOf(connection: Connection, status: string, sent: Sent[]): string {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const pricing = { billable: true, pricing_model: 'PMP', type: 'regular', category: 'utility' }
  const named = sent.map(({ phone, external_id: id }) => {
    const wa_id = phone.slice(1)
    return { id, wa_id, user_id: userIdOf(connection.account_id, wa_id) }
  })
  return callback(connection, {
    contacts: named.map(({ wa_id, user_id }) => ({ wa_id, user_id })),
    statuses: named.map(({ id, wa_id, user_id }) => ({
      id,
      status,
      timestamp,
      recipient_id: wa_id,
      recipient_user_id: user_id,
      ...(status === 'sent' ? { pricing } : {}),
    })),
  })
}

function callback({ account_id: id, phone_number_id }: Connection, what: Record<string, unknown>): string {
  const metadata = { display_phone_number: `1555${phone_number_id.slice(-7)}`, phone_number_id }
  const value = { messaging_product: 'whatsapp', metadata, ...what }
  return wireJson({ object: 'whatsapp_business_account', entry: [{ id, changes: [{ value, field: 'messages' }] }] })
}

const sign = (connection: Connection, path: string, body: string): string =>
  toRequest({ path, headers: signatureOf(connection, body), body })

function signatureOf({ app_secret }: Connection, body: string): Record<string, string> {
  const signature = createHmac('sha256', app_secret).update(body).digest('hex')
  return { 'X-Hub-Signature-256': `sha256=${signature}` }
}

/** Posts one callback. Returns whether the service took it; false also when it does not answer. */
export async function postOnce({ connection, port, path }: Omit<Subject, 'cpuOf'>, body: string): Promise<boolean> {
  const headers = { 'content-type': 'application/json', ...signatureOf(connection, body) }
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body }).catch(
    () => undefined,
  )
  await answer?.arrayBuffer().catch(() => undefined)
  return answer?.status === 200
}

async function countMessages({ db, workspaceId }: Service): Promise<number> {
  const [counted] = await db<{ n: number }[]>`
    select count(*)::int as n from messages where workspace_id = ${workspaceId}`
  return counted?.n ?? 0
}

async function requireStored(service: Service, count: number): Promise<void> {
  const kept = await countMessages(service)
  if (kept !== count) throw new Error(`${kept} of ${count} messages were stored`)
}

/** Inserts outbound messages that the channel accepted, spread over all contacts. */
async function insertSent({ db, workspaceId }: Service, count: number): Promise<Sent[]> {
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text,
      template_name, external_id, status, created_at)
    select ${workspaceId}, v.id, uuidv7(), 'outbound', 'agent', 'template', 'Hi Ada Abbott, your order A-10042 is on its way.',
      'order_confirmed', 'wamid.HBgLMTQxNTI' || upper(md5(v.id::text || i)), 'sent', now()
    from generate_series(1, ${count / people}::int) as i
    -- Excludes the contacts of the demo's history.
    cross join (
      select v.id from conversations v
      join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where v.workspace_id = ${workspaceId} and starts_with(c.phone, ${phoneOf(0).slice(0, 6)})
    ) v`
  await db`vacuum analyze messages`
  return db<Sent[]>`
    select m.external_id, c.phone
    from messages m
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where m.workspace_id = ${workspaceId} and m.direction = 'outbound' and starts_with(c.phone, ${phoneOf(0).slice(0, 6)})
    order by m.id`
}
