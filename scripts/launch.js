/**
 * Launcher: installs missing dependencies, then runs a TypeScript program with Node 24.
 *
 *   node scripts/launch.js <file.ts> [arguments…]
 *
 * It must run on Node 20 and before anything is installed, so it is plain JavaScript without dependencies.
 *
 * - Dependencies are installed when npm's record in node_modules, which npm writes last, matches package-lock.json. This
 *   check needs no network.
 * - If several launchers start together, one installs and the others wait.
 * - In a clone, the pages are built before a program that serves them, if their sources changed. A release has built pages.
 * - The program runs with the Node that package-lock.json pins. Where npm has no such package, it runs with the current
 *   Node if that is new enough.
 * - The program receives each signal once. The terminal sends Ctrl-C to the whole foreground group, and npm forwards it
 *   as well. So the program runs in its own session, and the launcher ignores a signal that repeats within two seconds.
 * - The launcher exits with the exit code of the program.
 * - If the launcher is killed, the IPC channel of the program closes (`disconnect`). If npm, which started the launcher,
 *   is killed, the launcher stops the program.
 */
import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const lock = join(root, '.installing')
const myLock = `${lock}-${process.pid}`
const oldestNode = 24
const repeatedSignalMs = 2000
/** A release does not have this file. */
const builder = join(root, 'scripts/build.ts')
const withPages = ['server/main.ts', 'simulator/main.ts', 'bench/run.ts', 'soak/main.ts', 'scripts/screenshots.ts']

/** Node keeps compiled code here: a process then starts in less time and with 20 MB less memory. */
const compileCache = { NODE_COMPILE_CACHE: join(modules, '.cache', 'compiled') }

/**
 * Runs `file` (relative to the project) and exits with its exit code.
 * @param {string} file
 * @param {string[]} args
 * @param {{ quiet?: boolean }} options quiet: print nothing about the installation
 */
export async function launch(file, args, { quiet = false } = {}) {
  const relay = startRelayingSignals()
  try {
    if (!isInstalled()) await install(relay, quiet)
    if (withPages.includes(file) && existsSync(builder)) await build(relay)
    const { code, signal } = await run(relay, [resolve(root, file), ...args])
    process.exit(signal ? exitCodeOf(signal) : code)
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error)
    process.exit(1)
  }
}

/** An error that the user can fix. It is printed without a stack trace. */
class Failure extends Error {}

/** Returns whether node_modules matches package-lock.json on this system. */
function isInstalled() {
  const wanted = readPackages(join(root, 'package-lock.json'))
  if (!wanted)
    throw new Failure('package-lock.json is missing: this copy of Parley is incomplete. Clone the repository again.')
  const present = readPackages(join(modules, '.package-lock.json'))
  if (!present) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/')) return true
    const found = present[path]
    if (!found) return isForAnotherSystem(entry)
    return found.version === entry.version && found.integrity === entry.integrity && existsSync(join(root, path))
  })
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}

/** npm skips optional packages for other systems, and the dependencies that only those packages have. */
function isForAnotherSystem({ optional, os, cpu, libc }) {
  if (!optional) return false
  const isHere = (!os || os.includes(process.platform)) && (!cpu || cpu.includes(process.arch))
  return !isHere || libc !== undefined || (!os && !cpu)
}

async function install(relay, quiet) {
  await claimLock(quiet)
  process.once('exit', releaseLock)
  if (isInstalled()) return releaseLock()
  if (!quiet) console.error('Installing dependencies. This takes about a minute and happens only once.')
  const [command, ...first] = npmCommand()
  const options = [
    '--ignore-scripts',
    '--include=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const npm = spawn(command, [...first, 'ci', ...options], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (npm.pid) writeFileSync(join(lock, String(npm.pid)), startedAt(npm.pid))
  const { error, code, signal, received } = await relay.to(npm)
  if (received) process.exit(exitCodeOf(received))
  if (code !== 0) {
    throw new Failure(
      `npm could not install the dependencies (${error ?? signal ?? `exit code ${code}`}). Check the network and try again.`,
    )
  }
  releaseLock()
}

async function build(relay) {
  const { code, received } = await run(relay, [builder])
  if (received) process.exit(exitCodeOf(received))
  if (code !== 0) throw new Failure('The pages could not be built. The reason is above.')
}

function releaseLock() {
  process.off('exit', releaseLock)
  // Rename first: while rmSync empties the folder, another launcher could take it.
  if (tryRename(lock, myLock)) rmSync(myLock, { recursive: true })
}

const exitCodeOf = (signal) => 128 + constants.signals[signal]

/** Uses the npm and the Node that started this script, because `npm ci` replaces node_modules and the Node in it. */
function npmCommand() {
  const { npm_execpath: npm, npm_node_execpath: node } = process.env
  return npm && basename(npm) === 'npm-cli.js' ? [node ?? process.execPath, npm] : ['npm']
}

/**
 * Takes the installation lock: a folder with one file per owner process. The owners are the launcher and npm, because npm
 * continues when the launcher is killed. The lock is free when all owners have exited. The folder is created under another
 * name and renamed, so it never exists without an owner.
 */
async function claimLock(quiet) {
  const stale = `${myLock}-stale`
  process.once('exit', () => rmSync(myLock, { recursive: true, force: true }))
  rmSync(myLock, { recursive: true, force: true })
  try {
    mkdirSync(myLock)
  } catch (error) {
    throw new Failure(
      `The dependencies cannot be installed, because this user may not write to ${root} (${error.code}). Start Parley as the owner of the folder.`,
    )
  }
  writeFileSync(join(myLock, String(process.pid)), startedAt(process.pid))
  for (let waits = 1; !tryRename(myLock, lock); waits++) {
    const owners = listOwners(lock)
    if (owners.length > 0 && !owners.some(isAlive) && tryRename(lock, stale)) {
      // Another launcher may have replaced the stale lock since the check. Then restore it.
      if (listOwners(stale).some(isAlive)) tryRename(stale, lock)
      rmSync(stale, { recursive: true, force: true })
      continue
    }
    if (waits === 5 && !quiet) console.error(`Waiting for another launcher that installs dependencies (${lock}).`)
    await delay(200)
  }
}

function tryRename(from, to) {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code)) return false
    throw error
  }
}

function listOwners(folder) {
  try {
    return readdirSync(folder).map((pid) => [pid, readFileSync(join(folder, pid), 'utf8')])
  } catch {
    return []
  }
}

function isAlive([pid, since]) {
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
  return startedAt(pid) === since
}

/** Start time of a process: pids are reused, so a pid identifies a process only with its start time. Linux only. */
function startedAt(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /s, '').split(' ')[19]
  } catch {
    return ''
  }
}

async function run(relay, args) {
  const pinned = join(modules, '.bin', 'node')
  const candidates = existsSync(pinned) ? [pinned] : []
  if (Number.parseInt(process.versions.node, 10) >= oldestNode) candidates.push(process.execPath)
  for (const node of candidates) {
    const stdio = ['inherit', 'inherit', 'inherit', 'ipc']
    const env = { ...compileCache, ...process.env }
    const end = await relay.to(spawn(node, args, { detached: true, stdio, env }))
    if (!end.error) return end
  }
  throw new Failure(
    `Parley needs Node ${oldestNode} or newer. This is Node ${process.versions.node}, and npm has no Node package for ` +
      `${process.platform}-${process.arch}. Install Node ${oldestNode} from https://nodejs.org and start again.`,
  )
}

/** Forwards signals to the current child. Without a child, a signal ends the launcher. */
function startRelayingSignals() {
  const lastAt = new Map()
  let child
  function relay(signal) {
    const isRepeat = Date.now() - (lastAt.get(signal) ?? 0) < repeatedSignalMs
    lastAt.set(signal, Date.now())
    if (!child) process.exit(exitCodeOf(signal))
    if (!isRepeat) child.kill(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, relay)

  // A killed npm forwards no signal, and some shells forward none either. The parent pid then changes.
  const parent = process.ppid
  const watch = () => process.ppid === parent || lastAt.size > 0 || relay('SIGTERM')
  if (process.env.npm_lifecycle_event) setInterval(watch, 500).unref()

  return {
    to: (next) =>
      new Promise((resolve) => {
        child = next
        const ended = (end) => {
          child = undefined
          resolve({ ...end, received: [...lastAt.keys()][0] })
        }
        next.once('error', (error) => ended({ error }))
        next.once('exit', (code, signal) => ended({ code, signal }))
      }),
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [file, ...args] = process.argv.slice(2)
  if (file) {
    await launch(file, args)
  } else {
    console.error('usage: node scripts/launch.js <file.ts> [arguments…]')
    process.exitCode = 2
  }
}
