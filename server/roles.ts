/**
 * The roles of a process: the API, or the background engines. Each loads only the code that it needs.
 */
import { flushCompileCache } from 'node:module'
import { getPriority, hostname, setPriority } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { version } from '../common/version.ts'
import { createSignals } from './accounts/signals.ts'
import { createChannels } from './channels/adapters.ts'
import { type Config, listDataFolders, localOrigin } from './config.ts'
import { requireSameKey, resolveEncryptionKey } from './encryption-key.ts'
import { getLastBackup } from './lib/backup.ts'
import { startClock } from './lib/clock.ts'
import { createSealer, deriveToken } from './lib/crypto.ts'
import { type Connect, connectorOf, requireConnections } from './lib/database.ts'
import { createDisk } from './lib/disk.ts'
import type { DatabaseAddress } from './lib/embedded-postgres.ts'
import { createHealth } from './lib/health.ts'
import { startHeartbeat } from './lib/heartbeat.ts'
import { createHttp } from './lib/http.ts'
import { type Lifecycle, openProcess } from './lib/lifecycle.ts'
import { startLive } from './lib/live.ts'
import { createMetrics } from './lib/metrics.ts'
import { joinSupervisor, type Peers } from './lib/peers.ts'
import type { App } from './lib/server.ts'
import { releaseStartupMemory } from './lib/startup-memory.ts'
import { createMediaStore } from './media/store.ts'
import { apiPools, createPools, endPools, type Pools, workerPools } from './pools.ts'
import type { Prepared } from './prepare.ts'
import type { SimulatorHost } from './simulator-host/host.ts'
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
  /** For the socket of the simulator, if there are several API processes. */
  socketFolder: string | undefined
  /** How often the process was restarted since the service started. */
  restarts: number
}

type RoleContext = {
  /** Of the process. */
  name: string
  restarts: number
  config: Config
  connect: Connect
  log: Logger
  lifecycle: Lifecycle
  /** The other processes of the service. Undefined: there are none. */
  peers: Peers | undefined
}

/** Runs the child process with this name: `prepare`, `engines`, or `api-1` and so on. */
export async function runChild(name: string): Promise<void> {
  const child = joinSupervisor<ChildInput>()
  let lifecycle: Lifecycle | undefined
  try {
    const start = await loadRole(name)
    await child.reportLoaded()
    const { config, database, socketFolder, restarts } = await child.input
    const opened = openProcess({ logLevel: config.logLevel, stopMs, name })
    lifecycle = opened.lifecycle
    child.onStopRequest((reason) => void opened.lifecycle.stop(reason, 0))
    const context = { name, restarts, config, connect: connectorOf(database), peers: child.peers, ...opened }
    const value = await start(context, socketFolder)
    releaseStartupMemory()
    flushCompileCache()
    await child.reportReady(value)
  } catch (error) {
    // A stop also ends the start.
    if (!lifecycle?.isStopping()) await child.exitFailed(error)
  }
}

type Start = (context: RoleContext, socketFolder: string | undefined) => Promise<unknown>

async function loadRole(name: string): Promise<Start> {
  if (name === 'prepare') {
    const { prepare } = await import('./prepare.ts')
    return ({ config, connect, log }) => prepare(config, connect(prepareConnections), log)
  }
  if (name === 'engines') {
    // A broadcast or a queue of webhooks must not delay a request.
    setPriority(Math.min(getPriority() + enginesNice, lowestPriority))
    return loadEngines()
  }
  const startApi = await loadApi()
  return (context, socketFolder) => {
    const socketPath = socketFolder && join(socketFolder, 'simulator.sock')
    return startApi(context, { isHere: name === 'api-1', socketPath })
  }
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
  await start({ name: 'worker', restarts: 0, config, connect, log, lifecycle, peers: undefined })
  return prepared
}

/** Where the simulator runs: in this process, which serves it on a socket file, or in the one that listens on it. */
type SimulatorPlace = { isHere: boolean; socketPath: string | undefined }

/** Loads the code of the API and returns the function that starts it. */
async function loadApi() {
  const { createApp } = await import('./app.ts')

  return async (context: RoleContext, simulatorPlace: SimulatorPlace): Promise<void> => {
    const { config, peers, lifecycle } = context
    const { dataDir, publicUrl, tls, trustedProxies } = config
    const parts = await openParts(context, apiPools, config.processes)
    const db = parts.pools.general
    const simulator = config.demo ? await openSimulator(context, parts, simulatorPlace) : undefined
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
      simulator: simulator && { simulator, isExposed: config.isDemoExposed },
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
    lifecycle.onStop(() => drain(app, config))
    await beat(context, parts)
    await listen(app, config, true)
    await simulator?.releaseStartLock?.()
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
    if (!peers) await serveHealth(context, parts)
    // Last: a process that fails at its start again and again would hand over a batch of recipients each time.
    if (lifecycle.isStopping()) return
    const worker = startWorker({ ...parts, poster, publicUrl, times: config.times })
    lifecycle.onStop(worker.stop)
    await beat(context, parts)
  }
}

/** Reports this process to the status page. */
async function beat({ config, name, restarts, log, lifecycle }: RoleContext, parts: Parts): Promise<void> {
  const { pools, health, metrics, disk } = parts
  const heartbeat = await startHeartbeat({
    ...{ db: pools.general, log, health, metrics, disk, version, restarts },
    service: `${hostname()}:${config.port}`,
    process: name,
    gauges: processGauges,
    times: config.times.heartbeat,
  })
  lifecycle.onStop(heartbeat.stop)
}

type Parts = Awaited<ReturnType<typeof openParts<'general'>>>

/** What every role has. `processes` of the service have the same pools. */
async function openParts<Name extends keyof Pools>(
  context: RoleContext,
  names: readonly ('general' | Name)[],
  processes: number,
) {
  const { config, connect, log, lifecycle, peers } = context
  const pools = createPools(connect, names, processes)
  const db = pools.general
  lifecycle.onStop(() => endPools(pools))
  if (config.databaseUrl) await requireConnections(Object.values(pools))
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
  const http = createHttp()
  lifecycle.onStop(http.stop)
  const live = await startLive({ db, log, health })
  lifecycle.onStop(live.stop)
  return {
    pools,
    log,
    health,
    disk,
    metrics,
    encryptionKey,
    sealer,
    channels: createChannels(http, config.times.messages),
    store: createMediaStore(config),
    live,
    signals: createSignals(live),
  }
}

/** The simulator exists once per service. API processes share the port, so each serves `/simulator`. */
async function openSimulator(
  { config, log, lifecycle }: RoleContext,
  { pools, sealer, health }: Pick<Parts, 'pools' | 'sealer' | 'health'>,
  { isHere, socketPath }: SimulatorPlace,
): Promise<(Pick<SimulatorHost, 'handle'> & Partial<SimulatorHost>) | undefined> {
  const { createSocketProxy, serveSocket } = await import('./simulator-host/proxy.ts')
  if (!isHere) return socketPath === undefined ? undefined : createSocketProxy(socketPath)
  const { startSimulatorHost } = await import('./simulator-host/host.ts')
  const { dataDir, publicUrl, isDemoExposed: isExposed } = config
  const origin = localOrigin(config)
  const simulator = await startSimulatorHost({
    ...{ db: pools.general, sealer, log, health },
    ...{ dataDir, origin, publicUrl, isExposed, times: config.times },
  })
  lifecycle.onStop(simulator.stop)
  if (socketPath !== undefined) lifecycle.onStop((await serveSocket(simulator, socketPath)).stop)
  return simulator
}

/** A process that runs only the engines listens for health checks and metrics. */
async function serveHealth(context: RoleContext, { pools, health, disk, metrics }: Parts): Promise<void> {
  const { config, log, lifecycle } = context
  const { createServer } = await import('./lib/server.ts')
  const { tls, trustedProxies } = config
  const app = createServer({ log, metrics, tls, trustedProxies, limits: {} })
  await app.register(systemRoutes({ db: pools.general, metrics, health, disk }))
  lifecycle.onStop(() => drain(app, config))
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
async function drain(app: App, { times }: Config): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), 20)
  const late = setTimeout(() => app.server.closeAllConnections(), times.supervisor.drainMs)
  await app.close()
  clearInterval(idle)
  clearTimeout(late)
}
