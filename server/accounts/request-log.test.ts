/** The request log as an engine: its limits, a locked table, and the flush at the end. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import pino from 'pino'
import { holdTransaction } from '../../tests/database.ts'
import { createDatabase, until } from '../../tests/support.ts'
import { nowMs } from '../lib/clock.ts'
import { newId, pastId } from '../lib/id.ts'
import { type Page, readPosition } from '../lib/page.ts'
import { createMetrics } from '../lib/process/metrics.ts'
import { createRequestLog, keepRequestDays } from './request-log.ts'
import { type LoggedRequest, listRequests, type RequestFilter } from './requests.ts'

const silent = pino({ level: 'silent' })
const dayMs = 86_400_000

type Recorded = { status?: number; path?: string; body?: string; workspaceId?: string; isMember?: boolean }

async function startLog(t: TestContext) {
  const database = await createDatabase(t)
  const db = database.connect(2)
  const metrics = createMetrics()
  let failures = 0
  const log = createRequestLog(db, Object.assign(pino({ level: 'silent' }), { warn: () => failures++ }), metrics)
  const workspaceId = newId()
  const keyId = newId()
  const raw = { headersSent: true, statusCode: 200 }
  const record = (input: Recorded = {}) => {
    const { status = 200, path = '/v1/me', body } = input
    const request = {
      caller: { workspaceId: input.workspaceId ?? workspaceId, ...(input.isMember ? { member: {} } : { keyId }) },
      originalUrl: path,
      method: body === undefined ? 'GET' : 'POST',
      id: newId(),
      failure: status < 400 ? undefined : { code: 'bad_request', message: 'no' },
      rawBody: body === undefined ? undefined : Buffer.from(body),
    }
    const getHeaders = () => ({ 'x-request-id': request.id })
    const reply = { raw: { ...raw, statusCode: status }, elapsedTime: 1.4, getHeaders }
    log.recordClosed(request as unknown as FastifyRequest, reply as unknown as FastifyReply)
  }
  const countRows = async (): Promise<number> => (await db`select from api_requests`).length
  /** Rows as the log of another process would write them. */
  const insert = (rows: { id: string; path: string }[]) => db`
    insert into api_requests (workspace_id, id, key_id, method, path, status, duration_ms, request_id)
    select ${workspaceId}, id, ${keyId}, 'GET', path, 200, 1, 'r'
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (id uuid, path text)`
  /** The paths on all pages of a filter, and the number of pages. */
  const listPaths = async (filter: RequestFilter, limit: string, budgetMs?: number) => {
    const paths: string[] = []
    for (let cursor: string | null = null, pages = 1; ; pages++) {
      const position = readPosition({ limit, cursor })
      const page: Page<LoggedRequest> = await listRequests(db, workspaceId, filter, position, budgetMs)
      paths.push(...page.data.map(({ path }) => path))
      cursor = page.meta.next_cursor
      if (!cursor) return { paths, pages }
    }
  }
  const dropped = async (reason: string) =>
    Number(new RegExp(`dropped_total{reason="${reason}"} (\\d+)`).exec(await metrics.read())?.[1] ?? 0)
  return { database, db, log, record, countRows, insert, listPaths, dropped, countFailures: () => failures }
}

test('requests that collect before a flush are written together, the last ones at the stop, and listed newest first', async (t) => {
  const { log, record, countRows, listPaths } = await startLog(t)
  for (let i = 0; i < 600; i++) record({ path: `/v1/contacts?page=${i}` })
  record({ workspaceId: newId() })
  await log.stop()
  assert.equal(await countRows(), 601)
  // All ended within the same few milliseconds.
  const paths = Array.from({ length: 600 }, (_, i) => `/v1/contacts?page=${599 - i}`)
  assert.deepEqual(await listPaths({}, '70'), { paths, pages: 9 })
})

test('a member who closes the connection is not in the log, and the requests of the same second are', async (t) => {
  const { log, record, countFailures, listPaths } = await startLog(t)
  record({ path: '/v1/me' })
  record({ path: '/app/api/requests', isMember: true })
  await log.stop()
  assert.deepEqual(await listPaths({}, '10'), { paths: ['/v1/me'], pages: 1 })
  assert.equal(countFailures(), 0)
})

test('while the table is locked requests collect up to a limit, the newest are dropped and counted, and a later flush writes the rest', async (t) => {
  const { database, log, record, countRows, dropped, countFailures } = await startLog(t)
  const release = await holdTransaction(database.connect(1), 'lock table api_requests in access exclusive mode')
  const body = JSON.stringify({ text: 'x'.repeat(4_000) })
  for (let i = 0; i < 3_000; i++) record({ status: 400, body })
  const overflow = await dropped('overflow')
  assert.ok(overflow > 500 && overflow < 2_000, `${overflow}`)
  await until('a flush that gives up', async () => countFailures() > 0)
  await release()
  await until('the rest', async () => (await countRows()) === 3_000 - overflow)
  record()
  await log.stop()
  assert.equal(await countRows(), 3_001 - overflow)
  assert.equal(await dropped('failed'), 0)
})

test('of the requests over the rate limit ten per second are kept', async (t) => {
  const { log, record, countRows, dropped } = await startLog(t)
  for (let i = 0; i < 100; i++) record({ status: 429 })
  await log.stop()
  assert.deepEqual([await countRows(), await dropped('rate_limited')], [10, 90])
})

test('texts that PostgreSQL cannot store are logged without the characters in question', async (t) => {
  const { db, log, record, dropped } = await startLog(t)
  record({ status: 400, body: 'not JSON: a\0b\x1fc' })
  // The cut at 4,096 is in the middle of a character.
  record({ status: 400, body: `x${'😀'.repeat(3_000)}` })
  await log.stop()
  const bodies = await db<{ body: string }[]>`select body from api_requests order by id`
  assert.equal(bodies[0]?.body, 'not JSON: a\ufffdb\ufffdc')
  assert.ok(bodies[1]?.body.endsWith('😀\ufffd…'))
  assert.equal(await dropped('failed'), 0)
})

test('a page of a rare match ends in time and its cursor continues the search', async (t) => {
  const { insert, listPaths } = await startLog(t)
  await insert(Array.from({ length: 9_500 }, (_, i) => ({ id: newId(), path: i === 0 ? '/v1/rare' : '/v1/me' })))
  assert.deepEqual(await listPaths({ path: 'rare' }, '50', 0), { paths: ['/v1/rare'], pages: 10 })
  assert.deepEqual(await listPaths({ path: 'rare' }, '50', 60_000), { paths: ['/v1/rare'], pages: 1 })
})

test('no request is kept for longer than seven days', async (t) => {
  const { db, countRows, insert } = await startLog(t)
  await insert(Array.from({ length: 9 }, (_, days) => ({ id: pastId(nowMs() - days * dayMs), path: '/v1/me' })))
  await keepRequestDays(db, silent)
  assert.equal(await countRows(), 7)
})
