/**
 * The database: whether it runs and suits this release, and what depends on it: migrations, connections, the key, the clock.
 *
 * An embedded database that does not run is not started: a start would recover it, and could hide why the service ended.
 */
import { isIP } from 'node:net'
import { isLoopbackHost } from '../../common/address.ts'
import { reportedMs, syncClock } from '../lib/clock.ts'
import { createSealer } from '../lib/crypto.ts'
import { requireBinariesVersion } from '../lib/embedded/binaries.ts'
import { inspectEmbeddedPostgres } from '../lib/embedded/postgres.ts'
import { readAddress } from '../lib/postgres/address.ts'
import { connect, type Db } from '../lib/postgres/db.ts'
import { compareMigrations, isUnreleased, requireSessions, requireVersion } from '../lib/postgres/migrate.ts'
import { hasCode, StartError } from '../lib/process/start-error.ts'
import { within } from '../lib/time.ts'
import { checkMs, countOf, ok, problem, type Result, skipped, toLine, warning } from './check.ts'
import { faultIn, type Installation } from './installation.ts'

/**
 * `connection` has the open database, or why there is none: checks that need it are skipped with this reason. `isNew`: there is
 * no database yet. `pid` is the process of the embedded one.
 */
export type OpenedDatabase = {
  connection: { db: Db } | { db: undefined; reason: string }
  isNew: boolean
  pid: number | undefined
  results: Result[]
}

const without = (reason: string, result: Result, rest: Partial<OpenedDatabase> = {}): OpenedDatabase => ({
  connection: { db: undefined, reason },
  isNew: false,
  pid: undefined,
  results: [result],
  ...rest,
})

/** Connects to the database that the service uses. Never throws. */
export async function openDatabase(installation: Installation): Promise<OpenedDatabase> {
  const fault = faultIn(installation, 'DATABASE_URL')
  if (fault) return without(fault, skipped(fault))
  const { databaseUrl, dataDir } = installation.config
  if (databaseUrl) return openExternal(databaseUrl)
  try {
    return await openEmbedded(dataDir)
  } catch (error) {
    const fix = hasCode(error, 'EACCES')
      ? 'Run this command as the user of the service, who owns the data folder.'
      : `Read ${dataDir}/postgres.log, and check the owner of ${dataDir}/postgres.`
    return without(unreachable, problem(`the embedded database cannot be used: ${toLine(error)}`, fix))
  }
}

const unreachable = 'the database cannot be reached'
/** A pooler in transaction mode shows itself by a notification that does not arrive within five seconds. */
const sessionsMs = 6_000
/** How long `openDatabase` may take. */
export const openMs = checkMs + sessionsMs

/** The database, or the file system of the embedded one, hangs. */
export const noAnswer = without(
  unreachable,
  problem('there is no answer', 'Check the network to the database, or the disk of the data folder.'),
)

async function openEmbedded(dataDir: string): Promise<OpenedDatabase> {
  const { state, version = '', pid, address } = await inspectEmbeddedPostgres(dataDir)
  const name = `embedded PostgreSQL ${version}`
  const [shipped] = (await requireBinariesVersion().catch(() => '')).split('.')
  if (version && shipped && version !== shipped) {
    const found = `${dataDir} was created by PostgreSQL ${version}, and this release has PostgreSQL ${shipped}`
    const fix = 'Start the release that created it and move the data with pg_dump, or set DATA_DIR to another folder.'
    return without(unreachable, problem(found, fix))
  }
  if (address) {
    const db = connect({ database: address, max: 2, statementTimeoutMs: checkMs })
    const results = [ok(`${name} runs (process ${pid})`)]
    await tryOrEnd(db, db`select 1`)
    return { connection: { db }, isNew: false, pid, results }
  }
  const stopped = 'the embedded database does not run'
  switch (state) {
    case 'absent': {
      const found = ok('there is none yet, as usual before the first start, which creates it')
      return without('there is no database yet', found, { isNew: true })
    }
    case 'crashed': {
      const fix = `Start the service: PostgreSQL recovers by itself. The end of ${dataDir}/postgres.log says why it ended.`
      return without(stopped, warning(`${name} ended without a shutdown and does not run`, fix))
    }
    case 'stopped':
      return without(stopped, ok(`${name}, stopped in order; it runs while the service runs`))
    default: {
      const fix = 'Run this command again in a moment; after a crash, PostgreSQL may need minutes to recover.'
      return without(stopped, warning(`${name} starts or stops at this moment (process ${pid})`, fix), { pid })
    }
  }
}

async function openExternal(databaseUrl: string): Promise<OpenedDatabase> {
  const { url, hosts, options, encryption } = readAddress(databaseUrl)
  const { hostname, port, pathname } = new URL(url)
  const servers = hosts.length > 0 ? hosts.map(({ host, port }) => `${host}:${port}`) : [`${hostname}:${port || 5432}`]
  const at = options.host ?? servers.join(', ')
  const db = connect({ database: databaseUrl, max: 2, statementTimeoutMs: checkMs })
  try {
    const [server] = await tryOrEnd(
      db,
      db<{ version: string; is_encrypted: boolean | null }[]>`
        select current_setting('server_version') as version,
          (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as is_encrypted`,
    )
    const sessions = await tryOrEnd(db, testSessions(db), sessionsMs)
    if (sessions.fault) {
      void db.end({ timeout: 0 })
      return without('the database keeps no sessions', problem(sessions.fault, sessions.fix))
    }
    const isLocal = options.host !== undefined || isLoopbackHost(hostname)
    const encrypted = encryption.mode === 'verify' ? 'TLS, certificate verified' : 'TLS, certificate not verified'
    const transport = server?.is_encrypted ? encrypted : isLocal ? 'on this machine' : 'without TLS'
    const found = `PostgreSQL ${server?.version} at ${at}, database ${pathname.slice(1)}, ${transport}`
    const fix = 'Append ?sslmode=verify-full to DATABASE_URL, unless the network between both is your own.'
    const result = isLocal || server?.is_encrypted ? ok(found) : warning(found, fix)
    return { connection: { db }, isNew: false, pid: undefined, results: [result] }
  } catch (error) {
    return without(unreachable, problem(`no connection to ${at}: ${toLine(error)}`, fixOf(error, databaseUrl)))
  }
}

/** Before all other statements: behind a pooler in transaction mode those fail at random. */
async function testSessions(db: Db): Promise<{ fault?: string; fix: string }> {
  const fix = 'Connect to PostgreSQL directly, or set pool_mode = session in the pooler.'
  try {
    await requireSessions(db)
    return { fix }
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return { fault: error.message, fix }
  }
}

/** Waits for an answer of a new connection, and ends the connection if there is none. */
async function tryOrEnd<Answer>(db: Db, answering: Promise<Answer>, limitMs = checkMs): Promise<Answer> {
  try {
    const answer = await within(limitMs, answering)
    if (answer === undefined) throw new Error(`no answer within ${limitMs / 1000} s`)
    return answer
  } catch (error) {
    void db.end({ timeout: 0 })
    throw error
  }
}

/** What the operator can do about a failed connection, by its code or its text. */
function fixOf(error: unknown, databaseUrl: string): string {
  const { code = '' } = error as { code?: string }
  const text = `${code} ${toLine(error)}`
  const { username, pathname } = new URL(readAddress(databaseUrl).url)
  const [role, database] = [decodeURIComponent(username) || 'parley', decodeURIComponent(pathname.slice(1)) || 'parley']
  const fixes: [RegExp, string][] = [
    [/28P01|28000|password/, `Correct the user and the password in DATABASE_URL, and check pg_hba.conf for ${role}.`],
    [/3D000/, `Create it: create database ${database} owner ${role} encoding 'UTF8' template template0`],
    [/53300|too many/i, 'Raise max_connections of PostgreSQL, or end other clients.'],
    [/standby/, 'Name all servers of the cluster in DATABASE_URL (host1,host2), or the address of the primary.'],
    [
      /certificate|self-signed|altname/i,
      'Correct the certificate, name its authority in NODE_EXTRA_CA_CERTS, or correct the host.',
    ],
    [/does not support TLS/, 'Enable ssl in PostgreSQL, or remove sslmode from DATABASE_URL.'],
    [/ENOTFOUND|EAI_AGAIN/, 'Correct the host in DATABASE_URL, or the name server of this machine.'],
    [
      /ECONNREFUSED|ENOENT/,
      'Start PostgreSQL, and check host and port in DATABASE_URL and listen_addresses of PostgreSQL.',
    ],
  ]
  const known = fixes.find(([pattern]) => pattern.test(text))?.[1]
  return known ?? 'Check DATABASE_URL, and that a firewall between both machines lets the port through.'
}

/** Version, encoding and rights of the database. */
export async function checkServer(db: Db): Promise<Result[]> {
  const results: Result[] = []
  try {
    await requireVersion(db)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    results.push(problem(error.message, "Use PostgreSQL 15 or newer, and a database with encoding 'UTF8'."))
  }
  const [rights] = await db<{ role: string; database: string; can_create: boolean; has_trgm: boolean }[]>`
    select current_user as role, current_database() as database,
      has_database_privilege(current_database(), 'create')
        and coalesce(has_schema_privilege(current_schema(), 'create'), false) as can_create,
      exists (select from pg_available_extensions where name = 'pg_trgm') as has_trgm`
  if (rights && !rights.can_create) {
    const { role, database } = rights
    const found = `the role ${role} may not create tables in the database ${database}`
    results.push(problem(found, `Run as a superuser: alter database ${database} owner to ${role}`))
  }
  if (rights && !rights.has_trgm) {
    const fix = 'Install the additional modules of PostgreSQL (the package postgresql-contrib on many systems).'
    results.push(problem('the extension pg_trgm is not installed on the server', fix))
  }
  return results
}

export async function checkMigrations(db: Db, isServing: boolean): Promise<Result> {
  const { applied, pending, unknown } = await compareMigrations(db)
  if (isUnreleased({ pending, unknown })) {
    const found = `the database has ${countOf(unknown.length, 'migration')} of an unreleased version (${unknown[0]} …), from which this version cannot continue`
    return problem(found, 'Start the version that created the database, or use another one (DATABASE_URL or DATA_DIR).')
  }
  if (unknown.length > 0) {
    const found = `the database has ${countOf(unknown.length, 'migration')} of a newer release (${unknown.at(-1)})`
    return warning(found, 'Start the newer release; only the release directly before it also works on this database.')
  }
  if (pending.length === 0) return ok(`all ${applied} have run`)
  const found =
    applied === 0 ? 'the database is empty' : `${countOf(pending.length, 'migration')} pending (${pending[0]} …)`
  if (!isServing) return ok(`${found}; the next start runs all of them`)
  return warning(
    found,
    'Run migrate in the way you ran doctor, or restart the service: the running one is older than this folder.',
  )
}

/** Whether the database has enough connections. The embedded one always has. */
export async function checkConnections(db: Db, { neededConnections: needed }: Installation): Promise<Result> {
  const [row] = await db<
    { allowed: number; others: number; own: number; role_limit: number; database_limit: number }[]
  >`
    select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0) as allowed,
      (select count(*)::int from pg_stat_activity
        where backend_type = 'client backend' and application_name is distinct from 'parley') as others,
      (select count(*)::int from pg_stat_activity
        where backend_type = 'client backend' and application_name = 'parley' and pid <> pg_backend_pid()) as own,
      (select rolconnlimit from pg_roles where rolname = current_user) as role_limit,
      (select datconnlimit from pg_database where datname = current_database()) as database_limit`
  if (!row) return skipped('the database does not report its limits')
  const { allowed, others, own, role_limit, database_limit } = row
  const limits = [allowed, ...[role_limit, database_limit].filter((limit) => limit >= 0)]
  const limit = Math.min(...limits)
  const found = `this service opens up to ${needed}, and the server allows ${limit}; others use ${others} now, Parley ${own}`
  const fix = 'Raise max_connections of PostgreSQL (and the limits of the role and the database), or lower PROCESSES.'
  if (needed > limit) return problem(found, fix)
  return needed > limit - others ? warning(found, fix) : ok(found)
}

export async function checkKey(opened: OpenedDatabase, installation: Installation): Promise<Result> {
  const fault = faultIn(installation, 'ENCRYPTION_KEY')
  if (fault) return skipped(fault)
  const { dataDir } = installation.config
  const backup = 'Set ENCRYPTION_KEY to the key of this database, or restore encryption.key from the backup.'
  let key: string | undefined
  try {
    key = installation.readKey()
  } catch (error) {
    return problem(
      `${dataDir}/encryption.key cannot be read: ${toLine(error)}`,
      'Run this command as the user of the service.',
    )
  }
  if (key === undefined) {
    if (opened.isNew) return ok('there is none yet, as usual before the first start, which creates it')
    return problem(`${dataDir}/encryption.key is missing, and the database exists`, backup)
  }
  if (!/^[0-9a-f]{64}$/i.test(key)) return problem(`${dataDir}/encryption.key does not hold 64 hex characters`, backup)
  const { connection } = opened
  if (!connection.db) return ok(`present; not tried on the database, because ${connection.reason}`)
  if ((await compareMigrations(connection.db)).applied === 0) return ok('present; the database is empty')
  if (await installation.isSameKey(connection.db, createSealer(key))) return ok('opens the secrets in the database')
  return problem('does not open the secrets in the database, which were sealed with another key', backup)
}

/** Codes of authenticator apps fail from here on. */
const wrongMs = 30_000

/** The first measurement sets the service's clock to that of the database; the provider's time is compared with it. */
export async function checkClock(
  connection: OpenedDatabase['connection'],
  readProviderDate: () => Promise<{ host: string; differenceMs: number } | string>,
): Promise<Result[]> {
  const fix = 'Synchronise the clocks of this machine and of the database with NTP (timedatectl set-ntp true).'
  const results: Result[] = []
  if (connection.db) {
    const offsetMs = await syncClock(connection.db)
    const found = `differs from the database's clock by ${inSeconds(offsetMs)}`
    results.push(Math.abs(offsetMs) >= reportedMs ? warning(found, fix) : ok(found))
  } else {
    results.push(skipped(`not compared with the database: ${connection.reason}`))
  }
  const provider = await readProviderDate()
  if (typeof provider === 'string') return [...results, skipped(`not compared with the provider: ${provider}`)]
  const { host, differenceMs } = provider
  const found = `the time of ${host} differs by ${inSeconds(differenceMs)}`
  if (Math.abs(differenceMs) < reportedMs) return [...results, ok(found)]
  return [...results, Math.abs(differenceMs) < wrongMs ? warning(found, fix) : problem(found, fix)]
}

const inSeconds = (ms: number): string => (Math.abs(ms) < 1_000 ? 'less than 1 s' : `${Math.round(ms / 1_000)} s`)

/** The hosts of the database, for the check of names. */
export function databaseHosts(databaseUrl: string | undefined): string[] {
  if (!databaseUrl) return []
  const { url, hosts, options } = readAddress(databaseUrl)
  if (options.host) return []
  const names = hosts.length > 0 ? hosts.map(({ host }) => host) : [new URL(url).hostname]
  return names.filter((name) => !isIP(name))
}
