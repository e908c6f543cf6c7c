/**
 * `POST /v1/messages` end to end: throughput against a bare server that forwards messages to the same simulated provider, in
 * alternating rounds, and the latency of a single caller beyond that of the provider.
 *
 * Both servers receive three status reports per message. The service stores them; the forwarder only answers 200.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../scripts/free-port.ts'
import type { Connection } from '../server/channels/channel.ts'
import { newId } from '../server/lib/id.ts'
import type { SimulatorAccount } from '../simulator/simulator.ts'
import type { Figure } from './figure.ts'
import { insertConversations, insertPeople, phoneOf } from './people.ts'
import {
  connectTo,
  createKeys,
  discard,
  maxPace,
  measureLoad,
  type Service,
  startForwarder,
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

export async function benchMessages(): Promise<Figure[]> {
  const service = await startService()
  const simulator = await startSimulator()
  const connection = await connectTo(simulator.url, service)
  await insertPeople(service.db, service.workspaceId, 0, people)
  await insertConversations(service.db, service.workspaceId)
  const keys = await createKeys(service, 2_000)
  const bodies = Array.from({ length: people }, (_, i) => sendTo(phoneOf(i)))
  const sends = bodies.map((body, i) => toRequest({ path: '/v1/messages', token: keys[i % keys.length] ?? '', body }))
  const port = await freePort()
  const other = otherAccount(connection, `http://127.0.0.1:${port}/callback`)
  await callControl(simulator.url, 'PUT', 'accounts', other)
  const messages = Array.from({ length: people }, (_, i) => wireTo(phoneOf(i)))
  const graph = `/simulator/graph/${connection.api_version}/${other.phone_number_id}/messages`
  const forwarder = await startForwarder(await send(service, keys[0] ?? '', bodies[0] ?? ''), {
    port,
    url: new URL(graph, simulator.url).href,
    token: other.access_token,
    messages,
  })

  const from = new Date().toISOString()
  const measure = async () => {
    const load = { requests: sends, expected: 201, connections, seconds }
    const bare = await measureLoad({ ...load, port })
    await sleep(reportedMs)
    await service.db`truncate api_key_windows`
    const parley = await measureLoad({ ...load, port: service.port })
    const failures = bare.failures + parley.failures
    if (failures > 0)
      throw new Error(
        `responses other than 201: ${bare.failures} from the forwarder, ${parley.failures} from the service`,
      )
    return { bare, parley, behindMs: await untilRead(service, from) }
  }
  const results = [await measure(), await measure(), await measure()].sort((a, b) => ratio(a) - ratio(b))
  await callControl(simulator.url, 'POST', 'faults', { mode: 'no_statuses' })
  const silent = await measure()
  await callControl(simulator.url, 'DELETE', 'faults')

  await service.db`truncate api_key_windows`
  const alone = { connections: 1, seconds: 3 }
  const lone = await measureLoad({ ...alone, port: service.port, requests: sends, expected: 201 })
  const direct = await measureLoad({
    ...alone,
    port: Number(new URL(simulator.url).port),
    requests: messages.map((body) => toRequest({ path: graph, token: other.access_token, body })),
  })
  if (lone.failures + direct.failures > 0) throw new Error('a call of the single caller was refused')
  await sleep(reportedMs)
  await simulator.stop()
  await forwarder.stop()
  await service.stop()
  discard(service)

  const median = results[Math.floor(rounds / 2)] ?? silent
  return [
    {
      what: `POST /v1/messages, ${connections} connections, share of a bare forwarder (median of ${rounds})`,
      value: ratio(median),
      unit: '×',
      goal: { atLeast: 0.5 },
      note: `${inWords(median)}; the last report was stored ${Math.round(median.behindMs)} ms after the last response`,
    },
    { what: 'the same, without status reports', value: ratio(silent), unit: '×', note: inWords(silent) },
    {
      what: 'POST /v1/messages, single caller, p50 beyond that of the provider',
      value: lone.p50 - direct.p50,
      unit: 'ms',
      goal: { below: 5 },
      note: `${lone.p50.toFixed(2)} ms against ${direct.p50.toFixed(2)} ms, p99 ${lone.p99.toFixed(2)} ms`,
    },
  ]
}

type Round = { bare: { perSecond: number }; parley: { perSecond: number; p50: number; p99: number }; behindMs: number }

const ratio = ({ bare, parley }: Round): number => parley.perSecond / bare.perSecond

function inWords({ bare, parley }: Round): string {
  const [ours, theirs] = [parley.perSecond, bare.perSecond].map(Math.round)
  return `${ours}/s against ${theirs}/s, p50 ${parley.p50.toFixed(0)} ms, p99 ${parley.p99.toFixed(0)} ms`
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

/** A second account at the same provider, for the forwarder. */
function otherAccount({ api_version: _, ...connection }: Connection, callbackUrl: string): SimulatorAccount {
  return {
    workspace_id: newId(),
    channel: 'msgapp',
    account_id: `9${connection.account_id.slice(1, -1)}7`,
    phone_number_id: `9${connection.phone_number_id.slice(1, -1)}7`,
    display_phone_number: '15550009999',
    business_name: 'Forwarder',
    access_token: `other-${connection.access_token}`,
    app_secret: connection.app_secret,
    verify_token: connection.verify_token,
    callback_url: callbackUrl,
    // The forwarder can exceed the highest pace that the service allows.
    messages_per_second: 10 * maxPace,
    is_default: false,
  }
}

async function callControl(simulatorUrl: string, method: string, call: string, body?: unknown): Promise<void> {
  const answer = await fetch(`${simulatorUrl}/control/${call}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(await answer.text())
}

/** Milliseconds until all messages are read, or until no more reports arrive. */
async function untilRead({ db }: Service, from: string): Promise<number> {
  const began = performance.now()
  let left = -1
  for (let since = began; performance.now() - since < reportedMs; await sleep(50)) {
    const [counted] = await db<
      { n: number }[]
    >`select count(*)::int as n from messages where created_at > ${from} and status <> 'read'`
    if (counted?.n === 0) break
    if (counted?.n !== left) since = performance.now()
    left = counted?.n ?? 0
  }
  return performance.now() - began
}
