/**
 * The process: config, database, migrations, the chosen roles; stop in reverse.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { environment } from '../common/environment.ts'
import { needsSetup } from './accounts/setup.ts'
import { createApp, createChannels } from './app.ts'
import { type Config, defaultDataDir, localOrigin, readConfig } from './config.ts'
import { type Demo, getDemoSiteId, readDemo, resolveDemo } from './demo/demo.ts'
import { requireSameKey, resolveEncryptionKey } from './encryption-key.ts'
import { startClock } from './lib/clock.ts'
import { createSealer, deriveToken } from './lib/crypto.ts'
import { openDatabase, requireConnections } from './lib/database.ts'
import { createHealth } from './lib/health.ts'
import { createHttp } from './lib/http.ts'
import { startLive } from './lib/live.ts'
import { createLog } from './lib/log.ts'
import { giveBackMemory } from './lib/memory.ts'
import { createMetrics } from './lib/metrics.ts'
import { migrate } from './lib/migrate.ts'
import type { App } from './lib/server.ts'
import { inWords } from './lib/start-error.ts'
import { createStore } from './lib/store.ts'
import { startSimulatorHost } from './simulator-host/host.ts'
import { buildPages } from './web/pages.ts'
import { createGuard } from './webhooks/guard.ts'
import { keepDays } from './webhooks/partitions.ts'
import { createPoster } from './webhooks/post.ts'
import { startWorker, type Worker } from './worker.ts'

/** A request under way gets this long to finish after we were told to stop. */
const drainMs = 4_000
/** Whatever hangs, a database that is gone for instance: whoever told us to stop waits ten. */
const stopMs = 8_500
const flushMs = 500

try {
  await run(readConfig(environment()))
} catch (error) {
  console.error(inWords(error))
  process.exit(1)
}

async function run(config: Config): Promise<void> {
  const output = pino.destination({ dest: 1, sync: false })
  const log = createLog(config.logLevel, output)
  const stops: (() => Promise<unknown>)[] = []
  let stopping: Promise<never> | undefined

  /** Stop what was started, last first. A second signal changes nothing: the first is on its way. */
  const stop = (reason: string, exitCode: number): Promise<never> => {
    stopping ??= (async () => {
      log.info({ reason }, 'stopping')
      const isStopped = await Promise.race([stopAll(), sleep(stopMs, false)])
      if (!isStopped) log.error('not everything could be stopped in time')
      // What is said is written as far as somebody reads it; the logger itself would wait for that at the exit.
      await Promise.race([new Promise((resolve) => output.flush(resolve)), sleep(flushMs)])
      output.destroy()
      process.exit(exitCode)
    })()
    return stopping
  }
  const stopAll = async () => {
    for (const stopOne of stops.reverse()) await stopOne().catch((error) => log.error({ err: error }, 'while stopping'))
    return true
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop(signal, 0))
  // The launcher is gone, however it went.
  process.on('disconnect', () => void stop('launcher gone', 0))

  try {
    const database = await openDatabase(config)
    stops.push(database.stop)
    void database.exited.then((reason) => {
      log.fatal({ reason }, 'the embedded database ended')
      void stop(reason, 1)
    })
    const db = database.connect(10)
    const hotDb = database.connect(2, { hot: true })
    const messageDb = database.connect(6, { hot: true })
    const queueDb = database.connect(3, { hot: true, byIndex: true, relaxed: true })
    const settleDb = database.connect(3, { hot: true, relaxed: true })
    const runDb = database.connect(3, { hot: true })
    const digestDb = database.connect(1, { hot: true, byIndex: true, relaxed: true })
    const pools = [db, hotDb, messageDb, queueDb, settleDb, runDb, digestDb]
    stops.push(() => Promise.all(pools.map((pool) => pool.end({ timeout: 1 }))))

    const migrations = await migrate(db, { log })
    if (migrations.length > 0) log.info({ migrations }, 'migrated')
    if (config.databaseUrl) await requireConnections(pools)
    const health = createHealth()
    const clock = await startClock({ db, log, health })
    stops.push(clock.stop)
    const encryptionKey = await resolveEncryptionKey(config)
    const sealer = createSealer(encryptionKey)
    await requireSameKey(db, sealer)
    // Only who serves the API has a simulator to show; a worker finds the demo as they left it.
    const hasDemo = config.demo && config.roles.has('api')
    const origin = localOrigin(config)
    const simulatorUrl = `${origin}/simulator`
    const { dataDir, publicUrl, tls, trustedProxies, roles } = config
    const store = createStore(config)
    if (hasDemo && config.isDemoExposed) {
      log.warn(
        { host: config.host, public_url: publicUrl },
        "DEMO=1 and more than this machine reaches the service: the simulator needs the session of the demo's owner",
      )
    }
    const demo = hasDemo ? await resolveDemo({ db, sealer, store, dataDir, publicUrl, simulatorUrl }) : undefined

    const http = createHttp()
    stops.push(http.stop)
    const hosting = { db, sealer, log, health, dataDir, origin, publicUrl, isExposed: config.isDemoExposed }
    const simulator = hasDemo ? await startSimulatorHost(hosting) : undefined
    if (simulator) stops.push(simulator.stop)
    const metrics = createMetrics()
    const live = await startLive({ db, log, health })
    stops.push(live.stop)
    const guard = createGuard({ allowedCidrs: config.webhookAllowedCidrs })
    const poster = createPoster({ guard })
    stops.push(poster.stop)
    const shared = { db, log, sealer, channels: createChannels(http), store, live, metrics, health }
    await keepDays(db, log)
    let worker: Worker | undefined
    if (roles.has('api') && (await buildPages())) log.info('the pages were built')
    // Read at each look: the command line gives the demo's owner a new password, too.
    const setup = {
      token: deriveToken(encryptionKey, 'setup'),
      getDemo: () => (hasDemo ? readDemo(dataDir) : undefined),
    }
    const app = await createApp({
      ...shared,
      pages: true,
      demoSite: hasDemo ? () => getDemoSiteId(db) : undefined,
      hotDb,
      messageDb,
      settleDb,
      guard,
      simulator: simulator && { simulator, isExposed: config.isDemoExposed },
      setup,
      publicUrl,
      tls,
      trustedProxies,
      api: roles.has('api'),
      onMedia: () => worker?.onMedia(),
      onQueued: () => worker?.onQueued(),
      onBroadcast: () => worker?.onBroadcast(),
    })
    // At the same time: each may take its five seconds, and whoever told us to stop waits ten.
    stops.push(() => Promise.all([drain(app), worker?.stop()]))
    // Fastify does not know that the server it was given speaks TLS.
    const listenTextResolver = (address: string) =>
      `Server listening at ${tls ? address.replace(/^http:/, 'https:') : address}`
    await app.listen({ port: config.port, host: config.host, listenTextResolver })
    // Last: one that fails at its start, again and again, would take a batch of recipients along each time.
    if (roles.has('worker') && !stopping)
      worker = startWorker({ ...shared, poster, queueDb, settleDb, runDb, digestDb, publicUrl })
    await simulator?.letOthersStart()
    giveBackMemory()
    console.log(welcome(config, demo, (await needsSetup(db)) ? setup.token : undefined))
  } catch (error) {
    if (stopping) return stopping
    for (const stopOne of stops.reverse()) await stopOne().catch(() => {})
    throw error
  }
}

/** Take no new requests and finish those under way; a connection that has nothing more to say is closed at once. */
async function drain(app: App): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), 20)
  const late = setTimeout(() => app.server.closeAllConnections(), drainMs)
  await app.close()
  clearInterval(idle)
  clearTimeout(late)
}

/** `setupToken`: there is no workspace yet. */
function welcome(config: Config, demo: Demo | undefined, setupToken: string | undefined): string {
  const { publicUrl, roles, demo: wantsDemo } = config
  if (!roles.has('api')) {
    // Its own: the public address is where the API is.
    const origin = localOrigin(config)
    return `\n  Parley worker is ready. Health and metrics: ${origin}/healthz, ${origin}/metrics\n`
  }
  const lines: [string, string][] = [
    ['Dashboard', publicUrl],
    ['API', `${publicUrl}/v1`],
    ['Reference', `${publicUrl}/docs`],
  ]
  if (wantsDemo) lines.push(['Simulator', `${publicUrl}/simulator`], ['Web chat', `${publicUrl}/widget-demo`])
  if (setupToken) lines.push(['First run', `open ${publicUrl}/setup?token=${setupToken}`])
  if (demo) {
    lines.push(['Sign-in', `${demo.owner.email} / ${demo.owner.password}`])
    lines.push(['API key', demo.api_key])
    lines.push(['Events', parley(config, 'listen')])
  } else if (wantsDemo) {
    const reset = parley(config, 'member reset-password --email owner@demo.test')
    const where = config.databaseUrl ? ", with this service's DATABASE_URL and ENCRYPTION_KEY" : ''
    lines.push(['Sign-in', `owner@demo.test (new password: ${reset}${where})`])
  }
  if (config.isDemoExposed)
    lines.push(['Warning', "others can reach the demo: its simulator needs the owner's sign-in"])
  const shown = lines.map(([what, where]) => `  ${what.padEnd(10)} ${where}`)
  const first = demo ? ['', `  Try: ${firstCall(demo)}`] : []
  return ['', '  Parley is ready.', '', ...shown, ...first, ''].join('\n')
}

/** A command that finds this service from another terminal, whatever its settings are there. */
function parley({ dataDir }: Config, command: string): string {
  const quoted = /^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`
  return `${dataDir === defaultDataDir ? '' : `DATA_DIR=${quoted} `}npx parley ${command}`
}

/** On one line, to be copied whole: a phone appears in the simulator with the message on it. */
function firstCall({ base_url, api_key }: Demo): string {
  const message = {
    to: '+14155550100',
    type: 'template',
    template: { name: 'order_confirmed', params: ['Ann', 'A-1009'] },
  }
  const headers = `-H 'Authorization: Bearer ${api_key}' -H 'Content-Type: application/json'`
  return `curl ${base_url}/messages ${headers} -d '${JSON.stringify(message)}'`
}
