/** Failover: the primary database dies under load on all journeys, and its standby takes over. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Cluster, startCluster } from '../../soak/cluster.ts'
import { assertNothingDiffers, untilProgress, untilReady } from '../../soak/journeys.ts'
import { type Load, startLoad } from '../../soak/load.ts'
import { type Stack, startStack } from '../../soak/stack.ts'
import { connect } from '../internals.ts'

async function startAll(t: TestContext, isSynchronous: boolean) {
  const cluster = await startCluster(t, { isSynchronous })
  const stack = await startStack(t, { databaseUrl: cluster.url })
  const load = await startLoad(t, stack, { pauseMs: 60, broadcastEveryMs: 4_000, broadcastSize: 30 })
  await untilProgress(load, 'load on all journeys')
  return { cluster, stack, load }
}

/** The primary is gone for `downMs`, then the standby is promoted. Returns how long it took until every journey worked: 2 to 6 s on an idle machine (`bench/RESULTS.md`). */
async function failOver(cluster: Cluster, { services }: Stack, load: Load, downMs = 2_000) {
  await cluster.killPrimary()
  await new Promise((resolve) => setTimeout(resolve, downMs))
  await cluster.promote()
  const promotedAt = performance.now()
  await untilProgress(load, 'every journey to work again')
  await untilReady(services)
  return Math.round(performance.now() - promotedAt)
}

test('with synchronous replication a failover loses nothing acknowledged and sends nothing twice', async (t) => {
  const { cluster, stack, load } = await startAll(t, true)
  t.diagnostic(`recovered ${await failOver(cluster, stack, load)} ms after the promotion`)
  await assertNothingDiffers(t, stack, load)
})

test('with asynchronous replication a failover loses at most the last moments, and everything works again', async (t) => {
  const { cluster, stack, load } = await startAll(t, false)
  const tookMs = await failOver(cluster, stack, load)
  await load.stop()
  const ids = [...load.asked.sends.values()].flatMap(({ messageId }) => messageId ?? [])
  const stored = await stack.db<{ id: string }[]>`
    select id from messages where workspace_id = ${stack.workspaceId} and id = any(${ids}::uuid[])`
  load.end()
  const lost = ids.length - stored.length
  t.diagnostic(`${lost} of ${ids.length} acknowledged sends are lost; recovered ${tookMs} ms after the promotion`)
  // Replication on one machine is a few milliseconds behind.
  assert.ok(lost <= 20, `${lost} of ${ids.length} acknowledged sends are lost`)
})

const skip = process.platform !== 'linux' && 'finds the processes of PostgreSQL with the ps of Linux'

test('a primary that hangs without closing its connections is left for the promoted standby', { skip }, async (t) => {
  const { cluster, stack, load } = await startAll(t, false)
  const tookMs = await failOver({ ...cluster, killPrimary: cluster.freezePrimary }, stack, load, 500)
  t.diagnostic(`recovered ${tookMs} ms after the promotion`)
  load.end()
})

test('a URL with several servers finds the primary among them, and refuses to start with standbys only', async (t) => {
  const cluster = await startCluster(t, { isSynchronous: false })
  const { primary, standby } = cluster.ports
  const readFrom = async (url: string) => {
    const db = connect({ database: url, max: 2 })
    t.after(() => db.end({ timeout: 0 }))
    const [row] = await db<{ port: number }[]>`select inet_server_port() as port`
    return row?.port
  }
  const hosts = (...ports: number[]) => `postgres://parley@${ports.map((port) => `127.0.0.1:${port}`).join()}/parley`
  assert.equal(await readFrom(hosts(standby, primary)), primary)
  assert.equal(await readFrom(hosts(primary, 1)), primary)
  await assert.rejects(readFrom(hosts(standby)), /is a standby, which accepts no writes/)
  await assert.rejects(readFrom(hosts(standby, 1)), /no database server accepts writes: .*is a standby.*ECONNREFUSED/)
  await cluster.killPrimary()
  await cluster.promote()
  assert.equal(await readFrom(`${hosts(primary, standby)}?target_session_attrs=read-write`), standby)
})
