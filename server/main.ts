/**
 * The program. Without an argument it is the main process of a service: it reads the settings, starts the embedded database,
 * and supervises the other processes. They run this program with their name as the argument:
 *
 *   prepare         what is done once before the others start (`server/prepare.ts`)
 *   api-1, api-2 …  the API; they share the port (`server/roles.ts`)
 *   engines         the engines, at a lower priority (`server/roles.ts`)
 *   simulator       the simulated provider of the demo (`simulator-host/host.ts`)
 *
 * With `ROLES=worker` there is one process. Imports are lazy, so each process loads only what it needs.
 */
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { environment } from '../common/environment.ts'
import { onStopRequest } from '../common/stop-request.ts'
import { type Config, listDataFolders, readConfig } from './config/config.ts'
import type { DatabaseAddress } from './lib/embedded/postgres.ts'
import { resolveFolder } from './lib/folder.ts'
import { createDisk, watchDisk } from './lib/process/disk.ts'
import { type OpenProcess, openProcess } from './lib/process/lifecycle.ts'
import { tryPort } from './lib/process/port.ts'
import { hasCode, inWords, StartError } from './lib/process/start-error.ts'
import { releaseStartupMemory } from './lib/process/startup-memory.ts'
import type { Prepared } from './prepare.ts'
import type { ChildInput } from './roles.ts'

/** Supervisors of operating systems wait ten seconds. */
const stopMs = 8_500

/** Node keeps compiled code here by default: a process then starts in less time and with 20 MB less memory. */
const compileCache = join(import.meta.dirname, '../node_modules/.cache/compiled')

/**
 * On a machine with much memory V8 takes up to 128 MB for new objects, and an import fills them: after 100,000 rows the process had
 * 330 to 360 MB.
 */
const enginesArgs = ['--max-semi-space-size=8']

const [childName] = process.argv.slice(2)
try {
  if (childName === undefined) await run(readConfig(environment()))
  else await (await import('./roles.ts')).runChild(childName)
} catch (error) {
  console.error(inWords(error))
  process.exit(1)
}

async function run(config: Config): Promise<void> {
  const opened = openProcess({ logLevel: config.logLevel, stopMs })
  const { lifecycle } = opened
  onStopRequest((reason) => void lifecycle.stop(reason, 0))
  // First: a wrong address leaves no data folder behind.
  await requirePort(config)
  const folders = listDataFolders(config)
  if (folders.length > 0) requireFolder(config.dataDir)
  const watching = watchDisk(createDisk(folders), opened.log)
  lifecycle.onStop(async () => watching.stop())
  try {
    const start = config.roles.has('api') ? startService : startWorkerAlone
    const { welcome } = await start(config, opened)
    releaseStartupMemory()
    flushCompileCache()
    console.log(welcome)
  } catch (error) {
    // A stop also ends the start.
    if (lifecycle.isStopping()) return
    await lifecycle.undo()
    throw error
  }
}

async function startService(config: Config, opened: OpenProcess): Promise<Prepared> {
  const { log, output, lifecycle } = opened
  const { createSupervisor } = await import('./lib/process/supervisor.ts')
  const database = embedDatabase(config, opened)
  const supervisor = createSupervisor({
    program: import.meta.filename,
    env: { NODE_COMPILE_CACHE: environment().NODE_COMPILE_CACHE || compileCache },
    nodeArgs: (name) => (name === 'engines' ? enginesArgs : []),
    log,
    write: (lines) => void output.write(lines),
    times: config.times.supervisor,
  })
  lifecycle.onStop(() => supervisor.stop('the service stops'))
  const names = Array.from({ length: config.processes }, (_, i) => `api-${i + 1}`)
  if (config.roles.has('worker')) names.push('engines')
  if (config.demo) names.push('simulator')
  // The processes load their code while the database starts.
  for (const name of ['prepare', ...names]) supervisor.create(name)
  const simulatorSocket = config.demo ? createSocketPath(opened) : undefined
  const input: ChildInput = { restarts: 0, config, database: await database.start(), simulatorSocket }
  const prepared = await supervisor.run<Prepared>('prepare', input)
  await supervisor.start(names, (_name, restarts) => ({ ...input, restarts }))
  return prepared
}

function requireFolder(folder: string): void {
  try {
    resolveFolder(folder)
    accessSync(folder, constants.W_OK)
  } catch (error) {
    throw new StartError(
      `${userInfo().username} may not write to ${folder} (${inWords(error)}). Start Parley as the owner of this folder, or set DATA_DIR to another one.`,
    )
  }
}

/** Throws with an explanation if the port is in use or may not be used. */
async function requirePort({ port, host }: Config): Promise<void> {
  try {
    await tryPort({ port, host })
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE'))
      throw new StartError(
        `Port ${port} is in use by another program, perhaps by another Parley. Stop that program, or set another port, such as PORT=${port + 1}.`,
      )
    if (hasCode(error, 'EACCES'))
      throw new StartError(
        `${userInfo().username} may not use port ${port}: ports below 1024 need a special right. Set another port, such as PORT=4000, with a proxy in front of it.`,
      )
    if (hasCode(error, 'EADDRNOTAVAIL'))
      throw new StartError(`HOST: ${host} is not an address of this machine. HOST=0.0.0.0 uses all its addresses.`)
    if (hasCode(error, 'ENOTFOUND') || hasCode(error, 'EAI_AGAIN'))
      throw new StartError(
        `HOST: ${host} is not an address, and no name server knows it. HOST=0.0.0.0 uses all addresses of this machine.`,
      )
    throw error
  }
}

async function startWorkerAlone(config: Config, opened: OpenProcess): Promise<Prepared> {
  const { runWorker } = await import('./roles.ts')
  return runWorker({ config, database: await embedDatabase(config, opened).start() }, opened)
}

/** The embedded database, unless the settings name another one. It is restarted when it ends, and stops last. */
function embedDatabase({ databaseUrl, dataDir }: Config, { log, lifecycle }: OpenProcess) {
  let database: { stop(): Promise<void> } | undefined
  lifecycle.onStop(async () => database?.stop())
  return {
    async start(): Promise<string | DatabaseAddress> {
      if (databaseUrl) return databaseUrl
      const { keepEmbeddedPostgres } = await import('./lib/embedded/keep-running.ts')
      const kept = await keepEmbeddedPostgres({ dataDir, log })
      database = kept
      return kept.address
    },
  }
}

/** API processes reach the process `simulator` through this socket file. */
function createSocketPath({ lifecycle }: OpenProcess): string {
  // Only this user can enter the folder. A path in the data folder could be too long for a socket.
  const folder = mkdtempSync(join(tmpdir(), 'parley-'))
  lifecycle.onStop(async () => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'simulator.sock')
}
