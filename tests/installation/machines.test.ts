/**
 * Several machines: cuts, delay and loss between them, frozen processes, and clocks that differ, under load on all journeys. An
 * auditor then compares what was asked with what everyone has.
 *
 * The services wait for a quarter of their times. The last two tests have the real ones, because a slow link needs them.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freeze } from '../../soak/freeze.ts'
import { assertNothingDiffers, readReadiness, untilProgress, untilReady } from '../../soak/journeys.ts'
import { startLoad } from '../../soak/load.ts'
import { services, startMachines } from '../../soak/machines.ts'
import { cut, enterOwnNetwork, perfect, whyNoNetwork } from '../../soak/network.ts'
import type { Stack } from '../../soak/stack.ts'
import { createPooler, resolvePgbouncer } from '../pgbouncer.ts'
import type { Program } from '../program.ts'
import { divideTimes, type Json, times, until } from '../support.ts'

const skip = whyNoNetwork() ?? false
if (!skip) enterOwnNetwork()

const divisor = 4
/** Further settings of each service, from its next start on. */
const settings: Record<string, string>[] = [{}, {}]
let machines: Awaited<ReturnType<typeof startMachines>>
const cleanUps: (() => unknown)[] = []
const file = { after: (run: () => unknown) => void cleanUps.push(run), diagnostic: console.log }

before(async () => {
  if (!skip)
    machines = await startMachines(file, {
      env: { PARLEY_TEST_TIME_DIVISOR: String(divisor) },
      envOf: (index) => settings[index] ?? {},
    })
})
after(async () => {
  for (const run of cleanUps.reverse()) await run()
})

/** A workspace of the test, with load on all journeys. */
async function startJourneys(t: TestContext, { pauseMs = 100, times = divideTimes(divisor) } = {}) {
  const stack = await machines.installation.addWorkspace(t, 20)
  const load = await startLoad(t, stack, { pauseMs, broadcastSize: 30, broadcastEveryMs: 6_000, times })
  await untilProgress(load, 'load on all journeys')
  return { stack, load }
}

const untilUnready = (...indexes: number[]) =>
  until('the services without a database to say so', async () => {
    const states = await readReadiness(machines.installation.services)
    return indexes.every((index) => states[index]?.startsWith('503'))
  })

test('a cut between Parley and PostgreSQL stops one service, then both, and everything goes on when it heals', {
  skip,
}, async (t) => {
  const { network } = machines
  const { stack, load } = await startJourneys(t)
  await network.setLinks(['service-1'], ['database'], cut)
  await untilUnready(0)
  await untilProgress(load, 'the other service to do the work')
  await network.setLinks(['service-1'], ['database'], perfect)
  await untilReady(machines.installation.services)

  await network.setLinks(services, ['database'], cut)
  await untilUnready(0, 1)
  await network.setLinks(services, ['database'], perfect)
  t.diagnostic(`every journey works ${await untilProgress(load, 'every journey to work')} ms after the end of the cut`)
  await untilReady(machines.installation.services)
  await assertNothingDiffers(t, stack, load)
})

test('a cut to the provider and to the receivers loses nothing and sends nothing twice', { skip }, async (t) => {
  const { network } = machines
  const { stack, load } = await startJourneys(t)
  const failures = load.failures.length
  await network.setLinks([...services, 'proxy'], ['provider', 'receiver'], cut)
  await until('a send and a delivery to end without an answer', async () => {
    const failed = await stack.db`
      select from webhook_attempts where workspace_id = ${stack.workspaceId} and status <> 'delivered' limit 1`
    return failed.length > 0 && load.failures.length > failures
  })
  await network.setLinks([...services, 'proxy'], ['provider', 'receiver'], perfect)
  t.diagnostic(`every journey works ${await untilProgress(load, 'every journey to work')} ms after the end of the cut`)
  const unknown = [...load.asked.sends.values()].filter(({ isUnknown }) => isUnknown)
  t.diagnostic(`${unknown.length} sends had an unknown outcome`)
  await assertNothingDiffers(t, stack, load)
})

test('a service that is frozen for longer than its leases sends nothing twice when it goes on', { skip }, async (t) => {
  const { network, installation } = machines
  const { stack, load } = await startJourneys(t)
  const [frozen] = installation.services
  if (!frozen) throw new Error('there is no service')
  // A slow link to the database: commits of the service are visible here before the service knows of them.
  await network.setLinks(['service-1'], ['database'], { lossPercent: 0, delayMs: 300 })
  const stages = await until('work in every stage', async () => {
    const found = await countStages(stack)
    return Object.values(found).every((count) => count > 0) && found
  })
  const thaw = freeze(frozen)
  t.after(thaw)
  t.diagnostic(`frozen with ${JSON.stringify(stages)}`)
  const waiting = [...load.asked.sends].flatMap(([phone, { messageId }]) => (messageId ? [] : [phone]))
  const claimed = await stack.db<{ id: string }[]>`
    select id from webhook_deliveries where workspace_id = ${stack.workspaceId} and leased_until > now()`
  await until('the other service to do the work of the frozen one after its leases', async () => {
    const left = await stack.db`
      select from webhook_deliveries
      where workspace_id = ${stack.workspaceId} and id = any(${claimed.map(({ id }) => id)}::uuid[])`
    return left.length === 0 && waiting.every((phone) => load.asked.sends.get(phone)?.messageId)
  })
  thaw()
  await network.setLinks(['service-1'], ['database'], perfect)
  await untilProgress(load, 'every journey to work')
  await untilReady(machines.installation.services)
  await assertNothingDiffers(t, stack, load)
})

/** Work that a service has claimed: requests before and after their message is written, recipients, deliveries. */
async function countStages({ db, workspaceId }: Stack): Promise<Record<string, number>> {
  const [row] = await db<Record<string, number>[]>`
    select
      (select count(*) from idempotency_keys k where k.workspace_id = ${workspaceId} and k.status is null and k.path = '/v1/messages'
        and not exists (select from messages m where m.workspace_id = k.workspace_id and m.id = k.subject_id))::int as claimed,
      (select count(*) from messages where workspace_id = ${workspaceId} and status = 'pending' and broadcast_id is null)::int
        as pending,
      (select count(*) from broadcast_recipients where workspace_id = ${workspaceId} and status = 'sending')::int as recipients,
      (select count(*) from webhook_deliveries where workspace_id = ${workspaceId} and leased_until > now())::int as deliveries`
  return row ?? {}
}

async function restart(service: Program): Promise<void> {
  await service.kill('SIGTERM')
  await service.start()
}

test('a machine that loses power in a transaction holds its locks for seconds, not for hours', { skip }, async (t) => {
  const { network, installation } = machines
  const [service] = installation.services
  if (!service) throw new Error('there is no service')
  const { stack, load } = await startJourneys(t)
  const host = network.addressOf('service-1')
  // PostgreSQL ends the sessions after a minute by these settings of every connection.
  const [ends] = await stack.db`
    select current_setting('tcp_user_timeout') as unanswered, current_setting('tcp_keepalives_idle') as idle,
      current_setting('tcp_keepalives_interval') as interval, current_setting('tcp_keepalives_count') as count`
  assert.deepEqual({ ...ends }, { unanswered: '60000', idle: '30', interval: '10', count: '3' })
  /** In a transaction. */
  const countSessions = async () => {
    const [row] = await stack.db<{ n: number }[]>`
      select count(*)::int as n from pg_stat_activity
      where client_addr = ${host}::inet and state = 'idle in transaction'`
    return row?.n ?? 0
  }
  const link = [['service-1'], ['database']] as const
  const delayMs = 300
  await until('a transaction that is cut off', async () => {
    // A slow link, so that transactions last.
    await network.setLinks(...link, { lossPercent: 0, delayMs })
    await until('an open transaction', async () => (await countSessions()) > 0)
    await network.setLinks(...link, cut)
    // What was on its way arrives.
    await sleep(2 * delayMs)
    return (await countSessions()) > 0
  })
  const plugIn = network.unplug('service-1')
  t.after(async () => {
    plugIn()
    await network.setLinks(...link, perfect)
    await service.start()
  })
  await service.kill()
  await until('the transaction to end', async () => (await countSessions()) === 0)
  await untilProgress(load, 'the other service to do the work')
  await assertNothingDiffers(t, stack, load)
})

const skipPooler = skip || (resolvePgbouncer() ? false : 'PgBouncer is not installed')

test('a cut between a pooler and PostgreSQL ends by itself', { skip: skipPooler }, async (t) => {
  const { network, installation, placeOf } = machines
  const address = { host: network.addressOf('database'), port: 5432, database: 'parley', username: 'parley' }
  const pooler = await createPooler(file, address, { mode: 'session', place: placeOf('pooler') })
  await pooler.start()
  settings[1] = { DATABASE_URL: pooler.url }
  await Promise.all(installation.services.slice(1).map(restart))
  const { stack, load } = await startJourneys(t)
  await network.setLinks(['pooler'], ['database'], cut)
  await untilUnready(1)
  await network.setLinks(['pooler'], ['database'], perfect)
  t.diagnostic(`every journey works ${await untilProgress(load, 'every journey to work')} ms after the end of the cut`)
  await untilReady(machines.installation.services)
  await assertNothingDiffers(t, stack, load)
})

test('clocks of services that are ten minutes wrong change nothing', { skip }, async (t) => {
  const shiftsMs = [600_000, -600_000]
  const preload = `--import=${import.meta.dirname}/../fixtures/shifted-clock.mjs`
  for (const [index, ms] of shiftsMs.entries())
    settings[index] = { NODE_OPTIONS: preload, CLOCK_SHIFT_MS: String(ms), PARLEY_TEST_TIME_DIVISOR: '1' }
  await Promise.all(machines.installation.services.map(restart))
  const { stack, load } = await startJourneys(t, { times })
  const scheduling = await machines.installation.addWorkspace(t, 1)
  for (const [index, { url }] of machines.installation.services.entries()) {
    // A start that is more than five minutes ago is refused.
    assert.equal((await schedule(url, scheduling, Date.now() - 60_000)).status, 202, `by service ${index + 1}`)
    const startsAt = Date.now() + 1_000
    const { status, body } = await schedule(url, scheduling, startsAt)
    assert.equal(status, 202, JSON.stringify(body))
    const started = await until('the scheduled broadcast to start', () => getStart(scheduling, body.data.id))
    const lateMs = Date.parse(started) - startsAt
    assert.ok(lateMs >= 0, `a scheduled broadcast started ${-lateMs} ms before its time`)
  }

  await assertNothingDiffers(t, stack, load)
  // Receivers refuse a signature that is more than five minutes away from their own time.
  const { maxSignatureAgeMs } = stack.delivered
  assert.ok(maxSignatureAgeMs < 300_000, `a signature was ${maxSignatureAgeMs} ms away from the time of its receiver`)
  const [wrong] = await stack.db<{ n: number }[]>`
    select count(*)::int as n from messages
    where workspace_id = ${stack.workspaceId} and created_at not between now() - interval '5 minutes' and now()`
  assert.equal(wrong?.n, 0, 'messages have a wrong time')
})

async function schedule(url: string, { keys: [key] }: Stack, atMs: number): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${url}/v1/broadcasts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Scheduled',
      template: { name: 'order_confirmed', language: 'en_US', params: ['Ada', 'A-10042'] },
      recipients: [{ to: '+14155550100' }],
      scheduled_at: new Date(atMs).toISOString(),
    }),
  })
  return { status: response.status, body: await response.json() }
}

async function getStart({ db, workspaceId }: Stack, id: string): Promise<string | undefined> {
  const [row] = await db<{ started_at: string | null }[]>`
    select started_at from broadcasts where workspace_id = ${workspaceId} and id = ${id}`
  return row?.started_at ?? undefined
}

test('with 200 ms of delay and 5 % of loss on all links everything works', { skip }, async (t) => {
  const { network } = machines
  const poor = { lossPercent: 5, delayMs: 100 }
  await network.setLinks(services, ['database', 'provider', 'receiver', 'proxy'], poor)
  await network.setLinks(['proxy'], ['provider'], poor)
  try {
    // A transaction takes about a second here, so a service with seven connections for them serves a handful per second.
    const { stack, load } = await startJourneys(t, { pauseMs: 250, times })
    t.diagnostic(`20 more of each in ${await untilProgress(load, 'every journey to go on', 20)} ms`)
    await assertNothingDiffers(t, stack, load)
    await untilReady(machines.installation.services)
  } finally {
    await network.setLinks(services, ['database', 'provider', 'receiver', 'proxy'], perfect)
    await network.setLinks(['proxy'], ['provider'], perfect)
  }
})
