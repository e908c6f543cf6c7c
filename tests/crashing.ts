/**
 * The service and the simulator as real processes on one database, for tests that kill them. Several tests can share them: each has a
 * workspace of its own.
 */
import { join } from 'node:path'
import { Parley } from '../sdk/src/index.ts'
import type { Connection } from '../server/channels/channel.ts'
import type { ChannelName } from '../server/contacts/resource.ts'
import { createFolder } from './folder.ts'
import {
  connectSimulator,
  createKey,
  createSealer,
  createWorkspace,
  type Db,
  registerSimulatorAccounts,
  scopes,
} from './internals.ts'
import { createService, createSimulatorProgram, type Program } from './program.ts'
import { type Provider, toProvider } from './provider.ts'
import { createDatabase, type Json, type Owner } from './support.ts'

export const encryptionKey = 'cd'.repeat(32)
/** An address without a server. */
export const nowhere = 'http://127.0.0.1:1'

type Options = {
  /** A service for each. */
  roles?: readonly string[]
  env?: Record<string, string>
}

export type Programs = {
  db: Db
  simulator: Program
  services: [Program, ...Program[]]
  /** Creates a workspace and connects it to the simulator, which reports to the first service. */
  workspace(options?: { messagesPerSecond?: number }): Promise<Workspace>
}

type Workspace = {
  id: string
  owner: { email: string; password: string }
  connections: Record<ChannelName, Connection>
  provider: Provider
  /** Changes where the channel reports to. */
  reportTo(url: string): Promise<void>
  newKey(): Promise<string>
  parley: Parley
  /** `POST /v1/messages`. Undefined: the service died before it answered. */
  post(key: string, idempotencyKey: string, body: Json): Promise<{ status: number; body: Json } | undefined>
  listOutbound(): Promise<OutboundMessage[]>
}

type OutboundMessage = { id: string; phone: string; status: string; external_id: string | null }

export async function startPrograms(t: Owner, { roles = ['api,worker'], env = {} }: Options = {}): Promise<Programs> {
  const database = await createDatabase(t)
  const db = database.connect(5)
  const simulator = await createSimulatorProgram(t, createFolder(t))
  const settings = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: encryptionKey,
    DEMO: '0',
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: join(import.meta.dirname, 'fixtures/tls.crt'),
  }
  const create = (role: string) => createService(t, { ...settings, DATA_DIR: createFolder(t), ROLES: role, ...env })
  const services = (await Promise.all(roles.map(create))) as [Program, ...Program[]]
  await Promise.all([simulator, ...services].map((program) => program.start()))

  const workspace: Programs['workspace'] = async ({ messagesPerSecond = 10_000 } = {}) => {
    const owner = { email: `owner@${crypto.randomUUID()}.test`, password: 'correct horse' }
    const { workspace_id: id } = await db.begin((sql) =>
      createWorkspace(sql, { name: 'Crash', default_country: 'US', owner }),
    )
    const simulatorUrl = `${simulator.url}/simulator`
    const simulating = { workspaceId: id, kind: 'alone', simulatorUrl, messagesPerSecond } as const
    const connections = await db.begin((sql) =>
      connectSimulator({ ...simulating, db: sql, sealer: createSealer(encryptionKey) }),
    )
    const reportTo = (url: string) => registerSimulatorAccounts(db, simulatorUrl, connections, url)
    await reportTo(services[0].url)
    const newKey = async () => (await createKey(db, id, { name: 'Crash', scopes, created_by: null })).key
    const parley = new Parley({ apiKey: await newKey(), baseUrl: `${services[0].url}/v1` })
    const post: Workspace['post'] = async (key, idempotencyKey, body) => {
      const response = await fetch(`${services[0].url}/v1/messages`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify(body),
      }).catch(() => undefined)
      const answer = await response?.json().catch(() => undefined)
      return response && answer ? { status: response.status, body: answer } : undefined
    }
    const listOutbound = () => db<OutboundMessage[]>`
      select m.id, c.phone, m.status, m.external_id
      from messages m
      join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
      join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where m.workspace_id = ${id} and m.direction = 'outbound'
      order by m.id`
    const provider = toProvider(simulatorUrl, id, connections)
    return { id, owner, connections, provider, reportTo, newKey, parley, post, listOutbound }
  }
  return { db, simulator, services, workspace }
}
