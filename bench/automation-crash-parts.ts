/** The processes of the benchmark of crashes: a service with its embedded database, a second worker, the simulator; and how each is killed. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../scripts/free-port.ts'
import { resolveEncryptionKey } from '../server/config/encryption-key.ts'
import { findEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { connect, type Db } from '../server/lib/postgres/db.ts'
import { childrenOf, createService, createSimulatorProgram, type Program } from '../tests/program.ts'
import { postOnce, toSubject, writtenBy } from './inbound.ts'
import { connectTo, discard, type Service, startService, unowned } from './service.ts'

export type Parts = {
  db: Db
  service(): Service
  simulator: Program
  kills: readonly Kill[]
  /** Posts a callback until the service takes it. */
  post(body: string): Promise<void>
  write(i: number, text: string): string
  sent(): Promise<Sent[] | undefined>
  stop(): Promise<void>
}
type Kill = readonly [name: string, kill: () => Promise<unknown>]
export type Sent = {
  to: string
  message_id: string
  body: { text?: { body: string }; biz_opaque_callback_data: string }
}

export async function startParts(): Promise<Parts> {
  const dirs = ['service', 'worker', 'simulator'].map((name) => mkdtempSync(join(tmpdir(), `parley-bench-${name}-`)))
  const [dataDir = '', workerDir = '', simulatorDir = ''] = dirs
  const simulator = await createSimulatorProgram(unowned, simulatorDir)
  await simulator.start()
  const settings = { PORT: String(await freePort()), PROCESSES: '2' }
  let service = await startService(dataDir, settings)
  const database = await findEmbeddedPostgres(dataDir)
  if (!database) throw new Error('the service has no embedded database')
  const db = connect({ database, max: 2, statementTimeoutMs: 600_000 })
  const mode = process.env.SYNCHRONOUS_COMMIT
  if (mode) await db.unsafe(`alter role ${database.username} set synchronous_commit = ${mode === 'off' ? 'off' : 'on'}`)
  const connection = await connectTo(`${simulator.url}/simulator`, service)
  const subject = toSubject(service, connection)
  const worker = await createService(unowned, {
    ROLES: 'worker',
    DATABASE_URL: `postgres://${database.username}@localhost:${database.port}/${database.database}?host=${database.host}`,
    ENCRYPTION_KEY: await resolveEncryptionKey({ dataDir, databaseUrl: undefined, encryptionKey: undefined }),
    DATA_DIR: workerDir,
    LOG_LEVEL: 'warn',
  })
  await worker.start()

  const restart = async (program: Program) => {
    await program.kill()
    await sleep(Math.random() * 2_000)
    await program.start()
  }
  const restartService = async () => {
    const { pid, url, db: ended } = service
    process.kill(pid, 'SIGKILL')
    await ended.end({ timeout: 1 })
    while (await fetch(url).catch(() => undefined)) await sleep(50)
    service = await startService(dataDir, settings)
  }
  const killOne = (pids: readonly number[], name: string) => {
    const found = pids.filter((pid) => commandOf(pid).includes(name))
    const pid = found[Math.floor(Math.random() * found.length)]
    if (pid === undefined) throw new Error(`there is no process ${name}`)
    process.kill(pid, 'SIGKILL')
  }
  const postmaster = () => Number.parseInt(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8'), 10)
  return {
    db,
    service: () => service,
    simulator,
    kills: [
      ['the main process', restartService],
      ['an API process', async () => killOne(childrenOf(service.pid), 'api-')],
      ['the engines', async () => killOne(childrenOf(service.pid), 'engines')],
      ['the second worker', () => restart(worker)],
      ['the channel', () => restart(simulator)],
      ['the database', async () => process.kill(postmaster(), 'SIGKILL')],
      ['a session of the database', async () => killOne(childrenOf(postmaster()), '[local]')],
    ],
    async post(body) {
      while (!(await postOnce(subject, body))) await sleep(500)
    },
    write: (i, text) => writtenBy(connection, [i], text),
    async sent() {
      const answer = await fetch(`${simulator.url}/simulator/control/sent?workspace_id=${service.workspaceId}`)
        .then((response) => response.json() as Promise<{ data: Sent[] }>)
        .catch(() => undefined)
      return answer?.data
    },
    async stop() {
      await db.end({ timeout: 1 })
      await Promise.all([worker.kill('SIGTERM'), simulator.kill('SIGTERM')])
      await service.stop()
      discard(service)
      for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Empty when the process has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** All kinds in turn, each turn in another order. */
export function chooseKills({ kills: kinds }: Parts, count: number): Kill[] {
  const chosen: Kill[] = []
  while (chosen.length < count) chosen.push(...kinds.toSorted(() => Math.random() - 0.5))
  return chosen.slice(0, count)
}
