/**
 * `npm run soak -- --minutes 30`: load on all journeys while parts of the installation are killed at random. At the end an auditor
 * compares what was asked with what everyone has. Prints each difference; the exit code is 1 if there is one.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { createFolder } from '../tests/folder.ts'
import { childrenOf, type Program } from '../tests/program.ts'
import { audit } from './audit.ts'
import { freeze } from './freeze.ts'
import { startLoad } from './load.ts'
import { startStack } from './stack.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, seed: { type: 'string', default: String(Date.now() % 1e6) } },
})
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error('--minutes: must be a positive number')
const random = createRandom(Number(values.seed))
const say = (text: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`)

const cleanUps: (() => unknown)[] = []
const owner = { after: (run: () => unknown) => void cleanUps.push(run), diagnostic: say }
async function soak(): Promise<boolean> {
  const database = await startDatabase()
  const stack = await startStack(owner, { databaseUrl: database.url, keyCount: 200 })
  const load = await startLoad(owner, stack, { pauseMs: 50, maxWaiting: 1_000 })
  say(`the load has started; ${minutes} minutes, seed ${values.seed}`)
  const deadline = Date.now() + minutes * 60_000
  const kills: Record<string, number> = {}
  while (Date.now() < deadline && !load.hasFailed()) {
    await sleep(8_000 + random() * 12_000)
    const [what, run] = pick(disturbances(stack, database))
    say(`${what}; so far ${JSON.stringify(load.counts())}`)
    kills[what] = (kills[what] ?? 0) + 1
    await run()
  }
  say('asking for nothing new')
  await load.stop()
  const differences = await audit(stack, load)
  load.end()
  say(`disturbances: ${JSON.stringify(kills)}`)
  say(`answered: ${JSON.stringify(load.counts())}; received by the webhook: ${stack.delivered.requestCount}`)
  for (const difference of differences.slice(0, 50)) say(difference)
  say(`${differences.length} differences`)
  return differences.length === 0
}

type Disturbance = readonly [what: string, run: () => Promise<unknown>]
type Database = { url: string; kill(): Promise<void>; start(): Promise<void> }
type Parts = { services: Program[]; simulator: Program }

function disturbances({ services, simulator }: Parts, database: Database): Disturbance[] {
  const service = pick(services)
  const restart = async (program: Program, signal: NodeJS.Signals) => {
    await program.kill(signal)
    await sleep(random() * 3_000)
    await program.start()
  }
  return [
    ['kill -9 of a service', () => restart(service, 'SIGKILL')],
    ['SIGTERM of a service', () => restart(service, 'SIGTERM')],
    ['kill -9 of an API process', async () => killChild(service, 'api-1')],
    ['kill -9 of the engines', async () => killChild(service, 'engines')],
    ['kill -9 of the simulator', () => restart(simulator, 'SIGKILL')],
    [
      'kill -9 of the database',
      async () => {
        await database.kill()
        await sleep(random() * 5_000)
        await database.start()
      },
    ],
    [
      'a service frozen for 25 seconds',
      async () => {
        const thaw = freeze(service)
        await sleep(25_000)
        thaw()
      },
    ],
  ]
}

function killChild(service: Program, role: string): void {
  const pid = childrenOf(service.pid()).find((one) => readFileSync(`/proc/${one}/cmdline`, 'utf8').includes(role))
  if (pid) process.kill(pid, 'SIGKILL')
}

async function startDatabase(): Promise<Database> {
  const dataDir = createFolder(owner)
  let server: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir })
  owner.after(() => server.stop())
  const { host, port, database, username } = server.address
  return {
    url: `postgres://${username}@localhost:${port}/${database}?host=${host}`,
    async kill() {
      const [pid] = readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')
      process.kill(Number(pid), 'SIGKILL')
      await server.stop()
    },
    async start() {
      server = await startEmbeddedPostgres({ dataDir })
    },
  }
}

function pick<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('there is nothing to pick')
  return item
}

/** The same seed gives the same disturbances (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

let exitCode = 1
try {
  exitCode = (await soak()) ? 0 : 1
} finally {
  for (const run of cleanUps.reverse()) await run()
}
process.exit(exitCode)
