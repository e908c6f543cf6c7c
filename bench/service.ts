/** The service as an operator runs it, in a process of its own on a database of its own, and the tools around it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { scopes } from '../server/accounts/keys.ts'
import { sha256 } from '../server/lib/crypto.ts'
import { connect, type Db } from '../server/lib/db.ts'
import { findEmbeddedPostgres } from '../server/lib/embedded-postgres.ts'
import { newId, timeOfId } from '../server/lib/id.ts'
import { freePort } from '../tests/free-port.ts'
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

export async function startService(dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'))): Promise<Service> {
  const port = await freePort()
  const began = performance.now()
  const child = spawn(process.execPath, [join(root, 'server/main.ts')], {
    env: { ...process.env, PORT: String(port), DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
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

/** A bare server that returns the very bytes of this answer, but for what node:http adds by itself. */
export async function startBare(answer: Response): Promise<{ port: number; stop(): Promise<void> }> {
  const port = await freePort()
  const own = ['date', 'connection', 'keep-alive']
  const headers = JSON.stringify(Object.fromEntries([...answer.headers].filter(([name]) => !own.includes(name))))
  const args = [join(root, 'bench/bare.ts'), String(port), headers, await answer.text()]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  await untilAnswers(`http://127.0.0.1:${port}/`, child)
  return { port, stop: () => end(child) }
}

/** Keys straight into the database: thousands of them, each good for 120 requests a minute. */
export async function createKeys({ db, workspaceId }: Service, count: number): Promise<string[]> {
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
