/**
 * Repeated kill -9 during a broadcast: no recipient is sent to twice, none is
 * skipped, and the counters equal the rows.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NewBroadcast } from '../../sdk/src/index.ts'
import { nowhere, startPrograms } from '../crashing.ts'
import { requireBroadcast } from '../internals.ts'
import { file, until } from '../support.ts'

/** Of the tests with one service. */
const shared = startPrograms(file)

async function startAll(t: TestContext, pace: number, programs = shared) {
  const { db, simulator, services, workspace } = await programs
  const { id: workspaceId, parley, provider, reportTo } = await workspace({ messagesPerSecond: pace })
  const accept = async (recipients: NewBroadcast['recipients']): Promise<string> =>
    (await parley.broadcasts.create({ name: 'Crash', template: { name: 'hello_world' }, recipients })).id
  const handedOver = async (id: string): Promise<number> => {
    const [row] = await db<{ position: number }[]>`
      select position from broadcasts where workspace_id = ${workspaceId} and id = ${id}`
    return row?.position ?? 0
  }

  /** Each recipient was handed over once; accepted messages are read, the others have no outcome. */
  const assertOnce = async (id: string, count: number) => {
    await until('all recipients to be handed over', async () => (await handedOver(id)) === count)
    const settle = async () => {
      const taken = new Set((await provider.sent()).map(({ to }) => to))
      const rows = await db<{ phone: string; status: string; attempt_count: number }[]>`
        select phone, status, attempt_count from broadcast_recipients where broadcast_id = ${id}`
      const isSettled = rows.every(({ phone, status }) => status === (taken.has(phone) ? 'read' : 'sending'))
      return isSettled && { taken, rows }
    }
    const { taken, rows } = await until('the reports', settle)
    assert.equal((await provider.sent()).length, taken.size, 'no recipient got it twice')
    assert.equal(rows.length, count)
    assert.ok(rows.every(({ attempt_count }) => attempt_count === 1))
    const broadcast = await requireBroadcast(db, workspaceId, id)
    const unknown = count - taken.size
    assert.deepEqual(
      [broadcast.total_count, broadcast.read_count, broadcast.sent_count, broadcast.pending_count],
      [count, taken.size, taken.size, unknown],
    )
    assert.deepEqual([broadcast.failed_count, broadcast.skipped_count], [0, 0])
    const [usage] = await db<{ message_count: number }[]>`
      select message_count from plan_usage where workspace_id = ${workspaceId}`
    assert.equal(usage?.message_count, count)
    assert.equal((await db`select 1 from messages where workspace_id = ${workspaceId}`).length, count)
    t.diagnostic(`${taken.size} of ${count} were taken, ${unknown} are unknown`)
    return { unknown }
  }
  return { db, simulator, services, provider, reportTo, workspaceId, accept, handedOver, assertOnce }
}

const people = (count: number) => Array.from({ length: count }, (_, i) => ({ to: `+1415557${String(1_000 + i)}` }))

test('one process, killed at random moments of a broadcast: each recipient is sent to at most once', async (t) => {
  const count = 600
  const { services, provider, reportTo, accept, handedOver, assertOnce } = await startAll(t, 100)
  // At any moment dozens are accepted but not answered, and no report arrives before the end.
  await provider.fault({ mode: 'delay', delay_ms: 400 })
  await reportTo(nowhere)
  const [service] = services
  const id = await accept(people(count))
  let kills = 0
  for (let before = 0; kills < 4; kills++) {
    await until('it to go on', async () => (await handedOver(id)) > before)
    await sleep(Math.random() * 300)
    await service.kill()
    before = await handedOver(id)
    assert.ok(before < count, `it was over after ${kills} kills`)
    await service.start()
  }
  await provider.control('DELETE', '/faults')
  await reportTo(service.url)
  await assertOnce(id, count)
})

test('three workers, two killed: the last continues, and each recipient is sent to at most once', async (t) => {
  const count = 600
  const programs = startPrograms(t, { roles: ['api', 'worker', 'worker', 'worker'] })
  const { services, accept, handedOver, assertOnce } = await startAll(t, 80, programs)
  const [, one, two] = services
  const id = await accept(people(count))
  for (const worker of [one, two]) {
    const before = await handedOver(id)
    await until('it to go on', async () => (await handedOver(id)) > before)
    await sleep(Math.random() * 150)
    await worker?.kill()
    const after = await handedOver(id)
    assert.ok(after < count, 'it was over before the kill')
    await until('the others to go on', async () => (await handedOver(id)) > after)
  }
  await assertOnce(id, count)
})

test('on SIGTERM a worker finishes the sends in flight and exits; after a restart the broadcast continues', async (t) => {
  const count = 200
  const { services, db, provider, reportTo, accept, handedOver, assertOnce } = await startAll(t, 100)
  const [service] = services
  await provider.fault({ mode: 'delay', delay_ms: 500 })
  await reportTo(nowhere)
  const id = await accept(people(count))
  await until('some to be in flight', async () => (await handedOver(id)) > 20)
  assert.equal(await service.kill('SIGTERM'), 0)
  const handed = await handedOver(id)
  assert.ok(handed < count, `${handed}`)
  const sent = await db`select 1 from broadcast_recipients where broadcast_id = ${id} and status = 'sent'`
  assert.equal(sent.length, handed, 'every recipient that was handed over has an outcome')
  await provider.control('DELETE', '/faults')
  await service.start()
  await reportTo(service.url)
  assert.equal((await assertOnce(id, count)).unknown, 0)
})

test('the channel is killed during a broadcast: the broadcast continues by itself and reaches no recipient twice', async (t) => {
  const count = 300
  const { db, simulator, workspaceId, accept, handedOver, assertOnce } = await startAll(t, 80)
  const id = await accept(people(count))
  await until('the middle', async () => (await handedOver(id)) > 50)
  await simulator.kill()
  await until('the circuit breaker to open', async () => {
    const [number] = await db`
      select 1 from broadcast_paces where workspace_id = ${workspaceId} and breaker_state = 'open'`
    return number
  })
  await simulator.start()
  // As if its 30 seconds were over.
  await db`update broadcast_paces set breaker_until = now() where workspace_id = ${workspaceId}`
  await assertOnce(id, count)
})
