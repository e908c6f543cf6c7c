/** Starts the service in its own process with its own database, and the other processes of a benchmark. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freePort } from '../scripts/free-port.ts'
import { scopes } from '../server/accounts/keys.ts'
import type { Connection } from '../server/channels/channel.ts'
import { resolveEncryptionKey } from '../server/config/encryption-key.ts'
import { createSealer, sha256 } from '../server/lib/crypto.ts'
import { findEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { newId, timeOfId } from '../server/lib/id.ts'
import { connect, type Db } from '../server/lib/postgres/db.ts'
import { addSimulatedNumber, connectSimulator, registerSimulatorAccounts } from '../server/simulator-host/accounts.ts'
import type { Owner } from '../tests/owner.ts'
import { createService, createSimulatorProgram } from '../tests/program.ts'
import { cpuPer, readCpu } from './cpu.ts'
import type { Forwarding } from './forwarder.ts'
import type { Load, Measured } from './load.ts'
import type { PlainProvider } from './plain-messages.ts'

const root = join(import.meta.dirname, '..')

/** As the launcher sets it. */
const compileCache = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') }

export type Service = {
  port: number
  url: string
  pid: number
  postmasterPid: number
  workspaceId: string
  dataDir: string
  db: Db
  /** Milliseconds from spawn to the line that reports it. */
  readyMs: number
  stop(): Promise<void>
}

/** The programs end when they are stopped, or with this process. */
export const unowned: Owner = { after() {}, diagnostic() {} }

/** `clone`: the folder of another commit, with its packages. */
export async function startService(
  dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-')),
  settings: Record<string, string> = {},
  clone = root,
): Promise<Service> {
  const env = { ...compileCache, DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...settings }
  const program = await createService(unowned, env, [process.execPath, join(clone, 'server/main.ts')])
  const readyMs = await program.start()
  const address = await findEmbeddedPostgres(dataDir)
  if (!address) throw new Error('the service has no embedded database')
  const db = connect({ database: address, max: 2, statementTimeoutMs: 600_000 })
  const { workspace_id: workspaceId } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  if (clone === root) await removeTeams(db, workspaceId)
  return {
    port: Number(new URL(program.url).port),
    url: program.url,
    pid: program.pid(),
    postmasterPid: Number.parseInt(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8'), 10),
    workspaceId,
    dataDir,
    db,
    readyMs,
    async stop() {
      await db.end({ timeout: 1 })
      await program.kill('SIGTERM')
    },
  }
}

/** Removes what the demo has of teams, targets and questions: benchmarks measure a workspace that does not pay for them. */
async function removeTeams(db: Db, workspaceId: string): Promise<void> {
  for (const table of ['target_workspaces', 'targets', 'target_changes', 'target_episodes', 'target_clocks']) {
    await db`delete from ${db(table)} where workspace_id = ${workspaceId}`
  }
  await db`update conversations set due_at = null, due_kind = null where workspace_id = ${workspaceId} and due_at is not null`
  await db`delete from teams where workspace_id = ${workspaceId}`
  await db`update satisfaction_settings set is_on = false where workspace_id = ${workspaceId}`
}

export function discard({ dataDir }: Service): void {
  rmSync(dataDir, { recursive: true, force: true })
}

/** Starts a bare server that returns the same bytes as `answer`. */
export async function startBare(answer: Response): Promise<{ port: number; stop(): Promise<void> }> {
  const port = await freePort()
  const headers = JSON.stringify(headersOf(answer))
  const args = [join(root, 'bench/bare.ts'), String(port), headers, await answer.text()]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  await untilAnswers(`http://127.0.0.1:${port}/`, child)
  return { port, stop: () => stopChild(child) }
}

/** Starts the plain implementation on the database of the service; with `provider`, it also sends messages. */
export async function startPlain(
  { dataDir }: Service,
  port: number,
  provider?: PlainProvider,
): Promise<{ pid: number; stop(): Promise<void> }> {
  const address = JSON.stringify(await findEmbeddedPostgres(dataDir))
  const args = [join(root, 'bench/plain.ts'), String(port), address, JSON.stringify(provider ?? null)]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  await untilAnswers(`http://127.0.0.1:${port}/readyz`, child)
  return { pid: child.pid ?? 0, stop: () => stopChild(child) }
}

/** Starts the simulator in its own process. */
export async function startSimulator(): Promise<{ url: string; stop(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'parley-bench-simulator-'))
  const program = await createSimulatorProgram(unowned, dir)
  await program.start()
  return {
    url: `${program.url}/simulator`,
    async stop() {
      await program.kill('SIGTERM')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Does the same as `parley workspace connect-simulator`, by default at the highest pace. */
export async function connectTo(
  simulatorUrl: string,
  service: Pick<Service, 'db' | 'dataDir' | 'workspaceId' | 'url'>,
  messagesPerSecond = maxPace,
): Promise<Connection> {
  const { db, workspaceId, url } = service
  const sealer = await openSealer(service)
  return db.begin(async (sql) => {
    const input = { sealer, workspaceId, simulatorUrl, kind: 'alone', messagesPerSecond } as const
    const connections = await connectSimulator({ ...input, db: sql })
    await registerSimulatorAccounts(sql, simulatorUrl, connections, url)
    return connections.msgapp
  })
}

/** Connects one more number, of another provider account. */
export async function addNumber(
  simulatorUrl: string,
  service: Pick<Service, 'db' | 'dataDir' | 'workspaceId' | 'url'>,
  messagesPerSecond: number,
): Promise<Connection> {
  const { db, workspaceId, url } = service
  const sealer = await openSealer(service)
  const input = { sealer, workspaceId, simulatorUrl, kind: 'alone', messagesPerSecond } as const
  const msgapp = await db.begin((sql) =>
    addSimulatedNumber({ ...input, db: sql, name: 'Second number', isSameAccount: false }),
  )
  await registerSimulatorAccounts(db, simulatorUrl, { msgapp }, url)
  return msgapp
}

const openSealer = async ({ dataDir }: Pick<Service, 'dataDir'>) =>
  createSealer(await resolveEncryptionKey({ dataDir, databaseUrl: undefined, encryptionKey: undefined }))

export const maxPace = 10_000

/** Starts a bare server that forwards messages to the provider and responds with the same bytes as `answer`. */
export async function startForwarder(
  answer: Response,
  input: Pick<Forwarding, 'port' | 'url' | 'token' | 'messages'>,
): Promise<{ stop(): Promise<void> }> {
  const forwarding: Forwarding = { ...input, headers: headersOf(answer), body: await answer.text() }
  const child = spawn(process.execPath, [join(root, 'bench/forwarder.ts')], { stdio: ['pipe', 'inherit', 'inherit'] })
  child.stdin?.end(JSON.stringify(forwarding))
  await untilAnswers(`http://127.0.0.1:${input.port}/callback`, child)
  return { stop: () => stopChild(child) }
}

/** The headers of a response, except those that node:http adds. */
function headersOf(answer: Response): Record<string, string> {
  const own = ['date', 'connection', 'keep-alive']
  return Object.fromEntries([...answer.headers].filter(([name]) => !own.includes(name)))
}

/** Inserts keys into the database. Each key allows 120 requests per minute, so a benchmark needs thousands. */
export async function createKeys(
  { db, workspaceId }: Pick<Service, 'db' | 'workspaceId'>,
  count: number,
): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, i) => ({
    id: newId(),
    key: `svc_live_bench_${process.pid}_${Date.now()}_${i}`,
  }))
  await db`
    insert into api_keys (workspace_id, id, name, prefix, key_hash, scopes, created_at)
    select ${workspaceId}, id, 'Bench', 'svc_live_bench_', hash, ${[...scopes]}, created_at
    from unnest(${keys.map(({ id }) => id)}::uuid[], ${keys.map(({ key }) => sha256(key))}::text[],
      ${keys.map(({ id }) => timeOfId(id))}::timestamptz[]) as key (id, hash, created_at)`
  await db`analyze api_keys`
  return keys.map(({ key }) => key)
}

type Request = { method?: string; path: string; token?: string; headers?: Record<string, string>; body?: string }

/** Builds a request in wire format: by default a POST if there is a body, otherwise a GET. */
export function toRequest({ method, path, token, headers = {}, body }: Request): string {
  const all = {
    Host: '127.0.0.1',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method ?? (body === undefined ? 'GET' : 'POST')} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

export async function measureLoad(load: Omit<Load, 'warmUpSeconds'> & { warmUpSeconds?: number }): Promise<Measured> {
  const child = spawn(process.execPath, [join(root, 'bench/load.ts')], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify({ warmUpSeconds: 1, ...load }))
  return JSON.parse(await text(child.stdout))
}

/** CPU time per request under a load, as text. Without warm-up, so that every request of the measured time is counted. */
export async function describeCpu(service: Service, load: Omit<Load, 'warmUpSeconds'>): Promise<string> {
  const before = readCpu(service)
  const { requests } = await measureLoad({ ...load, warmUpSeconds: 0 })
  const { node, database } = cpuPer(before, readCpu(service), requests)
  return `CPU per request ${Math.round(node)} µs Node and ${Math.round(database)} µs PostgreSQL`
}

async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the process exited before it answered ${url}`)
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export async function stopChild(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await gone
}
