/**
 * Webhooks: throughput, latency, and latency next to hanging endpoints.
 *
 * Receivers are https servers on this machine, each in its own process. Throughput is compared with a loop that signs and
 * posts the same bodies to the same receiver and stores nothing, and with a plain implementation, in alternating rounds.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { times } from '../common/times.ts'
import { createWorkspace } from '../server/accounts/workspaces.ts'
import { findEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { connect, type Db } from '../server/lib/postgres/db.ts'
import { claimDeliveries } from '../server/webhooks/queue.ts'
import { multiply, queueEvents } from '../tests/deliveries.ts'
import { type Cpu, cpuPer, readCpu } from './cpu.ts'
import { addEndpoint, bodyOf, countOf, type Receiver, settings, startReceiver } from './endpoints.ts'
import type { Figure } from './figure.ts'
import { phoneOf } from './people.ts'
import type { PlainDelivering } from './plain-webhooks.ts'
import type { Posting } from './raw-poster.ts'
import { createKeys, discard, type Service, startService, stopChild } from './service.ts'

const root = join(import.meta.dirname, '..')

export async function benchWebhooks(): Promise<Figure[]> {
  return [...(await benchRate()), ...(await benchDelay()), ...(await benchNeighbours()), await benchClaim()]
}

const rounds = 3
const seconds = 3
const queued = 100_000
/** Posts in flight in the loop, and loops of the plain implementation. */
const concurrency = 64

type Measure = { perSecond: number; cpu: Cpu }

/** Endpoints, and the share of the loop that deliveries to them must reach. */
const shares = [
  [1, 0.5],
  [10, 0.8],
  [100, 0.6],
] as const

/** Deliveries per second from a long queue, to one endpoint, ten and a hundred. */
async function benchRate(): Promise<Figure[]> {
  const service = await startService(undefined, settings)
  const plain = await startService(undefined, { ...settings, ROLES: 'api' })
  // Such an implementation would have an index for its claim.
  await plain.db`create index on webhook_deliveries (next_attempt_at)`
  const receiver = await startReceiver()
  const figures: Figure[] = []
  for (const [endpoints, atLeast] of shares) {
    const paths = Array.from({ length: endpoints }, (_, i) => `/${endpoints}-${i}`)
    const sides = [await addQueue(service, receiver, paths), await addQueue(plain, receiver, paths)] as const
    const { bodies, secret } = sides[0]
    const results: { raw: number; parley: Measure; plain: Measure }[] = []
    for (let round = 0; round < rounds; round++) {
      const posting = { origin: receiver.origin, paths, bodies: bodies.slice(0, 1_000), secret, concurrency, seconds }
      const raw = await measureRaw({ ...posting, warmUpSeconds: 1 })
      const parley = await measureQueue(service, receiver, sides[0], service.pid)
      results.push({ raw, parley, plain: await measurePlain(plain, receiver, sides[1]) })
    }
    for (const { db } of [service, plain]) await db`delete from webhook_endpoints`
    const medianBy = (ratio: (result: (typeof results)[number]) => number) => {
      const [middle] = results.toSorted((a, b) => ratio(a) - ratio(b)).slice(Math.floor(rounds / 2))
      if (!middle) throw new Error('there was no round')
      return middle
    }
    const what = `webhooks to ${endpoints === 1 ? 'one endpoint' : `${endpoints} endpoints`}, ${queued.toLocaleString('en')} queued`
    const shareOf = ({ raw, parley }: (typeof results)[number]) => parley.perSecond / raw
    const share = medianBy(shareOf)
    const multipleOf = ({ plain, parley }: (typeof results)[number]) => parley.perSecond / plain.perSecond
    const multiple = medianBy(multipleOf)
    figures.push(
      {
        what: `${what}, share of a loop that signs and posts (median of ${rounds})`,
        value: shareOf(share),
        unit: '×',
        goal: { atLeast },
        note: `${Math.round(share.parley.perSecond)}/s against ${Math.round(share.raw)}/s; ${describeCpu(share.parley.cpu)}`,
      },
      {
        what: `${what}, against a plain implementation (median of ${rounds})`,
        value: multipleOf(multiple),
        unit: '×',
        goal: { atLeast: 3 },
        note: `${Math.round(multiple.parley.perSecond)}/s against ${Math.round(multiple.plain.perSecond)}/s; plain: ${describeCpu(multiple.plain.cpu)}`,
      },
    )
  }
  await receiver.stop()
  for (const one of [service, plain]) {
    await one.stop()
    discard(one)
  }
  return figures
}

const describeCpu = ({ node, database }: Cpu): string =>
  `CPU per delivery: Node ${Math.round(node)} µs, PostgreSQL ${Math.round(database)} µs`

type Queue = { ids: string[]; bodies: string[]; secret: string }

/** Creates an endpoint for each path, and the bodies of the events to queue. */
async function addQueue(service: Service, { origin }: Receiver, paths: readonly string[]): Promise<Queue> {
  const [first = '', ...others] = paths.map((path) => `${origin}${path}`)
  const { id, secret } = await addEndpoint(service, first)
  const ids = [id, ...(await multiply(service.db, id, others))]
  return { ids, secret, bodies: Array.from({ length: queued / ids.length }, (_, i) => bodyOf(service.workspaceId, i)) }
}

async function measurePlain(service: Service, receiver: Receiver, queue: Queue): Promise<Measure> {
  const database = await findEmbeddedPostgres(service.dataDir)
  if (!database) throw new Error('the service has no embedded database')
  const child = spawn(process.execPath, [join(root, 'bench/plain-webhooks.ts')], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const delivering: PlainDelivering = { database, secret: queue.secret, concurrency }
  // It prepares its statements once, so the queue is filled before.
  const start = () => child.stdin.end(JSON.stringify(delivering))
  const measured = await measureQueue(service, receiver, queue, child.pid ?? 0, start)
  await stopChild(child)
  return measured
}

const lone = { perSecond: 50, seconds: 20 }

/** Time from the call that creates a contact to the arrival of its webhook. */
async function benchDelay(): Promise<Figure[]> {
  const service = await startService(undefined, settings)
  const receiver = await startReceiver()
  await addEndpoint(service, `${receiver.origin}/hook`)
  const keys = await createKeys(service, 20)
  const { p50, p99, count } = await measureDelays(service, receiver, keys, lone)
  await receiver.stop()
  await service.stop()
  discard(service)
  const what = `POST /v1/contacts to the receipt of its webhook, ${lone.perSecond}/s`
  return [
    { what: `${what}, p50`, value: p50, unit: 'ms', goal: { below: 20 }, note: `of ${count}` },
    { what: `${what}, p99`, value: p99, unit: 'ms', goal: { below: 100 } },
  ]
}

const healthy = 50
const crowd = { perSecond: 200, seconds: 20 }
const hanging = 200

/** The same for 50 workspaces at 200 events per second in total: alone, next to one hanging endpoint, and next to 200. */
async function benchNeighbours(): Promise<Figure[]> {
  const service = await startService(undefined, settings)
  const [receiver, dead] = [await startReceiver(), await startReceiver()]
  const tenants: string[][] = []
  for (let i = 0; i < healthy; i++) {
    const owner = { email: `owner${i}@bench.test`, password: 'correct horse' }
    const { workspace_id: workspaceId } = await service.db.begin((sql) =>
      createWorkspace(sql, { name: `Bench ${i}`, default_country: 'US', owner }),
    )
    tenants.push(await createKeys({ ...service, workspaceId }, 5))
    await addEndpoint({ ...service, workspaceId }, `${receiver.origin}/${i}`)
  }
  // Rotates through the callers, and through the keys of each.
  const keys = Array.from({ length: 5 }, (_, turn) => tenants.map((own) => own[turn] ?? '')).flat()
  const measure = async () => {
    await service.db`truncate api_key_windows`
    return measureDelays(service, receiver, keys, crowd)
  }
  const { id } = await addEndpoint(service, `${dead.origin}/hang`)
  await service.db`update webhook_endpoints set events = '{message.received}' where id = ${id}`
  const bodies = Array.from({ length: 100_000 }, (_, i) => bodyOf(service.workspaceId, i))
  // The first run only opens connections.
  await measure()
  const alone = await measure()
  await queueEvents(service.db, service.workspaceId, [id], bodies)
  const besideOne = await measure()
  await service.db`delete from webhook_deliveries`
  const urls = Array.from({ length: hanging - 1 }, (_, i) => `${dead.origin}/hang${i}`)
  const ids = [id, ...(await multiply(service.db, id, urls))]
  await queueEvents(service.db, service.workspaceId, ids, bodies.slice(0, 500))
  const besideMany = await measure()
  for (const one of [receiver, dead]) await one.stop()
  await service.stop()
  discard(service)
  const beside = (neighbours: string, { p50, p99 }: Delays): Figure => ({
    what: `p99 of ${healthy} healthy endpoints at ${crowd.perSecond}/s in total next to ${neighbours}, against alone`,
    value: p99 / alone.p99,
    unit: '×',
    goal: { below: 2 },
    note: `${p99.toFixed(1)} ms against ${alone.p99.toFixed(1)} ms; p50 ${p50.toFixed(1)} ms against ${alone.p50.toFixed(1)} ms`,
  })
  return [
    beside('one hanging endpoint with 100,000 queued', besideOne),
    beside(`${hanging} hanging endpoints with 100,000 queued`, besideMany),
  ]
}

const claims = 200

/** A single claim, from a hundred and from a million due deliveries. */
async function benchClaim(): Promise<Figure> {
  const sides = [await startClaiming(100), await startClaiming(1_000_000)] as const
  const times: [number[], number[]] = [[], []]
  for (let i = -20; i < claims; i++) {
    for (const index of [0, 1] as const) {
      const ms = await sides[index].claim()
      if (i >= 0) times[index].push(ms)
    }
  }
  for (const { stop } of sides) await stop()
  const [few = 0, many = 0] = times.map((list) => at(list.sort(ascending), 0.5))
  return {
    what: 'a claim of 16 deliveries out of 1,000,000 due to one endpoint, against 100',
    value: many / few,
    unit: '×',
    goal: { below: 2 },
    note: `${many.toFixed(2)} ms against ${few.toFixed(2)} ms (p50)`,
  }
}

/** Fills a queue that no worker claims from. */
async function startClaiming(due: number): Promise<{ claim(): Promise<number>; stop(): Promise<void> }> {
  const service = await startService(undefined, { ...settings, ROLES: 'api' })
  const { id } = await addEndpoint(service, 'https://127.0.0.1:9/')
  await service.db`
    with events as (
      insert into webhook_events (workspace_id, id, event, body, occurred_at)
      select ${service.workspaceId}, uuidv7(), 'contact.created', ${bodyOf(service.workspaceId, 0)}, now()
      from generate_series(1, ${due}::int)
      returning id
    )
    insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
    select ${service.workspaceId}, ${id}, gen_random_uuid(), id from events`
  for (const table of ['webhook_events', 'webhook_deliveries']) await service.db`vacuum analyze ${service.db(table)}`
  const address = await findEmbeddedPostgres(service.dataDir)
  if (!address) throw new Error('the service has no embedded database')
  const sql = connect({ database: address, max: 1, hot: true, byIndex: true })
  const room = 16
  const plan = {
    plannedAt: 0,
    limit: 512,
    endpointIds: [id],
    capacities: [room],
    standings: ['proven' as const],
    newCapacity: 2,
    unprovenCapacity: 0,
  }
  let left = due
  return {
    async claim() {
      if (left < room) {
        await sql`update webhook_deliveries set leased_until = null`
        left = due
      }
      left -= room
      const began = performance.now()
      const claimed = await claimDeliveries(sql, plan, times.webhooks)
      const ms = performance.now() - began
      if (claimed.length !== room) throw new Error(`${claimed.length} deliveries were claimed`)
      return ms
    },
    async stop() {
      await sql.end()
      await service.stop()
      discard(service)
    },
  }
}

async function measureRaw(posting: Posting): Promise<number> {
  const child = spawn(process.execPath, [join(root, 'bench/raw-poster.ts')], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(posting))
  return JSON.parse(await text(child.stdout)).perSecond
}

/** Requests per second at the receiver while the queue is never empty, and the CPU time of `pid`. Drops the remaining deliveries. */
async function measureQueue(
  { db, workspaceId, postmasterPid }: Service,
  receiver: Receiver,
  { ids, bodies }: Queue,
  pid: number,
  onQueued = () => {},
): Promise<Measure> {
  const before = await countOf(receiver)
  await queueEvents(db, workspaceId, ids, bodies)
  await db`analyze webhook_deliveries`
  onQueued()
  const warm = before.count + 3_000
  while ((await countOf(receiver)).count < warm) await sleep(50)
  const [from, cpuFrom] = [await countOf(receiver), readCpu({ pid, postmasterPid })]
  await sleep(seconds * 1000)
  const [to, cpuTo] = [await countOf(receiver), readCpu({ pid, postmasterPid })]
  if (to.count - before.count >= queued) throw new Error('the queue was too short')
  await db`delete from webhook_deliveries`
  await untilQuiet(db)
  const count = to.count - from.count
  return { perSecond: (count * 1000) / (to.at - from.at), cpu: cpuPer(cpuFrom, cpuTo, count) }
}

/** Waits until deliveries in flight are settled, then vacuums and checkpoints the database. */
async function untilQuiet(db: Db): Promise<void> {
  await sleep(1_000)
  await db`delete from webhook_deliveries`
  for (const table of ['webhook_deliveries', 'webhook_events', 'webhook_attempts'])
    await db`vacuum analyze ${db(table)}`
  await db`checkpoint`
}

type Delays = { p50: number; p99: number; count: number }

let people = 0

/** Creates contacts at a constant rate, without waiting for responses, and measures when each webhook arrives. */
async function measureDelays(
  { url }: Service,
  receiver: Receiver,
  keys: readonly string[],
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Delays> {
  const calls = new Agent({ connections: 64 })
  const calledAt = new Map<string, number>()
  const call = async (key: string) => {
    const phone = phoneOf(people++)
    calledAt.set(phone, performance.timeOrigin + performance.now())
    const answer = await calls.request({
      origin: url,
      path: '/v1/contacts',
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ phone }),
    })
    const body = await answer.body.text()
    if (answer.statusCode !== 201) throw new Error(body)
  }
  // The first second only opens connections.
  const total = perSecond * (seconds + 1)
  const began = performance.now()
  const pending: Promise<void>[] = []
  for (let i = 0; i < total; i++) {
    if (i === perSecond) await receiver.query('startRecording')
    const early = began + (i * 1000) / perSecond - performance.now()
    if (early > 0) await sleep(early)
    pending.push(call(keys[i % keys.length] ?? ''))
  }
  await Promise.all(pending)
  await sleep(2_000)
  const report = await receiver.query('stopRecording')
  await calls.close()
  if (!('recorded' in report)) throw new Error('the receiver recorded nothing')
  const delays = report.recorded.flatMap(([phone, at]) => at - (calledAt.get(phone) ?? at)).sort(ascending)
  if (delays.length < perSecond * seconds)
    throw new Error(`${delays.length} of ${perSecond * seconds} webhooks arrived`)
  return { p50: at(delays, 0.5), p99: at(delays, 0.99), count: delays.length }
}

const ascending = (one: number, other: number): number => one - other

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
