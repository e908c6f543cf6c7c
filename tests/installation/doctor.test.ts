/** `npx parley doctor` as an operator runs it: as a process, on installations that work and on broken ones. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { version } from '../../common/version.ts'
import { freePort } from '../../scripts/free-port.ts'
import { createCertificate } from '../certificate.ts'
import { createFolder } from '../folder.ts'
import { connect, findEmbeddedPostgres } from '../internals.ts'
import { startMailServer } from '../mail-server.ts'
import type { Json, Owner } from '../owner.ts'
import { createPooler, resolvePgbouncer } from '../pgbouncer.ts'
import { startService } from '../program.ts'
import { createDatabase, main, pluck, start, type TestDatabase, testEncryptionKey, withProvider } from '../support.ts'

type Finding = { name: string; state: string; found: string; fix: string | null }
type Doctor = { code: number; text: string; findings: Finding[] }

type Env = Record<string, string>
type RunOptions = { asText?: boolean; cwd?: string; uid?: number }

/** The settings of the machine that runs the tests do not count. A run with compiled code takes half the time. */
const ownEnv: Env = Object.fromEntries(
  Object.entries({ NODE_COMPILE_CACHE: join(process.cwd(), 'node_modules/.cache/compiled'), ...process.env }).flatMap(
    ([name, value]) =>
      value === undefined || /^(PORT|HOST|DATABASE_URL|DATA_DIR|PUBLIC_URL|ENCRYPTION_KEY|SMTP_|MEDIA_)/.test(name)
        ? []
        : [[name, value]],
  ),
)

async function runDoctor(env: Env, { asText = false, cwd = '.', uid }: RunOptions = {}): Promise<Doctor> {
  const args = ['bin/parley.ts', 'doctor', ...(asText ? [] : ['--json'])]
  const user = uid === undefined ? {} : { uid, gid: uid }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd, env: { ...ownEnv, ...env }, ...user, timeout: 120_000 },
      (error, stdout, stderr) => {
        assert.equal(stderr, '')
        const code = error ? Number(error.code) : 0
        const findings = asText ? [] : JSON.parse(stdout).checks
        resolve({ code, text: stdout, findings })
      },
    )
  })
}

/** The findings of a check, as `state: text`. */
const linesOf = ({ findings }: Doctor, name: string): string[] =>
  findings.filter((finding) => finding.name === name).map(({ state, found }) => `${state}: ${found}`)

/** Asserts that a check has a finding with this state and text. Answers its fix. */
function assertFound(doctor: Doctor, name: string, state: string, text: RegExp): string {
  const found = doctor.findings.find((one) => one.name === name && one.state === state && text.test(one.found))
  assert.ok(found, `no ${state} ${text} in ${name}: ${linesOf(doctor, name).join(' | ')}`)
  assert.equal(found.fix !== null, state === 'warning' || state === 'problem')
  return found.fix ?? ''
}

async function listen(t: Owner, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

const urlOf = ({ address: { host, port, database, username } }: TestDatabase, user = username): string =>
  `postgres://${user}@localhost:${port}/${database}?host=${host}`

/** The settings of the service that `start` runs in this process. */
async function settingsOf(t: Owner, database: TestDatabase, url: string): Promise<Env> {
  const settings = { ENCRYPTION_KEY: testEncryptionKey, DATA_DIR: createFolder(t), DEMO: '0' }
  return { ...settings, DATABASE_URL: urlOf(database), PORT: new URL(url).port, PUBLIC_URL: url }
}

const checkNames = [
  ...['settings', 'public_url', 'node', 'memory', 'rights', 'disk', 'port', 'database', 'migrations', 'connections'],
  ...['encryption_key', 'clock', 'names', 'certificate', 'mail', 'media', 'service', 'channels'],
]

test('before the first start there is no problem, and nothing is created', main, async (t) => {
  const parent = createFolder(t)
  const env = { DATA_DIR: join(parent, 'data'), PORT: String(await freePort()) }
  const doctor = await runDoctor(env)
  assert.equal(doctor.code, 0, doctor.text)
  assert.deepEqual([...new Set(doctor.findings.map(({ name }) => name))], checkNames)
  assert.deepEqual(new Set(doctor.findings.map(({ state }) => state)), new Set(['ok', 'skipped']))
  assertFound(doctor, 'settings', 'ok', /^PORT, DATA_DIR from the environment$/)
  assertFound(doctor, 'database', 'ok', /none yet, as usual before the first start/)
  assertFound(doctor, 'port', 'ok', /is free/)
  assertFound(doctor, 'node', 'ok', /, embedded PostgreSQL 18\.\d+$/)
  assertFound(doctor, 'service', 'ok', /not started yet; npm start or systemctl start parley starts it/)
  assertFound(doctor, 'channels', 'skipped', /there is no database yet/)
  assert.deepEqual(readdirSync(parent), [])

  const { version: ours, problems, warnings, checks } = JSON.parse(doctor.text)
  assert.deepEqual([ours, problems, warnings], [version, 0, 0])
  for (const each of checks) assert.deepEqual(Object.keys(each), ['name', 'state', 'found', 'fix'])
  const { text, code } = await runDoctor(env, { asText: true })
  assert.equal(code, 0)
  assert.match(text, /^ok {7}settings {7}PORT, DATA_DIR from the environment$/m)
  assert.match(text, /\n\n0 problems, 0 warnings\.\n$/)
})

test('a service that runs, one that was stopped and one that crashed are distinguished', async (t) => {
  const dataDir = createFolder(t)
  const service = await startService(t, { DATA_DIR: dataDir, PROCESSES: '2' })
  const env = { DATA_DIR: dataDir, PORT: new URL(service.url).port }
  const running = await runDoctor(env)
  assert.equal(running.code, 0, running.text)
  assertFound(running, 'port', 'ok', /is used by this Parley \(node main\.ts, process \d+\)/)
  assertFound(running, 'database', 'ok', /embedded PostgreSQL 18 runs \(process \d+\)/)
  assertFound(running, 'migrations', 'ok', /^all \d+ have run$/)
  assertFound(running, 'encryption_key', 'ok', /opens the secrets/)
  assertFound(running, 'clock', 'ok', /less than 1 s/)
  assertFound(running, 'service', 'ok', new RegExp(`^version ${version.replaceAll('.', '\\.')} is ready$`))
  for (const channel of ['msgapp', 'social']) {
    const callback = new RegExp(`^${channel} of "Demo" \\(simulator\\): the callback .* answers$`)
    assertFound(running, 'channels', 'ok', callback)
    const accepted = new RegExp(`^${channel} of "Demo" .*: the provider accepts the access token$`)
    assertFound(running, 'channels', 'ok', accepted)
  }
  const address = await findEmbeddedPostgres(dataDir)
  assert.ok(address)
  const db = connect({ database: address, max: 1 })
  const verified = await db`select id from channel_connections where callback_verified_at is not null`
  await db.end()
  assert.deepEqual([...verified], [], 'the check is not a handshake of the provider')

  const elsewhere = await runDoctor({ ...env, DATA_DIR: createFolder(t) })
  assert.equal(elsewhere.code, 1)
  assert.match(assertFound(elsewhere, 'port', 'problem', /used by another Parley/), /PORT.*DATA_DIR/)
  assertFound(elsewhere, 'service', 'skipped', /another Parley has the port/)
  const otherPort = await runDoctor({ ...env, PORT: String(await freePort()) })
  assertFound(otherPort, 'service', 'warning', /its database runs, and nothing listens/)

  await service.kill('SIGTERM')
  const before = readdirSync(dataDir, { recursive: true }).sort()
  const stopped = await runDoctor(env)
  assert.equal(stopped.code, 0, stopped.text)
  assertFound(stopped, 'database', 'ok', /stopped in order/)
  assert.match(assertFound(stopped, 'service', 'warning', /does not run/), /npm start/)
  assertFound(stopped, 'migrations', 'skipped', /the embedded database does not run/)
  assert.deepEqual(readdirSync(dataDir, { recursive: true }).sort(), before, 'nothing is written')

  // As a killed PostgreSQL leaves it; no process has this number.
  const left = [
    ...['4194400', join(dataDir, 'postgres/data'), '1', '5432'],
    ...[join(dataDir, 'postgres/socket'), '', '', 'ready'],
  ]
  writeFileSync(join(dataDir, 'postgres/data/postmaster.pid'), left.join('\n'))
  assertFound(await runDoctor(env), 'database', 'warning', /ended without a shutdown/)
  rmSync(join(dataDir, 'encryption.key'))
  assertFound(await runDoctor(env), 'encryption_key', 'problem', /is missing, and the database exists/)
  writeFileSync(join(dataDir, 'postgres/data/PG_VERSION'), '17\n')
  const message = /created by PostgreSQL 17, and this release has PostgreSQL 18/
  assertFound(await runDoctor(env), 'database', 'problem', message)
})

test('another program on the port is named', async (t) => {
  const server = createHttpServer((_request, response) => response.end('hello'))
  const port = await listen(t, server)
  const doctor = await runDoctor({ DATA_DIR: createFolder(t), PORT: String(port) })
  assert.equal(doctor.code, 1)
  const who = process.platform === 'linux' ? ` \\(.+, process ${process.pid}\\)` : ''
  const fix = assertFound(doctor, 'port', 'problem', new RegExp(`^${port} is used by another program${who}$`))
  assert.match(fix, /set PORT/)
  assertFound(doctor, 'service', 'skipped', /another program answers .* \(HTTP 200\)/)
  const away = await runDoctor({ DATA_DIR: createFolder(t), PORT: String(await freePort()), HOST: '192.0.2.1' })
  assertFound(away, 'port', 'problem', /192\.0\.2\.1 is not an address of this machine/)
})

test('all wrong settings are listed, the other checks run, and secrets are not printed', async (t) => {
  const env = {
    DATA_DIR: createFolder(t),
    PORT: 'http',
    PROCESSES: '99',
    DATABASE_URL: 'postgres://parley:pw-of-database@127.0.0.1:1/parley',
    ENCRYPTION_KEY: 'not-64-hex-characters',
    SMTP_URL: 'https://parley:pw-of-mail@mail.test',
    MEDIA_S3_SECRET_ACCESS_KEY: 'pw-of-bucket',
    LOG_LEVEL: 'loud',
  }
  const doctor = await runDoctor(env)
  assert.equal(doctor.code, 1)
  const wrong = doctor.findings.filter(({ name, state }) => name === 'settings' && state === 'problem')
  const names = wrong.map(({ found }) => found.split(':')[0])
  assert.deepEqual(
    names.filter((name) => !name?.startsWith('MEDIA_S3')),
    [...['PORT', 'PROCESSES', 'ENCRYPTION_KEY', 'SMTP_URL', 'SMTP_FROM', 'LOG_LEVEL']],
  )
  for (const { fix } of wrong) assert.match(fix ?? '', /^Correct [A-Z0-9_]+ .*\.env\.example describes it\.$/)
  assertFound(doctor, 'port', 'skipped', /PORT is invalid/)
  assertFound(doctor, 'mail', 'skipped', /SMTP_URL is invalid/)
  assertFound(doctor, 'connections', 'skipped', /PROCESSES is invalid/)
  assertFound(doctor, 'database', 'problem', /ECONNREFUSED/)
  assertFound(doctor, 'rights', 'ok', /writable/)
  const { text } = await runDoctor(env, { asText: true })
  for (const printed of [text, doctor.text]) assert.doesNotMatch(printed, /pw-of|not-64-hex/)
  assert.match(text, /^problem {2}settings {7}PORT: must be a port number.*\n {24}Fix: Correct PORT /m)
})

test('single sign-on that every person could use is named', async (t) => {
  const client = { OIDC_CLIENT_ID: 'parley', OIDC_CLIENT_SECRET: 'pw-of-provider' }
  const env = { DATA_DIR: createFolder(t), PORT: String(await freePort()), ...client }
  const google = { ...env, OIDC_ISSUER: 'https://accounts.google.com' }
  const message = /account at accounts\.google\.com, and OIDC_DOM/
  const fix = assertFound(await runDoctor(google), 'settings', 'warning', message)
  assert.match(fix, /^Set OIDC_DOMAINS /)
  const open = await runDoctor({ ...google, OIDC_DOMAINS: 'acme.example,gmail.com' })
  assertFound(open, 'settings', 'warning', /^OIDC_DOMAINS has gmail\.com, where every person/)
  for (const safe of [
    { ...google, OIDC_DOMAINS: 'acme.example' },
    { ...env, OIDC_ISSUER: 'https://id.acme.example' },
  ]) {
    const doctor = await runDoctor(safe)
    assert.doesNotMatch(linesOf(doctor, 'settings').join('\n'), /^warning/m)
  }
})

test('a public URL that cannot work is named', async (t) => {
  const env = { DATA_DIR: createFolder(t), PORT: String(await freePort()) }
  const plain = await runDoctor({ ...env, PUBLIC_URL: 'http://parley.invalid/app' })
  assertFound(plain, 'public_url', 'warning', /is not https/)
  assertFound(plain, 'public_url', 'warning', /has the path \/app/)
  assert.match(assertFound(plain, 'names', 'problem', /parley\.invalid \(PUBLIC_URL\) cannot be resolved/), /DNS/)
  const exposed = await runDoctor({ ...env, HOST: '0.0.0.0', DEMO: '1' })
  assertFound(exposed, 'public_url', 'warning', /no address that a browser can open/)
  assertFound(exposed, 'public_url', 'warning', /other machines can reach the demo/)
})

test('.env is read: unknown names and open rights are named, and an unreadable file is a problem', async (t) => {
  const copy = createFolder(t)
  for (const part of ['bin', 'cli', 'common', 'migrations', 'sdk/src', 'server', 'simulator', 'package.json']) {
    cpSync(part, join(copy, part), { recursive: true, filter: (path) => !/\/(fixtures|phone)$/.test(path) })
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'))
  const port = String(await freePort())
  const file = join(copy, '.env')
  const lines = [`PORT=${port}`, 'DATABSE_URL=x', 'PARLEY_API_KEY=y', 'SMTP_URL=smtp://a:pw-of-mail@127.0.0.1:1', '']
  writeFileSync(file, lines.join('\n'), { mode: 0o644 })
  const unit = { PARLEY_SETTING_NAMES: 'DATA_DIR:parley,PROT:/etc/parley.env,NODE_OPTIONS:/etc/parley.env' }
  const doctor = await runDoctor({ SMTP_FROM: 'a@b.test', ...unit }, { cwd: copy })
  assertFound(doctor, 'settings', 'ok', /^PORT, SMTP_URL from \.env; SMTP_FROM from the environment$/)
  const unknown = doctor.findings.filter(({ found }) => /is not a setting/.test(found))
  const expected = ['DATABSE_URL in .env is not a setting', 'PROT in /etc/parley.env is not a setting']
  assert.deepEqual(pluck(unknown, 'found'), expected)
  assert.match(assertFound(doctor, 'rights', 'warning', /\.env holds secrets/), /chmod 600/)
  assertFound(doctor, 'rights', 'ok', /data does not exist yet/)
  assert.doesNotMatch(doctor.text, /pw-of/)
  chmodSync(file, 0o600)
  const closed = await runDoctor({ SMTP_FROM: 'a@b.test' }, { cwd: copy })
  const areOk = linesOf(closed, 'rights').every((line) => line.startsWith('ok'))
  assert.ok(areOk, closed.text)
  rmSync(file)
  mkdirSync(file)
  assertFound(await runDoctor({}, { cwd: copy }), 'settings', 'problem', /\.env cannot be read: EISDIR/)
})

test('a database that cannot be reached is a problem with a fix', async (t) => {
  const env = { DATA_DIR: createFolder(t), PORT: String(await freePort()), ENCRYPTION_KEY: testEncryptionKey }
  const refused = await runDoctor({ ...env, DATABASE_URL: 'postgres://parley:pw-of-database@127.0.0.1:1/parley' })
  assert.equal(refused.code, 1)
  assert.match(assertFound(refused, 'database', 'problem', /127\.0\.0\.1:1: connect ECONNREFUSED/), /Start PostgreSQL/)
  assertFound(refused, 'migrations', 'skipped', /the database cannot be reached/)
  assertFound(refused, 'channels', 'skipped', /the database cannot be reached/)

  const silent = await listen(
    t,
    createServer(() => {}),
  )
  const slow = [`DATABASE_URL=postgres://parley:pw-of-database@127.0.0.1:${silent}/parley`, `PORT=${silent}`]
  const mail = { SMTP_URL: `smtp://a:pw-of-mail@127.0.0.1:${silent}`, SMTP_FROM: 'a@b.test' }
  const hanging = await runDoctor({ ...env, ...mail, ...Object.fromEntries(slow.map((line) => split(line))) })
  assertFound(hanging, 'database', 'problem', /does not answer|no answer/)
  assertFound(hanging, 'mail', 'problem', /no answer|Greeting/i)
  assertFound(hanging, 'port', 'problem', /another program/)
  for (const { text } of [refused, hanging]) assert.doesNotMatch(text, /pw-of/)
})

const split = (line: string): [string, string] => {
  const [name = '', ...rest] = line.split('=')
  return [name, rest.join('=')]
}

test('a database that does not suit this release is a problem with a fix', async (t) => {
  const database = await createDatabase(t)
  const db = database.connect(1)
  const settings = { DATA_DIR: createFolder(t), ENCRYPTION_KEY: testEncryptionKey, DATABASE_URL: urlOf(database) }
  const env = { ...settings, PORT: String(await freePort()), PROCESSES: '1' }
  const fine = await runDoctor(env)
  assert.equal(fine.code, 0, fine.text)
  assertFound(fine, 'database', 'ok', /^PostgreSQL 18/)
  assertFound(fine, 'connections', 'ok', /opens up to 38, and the server allows \d+/)

  await db`insert into migrations (name) values ('9999_future.sql')`
  assertFound(await runDoctor(env), 'migrations', 'warning', /1 migration of a newer release \(9999_future\.sql\)/)
  await db`delete from migrations where name = '9999_future.sql'`
  const [last] = await db`delete from migrations where name = (select max(name) from migrations) returning name`
  assertFound(await runDoctor(env), 'migrations', 'ok', new RegExp(`^1 migration pending \\(${last?.name}`))
  await db`insert into migrations (name) values ('0033_unreleased.sql')`
  assertFound(
    await runDoctor(env),
    'migrations',
    'problem',
    /^the database has 1 migration of an unreleased version \(0033_unr/,
  )
  await db`delete from migrations where name = '0033_unreleased.sql'`
  await db`insert into migrations (name) values (${last?.name})`

  const empty = await createDatabase(t, { empty: true })
  const unused = await runDoctor({ ...env, DATABASE_URL: urlOf(empty) })
  assert.equal(unused.code, 0, unused.text)
  assertFound(unused, 'migrations', 'ok', /the database is empty; the next start runs all/)
  assert.deepEqual([...(await empty.connect(1)`select relname from pg_class where relname = 'migrations'`)], [])

  const absent = env.DATABASE_URL.replace(database.address.database, 'absent')
  const missing = await runDoctor({ ...env, DATABASE_URL: absent })
  assert.match(assertFound(missing, 'database', 'problem', /"absent" does not exist/), /create database absent owner/)

  const role = `limited_${database.address.database}`
  await db`create role ${db(role)} login connection limit 5`
  t.after(() => db`drop role ${db(role)}`.catch(() => {}))
  const limited = await runDoctor({ ...env, DATABASE_URL: urlOf(database, role) })
  const fix = assertFound(limited, 'database', 'problem', /may not create tables/)
  assert.match(fix, /alter database .* owner to limited_/)
  assertFound(limited, 'connections', 'problem', /up to 38, and the server allows 5/)

  await start(t, { alone: 'runs commands on a database without secrets' })
  const other = await runDoctor({ ...env, ENCRYPTION_KEY: 'ab'.repeat(32) })
  assert.equal(other.code, 0, 'a database without secrets has no key')
})

test('a key that does not open the secrets is a problem', async (t) => {
  const { database, url, connect } = await start(t, { alone: 'runs commands on its database' })
  await connect()
  const env = await settingsOf(t, database, url)
  assertFound(await runDoctor(env), 'encryption_key', 'ok', /opens the secrets/)
  const key = 'ab'.repeat(32)
  const doctor = await runDoctor({ ...env, ENCRYPTION_KEY: key })
  assert.equal(doctor.code, 1)
  assert.match(assertFound(doctor, 'encryption_key', 'problem', /does not open the secrets/), /backup/)
  assertFound(doctor, 'channels', 'problem', /its secrets cannot be opened/)
  assert.ok(!doctor.text.includes(key))
})

const pgbouncer = resolvePgbouncer()

test('a pooler may have session mode, not transaction mode', {
  skip: !pgbouncer && 'PgBouncer is absent',
}, async (t) => {
  const { address } = await createDatabase(t)
  const env = { DATA_DIR: createFolder(t), PORT: String(await freePort()), ENCRYPTION_KEY: testEncryptionKey }
  const good = await createPooler(t, address, { mode: 'session' })
  await good.start()
  const fine = await runDoctor({ ...env, DATABASE_URL: good.url })
  assert.equal(fine.code, 0, fine.text)
  const pooler = await createPooler(t, address, { mode: 'transaction' })
  await pooler.start()
  const doctor = await runDoctor({ ...env, DATABASE_URL: pooler.url })
  assert.match(assertFound(doctor, 'database', 'problem', /pooler in transaction mode/), /pool_mode = session/)
})

test('a data folder that the user cannot write to is a problem', async (t) => {
  const isRoot = process.getuid?.() === 0
  const uid = 65_534
  const parent = createFolder(t)
  chmodSync(parent, 0o755)
  const dataDir = join(parent, 'data')
  mkdirSync(dataDir, { mode: 0o755 })
  if (!isRoot) chmodSync(dataDir, 0o555)
  const options = isRoot ? { uid } : {}
  if (isRoot && !canRun(uid)) return t.skip('an ordinary user cannot read this folder')
  const env = { DATA_DIR: dataDir, PORT: String(await freePort()) }
  const doctor = await runDoctor(env, options)
  assert.equal(doctor.code, 1, doctor.text)
  assertFound(doctor, 'rights', 'problem', /data belongs to .*cannot write to it$/)
  const fresh = await runDoctor({ ...env, DATA_DIR: join(dataDir, 'new') }, options)
  assertFound(fresh, 'rights', 'problem', /new does not exist yet, and .*cannot write to it$/)
  if (isRoot) {
    chownSync(dataDir, uid, uid)
    assertFound(await runDoctor(env, options), 'rights', 'ok', /is writable for/)
    const low = await runDoctor({ ...env, PORT: '809' }, options)
    const allowed = execFileSync('cat', ['/proc/sys/net/ipv4/ip_unprivileged_port_start'], { encoding: 'utf8' })
    if (Number(allowed) > 809) assertFound(low, 'port', 'problem', /may not listen on 809/)
  }
})

/** Whether that user can read the program. */
function canRun(uid: number): boolean {
  try {
    execFileSync(process.execPath, ['bin/parley.ts', '--help'], { uid, gid: uid, env: ownEnv, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('files with secrets that other users can read are named', async (t) => {
  const dataDir = createFolder(t)
  for (const name of ['encryption.key', 'demo.json'])
    writeFileSync(join(dataDir, name), '5e'.repeat(32), { mode: 0o640 })
  const doctor = await runDoctor({ DATA_DIR: dataDir, PORT: String(await freePort()) })
  const fix = assertFound(doctor, 'rights', 'warning', /encryption\.key .*mode 640/)
  assert.match(fix, /^Run chmod 600 .*encryption\.key$/)
  assertFound(doctor, 'rights', 'warning', /demo\.json/)
  assert.doesNotMatch(doctor.text, /5e5e/)
})

test('the certificate of the public URL is examined', async (t) => {
  const examine = async (validity: object, { trusted = true, host = '127.0.0.1' } = {}) => {
    const certificate = createCertificate(validity)
    const file = join(createFolder(t), 'ca.crt')
    writeFileSync(file, certificate.cert)
    const server = createHttpsServer(certificate, (_request, response) => response.end())
    const port = await listen(t, server)
    return runDoctor({
      DATA_DIR: createFolder(t),
      PORT: String(await freePort()),
      PUBLIC_URL: `https://${host}:${port}`,
      ...(trusted ? { NODE_EXTRA_CA_CERTS: file } : {}),
    })
  }
  const fine = await examine({ to: 100 })
  assert.equal(fine.code, 0, fine.text)
  assertFound(fine, 'certificate', 'ok', /for 99 more days/)
  const soon = await examine({ to: 5 })
  assert.equal(soon.code, 0, soon.text)
  assert.match(assertFound(soon, 'certificate', 'warning', /for 4 more days/), /Renew/)
  const expired = await examine({ to: -2 })
  assert.equal(expired.code, 1)
  assert.match(assertFound(expired, 'certificate', 'problem', /expired on 20\d\d-\d\d-\d\d/), /Renew/)
  assertFound(await examine({ from: 1 }), 'certificate', 'problem', /not valid yet/)
  assertFound(await examine({ address: '192.0.2.1' }), 'certificate', 'problem', /is not for 127\.0\.0\.1/)
  assertFound(await examine({}, { trusted: false }), 'certificate', 'problem', /is not trusted: /)

  // Parley has the certificate itself, and does not run.
  const own = createCertificate({ to: 3 })
  const files = { TLS_CERT_FILE: join(createFolder(t), 'tls.crt'), TLS_KEY_FILE: join(createFolder(t), 'tls.key') }
  writeFileSync(files.TLS_CERT_FILE, own.cert)
  writeFileSync(files.TLS_KEY_FILE, own.key, { mode: 0o600 })
  const stopped = await runDoctor({ DATA_DIR: createFolder(t), PORT: String(await freePort()), ...files })
  assertFound(stopped, 'certificate', 'warning', /TLS_CERT_FILE is valid until .* for 2 more days/)
})

test('the mail server is asked to accept the password, and no e-mail is sent', async (t) => {
  const server = await startMailServer(t)
  const { url, from } = server.settings
  const env = { DATA_DIR: createFolder(t), PORT: String(await freePort()), SMTP_FROM: from }
  const fine = await runDoctor({ ...env, SMTP_URL: url })
  assert.equal(fine.code, 0, fine.text)
  assert.match(assertFound(fine, 'mail', 'warning', /accepts the user parley, without encryption/), /requireTLS=true/)
  const wrong = await runDoctor({ ...env, SMTP_URL: url.replace(/:[^:@]+@/, ':pw-of-mail@') })
  assert.equal(wrong.code, 1)
  assert.match(assertFound(wrong, 'mail', 'problem', /535/), /password in SMTP_URL/)
  assert.doesNotMatch(wrong.text + fine.text, /pw-of-mail|a%2Fb|a\/b:c/)
  assert.deepEqual(server.mails, [])

  // Its answer repeats the password.
  const talkative = createServer((socket) => {
    socket.write('220 mail.test ESMTP\r\n')
    socket.on('data', (bytes) => {
      const isGreeting = /^EHLO/.test(bytes.toString())
      socket.write(isGreeting ? '250-mail.test\r\n250 AUTH PLAIN\r\n' : '535 no user has the password pw-of-mail\r\n')
    })
    socket.on('error', () => {})
  })
  const repeating = await runDoctor({ ...env, SMTP_URL: `smtp://a:pw-of-mail@127.0.0.1:${await listen(t, talkative)}` })
  assertFound(repeating, 'mail', 'problem', /no user has the password \[hidden\]/)
  assert.doesNotMatch(repeating.text, /pw-of-mail/)
})

test('the callback of each channel is verified as the provider does it', async (t) => {
  const { database, url, db, provider, api } = await withProvider(start(t, { alone: 'runs commands on its database' }))
  const env = await settingsOf(t, database, url)
  const fine = await runDoctor(env)
  assert.equal(fine.code, 0, fine.text)
  assertFound(fine, 'channels', 'ok', /^msgapp of "Acme" \(simulator\): the callback .* answers$/)
  assertFound(fine, 'channels', 'ok', /^social of "Acme" .*accepts the access token$/)
  const verifiedAt = async (): Promise<Json[]> => [
    ...(await db`select callback_verified_at from channel_connections where channel = 'msgapp'`),
  ]
  assert.deepEqual(await verifiedAt(), [{ callback_verified_at: null }])

  const away = await runDoctor({ ...env, PUBLIC_URL: 'http://127.0.0.1:1' })
  assert.equal(away.code, 1)
  const fix = assertFound(away, 'channels', 'problem', /msgapp .* cannot be reached: connection refused/)
  assert.match(fix, /PUBLIC_URL/)
  const answerAs = async (handle: RequestListener) => `http://127.0.0.1:${await listen(t, createHttpServer(handle))}`
  const proxy = await answerAs((_request, response) => response.writeHead(502).end())
  const proxied = await runDoctor({ ...env, PUBLIC_URL: proxy })
  assert.match(assertFound(proxied, 'channels', 'problem', /HTTP 502/), /upstream/)
  const page = await answerAs((_request, response) => response.end('Welcome'))
  assertFound(await runDoctor({ ...env, PUBLIC_URL: page }), 'channels', 'problem', /HTTP 200 without the challenge/)

  await provider.goDown()
  assertFound(await runDoctor(env), 'channels', 'problem', /msgapp .*Reach the provider: .*connection refused/)
  await provider.comeUp()

  // A real provider calls https only. Its clock is compared with the database's.
  const hourAhead = await answerAs((_request, response) => {
    response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString())
    response.writeHead(401).end(JSON.stringify({ error: { code: 190, message: 'The token has expired' } }))
  })
  await db`update channel_connections set simulator = null, base_url = ${hourAhead} where workspace_id = ${api.workspaceId}`
  const real = await runDoctor(env)
  assertFound(real, 'channels', 'problem', /the provider cannot call http:.* not https/)
  const fixOfToken = assertFound(real, 'channels', 'problem', /Access token is valid: 190: The token has expired/)
  assert.match(fixOfToken, /access token under Settings, Channels/)
  assertFound(real, 'clock', 'problem', /differs by 3[56]\d\d s/)

  const silent = `http://127.0.0.1:${await listen(
    t,
    createServer(() => {}),
  )}`
  await db`update channel_connections set simulator = 'alone', base_url = ${silent}`
  const hanging = await runDoctor({ ...env, PUBLIC_URL: silent })
  assertFound(hanging, 'channels', 'problem', /msgapp .*: the callback .* cannot be reached: no answer within/)
  assertFound(hanging, 'channels', 'problem', /msgapp .*: http:.* gave no answer within/)
  await db`update channel_connections set simulator = null, base_url = ${hourAhead}`

  const certificate = createCertificate()
  const forward: RequestListener = async (request, response) => {
    const answer = await fetch(url + request.url)
    response.writeHead(answer.status).end(await answer.text())
  }
  const port = await listen(t, createHttpsServer(certificate, forward))
  const secured = await runDoctor({ ...env, PUBLIC_URL: `https://127.0.0.1:${port}` })
  assertFound(secured, 'channels', 'warning', /the callback .* works, and the provider has not verified it yet/)
  assert.deepEqual(await verifiedAt(), [{ callback_verified_at: null }])

  const { msgapp, social } = provider.connections
  const secrets = [msgapp, social].flatMap(({ access_token, app_secret, verify_token }) => [
    ...[access_token, app_secret, verify_token],
  ])
  for (const { text } of [fine, away, real, secured])
    for (const secret of [...secrets, testEncryptionKey]) assert.ok(!text.includes(secret), 'a secret is printed')
})

test('a service that is not ready, and one of another version, are named', async (t) => {
  const answers: Record<string, [number, string]> = {
    '/healthz': [200, '{"status":"ok"}'],
    '/readyz': [503, '{"ready":false,"failing":["disk","deliver"],"restarting":["api-2"]}'],
    '/metrics': [200, 'parley_build_info{version="0.0.9"} 1\n'],
  }
  const handle: RequestListener = ({ url = '' }, response) => {
    const [status, text] = answers[url] ?? [404, '']
    response.writeHead(status).end(text)
  }
  const port = await listen(t, createHttpServer(handle))
  const database = await createDatabase(t)
  const doctor = await runDoctor(await settingsOf(t, database, `http://127.0.0.1:${port}`))
  assert.equal(doctor.code, 1)
  assertFound(doctor, 'port', 'ok', /is used by a Parley/)
  const fix = assertFound(doctor, 'service', 'problem', /not ready: disk, deliver/)
  assert.match(fix, /Free some space.*lines of deliver/)
  assertFound(doctor, 'service', 'warning', /being restarted: api-2/)
  assertFound(doctor, 'service', 'warning', new RegExp(`runs version 0\\.0\\.9, and this folder has ${version}`))
})

test('the help lists the command', async () => {
  const help = execFileSync(process.execPath, ['bin/parley.ts', '--help'], { encoding: 'utf8', env: ownEnv })
  assert.match(help, /^ {2}npx parley doctor$/m)
  const env = { ...ownEnv, PARLEY_COMMAND: '/opt/parley/deploy/parley' }
  const installed = execFileSync(process.execPath, ['bin/parley.ts', '--help'], { encoding: 'utf8', env })
  assert.match(installed, /^ {2}\/opt\/parley\/deploy\/parley doctor$/m)
  assert.doesNotMatch(installed, /npx parley /)
})
