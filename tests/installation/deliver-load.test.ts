/**
 * No delivery waits for a hanging endpoint of another receiver. In these tests a post may take so long that a delivery behind the
 * queue of the hanging ones would not arrive in time. `bench/` measures the actual delays.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { addEndpoint, causeEvent, multiply, queueEvents } from '../deliveries.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { type Api, start, times, until } from '../support.ts'

/** On a busy machine a healthy endpoint takes longer than 200 ms now and then, and would count as slow. */
const slowMs = 500
const starting = {
  alone: 'fills the queue of all workspaces',
  times: { ...times, webhooks: { ...times.webhooks, postMs: 15_000, leaseMs: 60_000, slowMs, stopMs: 100 } },
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
const emptyBodies = (count: number): string[] => numbers(count).map((i) => `{"number":${i}}`)

/** Holds responses until the test is over: before the service stops, which waits for its posts. */
function createHold(t: TestContext): (response: ServerResponse) => void {
  const held: ServerResponse[] = []
  let isOver = false
  t.after(() => {
    isOver = true
    for (const response of held) response.end()
  })
  return (response) => (isOver ? response.end() : held.push(response))
}

/** Events arrive at each of these paths, one after the other. */
async function assertArrive(api: Api, receiver: Receiver, paths: readonly string[], count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const contactId = await causeEvent(api)
    await until(`event ${i + 1} of ${count} at ${paths.length} endpoints`, () => {
      const arrived = receiver.received.flatMap(({ path, body }) => (body.data?.contact_id === contactId ? [path] : []))
      return new Set(arrived).size === paths.length && arrived.every((path) => paths.includes(path))
    })
  }
}

test('an endpoint that hangs with 10,000 queued deliveries does not delay 50 healthy ones', async (t) => {
  const hold = createHold(t)
  const { api, db } = await start(t, starting)
  const hanging = await startReceiver(t)
  hanging.answers(hold)
  const { id } = await addEndpoint(api, hanging.url)
  await queueEvents(db, api.workspaceId, [id], emptyBodies(10_000))
  await db`update webhook_endpoints set events = '{message.received}' where id = ${id}`
  await hanging.until(1)
  const receiver = await startReceiver(t)
  const healthy = await addEndpoint(api, receiver.url)
  const paths = numbers(49).map(String)
  const urls = paths.map((path) => receiver.url.replace('hook', path))
  await multiply(db, healthy.id, urls)
  await assertArrive(api, receiver, ['/hook', ...paths.map((path) => `/${path}`)], 20)
  assert.ok(hanging.received.length < 40, `${hanging.received.length} tries`)
})

test('400 hanging endpoints on one host, with more deliveries queued, do not delay new endpoints', async (t) => {
  const hold = createHold(t)
  const { api, db, workspace } = await start(t, starting)
  const newcomer = (await workspace()).api
  const receiver = await startReceiver(t)
  // The endpoints are slow at first, so that the service knows them; then they hang.
  receiver.answers((response) => setTimeout(() => response.end(), 2 * slowMs))
  const { id } = await addEndpoint(api, receiver.url.replace('hook', '0'))
  const urls = numbers(399).map((i) => receiver.url.replace('hook', `${i + 1}`))
  const others = await multiply(db, id, urls)
  await db`update webhook_endpoints set events = '{message.received}'`
  await queueEvents(db, api.workspaceId, [id, ...others], emptyBodies(30))
  await until('each of them to be tried', () => new Set(receiver.received.map(({ path }) => path)).size === 400)
  const tries = receiver.received.length
  receiver.answers((response, { path }) => (path.startsWith('/well') ? response.end() : hold(response)))
  await receiver.until(tries + 40)
  const paths: string[] = []
  for (let i = 0; i < 4; i++) {
    paths.push(`/well${i}`)
    await addEndpoint(newcomer, receiver.url.replace('hook', `well${i}`))
    await assertArrive(newcomer, receiver, paths, 5)
  }
})

test('40 endpoints that become slow do not occupy every slot', async (t) => {
  const hold = createHold(t)
  const { api, db } = await start(t, starting)
  const [slow, well] = [await startReceiver(t), await startReceiver(t)]
  const { id } = await addEndpoint(api, slow.url)
  const urls = numbers(39).map((i) => slow.url.replace('hook', `${i}`))
  const ids = [id, ...(await multiply(db, id, urls))]
  await db`update webhook_endpoints set events = '{message.received}'`
  await addEndpoint(api, well.url)
  await assertArrive(api, well, ['/hook'], 3)
  // The endpoints are fast at first and earn all their slots; then they are slow, and at last they hang.
  await queueEvents(db, api.workspaceId, ids, emptyBodies(20))
  await slow.until(800)
  slow.answers((response) => setTimeout(() => response.end(), 2 * slowMs))
  await queueEvents(db, api.workspaceId, ids, emptyBodies(60))
  await slow.until(800 + 512 + 100)
  slow.answers(hold)
  await assertArrive(api, well, ['/hook'], 15)
})
