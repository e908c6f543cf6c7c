/**
 * A broadcast to 100,000 recipients at 1,000 per second with all status reports, the latency of another workspace meanwhile,
 * the time until a segment of a million starts, and the time to accept a broadcast.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Broadcast, type Filter, Parley } from '../sdk/src/index.ts'
import { createWorkspace } from '../server/accounts/workspaces.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './load.ts'
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

const pace = 1_000
const people = 100_000
const many = 1_000_000
const template = {
  name: 'order_confirmed',
  language: 'en_US',
  params: ['{{contact.name|there}}', 'A-10042'],
  contact_fields: true,
}

export async function benchBroadcasts(): Promise<Figure[]> {
  const service = await startService()
  const simulator = await startSimulator()
  await connectTo(simulator.url, service, pace)
  const neighbour = await createNeighbour(service, simulator.url)
  await insertPeople(service.db, service.workspaceId, 0, people)
  await insertConversations(service.db, service.workspaceId)
  const [key = ''] = await createKeys(service, 1)
  const parley = new Parley({ apiKey: key, baseUrl: `${service.url}/v1` })

  const accepts: number[] = []
  const recipients = Array.from({ length: 1_000 }, (_, i) => ({ to: phoneOf(i) }))
  for (let i = 0; i < 7; i++) {
    const began = performance.now()
    await parley.broadcasts.create({ name: 'Later', template, recipients, scheduled_at: '2100-01-01T00:00:00Z' })
    accepts.push(performance.now() - began)
  }
  accepts.sort((a, b) => a - b)

  const idle = await neighbour.measure()
  const hasPhone: Filter = { match: 'all', rules: [{ field: 'phone', op: 'is_set' }] }
  const segment = await parley.segments.create({ name: 'All contacts', kind: 'dynamic', filter: hasPhone })
  const began = performance.now()
  const { id } = await parley.broadcasts.create({ name: 'All contacts', template, segment_id: segment.id })
  await sleep(5_000)
  const busy = await neighbour.measure()
  const sent = await untilTrue(service, parley, id, ({ status }) => status === 'sent')
  const seconds = (performance.now() - began) / 1000
  // Some contacts of the demo never read.
  const read = await untilTrue(service, parley, id, ({ read_count }) => read_count >= people)
  const readSeconds = (performance.now() - began) / 1000

  await insertPeople(service.db, service.workspaceId, people, many)
  const asked = performance.now()
  const large = await parley.broadcasts.create({ name: 'A million', template, segment_id: segment.id })
  await untilTrue(service, parley, large.id, ({ sent_count }) => sent_count > 0)
  const firstMs = performance.now() - asked

  await simulator.stop()
  await service.stop()
  discard(service)
  return [
    {
      what: `a broadcast to ${people.toLocaleString('en')} at ${pace.toLocaleString('en')}/s, until all are sent`,
      value: seconds,
      unit: 's',
      goal: { below: 110 },
      note: `${sent.sent_count} sent; all ${read.read_count} read after ${readSeconds.toFixed(0)} s`,
    },
    { what: 'accepting 1,000 recipients (median of 7)', value: accepts[3] ?? 0, unit: 'ms', goal: { below: 150 } },
    { what: 'a segment of 1,000,000, until the first is sent', value: firstMs / 1000, unit: 's', goal: { below: 5 } },
    compare('GET /v1/me of another workspace meanwhile, single caller, p99 over idle', busy.me, idle.me, 3),
    compare(
      'POST /v1/messages of another workspace meanwhile, single caller, p99 over idle',
      busy.sends,
      idle.sends,
      2,
    ),
  ]
}

function compare(what: string, busy: Measured, idle: Measured, below: number): Figure {
  const note = `p99 ${busy.p99.toFixed(1)} ms against ${idle.p99.toFixed(1)} ms, p50 ${busy.p50.toFixed(1)} ms against ${idle.p50.toFixed(1)} ms`
  return { what, value: busy.p99 / idle.p99, unit: '×', goal: { below }, note }
}

/** Creates another workspace in the same service and measures its calls. */
async function createNeighbour(service: Service, simulatorUrl: string) {
  const owner = { email: 'owner@bench.test', password: 'correct horse' }
  const { workspace_id: workspaceId } = await service.db.begin((sql) =>
    createWorkspace(sql, { name: 'Neighbour', default_country: 'US', owner }),
  )
  const own = { ...service, workspaceId }
  await connectTo(simulatorUrl, own)
  const keys = await createKeys(own, 1_000)
  const tokenOf = (i: number) => keys[i % keys.length] ?? ''
  const gets = keys.map((token) => toRequest({ path: '/v1/me', token }))
  const sends = keys.map((_, i) => toRequest({ path: '/v1/messages', token: tokenOf(i), body: sendTo(phoneOf(i)) }))
  return {
    async measure(): Promise<{ me: Measured; sends: Measured }> {
      const load = { port: service.port, connections: 1, seconds: 10 }
      await service.db`truncate api_key_windows`
      const me = await measureLoad({ ...load, requests: gets })
      await service.db`truncate api_key_windows`
      const sent = await measureLoad({ ...load, requests: sends, expected: 201 })
      if (me.failures + sent.failures > 0) throw new Error(`${me.failures} and ${sent.failures} calls were refused`)
      return { me, sends: sent }
    },
  }
}

async function untilTrue(
  { db }: Service,
  parley: Parley,
  id: string,
  holds: (progress: Broadcast) => boolean,
): Promise<Broadcast> {
  for (;;) {
    const progress = await parley.broadcasts.get(id)
    if (holds(progress)) return progress
    await sleep(200)
    await db`truncate api_key_windows`
  }
}
