/**
 * The first part of `launch.sh`: installs missing dependencies, builds the pages, and prints the path of the Node for the program.
 *
 *   node scripts/install.js <file.ts>
 *
 * It must run on Node 20 and before anything is installed, so it is plain JavaScript without dependencies.
 *
 * - Dependencies are installed when npm's record in node_modules, which npm writes last, matches package-lock.json. This
 *   check needs no network.
 * - If several programs start together, one installs and the others wait.
 * - In a clone, the pages are built before a program that serves them, if their sources changed. A release has built pages.
 * - The program runs with the Node that package-lock.json pins. Where npm has no such package, or it does not run, it is the current
 *   Node if that is new enough.
 * - A signal ends npm or the build first, then this program. So does the end of the shell, which npm may kill.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const lock = join(root, '.installing')
const myLock = `${lock}-${process.pid}`
const oldestNode = 24
/** A release does not have this file. */
const builder = join(root, 'scripts/build.ts')
const withPages = ['server/main.ts', 'simulator/main.ts', 'bench/run.ts', 'soak/main.ts', 'scripts/screenshots.ts']

const [file] = process.argv.slice(2)
/** Scripts parse the output of a command. */
const isQuiet = file === 'bin/parley.ts'

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

async function install() {
  await claimLock()
  process.once('exit', releaseLock)
  if (isInstalled()) return releaseLock()
  if (!isQuiet) console.error('Installing dependencies. This takes about a minute and happens only once.')
  const [command, ...first] = npmCommand()
  const options = [
    '--ignore-scripts',
    '--include=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const ended = run(command, [...first, 'ci', ...options])
  if (child.pid) writeFileSync(join(lock, String(child.pid)), startedAt(child.pid))
  const { error, code, signal } = await ended
  if (code !== 0) {
    throw new Failure(
      `npm could not install the dependencies (${error ?? signal ?? `exit code ${code}`}). Check the network and try again.`,
    )
  }
  releaseLock()
}

async function build(node) {
  const { code } = await run(node, [builder], {
    NODE_COMPILE_CACHE: join(modules, '.cache', 'compiled'),
    ...process.env,
  })
  if (code !== 0) throw new Failure('The pages could not be built. The reason is above.')
}

function releaseLock() {
  process.off('exit', releaseLock)
  // Rename first: while rmSync empties the folder, another process could take it.
  if (tryRename(lock, myLock)) rmSync(myLock, { recursive: true })
}

const exitCodeOf = (signal) => 128 + constants.signals[signal]

/** Uses the npm and the Node that started this script, because `npm ci` replaces node_modules and the Node in it. */
function npmCommand() {
  const { npm_execpath: npm, npm_node_execpath: node } = process.env
  return npm && basename(npm) === 'npm-cli.js' ? [node ?? process.execPath, npm] : ['npm']
}

/**
 * Takes the installation lock: a folder with one file per owner process. The owners are this process and npm, because npm
 * continues when this process is killed. The lock is free when all owners have exited. The folder is created under another
 * name and renamed, so it never exists without an owner.
 */
async function claimLock() {
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
      // Another process may have replaced the stale lock since the check. Then restore it.
      if (listOwners(stale).some(isAlive)) tryRename(stale, lock)
      rmSync(stale, { recursive: true, force: true })
      continue
    }
    if (waits === 5 && !isQuiet) console.error(`Waiting for another launcher that installs dependencies (${lock}).`)
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

function findNode() {
  const pinned = join(modules, '.bin', 'node')
  if (spawnSync(pinned, ['--version']).status === 0) return pinned
  if (Number.parseInt(process.versions.node, 10) >= oldestNode) return process.execPath
  throw new Failure(
    `Parley needs Node ${oldestNode} or newer. This is Node ${process.versions.node}, and npm has no Node package for ` +
      `${process.platform}-${process.arch}. Install Node ${oldestNode} from https://nodejs.org and start again.`,
  )
}

/** The command that runs, and the signal that this program received. */
let child
let received

/** Runs a command. Only its error output is shown. */
async function run(command, args, env = process.env) {
  child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const end = await new Promise((resolve) => {
    child.once('error', (error) => resolve({ error }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  if (received) process.exit(exitCodeOf(received))
  child = undefined
  return end
}

function stop(signal) {
  received ??= signal
  if (child) child.kill(signal)
  else process.exit(exitCodeOf(signal))
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
const parent = process.ppid
setInterval(() => process.ppid === parent || stop('SIGTERM'), 500).unref()

if (!file) {
  console.error('usage: sh scripts/launch.sh <file.ts> [arguments…]')
  process.exit(2)
}
try {
  if (!isInstalled()) await install()
  const node = findNode()
  if (withPages.includes(file) && existsSync(builder)) await build(node)
  console.log(node)
} catch (error) {
  console.error(error instanceof Failure ? error.message : error)
  process.exit(1)
}
