/**
 * Support for tests through HTTP: a real service on a real database, and clients that check every answer against the API's document.
 *
 * The tests of a process share one service and one database; each test gets a workspace of its own and a simulator of its own, and its
 * SQL names that workspace. A test that changes the service's settings starts its own service, and so does a test with DDL, locks or
 * sweeps (`{ alone: 'the reason' }`).
 */
import { argon2, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { RouteOptions } from 'fastify'
import pino from 'pino'
import type { DnsResolver } from '../common/address.ts'
import { times as realTimes, type Times } from '../common/times.ts'
import { version } from '../common/version.ts'
import { buildPages } from '../scripts/build.ts'
import { freePort } from '../scripts/free-port.ts'
import { createKey, type Scope, scopes } from '../server/accounts/keys.ts'
import { insertMember } from '../server/accounts/members.ts'
import { keepRequestDays } from '../server/accounts/request-log.ts'
import type { Setup } from '../server/accounts/sign-in/setup.ts'
import { createApp } from '../server/app.ts'
import { keepStepDays } from '../server/automation/log-days.ts'
import { createChannels } from '../server/channels/adapters.ts'
import type { Connection } from '../server/channels/channel.ts'
import type { OidcConfig } from '../server/config/config.ts'
import { apiPools, createPools, workerPools } from '../server/config/pools.ts'
import { createSealer } from '../server/lib/crypto.ts'
import { createHttp } from '../server/lib/http/client.ts'
import type { ServerOptions } from '../server/lib/http/server.ts'
import { newId } from '../server/lib/id.ts'
import { createMailer, type MailSettings } from '../server/lib/mail.ts'
import type { Db } from '../server/lib/postgres/db.ts'
import { createHealth } from '../server/lib/process/health.ts'
import { startHeartbeat } from '../server/lib/process/heartbeat.ts'
import { createMetrics } from '../server/lib/process/metrics.ts'
import type { S3Bucket } from '../server/lib/store-s3.ts'
import { createMediaStore } from '../server/media/store.ts'
import { startLive } from '../server/signals/live.ts'
import { createSignals } from '../server/signals/signals.ts'
import { addSimulatedNumber, connectSimulator, registerSimulatorAccounts } from '../server/simulator-host/accounts.ts'
import { processGauges } from '../server/web/status.ts'
import { createGuard } from '../server/webhooks/guard.ts'
import { keepEventDays } from '../server/webhooks/partitions.ts'
import { createPoster } from '../server/webhooks/post.ts'
import { startWorker } from '../server/worker.ts'
import type { Answer } from './assertions.ts'
import { type Browser, publicUrl, signIn, uncompressed } from './browser.ts'
import { type Contract, readContract } from './contract.ts'
import { createDatabase, file, type TestDatabase } from './database.ts'
import { createFolder } from './folder.ts'
import type { Json, Owner } from './owner.ts'
import type { Provider } from './provider.ts'
import { spend } from './spent.ts'

export { divideTimes, times } from '../common/times.ts'
export { assertBadRequest, assertFields, assertRefused, assertStatus, dataOf, pluck, toListed } from './assertions.ts'
export { type Browser, createBrowser, createMember, type Member, publicUrl, signIn } from './browser.ts'
export { createDatabase, file, type TestDatabase } from './database.ts'
export type { Json, Owner } from './owner.ts'
export { until } from './until.ts'

type Call = {
  body?: unknown
  /** Bytes as they are, instead of `body`. */
  raw?: string | Uint8Array
  headers?: Record<string, string>
  key?: string | null
}

/** Calls the public API and holds every answer against the document. */
export type Api = {
  workspaceId: string
  get(path: string, call?: Call): Promise<Answer>
  post(path: string, body?: unknown, call?: Call): Promise<Answer>
  patch(path: string, body?: unknown, call?: Call): Promise<Answer>
  delete(path: string, body?: unknown, call?: Call): Promise<Answer>
  call(method: string, path: string, call?: Call): Promise<Answer>
  /** A new key of this workspace. */
  key(...scopes: Scope[]): Promise<string>
}

export type World = {
  url: string
  db: Db
  database: TestDatabase
  /** A key with every scope in a workspace; a fresh one whenever its minute is used up. */
  api: Api
  owner: { email: string; password: string }
  workspace(options?: {
    name?: string
    country?: string
  }): Promise<{ api: Api; owner: { email: string; password: string } }>
  /** Starts another process of the service: its own pools, the same database. */
  twin(): Promise<string>
  /** The simulator, with this workspace (or another) connected to it on every channel. */
  connect(options?: Connecting): Promise<Provider>
  /** Connects one more number of the simulator to this workspace: of the default number's provider account, or of one of its own. */
  addNumber(name: string, options?: { isSameAccount?: boolean; messagesPerSecond?: number }): Promise<Connection>
  contract: Contract
  /** Every route of the dashboard. */
  memberRoutes: RouteOptions[]
}

export type Starting = {
  /** What the service calls itself, and what it knows of its first run. */
  publicUrl?: string
  /** The mail server of the service. */
  smtp?: MailSettings
  /** The bucket of the media; a folder when absent. */
  mediaS3?: S3Bucket
  /** The OpenID Connect provider of the service. */
  oidc?: OidcConfig
  setup?: Partial<Setup>
  limits?: ServerOptions['limits']
  trustedProxies?: ServerOptions['trustedProxies']
  log?: ServerOptions['log']
  /** How long the engines wait; the real times when absent. Short ones fail on a busy machine if they are timeouts. */
  times?: Times
  /** Networks that webhooks may reach besides the public ones; loopback when absent. */
  allowedCidrs?: readonly string[]
  /** What names resolve to. */
  resolver?: DnsResolver
  /** With the dashboard's pages and the widget, and a public address that a browser reaches. */
  pages?: boolean
  /** As if this were the demo workspace: with its shop. */
  demoSite?: (db: Db) => Promise<string | undefined>
  /** Consecutive failures that open the circuit breaker. */
  failuresToOpen?: number
  /** A service and a database of its own. The value is the reason: DDL, a lock, or rows of all workspaces, such as a sweep. */
  alone?: string
}

type Connecting = { workspaceId?: string; messagesPerSecond?: number }

/** Marks the test of a module's main promise, which `npm run test:fast` runs: `test('…', main, …)`. */
export const main = { only: process.env.PARLEY_TEST_MAIN === '1' }

const silent = pino({ level: 'silent' })
export const setupToken = 'the token of the first run'
export const testEncryptionKey = '5e'.repeat(32)
const sealer = createSealer(testEncryptionKey)
const password = 'correct horse'

/** At the cost of production each hash and each sign-in takes 30 ms of a core. A sign-in reads the cost from the hash. */
const cheapHash = (async () => {
  const nonce = Buffer.alloc(16)
  const cost = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 }
  const tag = await promisify(argon2)('argon2id', { ...cost, message: password, nonce })
  const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=8,t=1,p=1$${encode(nonce)}$${encode(tag)}`
})()

/** A running service with its database. */
type Service = Pick<World, 'url' | 'db' | 'database' | 'contract' | 'memberRoutes'> & {
  /** Starts another process of the service. Answers its URL. */
  startTwin(owner: Owner): Promise<string>
}

const sharedServices: Record<string, Promise<Service>> = {}

/** Tests of a file that differ in no other option share a service, if they agree in these. */
const sharedOptions = ['pages', 'limits', 'trustedProxies']

function joinService(starting: Starting): Promise<Service> {
  const name = JSON.stringify(starting)
  sharedServices[name] ??= startService(file, starting)
  return sharedServices[name]
}

/** Creates a workspace in the service that the tests of the file share or, given other options, in a service alone. */
export async function start(owner: Owner, starting: Starting = {}): Promise<World> {
  const isShared = Object.keys(starting).every((option) => sharedOptions.includes(option))
  const service = await spend('starting', () => (isShared ? joinService(starting) : startService(owner, starting)))
  const { url, db, contract } = service
  const workspace: World['workspace'] = async ({ name = 'Acme', country = 'US' } = {}) => {
    const id = newId()
    const owner = { email: `owner@${randomUUID()}.test`, password }
    await db.begin(async (sql) => {
      await sql`insert into workspaces (id, name, default_country, created_at) values (${id}, ${name}, ${country}, now())`
      const member = { email: owner.email, name: null, role: 'owner', isEmailProved: true } as const
      await insertMember(sql, id, { ...member, passwordHash: await cheapHash })
    })
    return { api: createApi(db, url, contract, id), owner }
  }
  const first = await workspace()
  let provider: Promise<Provider> | undefined
  const startSimulator = () =>
    (provider ??= import('./provider.ts').then(({ startProvider }) => startProvider(owner, createFolder(owner))))
  const connectWorkspace: World['connect'] = async ({
    workspaceId = first.api.workspaceId,
    messagesPerSecond,
  } = {}) => {
    const { simulatorUrl, of } = await startSimulator()
    const simulating = { sealer, workspaceId, kind: 'alone', simulatorUrl, messagesPerSecond } as const
    const connections = await db.begin((sql) => connectSimulator({ ...simulating, db: sql }))
    await registerSimulatorAccounts(db, simulatorUrl, connections, url)
    return of(workspaceId, connections)
  }
  const addNumber: World['addNumber'] = async (name, { isSameAccount = false, messagesPerSecond } = {}) => {
    const { simulatorUrl } = await startSimulator()
    const { workspaceId } = first.api
    const simulating = { sealer, workspaceId, kind: 'alone', simulatorUrl, messagesPerSecond } as const
    const msgapp = await db.begin((sql) => addSimulatedNumber({ ...simulating, db: sql, name, isSameAccount }))
    await registerSimulatorAccounts(db, simulatorUrl, { msgapp }, url)
    return msgapp
  }
  return { ...service, workspace, twin: () => service.startTwin(owner), connect: connectWorkspace, addNumber, ...first }
}

async function startService(
  owner: Owner,
  {
    limits,
    trustedProxies,
    log = silent,
    times = realTimes,
    allowedCidrs = ['127.0.0.0/8'],
    resolver,
    setup = {},
    pages = false,
    demoSite,
    failuresToOpen,
    publicUrl: ownUrl = publicUrl,
    smtp,
    oidc,
    mediaS3,
  }: Starting = {},
): Promise<Service> {
  const port = pages ? await freePort() : 0
  const reachableUrl = pages ? `http://127.0.0.1:${port}` : ownUrl
  if (pages) await buildPages()
  const stops: (() => Promise<void>)[] = []
  owner.after(() => Promise.all(stops.map((stop) => stop())))
  const database = await createDatabase(owner)
  const db = database.connect(5)
  const dataDir = createFolder(owner)

  const memberRoutes: RouteOptions[] = []
  let processes = 0
  const serve = async (port = 0) => {
    const http = createHttp()
    const health = createHealth(times.health)
    const pools = createPools(database.connect, [...new Set([...apiPools, ...workerPools])])
    const live = await startLive({ db: pools.general, log, health })
    const guard = createGuard({ allowedCidrs, times: times.webhooks, ...(resolver ? { resolver } : {}) })
    const ca = readFileSync(join(import.meta.dirname, 'fixtures/tls.crt'))
    const poster = createPoster({ guard, ca, times: times.webhooks })
    const { callMs } = times.automation
    const callPoster = createPoster({ guard, ca, times: { ...times.webhooks, postMs: callMs, bodyMs: callMs } })
    const shared = {
      pools,
      log,
      sealer,
      channels: createChannels(http, times.messages),
      store: createMediaStore({ dataDir, mediaS3 }),
      signals: createSignals(live),
      metrics: createMetrics(),
      health,
      publicUrl: reachableUrl,
    }
    await keepEventDays(pools.general, log)
    await keepStepDays(pools.general, log)
    await keepRequestDays(pools.general, log)
    const mailer = smtp && createMailer(smtp)
    const worker = startWorker({ ...shared, live, poster, callPoster, times, failuresToOpen })
    const app = await createApp({
      ...shared,
      live,
      guard,
      times,
      mailer,
      oidc: oidc && { ...oidc, client: (await import('../server/lib/oidc.ts')).createOidcClient(oidc) },
      setup: { token: setupToken, getDemo: () => undefined, ...setup },
      onRoute: (route) => {
        if (route.url.startsWith('/app/api')) memberRoutes.push(route)
      },
      pages,
      demoSite: demoSite && (() => demoSite(db)),
      limits,
      trustedProxies,
    })
    await app.listen({ host: '127.0.0.1', port })
    const heartbeat = await startHeartbeat({
      ...{ db: pools.general, log, health, metrics: shared.metrics, version, restarts: 0, gauges: processGauges },
      ...{ service: 'test', process: `process-${++processes}`, times: times.heartbeat },
    })
    const stop = async () => {
      await heartbeat.stop()
      await worker.stop()
      app.server.closeAllConnections()
      await app.close()
      await live.stop()
      await http.stop()
      await poster.stop()
      await callPoster.stop()
      mailer?.stop()
    }
    return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, stop }
  }

  const first = await serve(port)
  stops.push(first.stop)
  const startTwin: Service['startTwin'] = async (owner) => {
    const { url, stop } = await serve()
    owner.after(stop)
    return url
  }
  const contract = await readContract(first.url)
  return { url: first.url, db, database, contract, memberRoutes, startTwin }
}

function createApi(db: Db, url: string, contract: Contract, workspaceId: string): Api {
  const newKey = async (wanted: readonly Scope[]) =>
    (await createKey(db, workspaceId, { name: 'Test', scopes: wanted, created_by: null })).key
  let current = newKey(scopes)
  let calls = 0
  const nextKey = () => {
    if (++calls % 110 === 0) current = newKey(scopes)
    return current
  }
  const call: Api['call'] = async (method, path, { body, raw, headers = {}, key } = {}) => {
    const token = key === undefined ? await nextKey() : key
    const bytes = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
        ...uncompressed,
        ...headers,
      },
      ...(bytes === undefined ? {} : { body: bytes }),
    })
    const text = await response.text()
    const answer = { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Json }
    contract.hold(method, path, answer)
    return answer
  }
  return {
    workspaceId,
    call,
    get: (path, more) => call('GET', path, more),
    post: (path, body, more) => call('POST', path, { body, ...more }),
    patch: (path, body, more) => call('PATCH', path, { body, ...more }),
    delete: (path, body, more) => call('DELETE', path, { body, ...more }),
    key: (...wanted) => newKey(wanted),
  }
}

/** A world with its owner signed in: `ask` answers the body of what must go well, `get` what is in its envelope. */
export type SignedIn = World & Pick<Browser, 'ask'> & { browser: Browser; get(path: string): Promise<Json> }

export async function startSignedIn(owner: Owner, starting?: Starting): Promise<SignedIn> {
  const world = await start(owner, starting)
  const browser = await signIn(world)
  return { ...world, browser, ask: browser.ask, get: async (path) => (await browser.ask('GET', path)).data }
}

/** The same world, connected to the simulator on every channel: `withProvider(start(t))`. */
export async function withProvider<Started extends World>(
  starting: Promise<Started>,
): Promise<Started & { provider: Provider }> {
  const world = await starting
  return { ...world, provider: await world.connect() }
}
