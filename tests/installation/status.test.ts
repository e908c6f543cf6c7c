/** The status page of real processes: a backup, restarts, silence, full disks, several services. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createSmallDisk, missingForDisk } from '../../soak/disk.ts'
import { demoOf } from '../demo.ts'
import { createFolder } from '../folder.ts'
import { connect, createWorkspace, findEmbeddedPostgres } from '../internals.ts'
import { createService, type Program } from '../program.ts'
import { alertsOf, namesOf, untilStatus } from '../status.ts'
import { assertRefused, createBrowser, createDatabase, type Json } from '../support.ts'

const mebibyte = 1024 * 1024

const newService = (t: TestContext, env: Record<string, string>): Promise<Program> =>
  createService(t, { PROCESSES: '1', DEMO: '0', LOG_LEVEL: 'warn', ...env })

test('a backup, a restarted process and a stopped one appear', async (t) => {
  const home = createFolder(t)
  const data = join(home, 'data')
  const service = await newService(t, { DATA_DIR: data, DEMO: '1', PROCESSES: '2' })
  await service.start()
  const browser = createBrowser(service.url, service.url)
  assert.equal((await browser.signIn(demoOf(data).owner)).status, 200)
  const loopsOf = (status: Json): Json[] => status.processes?.[2]?.loops ?? []
  // The first report of a process is as old as its loops.
  const first = await untilStatus(browser, 'all processes and loops', (status) =>
    loopsOf(status).some(({ name, succeeded_at }) => name === 'deliver' && succeeded_at),
  )
  assert.deepEqual(namesOf(first), ['api-1', 'api-2', 'engines', 'simulator'])
  await untilStatus(browser, 'no problem', ({ problems, unknown }) => problems.length + unknown.length === 0)
  assert.deepEqual([first.backup, first.database.is_migrated], [{ is_embedded: true, last: null }, true])
  // A loop that runs every hour has not run yet.
  const hourly = loopsOf(first).find(({ name }) => name === 'sweep-audit-log')
  assert.deepEqual(hourly, { name: 'sweep-audit-log', succeeded_at: null, is_failing: false })
  assert.deepEqual(first.disks.map(({ folder }: Json) => folder).sort(), [data, join(data, 'postgres')])

  const folder = join(home, 'backup')
  const backup = execFileSync(process.execPath, ['bin/parley.ts', 'backup', '--to', folder, '--json'], {
    env: { ...process.env, DATA_DIR: data, DEMO: '0' },
    encoding: 'utf8',
  })
  const recorded = await untilStatus(browser, 'the backup', (status) => status.backup.last !== null)
  assert.deepEqual(recorded.backup.last, JSON.parse(backup))

  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  const pidOf = (name: string): number => {
    const row = rows.find((row) => row.includes(` ${service.pid()} `) && row.trimEnd().endsWith(`main.ts ${name}`))
    return Number(row?.trim().split(/\s+/)[0])
  }
  process.kill(pidOf('api-2'), 'SIGKILL')
  const restarted = await untilStatus(browser, 'the restart', (status) =>
    alertsOf(status).includes('ParleyProcessRestarted'),
  )
  assert.equal(restarted.processes[1].restarts, 1)

  process.kill(pidOf('engines'), 'SIGSTOP')
  const address = await findEmbeddedPostgres(data)
  assert.ok(address)
  const db = connect({ database: address, max: 1 })
  await db`update service_processes set reported_at = reported_at - interval '31 seconds' where process = 'engines'`
  await db.end()
  const silent = await untilStatus(browser, 'the silence', (status) => alertsOf(status).includes('ParleyNoWorker'))
  const { where } = silent.problems.find(({ alert }: Json) => alert === 'ParleyProcessSilent')
  assert.match(where, / engines$/)
  process.kill(pidOf('engines'), 'SIGCONT')
  await untilStatus(browser, 'the engines', (status) => !alertsOf(status).includes('ParleyNoWorker'))
})

test('services share one status: a nearly full disk of one is named, and a worker that stops is missed', {
  skip: missingForDisk() ?? false,
}, async (t) => {
  const disk = createSmallDisk(t, 200)
  mkdirSync(join(disk.folder, 'data'))
  const database = await createDatabase(t)
  const db = database.connect(1)
  const create = (name: string) =>
    createWorkspace(db, {
      name,
      default_country: 'US',
      owner: { email: `${name}@status.test`, password: 'correct horse' },
    })
  const customer = await create('customer')
  const operator = await create('operator')
  const ENCRYPTION_KEY = 'ab'.repeat(32)
  const shared = { DATABASE_URL: database.url, ENCRYPTION_KEY, OPERATOR_WORKSPACE_ID: operator.workspace_id }
  const api = await newService(t, { ...shared, ROLES: 'api', DATA_DIR: join(disk.folder, 'data') })
  const worker = await newService(t, { ...shared, ROLES: 'worker', DATA_DIR: createFolder(t) })
  await api.start()
  const signIn = async (owner: { email: string; password: string }) => {
    const browser = createBrowser(api.url, api.url)
    assert.equal((await browser.signIn(owner)).status, 200)
    return browser
  }
  assertRefused(await (await signIn(customer.owner)).call('GET', '/status'), 403, 'forbidden')
  const browser = await signIn(operator.owner)
  const alone = await untilStatus(browser, 'a status', (status) => alertsOf(status).includes('ParleyNoWorker'))
  assert.deepEqual([namesOf(alone), alone.backup], [['api-1'], { is_embedded: false, last: null }])
  await worker.start()
  const both = await untilStatus(browser, 'the worker', (status) => !alertsOf(status).includes('ParleyNoWorker'))
  assert.deepEqual(namesOf(both).sort(), ['api-1', 'worker'])
  assert.equal(both.disks.length, 2)
  assert.ok(!alertsOf(both).includes('ParleyDiskNearlyFull'))

  const onSmallDisk = (status: Json): Json => status.disks?.find(({ folder }: Json) => folder.startsWith(disk.folder))
  disk.fill(19 * mebibyte)
  const low = await untilStatus(browser, 'the disk', (status) => alertsOf(status).includes('ParleyDiskNearlyFull'))
  const { where } = low.problems.find(({ alert }: Json) => alert === 'ParleyDiskNearlyFull')
  assert.ok(where.endsWith(` ${disk.folder}/data`), where)
  assert.deepEqual([onSmallDisk(low).is_nearly_full, onSmallDisk(low).is_full], [true, false])
  disk.fill(8 * mebibyte)
  await untilStatus(browser, 'the full disk', (status) => onSmallDisk(status)?.is_full)

  await worker.kill('SIGTERM')
  const missed = await untilStatus(browser, 'its absence', (status) => alertsOf(status).includes('ParleyNoWorker'))
  assert.ok(!alertsOf(missed).includes('ParleyProcessSilent'), 'a worker that stopped in order is not silent')
})
