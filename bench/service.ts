/** The service as an operator runs it, in a process of its own on a database of its own, and the tools around it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { scopes } from '../server/accounts/keys.ts'
import type { Connection } from '../server/channels/channel.ts'
import { resolveEncryptionKey } from '../server/encryption-key.ts'
import { createSealer, sha256 } from '../server/lib/crypto.ts'
import { connect, type Db } from '../server/lib/db.ts'
import { findEmbeddedPostgres } from '../server/lib/embedded-postgres.ts'
import { newId, timeOfId } from '../server/lib/id.ts'
import { connectSimulator, registerSimulatorAccounts } from '../server/simulator-host/accounts.ts'
import { freePort } from '../tests/free-port.ts'
import type { Forwarding } from './forwarder.ts'
import type { Load, Measured } from './load.ts'

const root = join(import.meta.dirname, '..')

export type Service = {
  port: number
  url: string
  pid: number
  workspaceId: string
  dataDir: string
  db: Db
  /** Milliseconds from spawn to the first good answer of /readyz. */
  readyMs: number
  stop(): Promise<void>
}

export async function startService(
  dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-')),
  settings: Record<string, string> = {},
): Promise<Service> {
  const port = await freePort()
  const began = performance.now()
  const child = spawn(process.execPath, [join(root, 'server/main.ts')], {
    env: { ...process.env, PORT: String(port), DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...settings },
    // With a channel it notices when we are gone.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const url = `http://127.0.0.1:${port}`
  await untilAnswers(`${url}/readyz`, child)
  const readyMs = performance.now() - began
  const address = await findEmbeddedPostgres(dataDir)
  if (!address) throw new Error('the service has no database')
  const db = connect({ database: address, max: 2, statementTimeoutMs: 600_000 })
  const { workspace_id: workspaceId } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  return {
    port,
    url,
    pid: child.pid ?? 0,
    workspaceId,
    dataDir,
    db,
    readyMs,
    async stop() {
      await db.end({ timeout: 1 })
      await end(child)
    },
  }
}

export function discard({ dataDir }: Service): void {
  rmSync(dataDir, { recursive: true, force: true })
}

/** A bare server that returns the very bytes of this answer. */
export async function startBare(answer: Response): Promise<{ port: number; stop(): Promise<void> }> {
  const port = await freePort()
  const headers = JSON.stringify(headersOf(answer))
  const args = [join(root, 'bench/bare.ts'), String(port), headers, await answer.text()]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  await untilAnswers(`http://127.0.0.1:${port}/`, child)
  return { port, stop: () => end(child) }
}

/** The provider, in a process of its own. */
export async function startSimulator(): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'parley-bench-simulator-'))
  const args = [join(root, 'simulator/main.ts'), '--port', String(port), '--data', dir]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const url = `http://127.0.0.1:${port}/simulator`
  await untilAnswers(`${url}/control/accounts`, child)
  return {
    url,
    async stop() {
      await end(child)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** What `parley workspace connect-simulator` does, at the highest pace unless told otherwise. */
export async function connectTo(
  simulatorUrl: string,
  service: Pick<Service, 'db' | 'dataDir' | 'workspaceId' | 'url'>,
  messagesPerSecond = maxPace,
): Promise<Connection> {
  const { db, dataDir, workspaceId, url } = service
  const sealer = createSealer(await resolveEncryptionKey({ dataDir, databaseUrl: undefined, encryptionKey: undefined }))
  return db.begin(async (sql) => {
    const given = { sealer, workspaceId, simulatorUrl, kind: 'alone', messagesPerSecond } as const
    const connections = await connectSimulator({ ...given, db: sql })
    await registerSimulatorAccounts(sql, simulatorUrl, connections, url)
    return connections.msgapp
  })
}

export const maxPace = 10_000

/** A bare server that passes messages on, for the same answer as this one. */
export async function startForwarder(
  answer: Response,
  given: Pick<Forwarding, 'port' | 'url' | 'token' | 'messages'>,
): Promise<{ stop(): Promise<void> }> {
  const forwarding: Forwarding = { ...given, headers: headersOf(answer), body: await answer.text() }
  const child = spawn(process.execPath, [join(root, 'bench/forwarder.ts')], { stdio: ['pipe', 'inherit', 'inherit'] })
  child.stdin?.end(JSON.stringify(forwarding))
  await untilAnswers(`http://127.0.0.1:${given.port}/callback`, child)
  return { stop: () => end(child) }
}

/** The headers of an answer, but for what node:http adds by itself. */
function headersOf(answer: Response): Record<string, string> {
  const own = ['date', 'connection', 'keep-alive']
  return Object.fromEntries([...answer.headers].filter(([name]) => !own.includes(name)))
}

/** Keys straight into the database: thousands of them, each good for 120 requests a minute. */
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
      ${keys.map(({ id }) => timeOfId(id))}::timestamptz[]) as given (id, hash, created_at)`
  await db`analyze api_keys`
  return keys.map(({ key }) => key)
}

type Request = { path: string; token?: string; headers?: Record<string, string>; body?: string }

/** A request as it goes over the wire: a GET, or with a body a POST. */
export function toRequest({ path, token, headers = {}, body }: Request): string {
  const all = {
    Host: '127.0.0.1',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

export async function measureLoad(load: Omit<Load, 'warmUpSeconds'> & { warmUpSeconds?: number }): Promise<Measured> {
  const child = spawn(process.execPath, [join(root, 'bench/load.ts')], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify({ warmUpSeconds: 1, ...load }))
  return JSON.parse(await text(child.stdout))
}

async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`ended before it answered ${url}`)
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

async function end(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await gone
}
