/** The machine: Node, memory, disks, and the rights on folders and files. */
import { constants } from 'node:fs'
import { access, lstat, readFile, stat } from 'node:fs/promises'
import { totalmem, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { version } from '../../common/version.ts'
import { requireBinariesVersion } from '../lib/embedded/binaries.ts'
import { minFreeBytes, readSpace } from '../lib/process/disk.ts'
import { hasCode, StartError } from '../lib/process/start-error.ts'
import { isNearlyFull } from '../web/checks.ts'
import { ok, problem, type Result, skipped, toLine, warning } from './check.ts'
import { faultIn, type Installation } from './installation.ts'

const oldestNode = 24
const gibibyte = 1024 ** 3

export async function checkNode({ config }: Installation): Promise<Result> {
  const system = `${process.platform}-${process.arch}`
  const found = `Parley ${version}, Node ${process.versions.node}, ${system}`
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    return problem(`${found}; Parley needs Node ${oldestNode}`, `Install Node ${oldestNode} from https://nodejs.org.`)
  }
  if (config.databaseUrl) return ok(found)
  try {
    return ok(`${found}, embedded PostgreSQL ${await requireBinariesVersion()}`)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const fix = 'Run npm ci with --include=optional, or set DATABASE_URL to a PostgreSQL 15 or newer.'
    return problem(`${found}; ${error.message}`, fix)
  }
}

export async function checkMemory(installation: Installation): Promise<Result> {
  const fault = faultIn(installation, 'PROCESSES', 'ROLES')
  if (fault) return skipped(fault)
  const { roles, processes } = installation.config
  // As docs/scaling.md plans it.
  const plannedBytes = (roles.has('api') ? 0.5 + 0.5 * processes : 0.5) * gibibyte
  const totalBytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const sizes = `${inGib(totalBytes)} in total, ${inGib(process.availableMemory())} available`
  const found = `${sizes}; plan ${inGib(plannedBytes)} for this service`
  if (totalBytes >= plannedBytes) return ok(found)
  return warning(found, 'Give the machine or the container more memory, or lower PROCESSES.')
}

export async function checkDisk({ config: { dataDir, mediaS3 }, folders }: Installation): Promise<Result[]> {
  const wanted = folders.length === 0 || mediaS3 ? folders : [...folders, join(dataDir, 'media')]
  if (wanted.length === 0) return [ok('the service writes to no folder: the database and the media are elsewhere')]
  const byDevice = new Map<number, string>()
  for (const folder of wanted) {
    const existing = await nearestFolder(folder)
    const { dev } = await stat(existing)
    if (!byDevice.has(dev)) byDevice.set(dev, existing)
  }
  return Promise.all([...byDevice.values()].map(describeSpace))
}

async function describeSpace(folder: string): Promise<Result> {
  const space = await readSpace(folder)
  if (!space) return skipped(`${folder} is gone`)
  const { freeBytes, totalBytes } = space
  const found = `${inGib(freeBytes)} of ${inGib(totalBytes)} free for ${folder}`
  const fix = 'Free some space or enlarge the disk; delete nothing in the folder postgres.'
  if (freeBytes < minFreeBytes) return problem(`${found}; the service needs 16 MiB to work`, fix)
  return isNearlyFull(freeBytes, totalBytes) ? warning(found, fix) : ok(found)
}

const inGib = (bytes: number): string =>
  bytes < gibibyte ? `${Math.round(bytes / 1024 ** 2)} MiB` : `${(bytes / gibibyte).toFixed(1)} GiB`

/** Whether this user can use the data folder, and whether other users can read secrets. */
export async function checkRights(installation: Installation): Promise<Result[]> {
  const { config, envFile, tlsKeyFile, settings } = installation
  const { dataDir } = config
  const results = [await checkDataFolder(installation)]
  const hasSecrets = settings.fromFile.some((name) => secretSettings.has(name))
  const secretFiles = [
    join(dataDir, 'encryption.key'),
    join(dataDir, 'demo.json'),
    ...(hasSecrets ? [envFile.path] : []),
    ...(tlsKeyFile ? [tlsKeyFile] : []),
  ]
  for (const file of secretFiles) results.push(...(await checkSecretFile(file)))
  return results
}

const secretSettings = new Set([
  'DATABASE_URL',
  'ENCRYPTION_KEY',
  'MEDIA_S3_SECRET_ACCESS_KEY',
  'OIDC_CLIENT_SECRET',
  'SMTP_URL',
])

async function checkDataFolder({ config: { dataDir, databaseUrl }, folders }: Installation): Promise<Result> {
  if (folders.length === 0) return ok('the service writes to no folder')
  const user = await nameOf(process.getuid?.())
  const existing = await nearestFolder(dataDir)
  const { uid } = await stat(existing)
  const owner = await nameOf(uid)
  const folder = existing === dataDir ? dataDir : `${dataDir} does not exist yet, and ${existing}`
  try {
    await access(existing, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const reason = hasCode(error, 'EROFS') ? 'is read-only' : `belongs to ${owner}, and ${user} cannot write to it`
    const fix =
      owner === user || hasCode(error, 'EROFS')
        ? `Make ${existing} writable for ${user}, or set DATA_DIR to a folder that is.`
        : `Run this command and the service as ${owner} (with systemd: deploy/parley doctor), or set DATA_DIR to a folder of ${user}.`
    return problem(`${folder} ${reason}`, fix)
  }
  if (databaseUrl || existing !== dataDir) return ok(`${folder} is writable for ${user}`)
  // PostgreSQL refuses a folder of another user. Root runs it as the owner.
  const database = await lstat(join(dataDir, 'postgres')).catch(undefinedIfMissing)
  if (database && process.getuid?.() !== 0 && database.uid !== process.getuid?.() && !database.isSymbolicLink()) {
    const other = await nameOf(database.uid)
    return problem(`${join(dataDir, 'postgres')} belongs to ${other}, not to ${user}`, `Run the service as ${other}.`)
  }
  return ok(`${folder} is writable for ${user}, and belongs to ${owner}`)
}

async function checkSecretFile(file: string): Promise<Result[]> {
  const found = await stat(file).catch(undefinedIfUnreachable)
  if (!found) return []
  try {
    await access(file, constants.R_OK)
  } catch (error) {
    return [problem(`${file} cannot be read: ${toLine(error)}`, `Run this command as ${await nameOf(found.uid)}.`)]
  }
  const mode = found.mode & 0o777
  const isOpen = (mode & 0o077) !== 0 && process.platform !== 'win32'
  return isOpen
    ? [
        warning(
          `${file} holds secrets, and other users can read it (mode ${mode.toString(8)})`,
          `Run chmod 600 ${file}`,
        ),
      ]
    : []
}

/** The folder itself, or the nearest one above it that exists. */
async function nearestFolder(folder: string): Promise<string> {
  const found = await stat(folder).catch(undefinedIfMissing)
  return found || dirname(folder) === folder ? folder : nearestFolder(dirname(folder))
}

/** The name of a user, or its number where no name is known. */
async function nameOf(uid: number | undefined): Promise<string> {
  if (uid === undefined || uid === process.getuid?.()) return nameOfSelf()
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const line = users.split('\n').find((each) => each.split(':')[2] === String(uid))
  return line?.split(':')[0] ?? `user ${uid}`
}

/** A container may run as a number without a name. */
function nameOfSelf(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.()}`
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT')) throw error
}

/** A folder that this user cannot enter has a finding of its own. */
function undefinedIfUnreachable(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EACCES')) throw error
}
