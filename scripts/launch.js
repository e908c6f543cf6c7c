/**
 * Install what is missing, then run TypeScript with Node 24.
 *
 *   node scripts/launch.js <file.ts> [arguments…]
 *
 * This is the one file that must run on an older Node and before anything is
 * installed, so it is plain JavaScript without dependencies.
 *
 * - Installed means: npm's own record of what is in node_modules, which it
 *   writes last, agrees with package-lock.json. No network is asked.
 * - Of launches at the same time one installs and the others wait for it.
 * - The program runs with the Node that the lock file pins, or with ours where
 *   npm brings none and ours is new enough.
 * - The program is told to stop once. Ctrl-C goes to every process of the
 *   terminal's foreground group, and npm passes it on as well; so the program
 *   has a session of its own, and a signal that comes again within two seconds
 *   is the same one. Our exit code is the program's.
 * - If we are killed, the program sees its ipc channel close (`disconnect`).
 *   If the npm that started us is killed, we stop the program.
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
const sameSignalMs = 2000

/**
 * Run `file` (relative to the project) and end as it ends.
 * @param {string} file
 * @param {string[]} args
 * @param {{ quiet?: boolean }} options quiet: nothing is said about installing
 */
export async function launch(file, args, { quiet = false } = {}) {
  const relay = startRelayingSignals()
  try {
    if (!isInstalled()) await install(relay, quiet)
    const { code, signal } = await run(relay, [resolve(root, file), ...args])
    process.exit(signal ? exitCodeOf(signal) : code)
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error)
    process.exit(1)
  }
}

/** Something that whoever launches has to mend: said in words, without a stack. */
class Failure extends Error {}

/** Whether node_modules is what package-lock.json says, on this system. */
function isInstalled() {
  const wanted = readPackages(join(root, 'package-lock.json'))
  if (!wanted) throw new Failure('package-lock.json is missing: this is not a whole copy of Parley')
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

/** npm leaves out an optional package that names other systems, and what only that package needs. */
function isForAnotherSystem({ optional, os, cpu, libc }) {
  if (!optional) return false
  const isHere = (!os || os.includes(process.platform)) && (!cpu || cpu.includes(process.arch))
  return !isHere || libc !== undefined || (!os && !cpu)
}

async function install(relay, quiet) {
  await claimLock(quiet)
  process.once('exit', releaseLock)
  if (isInstalled()) return releaseLock()
  if (!quiet) console.error('Installing what Parley needs. This happens once and takes a moment.')
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
  const { error, code, signal, told } = await relay.to(npm)
  if (told) process.exit(exitCodeOf(told))
  if (code !== 0) {
    throw new Failure(`npm could not install what Parley needs (${error ?? signal ?? `exit code ${code}`})`)
  }
  releaseLock()
}

function releaseLock() {
  process.off('exit', releaseLock)
  // Moved away first: removing it in place would, for an instant, leave an empty folder that another can take.
  if (tryRename(lock, myLock)) rmSync(myLock, { recursive: true })
}

const exitCodeOf = (signal) => 128 + constants.signals[signal]

/** `npm start` says which npm and Node it is. That Node stays where it is while node_modules, and ours with it, is replaced. */
function npmCommand() {
  const { npm_execpath: npm, npm_node_execpath: node } = process.env
  return npm && basename(npm) === 'npm-cli.js' ? [node ?? process.execPath, npm] : ['npm']
}

/**
 * A folder with a file for each process that installs: the launcher and, since
 * it goes on when the launcher is killed, npm. The lock is free when all of
 * them are gone. It is prepared aside, so that it never is without its owner.
 */
async function claimLock(quiet) {
  const stale = `${myLock}-stale`
  process.once('exit', () => rmSync(myLock, { recursive: true, force: true }))
  rmSync(myLock, { recursive: true, force: true })
  mkdirSync(myLock)
  writeFileSync(join(myLock, String(process.pid)), startedAt(process.pid))
  for (let waits = 1; !tryRename(myLock, lock); waits++) {
    const owners = listOwners(lock)
    if (owners.length > 0 && !owners.some(isAlive) && tryRename(lock, stale)) {
      // Another may have cleared and taken it since we looked: then it goes back.
      if (listOwners(stale).some(isAlive)) tryRename(stale, lock)
      rmSync(stale, { recursive: true, force: true })
      continue
    }
    if (waits === 5 && !quiet) console.error(`Another launch is installing (${lock}); waiting for it.`)
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

/** A pid is given out again; with the time of its start it is one process. Only Linux tells. */
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
    const end = await relay.to(spawn(node, args, { detached: true, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] }))
    if (!end.error) return end
  }
  throw new Failure(
    `Parley needs Node ${oldestNode} or newer. This is Node ${process.versions.node}, and npm brings none that runs on ` +
      `${process.platform}-${process.arch}: install it from https://nodejs.org and start again.`,
  )
}

/** Pass signals on to one child after the other; without a child we are the one to end. */
function startRelayingSignals() {
  const lastAt = new Map()
  let child
  function relay(signal) {
    const isRepeat = Date.now() - (lastAt.get(signal) ?? 0) < sameSignalMs
    lastAt.set(signal, Date.now())
    if (!child) process.exit(exitCodeOf(signal))
    if (!isRepeat) child.kill(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, relay)

  // A killed npm passes nothing on, and neither do some shells: then we have become somebody else's child.
  const parent = process.ppid
  const watch = () => process.ppid === parent || lastAt.size > 0 || relay('SIGTERM')
  if (process.env.npm_lifecycle_event) setInterval(watch, 500).unref()

  return {
    to: (next) =>
      new Promise((resolve) => {
        child = next
        const ended = (end) => {
          child = undefined
          resolve({ ...end, told: [...lastAt.keys()][0] })
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
