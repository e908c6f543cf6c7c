/**
 * The process: settings, database, migrations, then the chosen roles. It stops them in reverse order.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { environment } from '../common/environment.ts'
import { buildPhonePage } from '../simulator/page.ts'
import { keepRequestDays } from './accounts/request-log.ts'
import { needsSetup } from './accounts/setup.ts'
import { createSignals } from './accounts/signals.ts'
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
import type { Loop } from './lib/loop.ts'
import { createMetrics } from './lib/metrics.ts'
import { migrate } from './lib/migrate.ts'
import type { App } from './lib/server.ts'
import { inWords } from './lib/start-error.ts'
import { releaseStartupMemory } from './lib/startup-memory.ts'
import { createMediaStore } from './media/store.ts'
import { createPools, endPools } from './pools.ts'
import { startSimulatorHost } from './simulator-host/host.ts'
import { buildPages } from './web/pages.ts'
import { createGuard } from './webhooks/guard.ts'
import { keepEventDays } from './webhooks/partitions.ts'
import { createPoster } from './webhooks/post.ts'
import { startWorker } from './worker.ts'

/** How long requests in flight may take after a signal to stop. */
const drainMs = 4_000
/** The process ends after this even if something hangs, such as a lost database: supervisors wait ten seconds. */
const stopMs = 8_500
/** How long the last log lines may take to be written. */
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

  /** Stops what was started, last first. A second signal has no effect. */
  const stop = (reason: string, exitCode: number): Promise<never> => {
    stopping ??= (async () => {
      log.info({ reason }, 'stopping')
      const isStopped = await Promise.race([stopAll(), sleep(stopMs, false)])
      if (!isStopped) log.error('not everything could be stopped in time')
      // At exit the logger would wait for ever if its output is not read.
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
  // The launcher ended.
  process.on('disconnect', () => void stop('launcher gone', 0))

  try {
    const database = await openDatabase(config)
    stops.push(database.stop)
    void database.exited.then((reason) => {
      log.fatal({ reason }, 'the embedded database ended')
      void stop(reason, 1)
    })
    const pools = createPools(database.connect)
    const db = pools.general
    stops.push(() => endPools(pools))

    const migrations = await migrate(db, { log })
    if (migrations.length > 0) log.info({ migrations }, 'migrated')
    if (config.databaseUrl) await requireConnections(Object.values(pools))
    const health = createHealth()
    const clock = await startClock({ db, log, health })
    stops.push(clock.stop)
    const encryptionKey = await resolveEncryptionKey(config)
    const sealer = createSealer(encryptionKey)
    await requireSameKey(db, sealer)
    // A process without the API has no simulator: a worker uses the demo of the process that has the API.
    const hasDemo = config.demo && config.roles.has('api')
    const origin = localOrigin(config)
    const simulatorUrl = `${origin}/simulator`
    const { dataDir, publicUrl, tls, trustedProxies, roles } = config
    const store = createMediaStore(config)
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
    const signals = createSignals(live)
    const shared = { pools, log, sealer, channels: createChannels(http), store, signals, metrics, health }
    await keepEventDays(db, log)
    await keepRequestDays(db, log)
    let worker: Loop | undefined
    if (roles.has('api')) {
      const built = [await buildPages(), hasDemo && (await buildPhonePage())]
      if (built.includes(true)) log.info('the pages were built')
    }
    // Read at each request, because the command line can reset the password of the demo's owner.
    const setup = {
      token: deriveToken(encryptionKey, 'setup'),
      getDemo: () => (hasDemo ? readDemo(dataDir) : undefined),
    }
    const app = await createApp({
      ...shared,
      pages: true,
      demoSite: hasDemo ? () => getDemoSiteId(db) : undefined,
      live,
      guard,
      simulator: simulator && { simulator, isExposed: config.isDemoExposed },
      setup,
      publicUrl,
      tls,
      trustedProxies,
      api: roles.has('api'),
    })
    // At the same time: each may take five seconds, and supervisors wait ten.
    stops.push(() => Promise.all([drain(app), worker?.stop()]))
    // Fastify does not know that its server uses TLS.
    const listenTextResolver = (address: string) =>
      `Server listening at ${tls ? address.replace(/^http:/, 'https:') : address}`
    await app.listen({ port: config.port, host: config.host, listenTextResolver })
    // Last: a process that fails at its start again and again would hand over a batch of recipients each time.
    if (roles.has('worker') && !stopping) worker = startWorker({ ...shared, live, poster, publicUrl })
    await simulator?.releaseStartLock()
    releaseStartupMemory()
    console.log(welcome(config, demo, (await needsSetup(db)) ? setup.token : undefined))
  } catch (error) {
    if (stopping) return stopping
    for (const stopOne of stops.reverse()) await stopOne().catch(() => {})
    throw error
  }
}

/** Accepts no new requests and finishes those in flight. Idle connections are closed at once. */
async function drain(app: App): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), 20)
  const late = setTimeout(() => app.server.closeAllConnections(), drainMs)
  await app.close()
  clearInterval(idle)
  clearTimeout(late)
}

/** The text shown after the start. `setupToken` is present while there is no workspace. */
function welcome(config: Config, demo: Demo | undefined, setupToken: string | undefined): string {
  const { publicUrl, roles, demo: wantsDemo } = config
  if (!roles.has('api')) {
    // The worker's own address; the public one belongs to the API.
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

/** A command that finds this service from another terminal with other settings. */
function parley({ dataDir }: Config, command: string): string {
  const quoted = /^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`
  return `${dataDir === defaultDataDir ? '' : `DATA_DIR=${quoted} `}npx parley ${command}`
}

/** One line to copy. The simulator then shows a phone with the message. */
function firstCall({ base_url, api_key }: Demo): string {
  const message = {
    to: '+14155550100',
    type: 'template',
    template: { name: 'order_confirmed', params: ['Ann', 'A-1009'] },
  }
  const headers = `-H 'Authorization: Bearer ${api_key}' -H 'Content-Type: application/json'`
  return `curl ${base_url}/messages ${headers} -d '${JSON.stringify(message)}'`
}
