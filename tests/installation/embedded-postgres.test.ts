/**
 * The embedded database, tested with real processes.
 *
 * Owners that are killed run in processes of their own. Durability is switched
 * off except where a crash is the point.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import postgres from 'postgres'
import type { RootMode } from '../../server/lib/embedded/as-root.ts'
import { keepEmbeddedPostgres } from '../../server/lib/embedded/keep-running.ts'
import type { LogLimits } from '../../server/lib/embedded/log.ts'
import {
  type DatabaseAddress,
  type EmbeddedPostgres,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../server/lib/embedded/postgres.ts'
import { until } from '../until.ts'

const quick = { fsync: 'off', full_page_writes: 'off' }
const durable = { fsync: 'on', full_page_writes: 'on' }
const isRoot = process.getuid?.() === 0
const isLinux = process.platform === 'linux'

test('the first start creates a private database, and the next one finds its data', async (t) => {
  const { dataDir, start } = await begin(t)
  assert.equal(await findEmbeddedPostgres(dataDir), undefined)

  const first = await start({ settings: { work_mem: '5MB' } })
  assert.deepEqual(await findEmbeddedPostgres(dataDir), first.address)
  assert.equal((await stat(first.address.host)).mode & 0o777, 0o700)
  const settings = { encoding: 'UTF8', time_zone: 'UTC', listen_addresses: '', work_mem: '5MB' }
  assert.deepEqual(await ask(first.address, showSettings), { ...settings, lower: 'àпр', knows_letters: true })
  await ask(first.address, keepSomething)
  const pid = readPid(dataDir)
  await Promise.all([first.stop(), first.stop()])
  assert.ok(isGone(pid))
  assert.equal(await findEmbeddedPostgres(dataDir), undefined)

  const second = await start()
  assert.equal(await ask(second.address, readKept), 42)
})

test('a data folder has one owner: a second start is refused and names the first', async (t) => {
  const { dataDir, start, spawnOwner } = await begin(t)
  const owner = await spawnOwner()

  await assert.rejects(start(), {
    message: `another Parley (process ${owner.pid}) is already running on ${dataDir}; stop it first, or set DATA_DIR to another folder`,
  })
})

test('of many simultaneous starts exactly one succeeds', async (t) => {
  const { spawnOwner } = await begin(t)
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => spawnOwner()))

  const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  assert.equal(refusals.length, 3)
  for (const refusal of refusals) assert.match(refusal, /another Parley \(process \d+\) is already running/)
})

test('the database stops by itself when its owner is killed, and keeps what was committed', async (t) => {
  const { dataDir, start, spawnOwner } = await begin(t)
  const owner = await spawnOwner()
  await ask(await requireRunning(dataDir), keepSomething)
  const pid = readPid(dataDir)

  owner.kill('SIGKILL')
  await until('the end of the database', () => isGone(pid))
  assert.match(await readFile(join(dataDir, 'postgres.log'), 'utf8'), /database system is shut down\s*$/)

  const next = await start()
  assert.equal(await ask(next.address, readKept), 42)
})

test('a start right after the owner was killed waits for the database to end', async (t) => {
  const { dataDir, start, spawnOwner } = await begin(t)
  const owner = await spawnOwner()
  const former = readPid(dataDir)

  owner.kill('SIGKILL')
  await once(owner, 'exit')
  const next = await start()

  assert.ok(isGone(former))
  assert.equal(await ask(next.address, selectOne), 1)
})

test('a database that lost both owner and watcher is stopped by the next start', { skip: !isLinux }, async (t) => {
  const { dataDir, start, spawnOwner } = await begin(t)
  const owner = await spawnOwner()
  const former = readPid(dataDir)
  const watchers = listGroup(former).filter((pid) => commandOf(pid).startsWith('/bin/sh'))
  assert.equal(watchers.length, 1)

  for (const pid of watchers) process.kill(pid, 'SIGKILL')
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  assert.ok(!isGone(former))
  const next = await start()

  assert.ok(isGone(former))
  assert.equal(await ask(next.address, selectOne), 1)
})

test('a crash of the database is reported, and the next start recovers what was committed', async (t) => {
  const { dataDir, start } = await begin(t)
  const first = await start({ settings: durable })
  await ask(first.address, keepSomething)

  process.kill(readPid(dataDir), 'SIGKILL')
  assert.match(await first.exited, /PostgreSQL ended by itself \(signal SIGKILL\)/)
  assert.equal(await findEmbeddedPostgres(dataDir), undefined)
  await first.stop()

  const second = await start({ settings: durable })
  assert.equal(await ask(second.address, readKept), 42)
  assert.match(await readFile(join(dataDir, 'postgres.log'), 'utf8'), /automatic recovery in progress/)
})

test('a restart without the data folder creates no database, and continues when the data is back', async (t) => {
  const { dataDir } = await begin(t)
  const lines: string[] = []
  const logged = (text: string) => lines.some((line) => line.includes(text))
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const kept = await keepEmbeddedPostgres({ dataDir, log })
  try {
    await ask(kept.address, keepSomething)
    const pid = readPid(dataDir)
    const aside = join(dataDir, '..', `${basename(dataDir)}-aside`)
    t.after(() => rm(aside, { recursive: true, force: true }))
    await mkdir(aside)
    for (const name of await readdir(dataDir)) await rename(join(dataDir, name), join(aside, name))
    process.kill(pid, 'SIGKILL')
    await until('the reason in the log', () => logged(`the data folder is gone: ${dataDir} has no database`))
    assert.deepEqual(await readdir(dataDir), [])
    for (const name of await readdir(aside)) await rename(join(aside, name), join(dataDir, name))
    await until('the database to run again', () => logged('the embedded database runs again'))
    assert.equal(await ask(kept.address, readKept), 42)
  } finally {
    await kept.stop()
  }
})

test('a start after a crash waits for a statement that has not noticed the crash', async (t) => {
  const { dataDir, start } = await begin(t)
  const first = await start()
  const sql = connect(first.address)
  const lost = sql`select count(*) from generate_series(1, 1e10::bigint)`.catch((error: Error) => error)
  const busy = await until('the statement to run', () => ask(first.address, findBusy))

  process.kill(readPid(dataDir), 'SIGKILL')
  await first.stop()
  const starting = start()
  await until('the start to wait for the statement', () =>
    readFileSync(join(dataDir, 'postgres.log'), 'utf8').includes('pre-existing shared memory block'),
  )
  process.kill(busy, 'SIGKILL')

  assert.equal(await ask((await starting).address, selectOne), 1)
  await sql.end({ timeout: 0 })
  assert.ok((await lost) instanceof Error)
})

test('a stale postmaster.pid does not block the start when its pid is another process now', async (t) => {
  const { dataDir, start } = await begin(t)
  await (await start()).stop()
  const stranger = spawn('sleep', ['60'])
  t.after(() => stranger.kill())
  const data = join(dataDir, 'postgres', 'data')
  const stale = [stranger.pid, data, 1, 5432, join(dataDir, 'postgres', 'socket'), '', '1 1', 'ready', '']
  await writeFile(join(data, 'postmaster.pid'), stale.join('\n'), { mode: 0o600 })
  await writeFile(join(dataDir, 'postgres', 'socket', '.s.PGSQL.5432.lock'), stale.join('\n'), { mode: 0o600 })

  assert.equal(await findEmbeddedPostgres(dataDir), undefined)
  const next = await start()

  assert.equal(await ask(next.address, selectOne), 1)
  assert.equal(stranger.exitCode ?? stranger.signalCode, null)
})

test('a kill while the data folder is being created leaves no incomplete folder', async (t) => {
  const { dataDir, start, spawnStarting } = await begin(t)
  const place = join(dataDir, 'postgres')
  const owner = spawnStarting()
  const isStarted = () => existsSync(place) && readdirSync(place).some((entry) => entry.startsWith('data.new-'))
  await until('initdb to start', isStarted)

  owner.kill('SIGKILL')
  await once(owner, 'exit')
  assert.ok(!existsSync(join(place, 'data')))
  const next = await start()

  assert.equal(await ask(next.address, selectOne), 1)
  assert.deepEqual((await readdir(place)).sort(), ['data', 'socket'])
})

test('Ctrl-C goes to the whole process group and does not reach the database', async (t) => {
  const { dataDir, spawnOwner } = await begin(t)
  const owner = await spawnOwner('process.on("SIGINT", () => console.log("interrupted"))')

  const interrupted = once(owner.stdout ?? owner, 'data')
  process.kill(-(owner.pid ?? Number.NaN), 'SIGINT')
  await interrupted

  assert.equal(await ask(await requireRunning(dataDir), selectOne), 1)
  assert.doesNotMatch(await readFile(join(dataDir, 'postgres.log'), 'utf8'), /shutdown request/)
})

test('a path that is too long for a socket uses a shorter one', async (t) => {
  const { dataDir, start } = await begin(t, 'path/'.repeat(20))
  const running = await start()

  assert.equal(running.address.host.indexOf(tmpdir()), 0)
  assert.equal((await stat(running.address.host)).mode & 0o777, 0o700)
  assert.deepEqual(await findEmbeddedPostgres(dataDir), running.address)
  assert.equal(await ask(running.address, selectOne), 1)
  await running.stop()
  assert.ok(!existsSync(running.address.host))
})

test('commas, quotes and spaces in the path work', async (t) => {
  const { dataDir, start } = await begin(t, 'a, "b" \'c\'')
  const running = await start()

  assert.equal(running.address.host, join(dataDir, 'postgres', 'socket'))
  assert.deepEqual(await findEmbeddedPostgres(dataDir), running.address)
  assert.equal(await ask(running.address, selectOne), 1)
})

test('data of another PostgreSQL is refused', async (t) => {
  const { dataDir, start } = await begin(t)
  await mkdir(join(dataDir, 'postgres', 'data'), { recursive: true, mode: 0o700 })
  await writeFile(join(dataDir, 'postgres', 'data', 'PG_VERSION'), '15\n')

  await assert.rejects(start(), /was created by PostgreSQL 15, and this Parley has PostgreSQL \d+/)
})

test('a failed start quotes the log and releases the data folder', async (t) => {
  const { start } = await begin(t)

  await assert.rejects(
    start({ settings: { shared_buffers: 'plenty' } }),
    /did not start \(exit code 1\)[\s\S]*invalid value for parameter "shared_buffers": "plenty"/,
  )
  await start()
})

test('a log over 10 MB is emptied at the start and while it runs; the part before stays in a second file', async (t) => {
  const { dataDir, start } = await begin(t)
  const log = join(dataDir, 'postgres.log')
  await writeFile(log, Buffer.alloc(10 * 1024 * 1024 + 1, 'x'), { mode: 0o600 })

  const first = await start()
  assert.ok((await stat(log)).size < 100_000)
  assert.equal((await stat(`${log}.1`)).size, 10 * 1024 * 1024 + 1)
  await first.stop()

  const { address } = await start({ logLimits: { maxBytes: 5_000, checkMs: 50 } })
  const fail = (times: number) =>
    ask(address, async (sql) => {
      for (let i = 0; i < times; i++) await assert.rejects(sql`select 1 / 0`)
    })
  await until('a full log', async () => {
    await fail(50)
    return /division by zero/.test(await readFile(`${log}.1`, 'utf8'))
  })
  await until('a small log', async () => (await stat(log)).size <= 5_000)
  // What PostgreSQL writes after that is at the start of the emptied file.
  await until('the next line', async () => {
    await fail(1)
    return /^[^\0]*division by zero/.test(await readFile(log, 'utf8'))
  })
  assert.equal((await stat(`${log}.1`)).mode & 0o777, 0o600)
})

test('the log has no values of rows and no statements', async (t) => {
  const { dataDir, start } = await begin(t)
  const { address } = await start()
  await ask(address, async (sql) => {
    await sql`create table people (email text unique, age int check (age > 0))`
    await sql`insert into people values ('ann@secret.test', 1)`
    for (const statement of [
      `insert into people values ('ann@secret.test', 2)`,
      `insert into people values ('bob@secret.test', -1)`,
      `select * from nowhere where email = 'cy@secret.test'`,
    ]) {
      await assert.rejects(sql.unsafe(statement))
    }
    await assert.rejects(sql`insert into people values (${'ann@secret.test'}, 3)`)
  })
  const text = await until('the errors', async () => {
    const log = await readFile(join(dataDir, 'postgres.log'), 'utf8')
    return /duplicate key[\s\S]*check constraint[\s\S]*nowhere[\s\S]*duplicate key/.test(log) && log
  })
  assert.doesNotMatch(text, /secret\.test|DETAIL|STATEMENT/)
})

test('root without namespaces: the system user runs it in place if it can reach the folder', {
  skip: !isRoot,
}, async (t) => {
  const { dataDir, start } = await begin(t)
  await chmod(dataDir, 0o755)
  const before = await start({ rootMode: 'namespace' })
  await ask(before.address, keepSomething)
  assert.equal((await stat(join(dataDir, 'postgres', 'data', 'PG_VERSION'))).uid, 0)
  await before.stop()

  const after = await start({ rootMode: 'nobody' })
  assert.equal(await ask(after.address, readKept), 42)
  assert.equal(realpathSync(join(dataDir, 'postgres')), join(dataDir, 'postgres'))
  assert.notEqual((await stat(join(dataDir, 'postgres', 'data', 'PG_VERSION'))).uid, 0)
})

test('root without namespaces: data that the system user cannot reach is moved', { skip: !isRoot }, async (t) => {
  const { dataDir, start } = await begin(t)
  const before = await start({ rootMode: 'namespace' })
  await ask(before.address, keepSomething)
  await before.stop()

  const moved = await start({ rootMode: 'nobody' })
  const target = realpathSync(join(dataDir, 'postgres'))
  t.after(() => rm(target, { recursive: true }))
  assert.match(target, /^\/var\/lib\/parley\/data-/)
  assert.equal(await ask(moved.address, readKept), 42)
  assert.deepEqual(await findEmbeddedPostgres(dataDir), moved.address)
  await assert.rejects(start(), /another Parley/)
  await moved.stop()

  const again = await start({ rootMode: 'nobody' })
  assert.equal(realpathSync(join(dataDir, 'postgres')), target)
  assert.equal(await ask(again.address, readKept), 42)
})

test("root in a user's folder runs it as that user and leaves no files of root", {
  skip: !isRoot,
}, async (t) => {
  const { dataDir, start } = await begin(t)
  const userId = 65534
  await chown(dataDir, userId, userId)
  const running = await start()

  for (const entry of await readdir(dataDir, { recursive: true })) {
    assert.equal((await stat(join(dataDir, entry))).uid, userId, entry)
  }
  assert.equal(await ask(running.address, selectOne), 1)
})

/**
 * A data folder, and ways to start a database on it: in this process, or in
 * another one that lives until it is killed. A test that fails leaves its data
 * behind.
 */
async function begin(t: TestContext, below = '') {
  const folder = realpathSync(await mkdtemp(join(tmpdir(), 'parley-test-')))
  const dataDir = join(folder, below)
  const running: EmbeddedPostgres[] = []
  const owners: ChildProcess[] = []

  type Starting = { settings?: Record<string, string>; rootMode?: RootMode; logLimits?: LogLimits }
  async function start({ settings = {}, ...more }: Starting = {}) {
    const started = await startEmbeddedPostgres({ dataDir, settings: { ...quick, ...settings }, ...more })
    running.push(started)
    return started
  }

  function spawnStarting(code = ''): ChildProcess {
    const module = new URL('../../server/lib/embedded/postgres.ts', import.meta.url)
    const lines = [
      `import { startEmbeddedPostgres } from ${JSON.stringify(module)}`,
      `await startEmbeddedPostgres(${JSON.stringify({ dataDir, settings: quick })})`,
      code,
      `console.log('ready')`,
    ]
    const owner = spawn(process.execPath, ['--input-type=module', '-e', lines.join('\n')], { detached: true })
    owners.push(owner)
    return owner
  }

  async function spawnOwner(code?: string): Promise<ChildProcess> {
    const owner = spawnStarting(code)
    const { stdout, stderr } = owner
    assert.ok(stdout && stderr)
    const complaint = text(stderr)
    const ready = await Promise.race([once(stdout, 'data').then(() => true), once(owner, 'exit').then(() => false)])
    if (!ready) throw new Error(await complaint)
    return owner
  }

  t.after(async () => {
    for (const database of running) await database.stop()
    for (const owner of owners) owner.kill('SIGKILL')
    await until('the end of the database', () => !existsSync(join(dataDir, 'postgres', 'data', 'postmaster.pid')))
    if ('passed' in t && t.passed) await rm(folder, { recursive: true, maxRetries: 20 })
  })
  return { dataDir, start, spawnStarting, spawnOwner }
}

async function requireRunning(dataDir: string): Promise<DatabaseAddress> {
  const address = await findEmbeddedPostgres(dataDir)
  assert.ok(address)
  return address
}

const connect = (address: DatabaseAddress) => postgres({ ...address, max: 1, onnotice: () => {} })

async function ask<Answer>(address: DatabaseAddress, question: (sql: postgres.Sql) => PromiseLike<Answer>) {
  const sql = connect(address)
  try {
    return await question(sql)
  } finally {
    await sql.end()
  }
}

const selectOne = (sql: postgres.Sql) => sql`select 1 as one`.then(([row]) => row?.one)

const keepSomething = (sql: postgres.Sql) => sql`create table kept as select 42 as answer`

const readKept = (sql: postgres.Sql) => sql`select answer from kept`.then(([row]) => row?.answer)

async function findBusy(sql: postgres.Sql): Promise<number | undefined> {
  const [row] = await sql`
    select pid from pg_stat_activity
    where state = 'active' and query like '%generate_series%' and pid <> pg_backend_pid()`
  return row?.pid
}

async function showSettings(sql: postgres.Sql) {
  await sql`create extension pg_trgm`
  const [row] = await sql`
    select
      current_setting('server_encoding') as encoding,
      current_setting('TimeZone') as time_zone,
      current_setting('listen_addresses') as listen_addresses,
      current_setting('work_mem') as work_mem,
      lower('ÀПР') as lower,
      cardinality(show_trgm('привет')) > 0 as knows_letters`
  return { ...row }
}

const readPid = (dataDir: string) =>
  Number.parseInt(readFileSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10)

/** A zombie counts as ended: it has no command line. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return isLinux && commandOf(pid) === ''
  } catch {
    return true
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

function listGroup(leader: number): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    try {
      const [, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      return Number(group) === leader
    } catch {
      return false
    }
  })
}
