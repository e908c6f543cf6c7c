/**
 * Several machines: cuts, delay and loss between them, frozen processes, and clocks that differ, under load on all journeys. An
 * auditor then compares what was asked with what everyone has.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { audit } from '../../soak/audit.ts'
import { freeze } from '../../soak/freeze.ts'
import { type Load, startLoad } from '../../soak/load.ts'
import { services, startMachines } from '../../soak/machines.ts'
import { cut, enterOwnNetwork, perfect, whyNoNetwork } from '../../soak/network.ts'
import type { Stack } from '../../soak/stack.ts'
import { createPooler, resolvePgbouncer } from '../pgbouncer.ts'
import type { Program } from '../program.ts'
import { type Json, until } from '../support.ts'

const skip = whyNoNetwork() ?? false
if (!skip) enterOwnNetwork()

/** Further settings of each service, from its next start on. */
const settings: Record<string, string>[] = [{}, {}]
let machines: Awaited<ReturnType<typeof startMachines>>
const cleanUps: (() => unknown)[] = []
const file = { after: (run: () => unknown) => void cleanUps.push(run), diagnostic: console.log }

before(async () => {
  if (!skip) machines = await startMachines(file, { envOf: (index) => settings[index] ?? {} })
})
after(async () => {
  for (const run of cleanUps.reverse()) await run()
})

/** A workspace of the test, with load on all journeys. */
async function startJourneys(t: TestContext, pauseMs = 100) {
  const stack = await machines.installation.addWorkspace(t, 20)
  const load = await startLoad(t, stack, { pauseMs, broadcastSize: 30, broadcastEveryMs: 6_000 })
  await untilProgress(load, 'load on all journeys')
  return { stack, load }
}

/** Waits until each journey has moved on, for as long as a busy machine may need. */
async function untilProgress(load: Load, what: string, count = 10): Promise<number> {
  const startedAt = performance.now()
  const before = load.counts()
  const journeys = ['sends', 'inbound', 'contacts', 'streamed']
  const isPast = (journey: string) => (load.counts()[journey] ?? 0) >= (before[journey] ?? 0) + count
  await until(what, async () => journeys.every(isPast), 60_000)
  return Math.round(performance.now() - startedAt)
}

/** The answers of both services: the status, and the failing checks. */
const readReadiness = () =>
  Promise.all(
    machines.installation.services.map(async ({ url }) => {
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
      return `${response?.status ?? 'no answer'} ${response?.ok ? '' : await response?.text()}`.trim()
    }),
  )

async function untilReady(): Promise<void> {
  let last: string[] = []
  const isReady = async () => {
    last = await readReadiness()
    return last.every((status) => status === '200')
  }
  await until('both services to be ready', isReady, 60_000).catch((error) =>
    assert.fail(`${error}: ${last.join(', ')}`),
  )
}

/** Ends the load and compares. */
async function assertNothingDiffers(t: TestContext, stack: Stack, load: Load): Promise<void> {
  await load.stop()
  const differences = await audit(stack, load)
  load.end()
  t.diagnostic(JSON.stringify(load.counts()))
  assert.deepEqual(differences, [])
}

test('a cut between Parley and PostgreSQL stops one service, then both, and everything goes on when it heals', {
  skip,
}, async (t) => {
  const { network } = machines
  const { stack, load } = await startJourneys(t)
  await network.setLinks(['service-1'], ['database'], cut)
  await until(
    'the service without a database to say so',
    async () => (await readReadiness())[0]?.startsWith('503'),
    60_000,
  )
  await untilProgress(load, 'the other service to do the work')
  await network.setLinks(['service-1'], ['database'], perfect)
  await untilReady()

  await network.setLinks(services, ['database'], cut)
  await sleep(6_000)
  await network.setLinks(services, ['database'], perfect)
  t.diagnostic(`every journey works ${await untilProgress(load, 'every journey to work')} ms after the end of the cut`)
  await untilReady()
  await assertNothingDiffers(t, stack, load)
})

test('a cut to the provider and to the receivers loses nothing and sends nothing twice', { skip }, async (t) => {
  const { network } = machines
  const { stack, load } = await startJourneys(t)
  await network.setLinks([...services, 'proxy'], ['provider', 'receiver'], cut)
  // Longer than a send waits for its answer, and longer than an attempt of a delivery.
  await sleep(18_000)
  await network.setLinks([...services, 'proxy'], ['provider', 'receiver'], perfect)
  t.diagnostic(`every journey works ${await untilProgress(load, 'every journey to work')} ms after the end of the cut`)
  const unknown = [...load.asked.sends.values()].filter(({ isUnknown }) => isUnknown)
  t.diagnostic(`${unknown.length} sends had an unknown outcome`)
  await assertNothingDiffers(t, stack, load)
})

test('with 200 ms of delay and 5 % of loss on all links everything works', { skip }, async (t) => {
  const { network } = machines
  const poor = { lossPercent: 5, delayMs: 100 }
  await network.setLinks(services, ['database', 'provider', 'receiver', 'proxy'], poor)
  await network.setLinks(['proxy'], ['provider'], poor)
  try {
    // A transaction takes about a second here, so a service with seven connections for them serves a handful per second.
    const { stack, load } = await startJourneys(t, 250)
    t.diagnostic(`20 more of each in ${await untilProgress(load, 'every journey to go on', 20)} ms`)
    await assertNothingDiffers(t, stack, load)
    await untilReady()
  } finally {
    await network.setLinks(services, ['database', 'provider', 'receiver', 'proxy'], perfect)
    await network.setLinks(['proxy'], ['provider'], perfect)
  }
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
  // Callers repeat their requests after 20 s, and the lease of the first attempt is over by then.
  await sleep(26_000)
  thaw()
  await network.setLinks(['service-1'], ['database'], perfect)
  await untilProgress(load, 'every journey to work')
  await untilReady()
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

test('clocks of services that are ten minutes wrong change nothing', { skip }, async (t) => {
  const shiftsMs = [600_000, -600_000]
  const preload = `--import=${import.meta.dirname}/../fixtures/shifted-clock.mjs`
  for (const [index, ms] of shiftsMs.entries()) settings[index] = { NODE_OPTIONS: preload, CLOCK_SHIFT_MS: String(ms) }
  t.after(() => settings.splice(0, 2, {}, {}))
  await Promise.all(machines.installation.services.map(restart))
  const { stack, load } = await startJourneys(t)
  const scheduling = await machines.installation.addWorkspace(t, 1)
  for (const [index, { url }] of machines.installation.services.entries()) {
    // A start that is more than five minutes ago is refused.
    assert.equal((await schedule(url, scheduling, Date.now() - 60_000)).status, 202, `by service ${index + 1}`)
    const startsAt = Date.now() + 5_000
    const { status, body } = await schedule(url, scheduling, startsAt)
    assert.equal(status, 202, JSON.stringify(body))
    const started = await until('the scheduled broadcast to start', () => getStart(scheduling, body.data.id), 60_000)
    const lateMs = Date.parse(started) - startsAt
    assert.ok(lateMs >= 0 && lateMs < 30_000, `a scheduled broadcast started ${lateMs} ms after its time`)
  }

  await assertNothingDiffers(t, stack, load)
  // Receivers refuse a signature that is more than five minutes away from their own time.
  const { maxSignatureAgeMs } = stack.delivered
  assert.ok(maxSignatureAgeMs < 60_000, `a signature was ${maxSignatureAgeMs} ms away from the time of its receiver`)
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
  const countSessions = async (state: string | null) => {
    const [row] = await stack.db<{ n: number }[]>`
      select count(*)::int as n from pg_stat_activity
      where client_addr = ${host}::inet and (${state}::text is null or state = ${state})`
    return row?.n ?? 0
  }
  const link = [['service-1'], ['database']] as const
  await until('a transaction that is cut off', async () => {
    // A slow link, so that transactions last.
    await network.setLinks(...link, { lossPercent: 0, delayMs: 300 })
    await until('an open transaction', async () => (await countSessions('idle in transaction')) > 0)
    await network.setLinks(...link, cut)
    // What was on its way arrives.
    await sleep(500)
    return (await countSessions('idle in transaction')) > 0
  })
  const plugIn = network.unplug('service-1')
  await service.kill()
  await until('the transaction to end', async () => (await countSessions('idle in transaction')) === 0, 25_000)
  await untilProgress(load, 'the other service to do the work')
  await load.stop()
  const differences = await audit(stack, load)
  load.end()
  // After a minute by the settings of the connections.
  await until('the sessions to end', async () => (await countSessions(null)) === 0, 120_000)
  plugIn()
  await network.setLinks(...link, perfect)
  await service.start()
  assert.deepEqual(differences, [])
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
  await sleep(8_000)
  await network.setLinks(['pooler'], ['database'], perfect)
  t.diagnostic(`every journey works ${await untilProgress(load, 'every journey to work')} ms after the end of the cut`)
  await untilReady()
  await assertNothingDiffers(t, stack, load)
})
