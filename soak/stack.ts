/**
 * An installation as real processes: services behind a proxy, the simulator as the provider, and a customer's webhook receiver. The
 * database is the caller's.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../scripts/free-port.ts'
import {
  connect,
  connectSimulator,
  createKey,
  createSealer,
  createWorkspace,
  type Db,
  eventNames,
  registerSimulatorAccounts,
  scopes,
} from '../tests/internals.ts'
import type { Owner } from '../tests/owner.ts'
import { createProgram, type Program } from '../tests/program.ts'
import { type Provider, toProvider } from '../tests/provider.ts'
import { type Receiver, startReceiver } from '../tests/receiver.ts'

export type Stack = {
  /** The address of the proxy. */
  url: string
  services: Program[]
  simulator: Program
  provider: Provider
  receiver: Receiver
  workspaceId: string
  db: Db
  /** API keys with all scopes. A key allows 120 requests per minute. */
  keys: string[]
}

type StackOptions = {
  databaseUrl: string
  serviceCount?: number
  /** Further settings of the service with this index. */
  envOf?: (index: number) => Record<string, string>
  keyCount?: number
}

const encryptionKey = 'ef'.repeat(32)

export async function startStack(
  owner: Owner,
  { databaseUrl, serviceCount = 2, envOf = () => ({}), keyCount = 100 }: StackOptions,
): Promise<Stack> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-soak-'))
  owner.after(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 }))
  const simulator = await createProgram(owner, '/simulator/control/faults', (port) => ({
    args: ['simulator/main.ts', '--port', String(port), '--data', join(dataDir, 'simulator')],
  }))
  const launch = (index: number) =>
    createProgram(owner, '/readyz', (port) => ({
      args: ['server/main.ts'],
      env: {
        PORT: String(port),
        PROCESSES: '1',
        DATA_DIR: dataDir,
        DATABASE_URL: databaseUrl,
        ENCRYPTION_KEY: encryptionKey,
        DEMO: '0',
        LOG_LEVEL: 'warn',
        WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
        NODE_EXTRA_CA_CERTS: join(import.meta.dirname, '../tests/fixtures/tls.crt'),
        ...envOf(index),
      },
    }))
  const services = await Promise.all(Array.from({ length: serviceCount }, (_, i) => launch(i)))
  await Promise.all([simulator.start(), ...services.map((service) => service.start())])
  const url = await startProxy(
    owner,
    services.map((service) => Number(new URL(service.url).port)),
  )

  const db = connect({ database: databaseUrl, max: 3 })
  owner.after(() => db.end({ timeout: 1 }))
  const member = { email: 'owner@soak.test', password: 'correct horse' }
  const { workspace_id: workspaceId } = await db.begin((sql) =>
    createWorkspace(sql, { name: 'Soak', default_country: 'US', owner: member }),
  )
  const simulatorUrl = `${simulator.url}/simulator`
  const sealer = createSealer(encryptionKey)
  const simulating = { sealer, workspaceId, kind: 'alone', simulatorUrl, messagesPerSecond: 200 } as const
  const connections = await db.begin((sql) => connectSimulator({ ...simulating, db: sql }))
  await registerSimulatorAccounts(db, simulatorUrl, connections, url)
  const keys: string[] = []
  for (let i = 0; i < keyCount; i++) {
    keys.push((await createKey(db, workspaceId, { name: `Soak ${i}`, scopes, created_by: null })).key)
  }
  const receiver = await startReceiver(owner)
  const hook = await fetch(`${url}/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, events: [...eventNames] }),
  })
  if (hook.status !== 201) throw new Error(await hook.text())
  const provider = toProvider(simulatorUrl, workspaceId, connections)
  return { url, services, simulator, provider, receiver, workspaceId, db, keys }
}

/** Forwards each connection to the next service that accepts it. */
async function startProxy(owner: Owner, ports: readonly number[]): Promise<string> {
  let next = 0
  const open = new Set<Socket>()
  const forward = (client: Socket, attempt: number) => {
    const service = connectTcp(ports[next++ % ports.length] ?? 0, '127.0.0.1')
    const fail = () => (attempt < ports.length ? forward(client, attempt + 1) : client.destroy())
    service.once('error', fail)
    service.once('connect', () => {
      service.off('error', fail)
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
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  owner.after(() => {
    for (const client of open) client.destroy()
    server.close()
  })
  return `http://127.0.0.1:${port}`
}
