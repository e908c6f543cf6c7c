/** The request log as an engine: its limits, a locked table, and the flush at the end. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import pino from 'pino'
import { createDatabase, until } from '../../tests/support.ts'
import { nowMs } from '../lib/clock.ts'
import { idAt, newId } from '../lib/id.ts'
import { createMetrics } from '../lib/metrics.ts'
import { createRequestLog, keepRequestDays } from './request-log.ts'
import { listRequests } from './requests.ts'

const silent = pino({ level: 'silent' })
const dayMs = 86_400_000

async function startLog(t: TestContext) {
  const database = await createDatabase(t)
  const db = database.connect(2)
  const metrics = createMetrics()
  let failures = 0
  const log = createRequestLog(db, Object.assign(pino({ level: 'silent' }), { warn: () => failures++ }), metrics)
  const workspaceId = newId()
  const keyId = newId()
  const raw = { headersSent: true, statusCode: 200 }
  const record = (input: { status?: number; path?: string; body?: string; workspaceId?: string } = {}) => {
    const { status = 200, path = '/v1/me', body } = input
    const request = {
      caller: { workspaceId: input.workspaceId ?? workspaceId, keyId },
      originalUrl: path,
      method: body === undefined ? 'GET' : 'POST',
      id: newId(),
      failure: status < 400 ? undefined : { code: 'bad_request', message: 'no' },
      rawBody: body === undefined ? undefined : Buffer.from(body),
    }
    const reply = { raw: { ...raw, statusCode: status }, elapsedTime: 1.4 }
    log.recordClosed(request as unknown as FastifyRequest, reply as unknown as FastifyReply)
  }
  const countRows = async () => {
    const [sums] = await db<{ blocks: number; requests: number }[]>`
      select count(*)::int as blocks, coalesce(sum(json_array_length(entries::json -> 0) / 7), 0)::int as requests
      from request_blocks`
    return sums
  }
  const dropped = async (reason: string) =>
    Number(new RegExp(`dropped_total{reason="${reason}"} (\\d+)`).exec(await metrics.read())?.[1] ?? 0)
  return { database, db, log, workspaceId, record, countRows, dropped, countFailures: () => failures }
}

test('requests that collect before a flush are written in blocks of at most 250, the last ones at the stop', async (t) => {
  const { db, log, workspaceId, record, countRows } = await startLog(t)
  for (let i = 0; i < 600; i++) record({ path: `/v1/contacts?page=${i}` })
  record({ workspaceId: newId() })
  await log.stop()
  assert.deepEqual(await countRows(), { blocks: 4, requests: 601 })
  // Every request is listed once, newest first, although all ended within the same few milliseconds.
  const paths: string[] = []
  for (let cursor: unknown; ; ) {
    const page = await listRequests(db, workspaceId, {}, { limit: 70, cursor })
    paths.push(...page.data.map(({ path }) => path))
    cursor = page.meta.next_cursor
    if (!cursor) break
  }
  assert.deepEqual(
    paths.toSorted((one, other) => Number(one.split('=')[1]) - Number(other.split('=')[1])),
    Array.from({ length: 600 }, (_, i) => `/v1/contacts?page=${i}`),
  )
})

test('while the table is locked requests collect up to a limit, the newest are dropped and counted, and a later flush writes the rest', async (t) => {
  const { database, log, record, countRows, dropped, countFailures } = await startLog(t)
  const blocker = await database.connect(1).reserve()
  await blocker`begin`
  await blocker`lock table request_blocks in access exclusive mode`
  const body = JSON.stringify({ text: 'x'.repeat(4_000) })
  for (let i = 0; i < 3_000; i++) record({ status: 400, body })
  const overflow = await dropped('overflow')
  assert.ok(overflow > 500 && overflow < 2_000, `${overflow}`)
  await until('a flush that gives up', async () => countFailures() > 0)
  await blocker`rollback`
  blocker.release()
  await until('the rest', async () => (await countRows())?.requests === 3_000 - overflow)
  record()
  await log.stop()
  assert.equal((await countRows())?.requests, 3_001 - overflow)
  assert.equal(await dropped('failed'), 0)
})

test('of the requests over the rate limit ten per second are kept', async (t) => {
  const { log, record, countRows, dropped } = await startLog(t)
  for (let i = 0; i < 100; i++) record({ status: 429 })
  await log.stop()
  const { requests = 0 } = (await countRows()) ?? {}
  assert.ok(requests >= 10 && requests <= 20, `${requests}`)
  assert.equal(await dropped('rate_limited'), 100 - requests)
})

test('a page of a rare match ends in time and its cursor continues the search', async (t) => {
  const { db, workspaceId, log, record } = await startLog(t)
  record({ path: '/v1/rare' })
  await log.stop()
  // One request per block, as in a workspace with little traffic.
  await db`
    insert into request_blocks (workspace_id, id, failed_count, entries)
    select ${workspaceId}, (substr(${idAt(nowMs())}, 1, 13) || '-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 0, '[[],{}]'
    from generate_series(1, 20000) i`
  let pages = 0
  for (let cursor: unknown; ; pages++) {
    const page = await listRequests(db, workspaceId, { path: 'rare' }, { limit: 50, cursor })
    cursor = page.meta.next_cursor
    if (page.data.length > 0 || !cursor) {
      assert.equal(page.data[0]?.path, '/v1/rare')
      break
    }
    assert.ok(pages < 100)
  }
})

test('no request is kept for longer than seven days', async (t) => {
  const { db, workspaceId } = await startLog(t)
  const insert = (ageMs: number) => db`
    insert into request_blocks (workspace_id, id, failed_count, entries)
    values (${workspaceId}, ${newId(nowMs() - ageMs)}, 0, '[[],{}]')`
  for (let days = 0; days <= 8; days++) await insert(days * dayMs)
  await keepRequestDays(db, silent)
  const [oldest] = await db<{ count: number }[]>`select count(*)::int as count from request_blocks`
  assert.equal(oldest?.count, 7)
})
