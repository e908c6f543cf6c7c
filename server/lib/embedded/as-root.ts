/**
 * The system user that runs the embedded PostgreSQL, and the folders that this user can read and write.
 *
 * An ordinary user runs it directly. PostgreSQL refuses to run as root, so root uses the first of these that works:
 *
 * 1. The owner of the data folder, if that is another user: a command that root runs once in a user's folder must not leave
 *    files behind that the user cannot access.
 * 2. A user namespace in which root appears as the system user `nobody`. It can still enter root's folders, and its files belong
 *    to root.
 * 3. The system user `nobody`. What it cannot reach is moved to /var/lib/parley: a copy of the binaries, one per version, and the
 *    data, with a symlink in the data folder. The moved folder has a random name, so that removing the data folder is a fresh
 *    start and never finds old data.
 */
import { execFile } from 'node:child_process'
import {
  chmod,
  chown,
  cp,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, StartError } from '../process/start-error.ts'
import type { Binaries } from './binaries.ts'
import { bareEnvironment, type RunAs } from './lifeline.ts'

/** `folder` contains the data folder of PostgreSQL. */
export type RunContext = { binaries: string; folder: string; runAs: RunAs }
export type RootMode = 'namespace' | 'nobody'

type User = { uid: number; gid: number }

const shared = '/var/lib/parley'
const asSelf: RunAs = { prefix: [], uid: undefined, gid: undefined }
const inNamespace: RunAs = {
  ...asSelf,
  prefix: ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'],
}

/** Finds the context for the data folder `home`, and creates its `postgres` folder. `rootMode` overrides the detection. */
export async function resolveRunContext(home: string, binaries: Binaries, rootMode?: RootMode): Promise<RunContext> {
  const folder = join(home, 'postgres')
  const moved = join(home, 'postgres.moved')
  if (!(await exists(folder)) && (await exists(moved))) await rename(moved, folder)

  if (process.getuid?.() !== 0) {
    return { binaries: binaries.folder, folder: await resolveFolder(folder, asSelf), runAs: asSelf }
  }
  const owner = await stat((await exists(folder)) ? folder : home)
  if (owner.uid !== 0 && (await works(asUser(owner), 'id -un'))) return runAsUser(owner, home, binaries)
  if (rootMode ? rootMode === 'namespace' : await namespaceWorks(home, binaries)) {
    return { binaries: binaries.folder, folder: await resolveFolder(folder, inNamespace), runAs: inNamespace }
  }
  return runAsUser(await readNobody(), home, binaries)
}

/** Files that root creates in a user's folder belong to that user. */
export async function giveToOwnerOf(folder: string, path: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(folder)
  await lchown(path, uid, gid)
}

/** Creates a folder that only the user of PostgreSQL can enter. */
export async function resolvePrivateFolder(path: string, runAs: RunAs): Promise<void> {
  await mkdir(path, { mode: 0o700, recursive: true })
  const found = await lstat(path)
  const isOwn = [process.getuid?.(), runAs.uid].includes(found.uid)
  if (!found.isDirectory() || !isOwn) {
    throw new StartError(`${path} belongs to another user; run Parley as that user, or set DATA_DIR to another folder`)
  }
  await chmod(path, 0o700)
  if (runAs.uid !== undefined && runAs.gid !== undefined) await chown(path, runAs.uid, runAs.gid)
}

async function runAsUser(user: User, home: string, binaries: Binaries): Promise<RunContext> {
  const runAs = asUser(user)
  const folder = join(home, 'postgres')
  if (!(await works(runAs, 'test -x "$1"', home)) && !(await lstatOrUndefined(folder))?.isSymbolicLink()) {
    await moveOut(folder)
  }
  await giveTree(folder, user)
  return {
    binaries: (await works(runAs, '"$1" --version', join(binaries.folder, 'bin', 'postgres')))
      ? binaries.folder
      : await resolveCopy(binaries),
    folder: await resolveFolder(folder, runAs),
    runAs,
  }
}

async function resolveFolder(folder: string, runAs: RunAs): Promise<string> {
  const real = (await exists(folder)) ? await realpath(folder) : folder
  await resolvePrivateFolder(real, runAs)
  return real
}

/** Namespaces may be forbidden, or may not reach folders that only root can enter, such as another user's home. */
async function namespaceWorks(home: string, binaries: Binaries): Promise<boolean> {
  const postgres = join(binaries.folder, 'bin', 'postgres')
  return works(inNamespace, 'id -un && "$1" --version && test -w "$2" -a -x "$2"', postgres, home)
}

/**
 * Moves the data to a folder that any user can reach, and leaves a symlink. The old folder stays as `postgres.moved` until the
 * link exists and the copy is on disk, so neither a kill nor a power cut loses data.
 */
async function moveOut(folder: string): Promise<void> {
  await mkdirPublic(shared)
  const target = await mkdtemp(join(shared, 'data-'))
  if (await exists(join(folder, 'data'))) {
    await cp(join(folder, 'data'), join(target, 'data'), { recursive: true, verbatimSymlinks: true })
  }
  const moved = `${folder}.moved`
  if (await exists(folder)) await rename(folder, moved)
  await symlink(target, folder)
  if (!(await works(asSelf, 'sync'))) throw new StartError(`the copy of ${folder} could not be written to the disk`)
  await rm(moved, { recursive: true, force: true })
}

/** Copies the binaries, readable for all users: npm under a strict umask installs them for root only. */
async function resolveCopy({ version, folder }: Binaries): Promise<string> {
  const copy = join(shared, `postgresql-${version}-${process.arch}`)
  if (await exists(copy)) return copy
  await mkdirPublic(shared)
  const fresh = await mkdtemp(`${copy}.new-`)
  await cp(folder, fresh, { recursive: true, verbatimSymlinks: true })
  for (const path of [fresh, ...(await listTree(fresh))]) {
    const { mode } = await lstat(path)
    if ((mode & 0o170000) !== 0o120000) await chmod(path, mode & 0o100 ? 0o755 : 0o644)
  }
  try {
    await rename(fresh, copy)
  } catch (error) {
    await rm(fresh, { recursive: true })
    if (!(await exists(copy))) throw error
  }
  return copy
}

/** Changes the owner of a tree. The top comes last: an interrupted walk is repeated at the next start. */
async function giveTree(folder: string, { uid, gid }: User): Promise<void> {
  if (!(await exists(folder))) return
  const top = await realpath(folder)
  if ((await stat(top)).uid === uid) return
  for (const path of await listTree(top)) await lchown(path, uid, gid)
  await chown(top, uid, gid)
}

async function listTree(top: string): Promise<string[]> {
  const entries = await readdir(top, { recursive: true })
  return entries.map((entry) => join(top, entry))
}

async function mkdirPublic(path: string): Promise<void> {
  await mkdir(path, { recursive: true })
  await chmod(path, 0o755)
}

async function readNobody(): Promise<User> {
  const users = await readFile('/etc/passwd', 'utf8')
  const [, , uid = '65534', gid = '65534'] =
    users
      .split('\n')
      .find((line) => line.startsWith('nobody:'))
      ?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

const asUser = ({ uid, gid }: User): RunAs => ({ prefix: [], uid, gid })

/** Whether a shell command succeeds as the user of PostgreSQL. */
function works({ prefix, uid, gid }: RunAs, line: string, ...args: string[]): Promise<boolean> {
  const [command = 'sh', ...rest] = [...prefix, 'sh', '-c', line, 'sh', ...args]
  return new Promise((resolve) => {
    execFile(command, rest, { cwd: '/', env: bareEnvironment, uid, gid }, (error) => resolve(error === null))
  })
}

async function exists(path: string): Promise<boolean> {
  return (await lstatOrUndefined(path)) !== undefined
}

async function lstatOrUndefined(path: string) {
  return lstat(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  })
}
