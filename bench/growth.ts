/**
 * Lists, searches and sends with ten thousand and with ten or fifty million messages, in two services, in alternating calls.
 *
 * Messages are in order of time and spread over all conversations; half of them are from customers. With `BENCH_FILLED=<folder>`
 * the two databases stay in that folder, and a second run does not fill them again.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeCursor } from '../server/lib/page.ts'
import type { Figure } from './figure.ts'
import { broadcastId, endpointId, fill, type Size } from './growth-data.ts'
import { sendTo } from './messages.ts'
import { phoneOf } from './people.ts'
import { connectTo, createKeys, discard, type Service, startService, startSimulator } from './service.ts'

const small: Size = { conversations: 100, messages: 10_000 }
const calls = 150

type Side = {
  service: Service
  keys: string[]
  next: number
  conversations: number
  sample: Sample[]
  /** Session cookie of a member. */
  cookie: string
}
type Sample = { id: string; deep: string }

/** Compares `messages` with ten thousand. A conversation has 100 messages in both. */
export async function benchGrowth(messages: number): Promise<Figure[]> {
  const simulator = await startSimulator()
  const large: Size = { conversations: messages / 100, messages }
  const sides = [await open(simulator.url, small), await open(simulator.url, large)] as const
  const figures: Figure[] = []
  for (const [what, run] of Object.entries(measuredCalls)) {
    const [few, many] = await compare(sides, run)
    figures.push({
      what: `${what}, ${large.messages.toLocaleString('en')} messages against ${small.messages.toLocaleString('en')}`,
      value: many.p50 / few.p50,
      unit: '×',
      goal: { below: 2 },
      note: `${many.p50.toFixed(2)} ms against ${few.p50.toFixed(2)} ms (p50), ${many.p99.toFixed(1)} ms against ${few.p99.toFixed(1)} ms (p99)`,
    })
    if (what.startsWith('GET /search')) {
      figures.push({ what: `${what}, p99`, value: many.p99, unit: 'ms', goal: { below: 100 } })
    }
  }
  // The provider has sent all reports by then.
  await sleep(1_500)
  await simulator.stop()
  for (const { service } of sides) {
    await service.stop()
    if (process.env.BENCH_FILLED === undefined) discard(service)
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
  'GET /conversations by activity, first page': (side) => callApi(side, '/conversations?sort=activity'),
  'GET /contacts, first page': (side) => callApi(side, '/contacts'),
  // The benchmark gives a conversation the id of its contact.
  'GET /contacts, deep page': (side, i) => callApi(side, `/contacts?cursor=${encodeCursor(sampleOf(side, i).id)}`),
  'GET /contacts with a phone number': (side, i) =>
    callApi(side, `/contacts?phone=${encodeURIComponent(phoneOf((i * 7919) % side.conversations))}`),
  'GET /contacts, search for a name': (side, i) => callAsMember(side, `/contacts?search=${names[i % names.length]}`),
  'GET /messages/{id}': (side, i) => callApi(side, `/messages/${sampleOf(side, i).deep}`),
  'inbox, first page': (side) => callAsMember(side, '/conversations'),
  'inbox, open and unassigned': (side) => callAsMember(side, '/conversations?status=open&assigned=nobody'),
  'inbox, counts': (side) => callAsMember(side, '/conversations/counts'),
  'inbox, timeline of a conversation': (side, i) =>
    callAsMember(side, `/conversations/${sampleOf(side, i).id}/timeline`),
  'GET /broadcasts/{id}/recipients, first page': (side) => callApi(side, `/broadcasts/${broadcastId}/recipients`),
  'GET /broadcasts/{id}/recipients that failed': (side) =>
    callApi(side, `/broadcasts/${broadcastId}/recipients?status=failed`),
  'GET /webhooks/{id}/deliveries, first page': (side) => callApi(side, `/webhooks/${endpointId}/deliveries`),
  'GET /webhooks/{id}/deliveries that failed': (side) =>
    callApi(side, `/webhooks/${endpointId}/deliveries?status=failed`),
  'events, first page': (side) => callAsMember(side, '/events'),
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

/** Parts of names in `people.ts`. */
const names = ['grace', 'hashimoto', 'badefi', 'abbott']

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

/** Starts a service whose database has this size. */
async function open(simulatorUrl: string, size: Size): Promise<Side> {
  const folder = process.env.BENCH_FILLED
  const dataDir = folder === undefined ? undefined : join(folder, String(size.messages))
  if (dataDir) mkdirSync(dataDir, { recursive: true })
  const service = await startService(dataDir)
  await connectTo(simulatorUrl, service)
  const mark = join(service.dataDir, 'filled')
  if (!existsSync(mark)) {
    await fill(service, size)
    writeFileSync(mark, '')
  }
  const sample = await service.db<Sample[]>`
    select v.id, m.id as deep
    from (
      select workspace_id, id from conversations where workspace_id = ${service.workspaceId} order by md5(id::text) limit 550
    ) v
    cross join lateral (
      select m.id from messages m where m.workspace_id = v.workspace_id and m.conversation_id = v.id
      order by m.id offset 25 limit 1
    ) m`
  const keys = await createKeys(service, 100)
  const cookie = await signIn(service)
  return { service, keys, next: 0, conversations: size.conversations, sample, cookie }
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
