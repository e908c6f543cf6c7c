/** The commands of docs/upgrade.md that move the data of the embedded PostgreSQL to a newer one, or to the operator's own. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { demoOf, me, usedFolder } from '../demo.ts'
import { startService } from '../program.ts'
import { createDatabase } from '../support.ts'

const version = Number(/(\d+)/.exec(spawnSync('pg_dump', ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1] ?? 0)
const skip = version >= 18 ? false : 'pg_dump 18 or newer is not installed'

/** The only line of the page that runs this program with this text, without what belongs to systemd. */
function commandOf(program: string, text: string, dataDir: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs/upgrade.md'), 'utf8')
  const commands = page.replaceAll('|\n', '|').split('\n')
  const lines = commands.filter((line) => line.includes(`${program} `) && line.includes(text))
  assert.equal(lines.length, 1, `${program} ${text}`)
  return (lines[0] ?? '').replace(/sudo (?:-u parley )?/, '').replaceAll('/var/lib/parley', dataDir)
}

const run = (line: string) => promisify(execFile)('bash', ['-euc', line])

test('a dump replaces the empty database of a new release, and fills a database of the operator', {
  skip,
}, async (t) => {
  const dataDir = await usedFolder(t)
  const { api_key } = demoOf(dataDir)
  const quiet = { DATA_DIR: dataDir, ROLES: 'api', DEMO: '0' }
  const isServing = async (url: string) => assert.equal((await me(url, api_key)).status, 200)
  const old = await startService(t, quiet)
  await run(commandOf('pg_dump', ' -Fc ', dataDir))
  await old.kill('SIGTERM')
  renameSync(join(dataDir, 'postgres'), join(dataDir, 'postgres-old'))

  const fresh = await startService(t, quiet)
  assert.equal((await me(fresh.url, api_key)).status, 401)
  await run(commandOf('psql', 'drop database', dataDir))
  await run(commandOf('pg_restore', 'socket', dataDir))
  await fresh.kill('SIGTERM')
  const upgraded = await startService(t, quiet)
  await isServing(upgraded.url)
  await upgraded.kill('SIGTERM')

  // The second command is for PostgreSQL 15 to 17, and also works with later versions.
  for (const text of ['--no-owner --exit-on-error', 'SET transaction_timeout']) {
    const { address, url } = await createDatabase(t, { empty: true })
    const { host, port, database, username } = address
    const restore = commandOf('pg_restore', text, dataDir)
      .replace('-h 127.0.0.1 -U parley', `-h ${host} -p ${port} -U ${username}`)
      .replace(/-d parley$/, `-d ${database}`)
    await run(restore)
    const ENCRYPTION_KEY = readFileSync(join(dataDir, 'encryption.key'), 'utf8')
    const moved = await startService(t, { ...quiet, DATABASE_URL: url, ENCRYPTION_KEY })
    await isServing(moved.url)
    await moved.kill('SIGTERM')
  }
})
