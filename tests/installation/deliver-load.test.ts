/**
 * No delivery waits for a hanging endpoint of another receiver. One that did would be late by the timeout of five
 * seconds. `bench/` measures the actual delays.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addEndpoint, happen, multiply, queueEvents } from '../deliveries.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { type Api, start, until, type World } from '../support.ts'

/** Less than an endpoint that hangs is waited for. */
const aRoundMs = 4_500

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
const emptyBodies = (count: number): string[] => numbers(count).map((i) => `{"number":${i}}`)

/**
 * Measures up to three times, until the time is short enough. A delivery that waits for a hanging endpoint is late in
 * every measurement; one that waits for a busy machine is not.
 */
async function untilShort<Times>(measure: () => Promise<Times>, longest: (times: Times) => number): Promise<Times> {
  for (let round = 1; ; round++) {
    const times = await measure()
    if (longest(times) < aRoundMs || round === 3) return times
  }
}

/** How long things take to arrive at a path, in ms, one after the other. */
async function delays(api: Api, receiver: Receiver, path: string, times: number): Promise<number[]> {
  const found: number[] = []
  for (let i = 0; i < times; i++) {
    const happenedAt = Date.now()
    const contactId = await happen(api)
    const isIt = (one: Receiver['received'][number]) => one.path === path && one.body.data?.contact_id === contactId
    while (!receiver.received.some(isIt)) {
      assert.ok(Date.now() - happenedAt < 20_000, 'nothing came')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    found.push(Date.now() - happenedAt)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return found
}

/** Fifty endpoints at one receiver, with open connections. */
async function addHealthy({ api, db }: World, receiver: Receiver): Promise<void> {
  const { id } = await addEndpoint(api, receiver.url)
  const ids = [
    id,
    ...(await multiply(
      db,
      id,
      numbers(49).map((i) => receiver.url.replace('hook', `${i}`)),
    )),
  ]
  await queueEvents(db, api.workspaceId, ids, emptyBodies(4))
  await receiver.until(200)
}

/** 200 deliveries a second to the fifty: after which half, and 99 of a hundred, have arrived, in ms. */
async function measureHealthy({ api }: World, receiver: Receiver): Promise<{ median: number; p99: number }> {
  const before = receiver.received.length
  for (let i = 0; i < 20; i++) {
    await happen(api)
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  // The first time each came: on a busy machine one may come again.
  const firsts = await until('all of it', async () => {
    const firsts = new Map<string, number>()
    for (const { body, path, at } of receiver.received.slice(before)) {
      const key = `${path} ${body.id}`
      if (body.occurred_at && !firsts.has(key)) firsts.set(key, at - Date.parse(body.occurred_at))
    }
    return firsts.size === 20 * 50 && firsts
  })
  const times = [...firsts.values()].toSorted((one, other) => one - other)
  return { median: times[500] ?? 0, p99: times[989] ?? 0 }
}

test('an endpoint that hangs with 10,000 queued deliveries does not delay 50 healthy ones', async (t) => {
  const world = await start(t, { alone: 'fills the queue of all workspaces' })
  const hanging = await startReceiver(t)
  hanging.answers(() => {})
  const { id } = await addEndpoint(world.api, hanging.url)
  await queueEvents(world.db, world.api.workspaceId, [id], emptyBodies(10_000))
  await world.db`update webhook_endpoints set events = '{message.received}' where id = ${id}`
  await hanging.until(1)
  const receiver = await startReceiver(t)
  await addHealthy(world, receiver)
  const beside = await untilShort(
    () => measureHealthy(world, receiver),
    ({ p99 }) => p99,
  )
  t.diagnostic(`median ${beside.median} ms, p99 ${beside.p99} ms`)
  assert.ok(beside.p99 < aRoundMs, `p99 ${beside.p99} ms`)
  assert.ok(hanging.received.length < 40, `${hanging.received.length} tries`)
})

test('400 hanging endpoints on one host, with more deliveries queued, do not delay new endpoints', async (t) => {
  const { api, db, workspace } = await start(t, { alone: 'fills the queue of all workspaces' })
  const newcomer = (await workspace()).api
  const receiver = await startReceiver(t)
  receiver.answers((response, { path }) => (path.startsWith('/well') ? response.end() : undefined))
  const { id } = await addEndpoint(api, receiver.url.replace('hook', '0'))
  const others = await multiply(
    db,
    id,
    numbers(399).map((i) => receiver.url.replace('hook', `${i + 1}`)),
  )
  await db`update webhook_endpoints set events = '{message.received}'`
  await queueEvents(db, api.workspaceId, [id, ...others], emptyBodies(30))
  // Each endpoint is tried once before it counts as hanging: they share 256 slots.
  await receiver.until(2 * 256 + 20)
  for (let i = 0; i < 4; i++) {
    let endpoints = 0
    const measure = async () => {
      const path = `well${i}.${endpoints++}`
      await addEndpoint(newcomer, receiver.url.replace('hook', path))
      return delays(newcomer, receiver, `/${path}`, 5)
    }
    const [first = 0, ...rest] = await untilShort(measure, (times) => Math.max(...times))
    t.diagnostic(`first ${first} ms, then ${rest.join(', ')}`)
    assert.ok(first < aRoundMs, `${first} ms`)
    assert.ok(Math.max(...rest) < aRoundMs, `${rest.join(', ')} ms`)
  }
  const tried = new Set(receiver.received.map(({ path }) => path).filter((path) => !path.startsWith('/well')))
  assert.equal(tried.size, 400, 'hanging endpoints are attempted too')
})

test('40 endpoints that answer after four seconds do not occupy every slot', async (t) => {
  const { api, db } = await start(t, { alone: 'fills the queue of all workspaces' })
  const [slow, well] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await addEndpoint(api, slow.url)
  const ids = [
    id,
    ...(await multiply(
      db,
      id,
      numbers(39).map((i) => slow.url.replace('hook', `${i}`)),
    )),
  ]
  await db`update webhook_endpoints set events = '{message.received}'`
  await addEndpoint(api, well.url)
  await delays(api, well, '/hook', 3)
  // The endpoints are fast at first and earn all their slots; then they are slow.
  await queueEvents(db, api.workspaceId, ids, emptyBodies(20))
  await slow.until(800)
  slow.answers((response) => setTimeout(() => response.end(), 4_000))
  await queueEvents(db, api.workspaceId, ids, emptyBodies(60))
  await slow.until(800 + 512 + 100)
  const found = await delays(api, well, '/hook', 15)
  t.diagnostic(found.join(', '))
  // One wait of their four seconds would show in most of them.
  assert.ok((found.toSorted((one, other) => one - other)[7] ?? 0) < 2_000, `${found.join(', ')} ms`)
})
