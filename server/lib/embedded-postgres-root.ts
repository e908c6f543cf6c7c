/**
 * As whom the embedded PostgreSQL runs, and where it can then read and write.
 *
 * An ordinary user runs it as himself, in place. Root may not run it at all,
 * so for root the first of these that works:
 *
 * 1. The owner of the data folder, when that is somebody else: a command that
 *    root runs once in a user's folder must not leave files behind that lock
 *    the user out.
 * 2. A user namespace in which root is shown as `nobody`. It still passes as
 *    root at the doors of root's folders, and its files stay root's.
 * 3. The user `nobody`. What it cannot reach goes to /var/lib/parley: a copy of
 *    the binaries, one for each version, and the data, with a symlink in the
 *    data folder. The data's folder has a random name, so that removing the
 *    data folder is a fresh start and never finds what was there before.
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
import { bareEnvironment, type RunAs } from './lifeline.ts'
import type { Binaries } from './postgres-binaries.ts'
import { hasCode, StartError } from './start-error.ts'

export type Footing = { binaries: string; place: string; runAs: RunAs }
export type RootMode = 'namespace' | 'nobody'

type User = { uid: number; gid: number }

const shared = '/var/lib/parley'
const asSelf: RunAs = { prefix: [], uid: undefined, gid: undefined }
const inNamespace: RunAs = {
  ...asSelf,
  prefix: ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'],
}

/**
 * Find the footing for the data folder `home`, and make its `postgres` folder.
 * `rootMode` takes the choice between namespace and `nobody` away from the probe.
 */
export async function resolveFooting(home: string, binaries: Binaries, rootMode?: RootMode): Promise<Footing> {
  const place = join(home, 'postgres')
  const moved = join(home, 'postgres.moved')
  if (!(await exists(place)) && (await exists(moved))) await rename(moved, place)

  if (process.getuid?.() !== 0) {
    return { binaries: binaries.folder, place: await resolvePlace(place, asSelf), runAs: asSelf }
  }
  const owner = await stat((await exists(place)) ? place : home)
  if (owner.uid !== 0 && (await works(asUser(owner), 'id -un'))) return standAs(owner, home, binaries)
  if (rootMode ? rootMode === 'namespace' : await namespaceWorks(home, binaries)) {
    return { binaries: binaries.folder, place: await resolvePlace(place, inNamespace), runAs: inNamespace }
  }
  return standAs(await readNobody(), home, binaries)
}

/** What root makes in somebody's folder belongs to that somebody. */
export async function giveToOwnerOf(folder: string, path: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(folder)
  await lchown(path, uid, gid)
}

/** A folder that only the one who runs PostgreSQL can enter. */
export async function resolvePrivateFolder(path: string, runAs: RunAs): Promise<void> {
  await mkdir(path, { mode: 0o700, recursive: true })
  const found = await lstat(path)
  const mine = [process.getuid?.(), runAs.uid].includes(found.uid)
  if (!found.isDirectory() || !mine) {
    throw new StartError(`${path} belongs to another user; run Parley as that user, or set DATA_DIR to another folder`)
  }
  await chmod(path, 0o700)
  if (runAs.uid !== undefined && runAs.gid !== undefined) await chown(path, runAs.uid, runAs.gid)
}

async function standAs(user: User, home: string, binaries: Binaries): Promise<Footing> {
  const runAs = asUser(user)
  const place = join(home, 'postgres')
  if (!(await works(runAs, 'test -x "$1"', home)) && !(await lstatOrUndefined(place))?.isSymbolicLink()) {
    await moveOut(place)
  }
  await giveTree(place, user)
  return {
    binaries: (await works(runAs, '"$1" --version', join(binaries.folder, 'bin', 'postgres')))
      ? binaries.folder
      : await resolveCopy(binaries),
    place: await resolvePlace(place, runAs),
    runAs,
  }
}

async function resolvePlace(place: string, runAs: RunAs): Promise<string> {
  const real = (await exists(place)) ? await realpath(place) : place
  await resolvePrivateFolder(real, runAs)
  return real
}

/** Namespaces may be forbidden, or may lack what only root's privilege opens, such as another user's home. */
async function namespaceWorks(home: string, binaries: Binaries): Promise<boolean> {
  const postgres = join(binaries.folder, 'bin', 'postgres')
  return works(inNamespace, 'id -un && "$1" --version && test -w "$2" -a -x "$2"', postgres, home)
}

/**
 * Put the data where any user can reach it and leave a symlink. The old folder
 * stays as `postgres.moved` until the link stands, and goes only when the copy
 * is on the disk, so neither a kill nor a power cut loses anything.
 */
async function moveOut(place: string): Promise<void> {
  await mkdirPublic(shared)
  const target = await mkdtemp(join(shared, 'data-'))
  if (await exists(join(place, 'data'))) {
    await cp(join(place, 'data'), join(target, 'data'), { recursive: true, verbatimSymlinks: true })
  }
  const moved = `${place}.moved`
  if (await exists(place)) await rename(place, moved)
  await symlink(target, place)
  if (!(await works(asSelf, 'sync'))) throw new StartError(`the copy of ${place} could not be written to the disk`)
  await rm(moved, { recursive: true, force: true })
}

/** Modes are widened, because npm under a strict umask installs for root's eyes only. */
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

/** The top comes last: as long as it is not the user's, the walk is not complete and is done again. */
async function giveTree(place: string, { uid, gid }: User): Promise<void> {
  if (!(await exists(place))) return
  const top = await realpath(place)
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

/** Whether a shell line succeeds for the one who would run PostgreSQL. */
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
