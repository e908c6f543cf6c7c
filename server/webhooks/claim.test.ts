/** The queue of deliveries, without a running delivery loop. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { multiply, queueEvents } from '../../tests/deliveries.ts'
import { createDatabase, pluck, times } from '../../tests/support.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import { newId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { findDelivery } from './log.ts'
import { type ClaimedDelivery, claimDeliveries } from './queue.ts'
import type { ClaimPlan } from './scheduler.ts'
import { settleAttempts } from './settle.ts'

async function begin(t: TestContext, endpointCount: number) {
  const { connect } = await createDatabase(t)
  const db = connect(2)
  // The same options as the pool of the delivery loop.
  const engine = connect(1, { hot: true, byIndex: true })
  const owner = { email: 'owner@acme.test', password: 'correct horse' }
  const { workspace_id } = await db.begin((sql) => createWorkspace(sql, { name: 'Acme', default_country: 'US', owner }))
  const first = newId()
  await db`
    insert into webhook_endpoints (workspace_id, id, url, events, secret, created_at)
    values (${workspace_id}, ${first}, 'https://example.test/', '{contact.created}', 'sealed', now())`
  const others = Array.from({ length: endpointCount - 1 }, (_, i) => `https://example.test/${i}`)
  const ids = [first, ...(await multiply(db, first, others))]
  const queue = (count: number) =>
    queueEvents(
      db,
      workspace_id,
      ids,
      Array.from({ length: count }, (_, i) => `{"number":${i}}`),
    )
  return { db, engine, ids, queue }
}

const planFor = (ids: readonly string[], limit: number, capacity: number): ClaimPlan => ({
  plannedAt: 0,
  limit,
  endpointIds: ids,
  capacities: ids.map(() => capacity),
  standings: ids.map(() => 'proven'),
  newCapacity: 0,
  unprovenCapacity: 0,
})

const answered = { http_status: 200, duration_ms: 1, error: null, response: null }
const endedAs = (outcome: 'delivered' | 'again') => (delivery: ClaimedDelivery) => ({ delivery, outcome, ...answered })

/** Queue rows that this transaction read. */
async function readIn(sql: Sql): Promise<number> {
  const [read] = await sql<{ rows: number }[]>`
    select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as rows
    from pg_stat_xact_user_tables where relname = 'webhook_deliveries'`
  return read?.rows ?? 0
}

test('plans for an empty queue read no more rows of a long one than they claim', async (t) => {
  const { db, engine, ids, queue } = await begin(t, 3)
  // The plans are made now and kept: no analyze runs before the queue has 30,000 rows.
  await db`vacuum analyze webhook_deliveries`
  await claimDeliveries(engine, planFor(ids, 100, 5), times.webhooks)
  await settleAttempts(engine, [], times.webhooks)
  await queue(10_000)
  const claimed = await engine.begin(async (sql) => {
    const claimed = await claimDeliveries(sql, planFor(ids, 100, 5), times.webhooks)
    assert.ok((await readIn(sql)) < 100, `${await readIn(sql)} rows were read for a claim of 15`)
    return claimed
  })
  assert.deepEqual([claimed.length, new Set(claimed.map(({ endpoint_id }) => endpoint_id)).size], [15, 3])
  const before = await rowsRead(engine)
  await settleAttempts(engine, claimed.map(endedAs('delivered')), times.webhooks)
  const read = (await rowsRead(engine)) - before
  assert.ok(read < 200, `${read} rows were read to settle 15`)
  assert.equal((await db`select 1 from webhook_deliveries`).length, 30_000 - 15)
})

/** Queue rows read so far, as far as this connection knows. */
async function rowsRead(sql: Sql): Promise<number> {
  await sql`select pg_stat_force_next_flush()`
  const [read] = await sql<{ rows: number }[]>`
    select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as rows
    from pg_stat_user_tables where relname = 'webhook_deliveries'`
  return read?.rows ?? 0
}

test('a due retry comes before first attempts, however long the queue is', async (t) => {
  const { db, engine, ids, queue } = await begin(t, 1)
  await queue(50)
  const [tried, ...rest] = await claimDeliveries(engine, planFor(ids, 1, 1), times.webhooks)
  assert.ok(tried)
  assert.deepEqual(rest, [])
  await settleAttempts(engine, [endedAs('again')(tried)], times.webhooks)
  const [next] = await claimDeliveries(engine, planFor(ids, 1, 1), times.webhooks)
  assert.notEqual(next?.id, tried.id, 'its pause is not over')
  await db`update webhook_deliveries set next_attempt_at = now() where id = ${tried.id}`
  const [again] = await claimDeliveries(engine, planFor(ids, 1, 1), times.webhooks)
  assert.deepEqual([again?.id, again?.attempt], [tried.id, 2])
})

test('a leased delivery is not claimed until the lease expires', async (t) => {
  const { db, engine, ids, queue } = await begin(t, 2)
  await queue(3)
  const first = await claimDeliveries(engine, planFor(ids, 100, 2), times.webhooks)
  const second = await claimDeliveries(engine, planFor(ids, 100, 2), times.webhooks)
  assert.deepEqual([first.length, second.length], [4, 2])
  assert.equal(new Set([...first, ...second].map(({ id }) => id)).size, 6)
  assert.equal((await claimDeliveries(engine, planFor(ids, 100, 2), times.webhooks)).length, 0)
  await db`update webhook_deliveries set leased_until = now() - interval '1 ms'`
  const third = await claimDeliveries(engine, planFor(ids, 100, 100), times.webhooks)
  assert.deepEqual(pluck(third, 'attempt'), [2, 2, 2, 2, 2, 2])
  // The first worker is too late.
  await settleAttempts(engine, first.map(endedAs('delivered')), times.webhooks)
  assert.equal((await db`select 1 from webhook_deliveries`).length, 6)
  await settleAttempts(engine, third.map(endedAs('delivered')), times.webhooks)
  assert.equal((await db`select 1 from webhook_deliveries`).length, 0)
})

test('a delivery that moves from the queue to the log while it is looked up is found', async (t) => {
  const { db, ids, queue } = await begin(t, 1)
  await queue(1)
  const [queued] = await db<{ workspace_id: string; id: string; event_id: string }[]>`
    select workspace_id, id, event_id from webhook_deliveries`
  assert.ok(queued)
  const { workspace_id, id, event_id } = queued
  const move = () => db`
    with moved as (delete from webhook_deliveries where id = ${id} returning workspace_id, endpoint_id, id, event_id)
    insert into webhook_attempts (workspace_id, endpoint_id, id, delivery_id, event_id, event, attempt, status, is_first)
    select workspace_id, endpoint_id, ${newId()}, id, event_id, 'contact.created', 1, 'delivered', true from moved`
  let statements = 0
  const moving = (async (...call: Parameters<Sql>) => {
    if (++statements === 2) await move()
    return db(...call)
  }) as unknown as Sql
  const expected = { endpoint_id: ids[0], event_id, event: 'contact.created' }
  assert.deepEqual(await findDelivery(moving, workspace_id, id), expected)
})
