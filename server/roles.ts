/**
 * The roles of a process: the API, the engines, or the simulator. Each loads only the code that it needs.
 */
import type { Server } from 'node:http'
import { flushCompileCache } from 'node:module'
import { getPriority, hostname, setPriority } from 'node:os'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { version } from '../common/version.ts'
import { createChannels } from './channels/adapters.ts'
import { type Config, listDataFolders, localOrigin } from './config/config.ts'
import { requireSameKey, resolveEncryptionKey } from './config/encryption-key.ts'
import { apiPools, createPools, endPools, type Pools, workerPools } from './config/pools.ts'
import { startClock } from './lib/clock.ts'
import { createSealer, deriveToken } from './lib/crypto.ts'
import { getLastBackup } from './lib/embedded/backup.ts'
import type { DatabaseAddress } from './lib/embedded/postgres.ts'
import { createHttp } from './lib/http/client.ts'
import type { App } from './lib/http/server.ts'
import { type Connect, connectorOf, requireConnections } from './lib/postgres/database.ts'
import type { Db } from './lib/postgres/db.ts'
import { createDisk } from './lib/process/disk.ts'
import { createHealth } from './lib/process/health.ts'
import { startHeartbeat } from './lib/process/heartbeat.ts'
import { type Lifecycle, openProcess } from './lib/process/lifecycle.ts'
import { createMetrics } from './lib/process/metrics.ts'
import { joinSupervisor, type Peers } from './lib/process/peers.ts'
import { releaseStartupMemory } from './lib/process/startup-memory.ts'
import { createMediaStore } from './media/store.ts'
import type { Prepared } from './prepare.ts'
import { startLive } from './signals/live.ts'
import { createSignals } from './signals/signals.ts'
import { createSocketProxy, serveSocket } from './simulator-host/proxy.ts'
import { processGauges } from './web/status.ts'
import { answerPeers, systemRoutes } from './web/system.ts'
import { createGuard } from './webhooks/guard.ts'

/** Engines wait 5.5 s for posts in flight. The main process stops the embedded database afterwards. */
const stopMs = 7_500

/** Added to the niceness of the service: engines get a third of the CPU time of an API process when both want all of it. */
const enginesNice = 5
const lowestPriority = 19

const prepareConnections = 4

/** What every process of a service starts with. */
export type ChildInput = {
  config: Config
  database: string | DatabaseAddress
  /** The socket file of the process `simulator`. Undefined: there is none. */
  simulatorSocket: string | undefined
  /** How often the process was restarted since the service started. */
  restarts: number
}

type RoleContext = {
  /** Of the process. */
  name: string
  restarts: number
  config: Config
  connect: Connect
  simulatorSocket: string | undefined
  log: Logger
  lifecycle: Lifecycle
  /** The other processes of the service. Undefined: there are none. */
  peers: Peers | undefined
}

/** Runs the child process with this name: `prepare`, `engines`, `simulator`, or `api-1` and so on. */
export async function runChild(name: string): Promise<void> {
  const child = joinSupervisor<ChildInput>()
  let lifecycle: Lifecycle | undefined
  try {
    const start = await loadRole(name)
    await child.reportLoaded()
    const { config, database, simulatorSocket, restarts } = await child.input
    const opened = openProcess({ logLevel: config.logLevel, stopMs, name })
    lifecycle = opened.lifecycle
    child.onStopRequest((reason) => void opened.lifecycle.stop(reason, 0))
    const connect = connectorOf(database)
    const value = await start({ name, restarts, config, connect, simulatorSocket, peers: child.peers, ...opened })
    releaseStartupMemory()
    flushCompileCache()
    await child.reportReady(value)
  } catch (error) {
    // A stop also ends the start.
    if (!lifecycle?.isStopping()) await child.exitFailed(error)
  }
}

async function loadRole(name: string): Promise<(context: RoleContext) => Promise<unknown>> {
  if (name === 'prepare') {
    const { prepare } = await import('./prepare.ts')
    return ({ config, connect, log }) => prepare(config, connect(prepareConnections), log)
  }
  if (name === 'engines') {
    // A broadcast or a queue of webhooks must not delay a request.
    setPriority(Math.min(getPriority() + enginesNice, lowestPriority))
    return loadEngines()
  }
  return name === 'simulator' ? loadSimulator() : loadApi()
}

/** Prepares the database and runs the engines in this process. */
export async function runWorker(
  { config, database }: Pick<ChildInput, 'config' | 'database'>,
  { log, lifecycle }: Pick<RoleContext, 'log' | 'lifecycle'>,
): Promise<Prepared> {
  const { prepare } = await import('./prepare.ts')
  const start = await loadEngines()
  const connect = connectorOf(database)
  const db = connect(prepareConnections)
  const prepared = await prepare(config, db, log)
  await db.end()
  const alone = { simulatorSocket: undefined, peers: undefined }
  await start({ name: 'worker', restarts: 0, config, connect, log, lifecycle, ...alone })
  return prepared
}

/** Loads the code of the API and returns the function that starts it. */
async function loadApi() {
  const { createApp } = await import('./app.ts')

  return async (context: RoleContext): Promise<void> => {
    const { config, simulatorSocket, peers, lifecycle } = context
    const { dataDir, publicUrl, tls, trustedProxies } = config
    const parts = await openParts(context, apiPools, config.processes)
    const { db } = parts
    const demo = config.demo ? await import('./demo/demo.ts') : undefined
    const mailer = config.smtp && (await import('./lib/mail.ts')).createMailer(config.smtp)
    const oidc = config.oidc && {
      ...config.oidc,
      client: (await import('./lib/oidc.ts')).createOidcClient(config.oidc),
    }
    if (mailer) lifecycle.onStop(async () => mailer.stop())
    const app = await createApp({
      ...parts,
      mailer,
      oidc,
      pages: true,
      demoSite: demo && (() => demo.getDemoSiteId(db)),
      guard: createGuard({ allowedCidrs: config.webhookAllowedCidrs, times: config.times.webhooks }),
      simulator: simulatorSocket
        ? { ...createSocketProxy(simulatorSocket), isExposed: config.isDemoExposed }
        : undefined,
      // Read at each request, because the command line can reset the password of the demo's owner.
      setup: { token: deriveToken(parts.encryptionKey, 'setup'), getDemo: () => demo?.readDemo(dataDir) },
      peers,
      operatorWorkspace: config.operatorWorkspace,
      backups: { isEmbedded: !config.databaseUrl, getLast: () => getLastBackup(dataDir) },
      publicUrl,
      tls,
      trustedProxies,
      times: config.times,
    })
    lifecycle.onStop(() => drain(app.server, () => app.close(), config))
    await beat(context, parts)
    await listen(app, config, true)
  }
}

/** Loads the code of the engines and returns the function that starts them. */
async function loadEngines() {
  const { startWorker } = await import('./worker.ts')
  const { createPoster } = await import('./webhooks/post.ts')

  return async (context: RoleContext): Promise<void> => {
    const { config, lifecycle, peers } = context
    const { publicUrl } = config
    const parts = await openParts(context, workerPools, 1)
    const poster = createPoster({
      guard: createGuard({ allowedCidrs: config.webhookAllowedCidrs, times: config.times.webhooks }),
      times: config.times.webhooks,
    })
    lifecycle.onStop(poster.stop)
    const { callMs } = config.times.automation
    const callPoster = createPoster({
      guard: createGuard({ allowedCidrs: config.webhookAllowedCidrs, times: config.times.webhooks }),
      times: { ...config.times.webhooks, postMs: callMs, bodyMs: callMs },
    })
    lifecycle.onStop(callPoster.stop)
    if (!peers) await serveHealth(context, parts)
    // Last: a process that fails at its start again and again would hand over a batch of recipients each time.
    if (lifecycle.isStopping()) return
    const worker = startWorker({ ...parts, poster, callPoster, publicUrl, times: config.times })
    lifecycle.onStop(worker.stop)
    await beat(context, parts)
  }
}

/** Loads the code of the simulator and returns the function that starts it. */
async function loadSimulator() {
  const { startSimulatorHost } = await import('./simulator-host/host.ts')

  return async (context: RoleContext): Promise<void> => {
    const { config, connect, simulatorSocket = '', log, lifecycle } = context
    const { dataDir, publicUrl, isDemoExposed: isExposed, times } = config
    const db = connect(1, { holdsLock: true })
    const parts = await openBasics(context, db, [db])
    const origin = localOrigin(config)
    const host = await startSimulatorHost({ ...parts, log, dataDir, origin, publicUrl, isExposed, times })
    lifecycle.onStop(host.stop)
    const server = await serveSocket(host, simulatorSocket)
    lifecycle.onStop(() => drain(server, promisify(server.close.bind(server)), config))
    await beat(context, parts)
  }
}

/** Reports this process to the status page. */
async function beat({ config, name, restarts, log, lifecycle }: RoleContext, parts: Basics): Promise<void> {
  const { db, health, metrics, disk } = parts
  const heartbeat = await startHeartbeat({
    ...{ db, log, health, metrics, disk, version, restarts },
    service: `${hostname()}:${config.port}`,
    process: name,
    gauges: processGauges,
    times: config.times.heartbeat,
  })
  lifecycle.onStop(heartbeat.stop)
}

type Basics = Awaited<ReturnType<typeof openBasics>>

/** What every process has. `db` is one of its pools. */
async function openBasics({ config, log, lifecycle, peers }: RoleContext, db: Db, pools: readonly Db[]) {
  lifecycle.onStop(() => endPools(pools))
  if (config.databaseUrl) await requireConnections(pools)
  const health = createHealth(config.times.health)
  const metrics = createMetrics()
  const disk = createDisk(listDataFolders(config))
  if (peers) answerPeers(peers, { health, metrics })
  const clock = await startClock({ db, log, health })
  lifecycle.onStop(clock.stop)
  const encryptionKey = await resolveEncryptionKey(config)
  const sealer = createSealer(encryptionKey)
  // A restarted process without the file of the key would otherwise create another key and seal with it.
  await requireSameKey(db, sealer)
  return { db, health, metrics, disk, encryptionKey, sealer }
}

/** What the API and the engines have. `processes` of the service have the same pools. */
async function openParts<Name extends keyof Pools>(
  context: RoleContext,
  names: readonly ('general' | Name)[],
  processes: number,
) {
  const { config, connect, log, lifecycle } = context
  const pools = createPools(connect, names, processes)
  const basics = await openBasics(context, pools.general, Object.values(pools))
  const { db, health } = basics
  const http = createHttp()
  lifecycle.onStop(http.stop)
  const live = await startLive({ db, log, health })
  lifecycle.onStop(live.stop)
  return {
    ...basics,
    pools,
    log,
    channels: createChannels(http, config.times.messages),
    store: createMediaStore(config),
    live,
    signals: createSignals(live),
  }
}

/** A process that runs only the engines listens for health checks and metrics. */
async function serveHealth(context: RoleContext, { db, health, disk, metrics }: Basics): Promise<void> {
  const { config, log, lifecycle } = context
  const { createServer } = await import('./lib/http/server.ts')
  const { tls, trustedProxies } = config
  const app = createServer({ log, metrics, tls, trustedProxies, limits: {} })
  await app.register(systemRoutes({ db, metrics, health, disk }))
  lifecycle.onStop(() => drain(app.server, () => app.close(), config))
  await listen(app, config, false)
}

/**
 * `isShared`: several processes listen on the port. Linux spreads the connections over their sockets, so no other process takes part,
 * and a killed one loses only its own connections. Elsewhere `node:cluster` shares one socket.
 */
async function listen(app: App, { port, host }: Config, isShared: boolean): Promise<void> {
  // Passed on to `net.Server`; Fastify's types lack it.
  const sharing = { reusePort: isShared && process.platform === 'linux' }
  // The welcome has the address. Fastify would log it once for each process, above the welcome.
  const { level } = app.log
  app.log.level = 'error'
  await app.listen({ port, host, ...sharing })
  app.log.level = level
}

/** Accepts no new requests and finishes those in flight. Idle connections are closed at once. */
async function drain(server: Server, close: () => Promise<unknown>, { times }: Config): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), 20)
  const late = setTimeout(() => server.closeAllConnections(), times.supervisor.drainMs)
  await close()
  clearInterval(idle)
  clearTimeout(late)
}
