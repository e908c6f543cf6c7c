/**
 * A broadcast through an outage of the channel: it waits, probes and goes on by itself, and no recipient is sent to twice.
 *
 * The delays of the circuit breaker are shortened here; server/broadcasts/circuit-breaker.test.ts has the real ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '../../tests/provider.ts'
import { type Api, dataOf, type Json, publicUrl, start, startSignedIn, times, until } from '../../tests/support.ts'
import type { Db } from '../lib/postgres/db.ts'
import { sweepPending } from '../messages/sending/settle.ts'
import { recipientFollower } from './counts.ts'

const hello = { name: 'hello_world' }
const phoneOf = (i: number) => `+1415558${String(i).padStart(4, '0')}`
const people = (count: number, from = 0) => Array.from({ length: count }, (_, i) => ({ to: phoneOf(from + i) }))

async function accept(api: Api, recipients: Json): Promise<string> {
  const answer = dataOf(await api.post('/broadcasts', { name: 'News', template: hello, recipients }), 202)
  const { is_paused, paused_reason } = answer
  assert.deepEqual([is_paused, paused_reason], [false, null])
  return answer.id
}

const read = async (api: Api, id: string): Promise<Json> => (await api.get(`/broadcasts/${id}`)).body.data

const untilPaused = (api: Api, id: string): Promise<Json> =>
  until('the circuit breaker to open', async () => {
    const broadcast = await read(api, id)
    return broadcast.is_paused && broadcast
  })

const untilSent = (api: Api, id: string): Promise<Json> =>
  until(
    'the broadcast to be sent',
    async () => {
      const broadcast = await read(api, id)
      return broadcast.status === 'sent' && broadcast
    },
    20_000,
  )

const untilProbes = (db: Db, count: number) =>
  until(`${count} probes`, async () => {
    const [number] = await db<{ probe_count: number }[]>`select probe_count from broadcast_paces`
    return number && number.probe_count >= count
  })

async function assertOnce(provider: Provider, count: number): Promise<void> {
  const sent = (await provider.sent()).map(({ to }) => to)
  assert.deepEqual([sent.length, new Set(sent).size], [count, count])
}

/** Waits until no send is in flight: every recipient that was handed over has an outcome. */
const untilQuiet = (db: Db) =>
  until('nothing to be in flight', async () => {
    const sending = await db`select 1 from broadcast_recipients where status = 'sending'`
    return sending.length === 0
  })

/** What has no outcome is 15 minutes old, and the sweep comes by. */
async function failUnsettled(db: Db): Promise<void> {
  await db`update messages set created_at = created_at - interval '16 minutes' where status = 'pending'`
  await sweepPending(db, { publicUrl, follower: recipientFollower })
}

const startWith = (...delaysMs: number[]) => {
  const breaker = { ...times.broadcasts.breaker, delaysMs }
  const alone = 'a sweep, and rows of the only number'
  return { alone, times: { ...times, broadcasts: { ...times.broadcasts, breaker } } }
}
const quick = startWith(100, 200, 400)

test('after an outage without connections every recipient is sent to exactly once, without intervention', async (t) => {
  const { api, db, connect, twin } = await start(t, quick)
  await twin()
  const provider = await connect({ messagesPerSecond: 60 })
  const ids = [await accept(api, people(60)), await accept(api, people(60, 100))]
  const [first = '', second = ''] = ids
  await until('the middle', async () => (await read(api, first)).sent_count > 10)
  // So that nothing is on its way when the connections break: that would be an unknown outcome.
  await db`update broadcasts set is_paused = true`
  await untilQuiet(db)
  await provider.goDown()
  await db`update broadcasts set is_paused = false`

  for (const id of ids) {
    const { status, paused_reason } = await untilPaused(api, id)
    assert.equal(status, 'sending')
    assert.match(paused_reason, /^The channel is not answering \(connection refused\)\. Next attempt /)
  }
  await untilProbes(db, 3)
  await provider.comeUp()

  for (const id of [first, second]) {
    const { total_count, sent_count, is_paused, paused_reason } = await untilSent(api, id)
    assert.deepEqual([total_count, sent_count, is_paused, paused_reason], [60, 60, false, null])
  }
  await assertOnce(provider, 120)
  const [tries] = await db<{ most: number }[]>`select max(attempt_count) as most from broadcast_recipients`
  assert.equal(tries?.most, 1, 'what never left was no attempt')
})

test('during an outage with 5xx errors nothing is sent twice, few outcomes stay unknown, and the broadcast continues by itself', async (t) => {
  const { api, db, connect } = await start(t, quick)
  const provider = await connect({ messagesPerSecond: 80 })
  await provider.fault({ mode: 'http_500' })
  const count = 120
  const id = await accept(api, people(count))
  const { paused_reason, pending_count } = await untilPaused(api, id)
  assert.match(paused_reason, /^The channel is not answering \(131000: .*\)\. /)
  assert.equal(pending_count, count, 'an unknown outcome is pending')
  await untilProbes(db, 2)
  await provider.control('DELETE', '/faults')
  const unknown = await until('all others', async () => {
    const { length } = await db`select 1 from messages where status = 'pending' and error like '131000%'`
    return (await read(api, id)).sent_count === count - length && length
  })
  assert.ok(unknown >= 25 && unknown <= 40, `${unknown} unknown`)
  assert.equal((await read(api, id)).status, 'sending')
  await failUnsettled(db)
  const done = await untilSent(api, id)
  assert.deepEqual([done.sent_count, done.failed_count], [count - unknown, unknown])
  await assertOnce(provider, count - unknown)
})

test('a channel that stops answering gets at most 25 more messages, and other numbers continue', async (t) => {
  const { api, db, connect, workspace } = await start(t, quick)
  const provider = await connect({ messagesPerSecond: 200 })
  const { api: others } = await workspace()
  const their = await connect({ workspaceId: others.workspaceId, messagesPerSecond: 80 })
  await provider.fault({ mode: 'hang', workspace_id: api.workspaceId })
  const id = await accept(api, people(100))
  await until('some to be in flight', async () => (await db`select 1 from messages`).length > 0)
  await untilSent(others, await accept(others, people(60, 1_000)))
  assert.equal((await their.sent()).length, 60)
  const inFlight = await db`select 1 from broadcast_recipients where broadcast_id = ${id} and status = 'sending'`
  assert.equal(inFlight.length, 25)

  await provider.control('DELETE', '/faults')
  await provider.goDown()
  await untilPaused(api, id)
  await provider.comeUp()
  await until('all others', async () => (await read(api, id)).sent_count === 75)
  await failUnsettled(db)
  assert.equal((await untilSent(api, id)).failed_count, 25)
  await assertOnce(provider, 75)
})

test('a channel that throttles everything counts as an outage, and no message is lost', async (t) => {
  const { api, db, connect } = await start(t, { ...quick, failuresToOpen: 6 })
  const provider = await connect({ messagesPerSecond: 200 })
  await provider.fault({ mode: 'throttle' })
  const id = await accept(api, people(30))
  assert.match((await untilPaused(api, id)).paused_reason, /130429/)
  await untilProbes(db, 6)
  await provider.control('DELETE', '/faults')
  assert.equal((await untilSent(api, id)).sent_count, 30)
  await assertOnce(provider, 30)
})

test('when the process with the probe crashes, another takes over after the probe’s timeout', async (t) => {
  const { api, db, connect } = await start(t, quick)
  const provider = await connect({ messagesPerSecond: 60 })
  const id = await accept(api, people(20))
  await until('the first', async () => (await read(api, id)).sent_count > 0)
  // As a process leaves it that died while its probe was in flight.
  await db`
    update broadcast_paces set breaker_state = 'half_open', probe_count = 2, breaker_reason = 'HTTP 502',
      breaker_until = now() + interval '1 second'`
  const { paused_reason } = await untilPaused(api, id)
  assert.equal(paused_reason, 'The channel is not answering (HTTP 502). An attempt is in flight.')
  const [before] = await db<{ position: number }[]>`select position from broadcasts`
  assert.ok(before && before.position < 20, 'no other recipient is handed over meanwhile')
  assert.equal((await untilSent(api, id)).sent_count, 20)
  await assertOnce(provider, 20)
})

test('resuming a broadcast probes the channel at once', async (t) => {
  const { api, ask, get, connect } = await startSignedIn(t, startWith(600_000))
  const provider = await connect({ messagesPerSecond: 80 })
  await untilSent(api, await accept(api, people(1, 100)))
  await provider.goDown()
  const id = await accept(api, people(29))
  await untilPaused(api, id)
  const held = await get(`/broadcasts/${id}`)
  assert.equal(held.channel_error, 'connection refused')
  const waitMs = Date.parse(held.next_attempt_at) - Date.now()
  assert.ok(waitMs > 500_000 && waitMs < 600_000, `${waitMs} ms`)
  const listed = (await get('/broadcasts?is_paused=true')).map((each: Json) => [each.id, each.paused_reason])
  assert.deepEqual(listed, [[id, held.paused_reason]])
  await provider.comeUp()
  await ask('POST', `/broadcasts/${id}/resume`)
  assert.equal((await untilSent(api, id)).sent_count, 29)
  await assertOnce(provider, 30)
})
