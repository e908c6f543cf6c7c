/** Debian's PostgreSQL 15, the oldest version that Parley supports. */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolvePackage } from '../scripts/packages.ts'
import type { DatabaseAddress } from '../server/lib/embedded/postgres.ts'
import { connect } from '../server/lib/postgres/db.ts'
import { testSettings } from './database.ts'
import { until } from './until.ts'

export const postgres15Programs = '/usr/lib/postgresql/15/bin'
const username = 'parley'

/** Undefined: it is not installed and cannot be. PostgreSQL refuses to run as root, so root runs it as the user of the package. */
export async function startPostgres15(): Promise<{ address: DatabaseAddress; stop(): Promise<unknown> } | undefined> {
  if (!resolvePackage('postgresql-15', [join(postgres15Programs, 'postgres')], { install: true })) {
    console.error('PostgreSQL 15 is not available: the tests on it are skipped.')
    return undefined
  }
  const folder = mkdtempSync(join(tmpdir(), 'parley-postgres-15-'))
  chmodSync(folder, 0o777)
  const data = join(folder, 'data')
  const prefix =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--'] : []
  const command = (program: string, ...args: string[]) => {
    const [file = '', ...rest] = [...prefix, join(postgres15Programs, program), ...args]
    return [file, rest] as const
  }
  const creating = ['--pgdata', data, '--username', username, '--auth', 'trust', '--encoding', 'UTF8']
  execFileSync(...command('initdb', ...creating, '--locale', 'C.UTF-8'), { stdio: 'ignore', cwd: '/' })
  const settings = Object.entries({ ...testSettings, listen_addresses: '', unix_socket_directories: folder })
  const options = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(...command('postgres', '-D', data, ...options), { stdio: 'ignore', cwd: '/' })
  const gone = new Promise((resolve) => server.once('exit', resolve))
  // It ends with the test run, which has no time for a stop in order when it is stopped.
  process.once('exit', () => server.kill('SIGINT'))
  const address = { host: folder, port: 5432, database: 'postgres', username }
  const db = connect({ database: address, max: 1 })
  await until('PostgreSQL 15', async () => (await db`select 1`.catch(() => [])).length === 1)
  await db.end()
  return {
    address,
    async stop() {
      server.kill('SIGINT')
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
