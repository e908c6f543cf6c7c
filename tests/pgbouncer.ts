/** A real PgBouncer in front of a test's database. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../scripts/free-port.ts'
import { resolvePackage } from '../scripts/packages.ts'
import type { DatabaseAddress } from '../server/lib/embedded/postgres.ts'
import { type Place, thisMachine } from './program.ts'
import { type Owner, until } from './support.ts'

/** Finds PgBouncer. With `install`, installs it with the system's package manager where that is possible. */
export function resolvePgbouncer({ install = false } = {}): string | undefined {
  const found = resolvePackage('pgbouncer', ['/usr/sbin/pgbouncer'], { install })
  if (!found && install) console.error('PgBouncer is not available: its tests are skipped.')
  return found
}

export type Pooler = {
  /** A database URL that leads through the pooler. */
  url: string
  stop(): Promise<unknown>
  start(): Promise<void>
}

type PoolerOptions = { mode: 'session' | 'transaction'; size?: number; tls?: boolean; place?: Place }

/** Stock settings but for the mode and the number of connections. */
export async function createPooler(
  t: Owner,
  { host, port, database, username }: DatabaseAddress,
  { mode, size = 60, tls = false, place = thisMachine }: PoolerOptions,
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-pgbouncer-'))
  chmodSync(folder, 0o755)
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const ownPort = await freePort()
  writeFileSync(join(folder, 'users.txt'), `"${username}" ""\n`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=${host} port=${port}
[pgbouncer]
listen_addr = ${place.host}
listen_port = ${ownPort}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = ${mode}
default_pool_size = ${size}
${tls ? `client_tls_sslmode = require\nclient_tls_cert_file = ${fixture('tls.crt')}\nclient_tls_key_file = ${fixture('tls.key')}` : ''}
`,
  )
  let child: ChildProcess | undefined
  let exited: Promise<unknown> = Promise.resolve()
  const stop = () => {
    child?.kill('SIGKILL')
    return exited
  }
  t.after(stop)
  return {
    url: `postgres://${username}@${place.host}:${ownPort}/${database}`,
    stop,
    async start() {
      const program = [resolvePgbouncer() ?? '', join(folder, 'pgbouncer.ini')]
      const [command = '', ...args] = [...place.command, ...asOrdinaryUser(), ...program]
      const started = spawn(command, args, { stdio: 'ignore' })
      exited = new Promise((resolve) => started.once('exit', resolve))
      child = started
      await until('PgBouncer to listen', () => isListening(place.host, ownPort))
    },
  }
}

const fixture = (name: string) => join(import.meta.dirname, 'fixtures', name)

/** PgBouncer refuses to run as root. In a user namespace it is not root, but still enters the database's folder. */
function asOrdinaryUser(): string[] {
  if (process.getuid?.() !== 0) return []
  const inNamespace = ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--']
  const [command = '', ...args] = [...inNamespace, 'true']
  return spawnSync(command, args).status === 0
    ? inNamespace
    : ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
}

function isListening(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
