/**
 * `POST /v1/messages` end to end, in alternating rounds: the service, a plain implementation that does the same durable work one
 * statement after the other (`plain-messages.ts`), and a bare server that only forwards messages to the same simulated provider.
 * Then the latency of a single caller beyond that of the provider.
 *
 * All three receive three status reports per message. The service and the plain implementation store them; the forwarder only
 * answers 200. The plain implementation has a database of its own, in which nothing else runs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../scripts/free-port.ts'
import type { Connection } from '../server/channels/channel.ts'
import { newId } from '../server/lib/id.ts'
import type { SimulatorAccount } from '../simulator/simulator.ts'
import { type Cpu, cpuPer, readCpu } from './cpu.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './load.ts'
import { insertConversations, insertPeople, phoneOf } from './people.ts'
import {
  connectTo,
  createKeys,
  discard,
  maxPace,
  measureLoad,
  type Service,
  startForwarder,
  startPlain,
  startService,
  startSimulator,
  toRequest,
} from './service.ts'

const rounds = 3
const connections = 64
const seconds = 5
const people = 20_000
/** The provider has sent all reports this long after its last message. */
const reportedMs = 1_500

/** One of the compared servers: where its requests go, and whose CPU time counts. */
type Subject = { port: number; requests: string[]; cpuOf?: { pid: number; postmasterPid: number }; service?: Service }

export async function benchMessages(): Promise<Figure[]> {
  const simulator = await startSimulator()
  const service = await startService()
  const connection = await connectTo(simulator.url, service)
  const parley = { port: service.port, requests: await prepareSends(service), cpuOf: service, service }

  const forwarderPort = await freePort()
  const forwarded = await addAccount(simulator.url, connection, 7, `http://127.0.0.1:${forwarderPort}/callback`)
  const messages = Array.from({ length: people }, (_, i) => wireTo(phoneOf(i)))
  const answer = await send(service, (await createKeys(service, 1))[0] ?? '', sendTo(phoneOf(0)))
  const forwarder = await startForwarder(answer, { ...forwarded, port: forwarderPort, messages })
  const bare = { port: forwarderPort, requests: parley.requests }

  // Without a worker: only the plain implementation writes to this database.
  const store = await startService(undefined, { ROLES: 'api' })
  const plainPort = await freePort()
  const account = await addAccount(simulator.url, connection, 8, `http://127.0.0.1:${plainPort}/callback`)
  await connectTo(simulator.url, store)
  const plainServer = await startPlain(store, plainPort, {
    ...account,
    workspaceId: store.workspaceId,
    appSecret: connection.app_secret,
  })
  const plain = {
    port: plainPort,
    requests: await prepareSends(store),
    cpuOf: { pid: plainServer.pid, postmasterPid: store.postmasterPid },
    service: store,
  }

  const results: { bare: Result; plain: Result; parley: Result }[] = []
  for (let round = 0; round < rounds; round++) {
    results.push({ bare: await measure(bare), plain: await measure(plain), parley: await measure(parley) })
  }
  await callControl(simulator.url, 'POST', 'faults', { mode: 'no_statuses' })
  const silent = { bare: await measure(bare), plain: await measure(plain), parley: await measure(parley) }
  await callControl(simulator.url, 'DELETE', 'faults')
  await plainServer.stop()
  await store.stop()
  discard(store)

  await service.db`truncate api_key_windows`
  const alone = { connections: 1, seconds: 3 }
  const lone = await measureLoad({ ...alone, ...parley, expected: 201 })
  const path = new URL(forwarded.url).pathname
  const direct = await measureLoad({
    ...alone,
    port: Number(new URL(simulator.url).port),
    requests: messages.map((body) => toRequest({ path, token: forwarded.token, body })),
  })
  if (lone.failures + direct.failures > 0) throw new Error('a call of the single caller was refused')
  await sleep(reportedMs)
  await simulator.stop()
  await forwarder.stop()
  await service.stop()
  discard(service)

  const median = (read: (result: (typeof results)[number]) => number) =>
    results.map(read).toSorted((a, b) => a - b)[rounds >> 1] ?? 0
  const what = `POST /v1/messages with its three reports, ${connections} connections`
  const ratio = (name: 'bare' | 'plain') => median((result) => result.parley.perSecond / result[name].perSecond)
  const cpu = (part: keyof Cpu) => median(({ parley }) => parley.cpu[part])
  const plainCpu = (part: keyof Cpu) => Math.round(median(({ plain }) => plain.cpu[part]))
  return [
    {
      what: `${what}, multiple of a plain implementation (median of ${rounds})`,
      value: ratio('plain'),
      unit: '×',
      goal: { atLeast: 3 },
      note: results.map(({ plain, parley }) => inWords(parley, plain)).join('; '),
    },
    {
      what: 'the same, share of a bare forwarder',
      value: ratio('bare'),
      unit: '×',
      note: results.map(({ bare, parley }) => inWords(parley, bare)).join('; '),
    },
    {
      what: 'CPU time of PostgreSQL for each of these messages',
      value: cpu('database'),
      unit: 'µs',
      goal: { below: 300 },
      note: `plain: ${plainCpu('database')} µs`,
    },
    {
      what: 'CPU time of Node for each of these messages',
      value: cpu('node'),
      unit: 'µs',
      goal: { below: 300 },
      note: `plain: ${plainCpu('node')} µs`,
    },
    {
      what: 'the same without reports, multiple of a plain implementation',
      value: silent.parley.perSecond / silent.plain.perSecond,
      unit: '×',
      note: `${inWords(silent.parley, silent.plain)}; ${Math.round(silent.parley.cpu.node)} µs of Node and ${Math.round(silent.parley.cpu.database)} µs of PostgreSQL each`,
    },
    {
      what: 'POST /v1/messages, single caller, p50 beyond that of the provider',
      value: lone.p50 - direct.p50,
      unit: 'ms',
      goal: { below: 3 },
      note: `${lone.p50.toFixed(2)} ms against ${direct.p50.toFixed(2)} ms`,
    },
    {
      what: 'POST /v1/messages, single caller, p99 beyond that of the provider',
      value: lone.p99 - direct.p99,
      unit: 'ms',
      goal: { below: 10 },
      note: `${lone.p99.toFixed(2)} ms against ${direct.p99.toFixed(2)} ms`,
    },
  ]
}

type Result = Measured & { cpu: Cpu }

/** A round, until the last report is stored. */
async function measure({ port, requests, cpuOf, service }: Subject): Promise<Result> {
  if (service) await service.db`truncate api_key_windows`
  const from = new Date().toISOString()
  const before = cpuOf && readCpu(cpuOf)
  const load = await measureLoad({ port, requests, expected: 201, connections, seconds, warmUpSeconds: 1 })
  if (load.failures > 0) throw new Error(`${load.failures} responses other than 201`)
  await sleep(reportedMs)
  if (!service || !cpuOf || !before) return { ...load, cpu: { node: 0, database: 0 } }
  await untilRead(service, from)
  const after = readCpu(cpuOf)
  const [sent] = await service.db<{ n: number }[]>`select count(*)::int as n from messages where created_at > ${from}`
  return { ...load, cpu: cpuPer(before, after, sent?.n ?? 1) }
}

const inWords = (one: Measured, other: Measured): string =>
  `${Math.round(one.perSecond)}/s against ${Math.round(other.perSecond)}/s, p50 ${one.p50.toFixed(0)} ms, p99 ${one.p99.toFixed(0)} ms`

/** Inserts contacts with conversations, and returns a request to send to each. */
async function prepareSends(service: Service): Promise<string[]> {
  await insertPeople(service.db, service.workspaceId, 0, people)
  await insertConversations(service.db, service.workspaceId)
  const keys = await createKeys(service, 2_000)
  return Array.from({ length: people }, (_, i) =>
    toRequest({ path: '/v1/messages', token: keys[i % keys.length] ?? '', body: sendTo(phoneOf(i)) }),
  )
}

const values = ['Ada Abbott', 'A-10042']

/** Body of a send in our API. */
export const sendTo = (to: string): string =>
  JSON.stringify({ to, type: 'template', template: { name: 'order_confirmed', language: 'en_US', params: values } })

/** Body of the same send in the provider's API. */
function wireTo(to: string): string {
  const components = [{ type: 'body', parameters: values.map((text) => ({ type: 'text', text })) }]
  return JSON.stringify({
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to,
    type: 'template',
    template: { name: 'order_confirmed', language: { code: 'en_US' }, components },
    biz_opaque_callback_data: newId(),
  })
}

async function send({ url }: Service, key: string, body: string): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body })
  if (answer.status !== 201) throw new Error(await answer.text())
  return answer
}

/** Adds an account at the same provider. `digit` makes its ids its own. Returns where it sends messages, and its token. */
async function addAccount(
  simulatorUrl: string,
  connection: Connection,
  digit: number,
  callbackUrl: string,
): Promise<{ url: string; token: string }> {
  const account: SimulatorAccount = {
    workspace_id: newId(),
    channel: 'msgapp',
    account_id: `9${connection.account_id.slice(1, -1)}${digit}`,
    phone_number_id: `9${connection.phone_number_id.slice(1, -1)}${digit}`,
    display_phone_number: `1555000999${digit}`,
    business_name: `Account ${digit}`,
    access_token: `${digit}-${connection.access_token}`,
    app_secret: connection.app_secret,
    verify_token: connection.verify_token,
    callback_url: callbackUrl,
    // The forwarder can exceed the highest pace that the service allows.
    messages_per_second: 10 * maxPace,
    is_default: false,
  }
  await callControl(simulatorUrl, 'PUT', 'accounts', account)
  const path = `/simulator/graph/${connection.api_version}/${account.phone_number_id}/messages`
  return { url: new URL(path, simulatorUrl).href, token: account.access_token }
}

async function callControl(simulatorUrl: string, method: string, call: string, body?: unknown): Promise<void> {
  const answer = await fetch(`${simulatorUrl}/control/${call}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(await answer.text())
}

/** Waits until all messages are read, or until no more reports arrive. */
async function untilRead({ db }: Service, from: string): Promise<void> {
  let left = -1
  for (let since = performance.now(); performance.now() - since < reportedMs; await sleep(50)) {
    const [counted] = await db<
      { n: number }[]
    >`select count(*)::int as n from messages where created_at > ${from} and status <> 'read'`
    if (counted?.n === 0) break
    if (counted?.n !== left) since = performance.now()
    left = counted?.n ?? 0
  }
}
