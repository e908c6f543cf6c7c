/**
 * An installation as real processes: services behind a proxy, the simulator as the provider, and a customer's webhook receiver. The
 * database is the caller's.
 */
import { createHash, randomInt, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freePort } from '../scripts/free-port.ts'
import { createFolder } from '../tests/folder.ts'
import {
  type ChannelName,
  type Connection,
  connect,
  createKey,
  createSealer,
  type Db,
  eventNames,
  hashPassword,
  newId,
  registerSimulatorAccounts,
  scopes,
  sealContext,
  timeOfId,
} from '../tests/internals.ts'
import type { Owner } from '../tests/owner.ts'
import { createProgram, type Place, type Program, thisMachine } from '../tests/program.ts'
import { type Provider, toProvider } from '../tests/provider.ts'
import { startReceiver } from '../tests/receiver.ts'

export type Installation = {
  /** The address of the proxy. */
  url: string
  services: Program[]
  simulator: Program
  db: Db
  /** Adds a workspace with a receiver. A test that has one to itself is audited by itself. */
  addWorkspace(owner: Owner, keyCount: number): Promise<Stack>
}

/** An installation, and one of its workspaces. */
export type Stack = Omit<Installation, 'addWorkspace'> & {
  provider: Provider
  delivered: Delivered
  workspaceId: string
  member: { email: string; password: string }
  /** API keys with all scopes. A key allows 120 requests per minute. */
  keys: string[]
}

/** What the webhook receiver got. It keeps digests, because the bodies of an hour do not fit in memory. */
type Delivered = {
  requestCount: number
  /** The SHA-256 of the body of each event, by the event's id. */
  digests: Map<string, string>
  /** The ids of events that came with two bodies. */
  conflicts: Set<string>
  /** The largest difference between the time in a signature and the clock of the receiver. */
  maxSignatureAgeMs: number
}

export type StackOptions = {
  /** Absent: the service embeds its database, so there is one service. */
  databaseUrl?: string
  /** The data folder of the services. A temporary one by default. */
  dataDir?: string
  serviceCount?: number
  /** Further settings of all programs. */
  env?: Record<string, string>
  /** Further settings of the service with this index. */
  envOf?: (index: number) => Record<string, string>
  /** The folder with the code that the service with this index runs from its next start on. */
  codeOf?: (index: number) => string
  /** By default everything is on loopback. */
  places?: Places
}

type Places = {
  service(index: number): Place
  simulator: Place
  /** The addresses of the proxy and of the receiver, which are in this process. */
  proxyHost: string
  receiver: { host: string; certificate: 'tls' | 'receiver' }
  /** The networks of receivers. */
  receiverNetwork: string
}

const oneMachine: Places = {
  service: () => thisMachine,
  simulator: thisMachine,
  proxyHost: thisMachine.host,
  receiver: { host: thisMachine.host, certificate: 'tls' },
  receiverNetwork: '127.0.0.0/8',
}

const encryptionKey = 'ef'.repeat(32)

export async function startStack(
  owner: Owner,
  { keyCount = 100, ...options }: StackOptions & { keyCount?: number },
): Promise<Stack> {
  const installation = await startInstallation(owner, options)
  return installation.addWorkspace(owner, keyCount)
}

export async function startInstallation(
  owner: Owner,
  {
    databaseUrl,
    dataDir: ownDataDir,
    serviceCount = databaseUrl ? 2 : 1,
    env = {},
    envOf = () => ({}),
    codeOf = () => '.',
    places = oneMachine,
  }: StackOptions,
): Promise<Installation> {
  const folder = createFolder(owner)
  const dataDir = ownDataDir ?? folder
  const simulatorArgs = ['simulator/main.ts', '--data', join(folder, 'simulator'), '--host', places.simulator.host]
  const simulator = await createProgram(
    owner,
    (port) => ({ command: [process.execPath, ...simulatorArgs, '--port', String(port)], env }),
    { place: places.simulator },
  )
  const launch = (index: number) => {
    const place = places.service(index)
    const run = (port: number) => ({
      command: [process.execPath, join(codeOf(index), 'server/main.ts')],
      env: {
        HOST: place.host,
        PORT: String(port),
        PROCESSES: '1',
        DATA_DIR: dataDir,
        ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
        ENCRYPTION_KEY: encryptionKey,
        DEMO: '0',
        LOG_LEVEL: 'warn',
        WEBHOOK_ALLOWED_CIDRS: places.receiverNetwork,
        NODE_EXTRA_CA_CERTS: join(import.meta.dirname, `../tests/fixtures/${places.receiver.certificate}.crt`),
        ...env,
        ...envOf(index),
      },
    })
    return createProgram(owner, run, { place })
  }
  const services = await Promise.all(Array.from({ length: serviceCount }, (_, i) => launch(i)))
  await Promise.all([simulator.start(), ...services.map((service) => service.start())])
  const url = await startProxy(
    owner,
    places.proxyHost,
    services.map(({ url }) => new URL(url)),
  )

  const embeddedUrl = `postgres://parley@localhost/parley?host=${join(dataDir, 'postgres/socket')}`
  const db = connect({ database: databaseUrl ?? embeddedUrl, max: 3 })
  owner.after(() => db.end({ timeout: 1 }))
  const parts = { url, services, simulator, db }
  return { ...parts, addWorkspace: (owner, keyCount) => addWorkspace(owner, parts, keyCount, places.receiver) }
}

async function addWorkspace(
  owner: Owner,
  parts: Omit<Installation, 'addWorkspace'>,
  keyCount: number,
  receiving: Places['receiver'],
): Promise<Stack> {
  const { url, simulator, db } = parts
  const member = { email: `owner-${randomUUID()}@soak.test`, password: 'correct horse' }
  // Only columns of the first release: the stack may run it.
  const workspaceId = newId()
  await db`insert into workspaces (id, name, default_country, created_at) values (${workspaceId}, 'Soak', 'US', now())`
  await db`
    insert into members (workspace_id, id, email, email_key, role, password_hash, created_at)
    values (${workspaceId}, ${newId()}, ${member.email}, ${member.email}, 'owner', ${await hashPassword(member.password)}, now())`
  const simulatorUrl = `${simulator.url}/simulator`
  const connections = {
    msgapp: await insertConnection(db, workspaceId, 'msgapp', simulatorUrl),
    social: await insertConnection(db, workspaceId, 'social', simulatorUrl),
    web: await insertConnection(db, workspaceId, 'web', simulatorUrl),
  }
  await registerSimulatorAccounts(db, simulatorUrl, connections, url)
  const keys: string[] = []
  for (let i = 0; i < keyCount; i++) {
    keys.push((await createKey(db, workspaceId, { name: `Soak ${i}`, scopes, created_by: null })).key)
  }
  const delivered: Delivered = { requestCount: 0, digests: new Map(), conflicts: new Set(), maxSignatureAgeMs: 0 }
  const onHead = async (request: IncomingMessage, response: ServerResponse) => {
    const raw = await text(request)
    const { id } = JSON.parse(raw)
    const digest = createHash('sha256').update(raw).digest('hex')
    if ((delivered.digests.get(id) ?? digest) !== digest) delivered.conflicts.add(id)
    delivered.digests.set(id, digest)
    delivered.requestCount++
    const signedAt = Number(/\bt=(\d+)/.exec(String(request.headers['x-service-signature']))?.[1]) * 1000
    delivered.maxSignatureAgeMs = Math.max(delivered.maxSignatureAgeMs, Math.abs(Date.now() - signedAt))
    response.writeHead(200).end()
  }
  const receiver = await startReceiver(owner, {
    ...receiving,
    onHead: (...both) => void onHead(...both).catch(() => {}),
  })
  const hook = await fetch(`${url}/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, events: [...eventNames] }),
  })
  if (hook.status !== 201) throw new Error(await hook.text())
  const provider = toProvider(simulatorUrl, workspaceId, connections)
  return { ...parts, provider, delivered, workspaceId, member, keys }
}

/** Connects a channel to the simulator, with columns of the first release. */
async function insertConnection(
  db: Db,
  workspaceId: string,
  channel: ChannelName,
  simulatorUrl: string,
): Promise<Connection> {
  const row = {
    ...{ workspace_id: workspaceId, id: newId(), channel, api_version: 'v25.0', is_private: true },
    account_id: channel === 'web' ? '' : randomDigits(),
    phone_number_id: channel === 'msgapp' ? randomDigits() : '',
    base_url: channel === 'web' ? '' : `${simulatorUrl}/graph`,
    messages_per_second: 200,
  }
  const secrets = { access_token: randomUUID(), app_secret: randomUUID(), verify_token: randomUUID() }
  const sealed = createSealer(encryptionKey).seal(JSON.stringify(secrets), sealContext(row))
  const stored = {
    ...{ ...row, secrets: sealed, state: 'connected', simulator: channel === 'web' ? null : 'alone' },
    ...{ created_at: timeOfId(row.id), updated_at: timeOfId(row.id) },
  }
  await db`insert into channel_connections ${db(stored)}`
  return { ...row, ...secrets, name: channel, address: null, is_default: true, scope: '' }
}

const randomDigits = () => String(randomInt(1e14, 3e14))

/** How long the proxy waits for a service to accept a connection. */
const connectTimeoutMs = 2_000

/** Forwards each connection to the next service that accepts it. */
async function startProxy(owner: Owner, host: string, services: readonly URL[]): Promise<string> {
  let next = 0
  const open = new Set<Socket>()
  const forward = (client: Socket, attempt: number) => {
    const { hostname = '', port = '' } = services[next++ % services.length] ?? {}
    const service = connectTcp({ host: hostname, port: Number(port), localAddress: host })
    const timer = setTimeout(
      () => service.destroy(new Error('the service does not accept the connection')),
      connectTimeoutMs,
    )
    const fail = () => {
      clearTimeout(timer)
      if (attempt < services.length && !client.destroyed) forward(client, attempt + 1)
      else client.destroy()
    }
    service.once('error', fail)
    service.once('connect', () => {
      clearTimeout(timer)
      service.off('error', fail)
      if (client.destroyed) service.destroy()
      for (const [one, other] of [
        [client, service],
        [service, client],
      ] as const) {
        one.on('error', () => other.destroy())
        one.on('close', () => other.destroy())
        one.pipe(other)
      }
    })
  }
  const server = createServer((client) => {
    open.add(client)
    client.on('error', () => {})
    client.once('close', () => open.delete(client))
    forward(client, 1)
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  owner.after(() => {
    for (const client of open) client.destroy()
    server.close()
  })
  return `http://${host}:${port}`
}
