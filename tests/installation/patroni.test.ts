/** Patroni: a switchover and a killed primary under load on all journeys, and the killed node returns. */
import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { assertNothingDiffers, untilProgress, untilReady } from '../../soak/journeys.ts'
import { startLoad } from '../../soak/load.ts'
import { type PatroniCluster, startPatroni } from '../../soak/patroni.ts'
import { type Installation, startInstallation } from '../../soak/stack.ts'
import { file } from '../database.ts'
import { whyNoPatroni } from '../patroni.ts'
import { until } from '../until.ts'

const skip = whyNoPatroni() ?? false
let cluster: PatroniCluster
let installation: Installation

before(async () => {
  if (skip) return
  cluster = await startPatroni(file)
  installation = await startInstallation(file, { databaseUrl: cluster.url })
})

/** A workspace of the test, with load on all journeys. */
async function startJourneys(t: TestContext) {
  const stack = await installation.addWorkspace(t, 40)
  const load = await startLoad(t, stack, { pauseMs: 60, broadcastEveryMs: 4_000, broadcastSize: 30 })
  await untilProgress(load, 'load on all journeys')
  return { stack, load }
}

/** Returns how many milliseconds it took. */
async function untilStandby(name: string | undefined): Promise<number> {
  const startedAt = performance.now()
  const isStandby = async () => (await cluster.synchronousStandby()) === name
  await until(`${name} to be the synchronous standby`, isStandby, 180_000)
  return Math.round(performance.now() - startedAt)
}

test('a switchover loses nothing acknowledged and sends nothing twice', { skip }, async (t) => {
  const { stack, load } = await startJourneys(t)
  const primary = await cluster.primary()
  const startedAt = performance.now()
  await cluster.switchover()
  const switchedMs = Math.round(performance.now() - startedAt)
  assert.notEqual(await cluster.primary(), primary)
  const workMs = await untilProgress(load, 'every journey to work again')
  t.diagnostic(`Patroni switched in ${switchedMs} ms; every journey worked ${workMs} ms later`)
  await untilReady(installation.services)
  t.diagnostic(`the old primary was the synchronous standby ${await untilStandby(primary)} ms later`)
  await assertNothingDiffers(t, stack, load)
})

test('a killed primary is replaced, returns as a standby and can be the primary again, without a loss', {
  skip,
}, async (t) => {
  const { stack, load } = await startJourneys(t)
  const startedAt = performance.now()
  const killed = await cluster.killPrimary()
  const isReplaced = async () => ![undefined, killed].includes(await cluster.primary())
  await until('Patroni to replace the primary', isReplaced, 180_000)
  const replacedMs = Math.round(performance.now() - startedAt)
  const workMs = await untilProgress(load, 'every journey to work again')
  t.diagnostic(`Patroni replaced the primary in ${replacedMs} ms; every journey worked ${workMs} ms later`)
  await untilReady(installation.services)

  await cluster.start(killed)
  t.diagnostic(`the killed node was the synchronous standby ${await untilStandby(killed)} ms after its start`)
  await untilProgress(load, 'every journey to work with the standby')
  t.diagnostic(
    `pg_rewind ${/pg_rewind exit code=0/.test(cluster.log(killed)) ? 'repaired' : 'was not needed for'} the killed node`,
  )
  // The audit reads what the returned node has.
  await cluster.switchover()
  assert.equal(await cluster.primary(), killed)
  await untilProgress(load, 'every journey to work after the switchover')
  await untilReady(installation.services)
  await assertNothingDiffers(t, stack, load)
})
