/** The program as an operator meets it: real processes, real signals, a database of its own. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { channelsOf, demoOf, me, parley, usedFolder } from '../demo.ts'
import { createFolder } from '../folder.ts'
import {
  connect,
  connectSimulator,
  createSealer,
  createWorkspace,
  findEmbeddedPostgres,
  requireSameKey,
} from '../internals.ts'
import { launcher, launchService, startService } from '../program.ts'
import { assertFields, createBrowser, createDatabase, type Json, until } from '../support.ts'

test('a second service on the same data folder is refused with an explanation', async (t) => {
  const dataDir = await usedFolder(t)
  const first = await startService(t, { DATA_DIR: dataDir })
  const second = await launchService(t, { DATA_DIR: dataDir })
  assert.equal(await second.ended(), 1)
  assert.match(second.output(), /already running/)
  assert.doesNotMatch(second.output(), /\n\s+at /)
  assert.equal((await me(first.url, demoOf(dataDir).api_key)).status, 200)
})

test('after kill -9 no acknowledged write is lost, and no process is left running', async (t) => {
  const dataDir = await usedFolder(t)
  const first = await startService(t, { DATA_DIR: dataDir })
  const { api_key, workspace_id } = demoOf(dataDir)
  const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' }
  const answered: string[] = []
  let alive = true
  const writing = (async () => {
    for (let i = 0; alive && i < 100; i++) {
      const body = JSON.stringify({ phone: `+1415555${1000 + i}` })
      const answer = await fetch(`${first.url}/v1/contacts`, { method: 'POST', headers, body }).catch(() => undefined)
      if (answer?.status === 201) answered.push(((await answer.json()) as Json).data.id)
    }
  })()
  await until('some contacts', async () => answered.length >= 20)
  await first.kill()
  alive = false
  await writing

  const second = await startService(t, { DATA_DIR: dataDir })
  const address = await findEmbeddedPostgres(dataDir)
  assert.ok(address)
  const db = connect({ database: address, max: 1 })
  const kept = await db<{ id: string }[]>`select id from contacts where workspace_id = ${workspace_id}`
  await db.end()
  const ids = new Set(kept.map(({ id }) => id))
  const lost = answered.filter((id) => !ids.has(id))
  assert.deepEqual(lost, [])
  assert.equal(await second.kill('SIGTERM'), 0)
})

test('npm start has no launcher beside the service, and the service stops when npm is killed', async (t) => {
  const dataDir = await usedFolder(t)
  const npm = await startService(t, { DATA_DIR: dataDir }, ['npm', 'start'])
  const children = execFileSync('ps', ['-A', '-o', 'ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .flatMap((row) => (Number.parseInt(row, 10) === npm.pid() ? row.trim() : []))
  assert.equal(children.length, 1, children.join('\n'))
  assert.match(children[0] ?? '', /node \S+server\/main\.ts$/)
  await npm.kill()
  await until('the database to stop', async () => !(await findEmbeddedPostgres(dataDir)))
  assert.equal(await fetch(`${npm.url}/healthz`).catch(() => undefined), undefined)
})

test('SIGTERM lets a request in flight finish, and ends streams at once', async (t) => {
  const dataDir = await usedFolder(t)
  const service = await startService(t, { DATA_DIR: dataDir }, launcher)
  const address = await findEmbeddedPostgres(dataDir)
  assert.ok(address)
  const db = connect({ database: address, max: 2 })
  const { api_key } = demoOf(dataDir)
  let release = () => {}
  const held = db.begin(async (sql) => {
    await sql`lock table contacts in access exclusive mode`
    await new Promise<void>((resolve) => {
      release = resolve
    })
  })
  await until('the lock', async () => (await db`select 1 from pg_locks where mode = 'AccessExclusiveLock'`).length > 0)
  const answer = fetch(`${service.url}/v1/contacts`, { headers: { authorization: `Bearer ${api_key}` } })
  await until('the request to wait', async () => (await db`select 1 from pg_locks where not granted`).length > 0)
  const key = { headers: { authorization: `Bearer ${api_key}` } }
  const phones = await fetch(`${service.url}/simulator/control/stream`)
  const events = await fetch(`${service.url}/v1/events/stream`, key)

  service.closeOutput()
  const stopped = service.kill('SIGTERM')
  // To their end: one that is cut off throws.
  assert.match(await phones.text(), /connected/)
  assert.match(await events.text(), /ready/)
  await until('it to refuse new callers', async () => !(await fetch(`${service.url}/healthz`).catch(() => undefined)))
  release()
  await held
  await db.end()

  assert.equal((await answer).status, 200)
  assert.equal(await stopped, 0)
})

test('several processes of any role share one database and one demo workspace', async (t) => {
  const { url } = await createDatabase(t, { empty: true })
  const shared = { DATABASE_URL: url, ENCRYPTION_KEY: 'ab'.repeat(32), DEMO: '1' }
  const folders = [createFolder(t), createFolder(t)]
  const [one, two] = await Promise.all(folders.map((dataDir) => startService(t, { ...shared, DATA_DIR: dataDir })))
  const worker = await startService(t, { ...shared, DATA_DIR: createFolder(t), ROLES: 'worker' })
  assert.ok(one && two)
  const demos = folders.flatMap((dataDir) => {
    try {
      return [demoOf(dataDir)]
    } catch {
      return []
    }
  })
  assert.equal(demos.length, 1)
  for (const { url } of [one, two]) assert.equal((await me(url, demos[0].api_key)).status, 200)
  assert.equal((await me(worker.url, demos[0].api_key)).status, 404)
  assert.equal((await fetch(`${worker.url}/metrics`)).status, 200)
})

test('invalid settings stop the start and are all listed', async (t) => {
  const wrong = await launchService(t, { DATA_DIR: createFolder(t), PORT: 'x', PROCESSES: '0', LOG_LEVEL: 'loud' })
  assert.equal(await wrong.ended(), 1)
  assert.match(wrong.output(), /PORT: .*\n.*PROCESSES: .*\n.*LOG_LEVEL: /)
})

test('an encryption key that cannot open the sealed secrets stops the start, until the operator confirms the new key', async (t) => {
  const database = await createDatabase(t)
  const [first, second] = ['ab', 'cd'].map((byte) => ({
    DATA_DIR: createFolder(t),
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: byte.repeat(32),
    DEMO: '0',
  }))
  assert.ok(first && second)
  const db = database.connect(1)
  const owner = { email: 'owner@acme.test', password: 'correct horse' }
  const workspace = { name: 'Acme', default_country: 'US', owner }
  const { workspace_id: workspaceId } = await db.begin((sql) => createWorkspace(sql, workspace))
  // Sealed before keys were checked.
  const [old, other] = [createSealer(first.ENCRYPTION_KEY), createSealer(second.ENCRYPTION_KEY)]
  const simulating = { sealer: old, workspaceId, kind: 'alone', simulatorUrl: 'http://127.0.0.1:1', db } as const
  await connectSimulator({ ...simulating, messagesPerSecond: 1 })

  const refused = await launchService(t, second)
  assert.equal(await refused.ended(), 1)
  assert.match(refused.output(), /^ENCRYPTION_KEY: does not open .*npx parley encryption-key accept/m)
  await requireSameKey(db, old)
  await assert.rejects(requireSameKey(db, other), /sealed with another one/)

  const accept = async () => {
    const { accepted, changed, note } = (await parley(second, 'encryption-key', 'accept')).json
    return { accepted, changed, note: note.split('.')[0] }
  }
  const replaced = { accepted: true, changed: true, note: 'This key replaces the previous one' }
  assert.deepEqual(await accept(), replaced)
  const kept = { accepted: true, changed: false, note: 'This is the key of the database already' }
  assert.deepEqual(await accept(), kept)
  await requireSameKey(db, other)
  await assert.rejects(requireSameKey(db, old), /sealed with another one/)
})

test('a process that is restarted without the file of the key does not continue with another key', async (t) => {
  const dataDir = await usedFolder(t)
  const { pid, output } = await startService(t, { DATA_DIR: dataDir, PROCESSES: '1' })
  rmSync(join(dataDir, 'encryption.key'))
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n')
  const engines = rows.flatMap((row) => {
    const [, pid] = /^ *(\d+) .*server\/main\.ts engines$/.exec(row.trimEnd()) ?? []
    return pid ? [Number(pid)] : []
  })
  const own = engines.find((engine) => readParent(engine) === pid())
  assert.ok(own)
  process.kill(own, 'SIGKILL')
  await until('the refusal', async () => /ENCRYPTION_KEY: does not open/.test(output()))
})

const readParent = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' }))

test('a port in use stops the start with an explanation and leaves nothing running', async (t) => {
  const dataDir = createFolder(t)
  const holder = createServer().listen(0, '127.0.0.1')
  t.after(() => holder.close())
  await new Promise((resolve) => holder.once('listening', resolve))
  const { port } = holder.address() as { port: number }
  const service = await launchService(t, { DATA_DIR: dataDir, PORT: String(port) })
  assert.equal(await service.ended(), 1)
  assert.equal(
    service.output().trim(),
    `Port ${port} is in use by another program, perhaps by another Parley. Stop that program, or set another port, such as PORT=${port + 1}.`,
  )
  assert.equal(await findEmbeddedPostgres(dataDir), undefined)
})

test('an address of another machine and a data folder without rights stop the start with an explanation', async (t) => {
  const dataDir = createFolder(t)
  const blocked = join(dataDir, 'file')
  writeFileSync(blocked, '')
  const absent = join(dataDir, 'absent')
  for (const [settings, explanation] of [
    [{ DATA_DIR: absent, HOST: '192.0.2.1' }, /^HOST: 192\.0\.2\.1 is not an address of this machine/],
    [
      { DATA_DIR: absent, HOST: 'nowhere.invalid' },
      /^HOST: nowhere\.invalid is not an address, and no name server knows/,
    ],
    [{ DATA_DIR: absent, HOST: 'nowhere.invalid', ROLES: 'worker' }, /^HOST: nowhere\.invalid is not an address/],
    // Linux answers as if the parent were missing.
    ...(process.platform === 'linux'
      ? [[{ DATA_DIR: '/proc/nope' }, /may not write to \/proc\/nope \(.*\)\./] as const]
      : []),
    // A file instead of a folder, because root may write to every folder.
    [{ DATA_DIR: join(blocked, 'data') }, /may not write to .*data \(.*\)\. Start Parley as the owner of this folder/],
  ] as const) {
    const service = await launchService(t, settings)
    assert.equal(await service.ended(), 1)
    assert.match(service.output().trim(), explanation)
    assert.doesNotMatch(service.output().trim(), /\n/)
  }
  assert.deepEqual(readdirSync(dataDir), ['file'])
})

test('a service with a low priority, which an ordinary user cannot raise, starts', {
  skip: process.platform !== 'linux' && 'setpriv is a command of Linux',
}, async (t) => {
  const asOrdinaryUser = ['setpriv', '--bounding-set', '-sys_nice', '--inh-caps', '-sys_nice']
  const prefix = [...(process.getuid?.() === 0 ? asOrdinaryUser : []), 'nice', '-n', '15']
  const service = await startService(t, { DATA_DIR: await usedFolder(t) }, [...prefix, ...launcher])
  assert.equal(await service.kill('SIGTERM'), 0)
})

test('with a certificate and a key the service uses HTTPS', async (t) => {
  const dataDir = createFolder(t)
  const tls = { TLS_CERT_FILE: 'tests/fixtures/tls.crt', TLS_KEY_FILE: 'tests/fixtures/tls.key' }
  const service = await startService(t, { DATA_DIR: dataDir, ...tls })
  const { port } = new URL(service.url)
  const { statusCode, headers } = await new Promise<IncomingMessage>((resolve, reject) => {
    const ca = readFileSync(tls.TLS_CERT_FILE)
    request({ host: '127.0.0.1', port, path: '/readyz', ca }, resolve).on('error', reject).end()
  })
  assert.equal(statusCode, 200)
  assert.equal(headers['strict-transport-security'], 'max-age=31536000')
  assert.match(demoOf(dataDir).base_url, /^https:/)
  assert.match(service.output(), new RegExp(`Dashboard +https://127\\.0\\.0\\.1:${port}`))
  assert.doesNotMatch(service.output(), /http:\/\//)
})

test('a demo workspace from a release without channels is completed', async (t) => {
  const dataDir = await usedFolder(t)
  const first = await startService(t, { DATA_DIR: dataDir })
  const { simulator_url: _, web_site_id: __, ...before } = demoOf(dataDir)
  const address = await findEmbeddedPostgres(dataDir)
  assert.ok(address)
  const db = connect({ database: address, max: 1 })
  await db`delete from channel_connections`
  await db.end()
  await first.kill('SIGTERM')
  writeFileSync(join(dataDir, 'demo.json'), JSON.stringify(before))

  const second = await startService(t, { DATA_DIR: dataDir })
  const demo = demoOf(dataDir)
  const { workspace_id, api_key } = before
  assertFields(demo, { workspace_id, api_key, simulator_url: `${second.url}/simulator` })
  const connected = await channelsOf(second.url, demo.owner)
  assert.equal(connected.find(({ channel }: Json) => channel === 'web').id, demo.web_site_id)
  assert.equal(connected.length, 3)
})

test('the command line connects a workspace to a simulator, and changes its pace later', async (t) => {
  const dataDir = await usedFolder(t)
  const env = { DATA_DIR: dataDir }
  const service = await startService(t, env)
  const owner = { email: 'owner@acme.test', password: 'a good password' }
  const credentials = ['--owner-email', owner.email, '--owner-password', owner.password]
  const { workspace_id } = (await parley(env, 'workspace', 'create', '--name', 'Acme', ...credentials)).json
  const connectSimulator = (...more: string[]) =>
    parley(env, 'workspace', 'connect-simulator', '--workspace', workspace_id, ...more)

  const first = await connectSimulator()
  assert.equal(first.code, 0, first.stderr)
  const { connection_id, phone_number_id, account_id, callback_url } = first.json
  assert.deepEqual(Object.keys(first.json).length, 4)
  assert.match(`${phone_number_id} ${account_id}`, /^\d{15,17} \d{15,17}$/)
  assert.equal(callback_url, `${service.url}/channels/msgapp/${connection_id}`)
  assert.equal(first.stderr, '')
  const [msgapp, social, web] = await channelsOf(service.url, owner)
  assert.deepEqual([msgapp.id, msgapp.callback_url, msgapp.messages_per_second], [connection_id, callback_url, 80])
  assert.deepEqual([social.channel, web.channel], ['social', 'web'])

  assert.deepEqual((await connectSimulator('--messages-per-second', '500')).json, first.json)
  const paced = await channelsOf(service.url, owner)
  const fast = [msgapp, social, web].map((connection) => ({ ...connection, messages_per_second: 500 }))
  assert.deepEqual(paced, fast)

  for (const [args, message] of [
    [['--url', 'http://127.0.0.1:1'], /--url: no simulator answers at http:\/\/127\.0\.0\.1:1\/simulator\/control/],
    [['--url', service.url.replace('http', 'ftp')], /--url: must be/],
    [['--messages-per-second', '0'], /--messages-per-second: /],
    [['--messages-per-second', 'many'], /--messages-per-second: /],
  ] as const) {
    const refused = await connectSimulator(...args, '--messages-per-second', '7', ...args)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, message)
    assert.doesNotMatch(refused.stderr, /\n\s+at /)
  }
  assert.deepEqual(await channelsOf(service.url, owner), paced)
  const absent = '01890000-0000-7000-8000-000000000000'
  const unknown = await parley(env, 'workspace', 'connect-simulator', '--workspace', absent)
  assert.match(unknown.stderr, /workspace not found/)
})

test('the command line warns when no simulator answers at the address, and still connects', async (t) => {
  const database = await createDatabase(t, { empty: true })
  const env = { DATA_DIR: createFolder(t), DATABASE_URL: database.url, ENCRYPTION_KEY: 'ab'.repeat(32) }
  const { url } = await startService(t, env)
  const created = await parley(env, 'workspace', 'create', '--name', 'Acme', '--owner-email', 'owner@acme.test')
  const beside = { ...env, PORT: new URL(url).port }
  const connected = await parley(beside, 'workspace', 'connect-simulator', '--workspace', created.json.workspace_id)
  assert.equal(connected.code, 0)
  assert.equal(connected.json.callback_url, `${url}/channels/msgapp/${connected.json.connection_id}`)
  const note = `the simulator at ${url}/simulator does not respond. It runs while the service runs with DEMO=1.`
  assert.equal(connected.stderr, `Note: ${note}\n`)
})

test('the command line registers the accounts with a stand-alone simulator', async (t) => {
  const requests: Json[] = []
  const simulator = createHttpServer((request, response) => {
    let text = ''
    request.on('data', (part) => (text += part))
    request.on('end', () => {
      requests.push({ method: request.method, url: request.url, body: JSON.parse(text) })
      response.end('{}')
    })
  }).listen(0, '127.0.0.1')
  t.after(() => simulator.close())
  await new Promise((resolve) => simulator.once('listening', resolve))
  const { port } = simulator.address() as { port: number }
  const database = await createDatabase(t, { empty: true })
  const env: Record<string, string> = {
    DATA_DIR: createFolder(t),
    DATABASE_URL: database.url,
    PUBLIC_URL: 'https://parley.example.com',
  }
  const created = await parley(env, 'workspace', 'create', '--name', 'Acme', '--owner-email', 'owner@acme.test')
  assert.equal(created.code, 0, created.stderr)
  const { workspace_id } = created.json
  const connectSimulator = (key: Record<string, string>) =>
    parley({ ...env, ...key }, 'workspace', 'connect-simulator', '--workspace', workspace_id, '--url', url)
  const url = `http://127.0.0.1:${port}/`

  assert.match((await connectSimulator({})).stderr, /ENCRYPTION_KEY: required/)
  const connected = await connectSimulator({ ENCRYPTION_KEY: 'ab'.repeat(32) })
  assert.equal(connected.code, 0, connected.stderr)
  const { connection_id, callback_url } = connected.json
  assert.equal(callback_url, `https://parley.example.com/channels/msgapp/${connection_id}`)
  assert.deepEqual(
    requests.map(({ method, url, body }) => [method, url, body.channel, body.workspace_id, body.messages_per_second]),
    [
      ['PUT', '/simulator/control/accounts', 'msgapp', workspace_id, 80],
      ['PUT', '/simulator/control/accounts', 'social', workspace_id, 80],
    ],
  )
  assert.equal(requests[0].body.callback_url, callback_url)
})

test('the command line lists workspaces, and deletes one after its name is confirmed', async (t) => {
  const dataDir = await usedFolder(t)
  const env = { DATA_DIR: dataDir, DEMO: '0' }
  const service = await startService(t, env)
  const { workspace_id: demoId, api_key } = demoOf(dataDir)
  const made = await parley(env, 'workspace', 'create', '--name', 'Acme Ltd', '--owner-email', 'owner@acme.test')
  const list = async () => (await parley(env, 'workspace', 'list')).json
  const [demo, acme] = await list()
  assertFields(demo, { workspace_id: demoId, name: 'Demo', is_demo: true, owners: ['owner@demo.test'] })
  assert.deepEqual([acme.workspace_id, acme.is_demo, acme.member_count], [made.json.workspace_id, false, 1])

  const remove = (...more: string[]) => parley(env, 'workspace', 'delete', '--workspace', demoId, ...more)
  assert.match((await remove()).stderr, /^--confirm: required/)
  assert.match((await remove('--confirm', 'Acme Ltd')).stderr, /^--confirm: must be Demo; nothing was deleted\n$/)
  assert.equal((await me(service.url, api_key)).status, 200)
  const media = () => readdirSync(join(dataDir, 'media'), { recursive: true, withFileTypes: true })
  assert.ok(media().some((entry) => entry.isFile()))
  const deleted = await remove('--confirm', 'Demo')
  assert.equal(deleted.code, 0, deleted.stderr)
  assert.deepEqual([deleted.json.workspace_id, deleted.json.name], [demoId, 'Demo'])
  assert.ok(deleted.json.deleted_rows > 100)
  assert.ok(!media().some((entry) => entry.isFile()))
  assert.equal((await me(service.url, api_key)).status, 401)
  assert.equal(readdirSync(dataDir).includes('demo.json'), false)
  assert.deepEqual(await list(), [acme])
  assert.match((await remove('--confirm', 'Demo')).stderr, /workspace not found/)
})

test('a command on a folder or a database without data of Parley is refused and creates nothing', async (t) => {
  const parent = createFolder(t)
  const dataDir = join(parent, 'wrong')
  for (const args of [
    ['backup', '--to', join(parent, 'backup')],
    ['member', 'reset-password', '--email', 'owner@demo.test'],
    ['workspace', 'create', '--name', 'Acme', '--owner-email', 'owner@acme.test'],
    ['migrate'],
  ]) {
    const refused = await parley({ DATA_DIR: dataDir }, ...args)
    assert.equal(refused.code, 1, args.join(' '))
    assert.match(refused.stderr, new RegExp(`^There is no database in ${dataDir}\\. .*deploy/parley.*\n$`))
  }
  assert.deepEqual(readdirSync(parent), [])

  const empty = await createDatabase(t, { empty: true })
  const env = { DATA_DIR: dataDir, DATABASE_URL: empty.url, ENCRYPTION_KEY: 'ab'.repeat(32) }
  const refused = await parley(env, 'encryption-key', 'accept')
  assert.match(refused.stderr, /^The database has no tables of Parley\..*parley migrate.*\n$/)
  assert.equal((await empty.connect(1)`select from pg_tables where schemaname = 'public'`).length, 0)
  assert.equal((await parley(env, 'migrate')).code, 0)
  assert.equal((await parley(env, 'encryption-key', 'accept')).code, 0)
})

test('the command line works beside a running service and without one', async (t) => {
  const dataDir = await usedFolder(t)
  const env = { DATA_DIR: dataDir }
  const alone = await parley(env, 'workspace', 'create', '--name', 'Cold', '--owner-email', 'cold@acme.test')
  assert.equal(alone.code, 0, alone.stderr)

  const service = await startService(t, env)
  const person = ['--owner-email', 'warm@acme.test', '--owner-password', 'a good password']
  const made = await parley(env, 'workspace', 'create', '--name', 'Warm', '--country', 'DE', ...person)
  assert.equal(made.code, 0, made.stderr)
  const { workspace_id, owner } = made.json
  assert.deepEqual(owner, { email: 'warm@acme.test', password: 'a good password' })
  const signIn = (who: object) => createBrowser(service.url).call('POST', '/session', who, { origin: service.url })
  assert.equal((await signIn(owner)).body.data.workspace.id, workspace_id)
  assert.equal((await signIn(alone.json.owner)).body.data.workspace.default_country, 'US')

  const key = 'legacy_live_0123456789abcdefghij'
  const importKey = (name: string, key: string, ...more: string[]) =>
    parley(env, 'key', 'import', '--workspace', workspace_id, '--name', name, '--key', key, ...more)
  const imported = await importKey('Old', key, '--scopes', 'contacts:read,contacts:write')
  assert.deepEqual(imported.json.prefix, key.slice(0, 16))
  const known: Json = await (await me(service.url, key)).json()
  assert.deepEqual([known.data.key.id, known.data.account.id], [imported.json.id, workspace_id])
  const expiry = ['--expires-at', '2020-01-01T00:00:00Z']
  assert.equal((await importKey('Past', `${key}x`, '--scopes', 'contacts:read', ...expiry)).code, 0)
  const epoch = await importKey('Epoch', `${key}y`, '--scopes', '', '--expires-at', '1970-01-01T00:00:00Z')
  assert.equal(epoch.code, 0, epoch.stderr)
  const never = await importKey('Never', `${key}z`, '--scopes', '', '--expires-at', '+200000-01-01T00:00:00Z')
  assert.match(never.stderr, /^--expires-at: not a date-time\n$/)
  assert.equal((await me(service.url, `${key}x`)).status, 401)

  const plan = await parley(env, 'plan', 'set', '--workspace', workspace_id, '--messages-per-month', '100', '--lapsed')
  assert.deepEqual(plan.json, { workspace_id, plan: { messages_per_month: 100, state: 'lapsed' } })
  const unlimited = await parley(env, 'plan', 'set', '--workspace', workspace_id, '--unlimited', '--active')
  assert.deepEqual(unlimited.json.plan, { messages_per_month: null, state: 'active' })

  const demo = await parley(env, 'member', 'reset-password', '--email', 'owner@demo.test')
  assert.deepEqual(demoOf(dataDir).owner, demo.json)
  const factors = await parley(env, 'member', 'reset-second-factor', '--email', 'WARM@acme.test')
  assert.deepEqual(factors.json, { email: 'WARM@acme.test', reset: 0 })
  const reset = await parley(env, 'member', 'reset-password', '--email', 'WARM@acme.test')
  assert.equal((await signIn(owner)).status, 401)
  assert.equal((await signIn(reset.json)).status, 200)
  assert.equal((await parley(env, 'migrate')).code, 0)

  for (const [args, message] of [
    [['workspace', 'create', '--name', 'X'], /--owner-email: required/],
    [['workspace', 'create', '--name', 'X', '--owner-email', 'x@y.z', '--country', 'XX'], /country/],
    [
      ['key', 'import', '--workspace', workspace_id, '--name', 'X', '--key', 'svc_live_x', '--scopes', ''],
      /required|legacy_live_/,
    ],
    [
      ['key', 'import', '--workspace', workspace_id, '--name', 'X', '--key', 'legacy_live_x', '--scopes', ''],
      /^key: .*16 to 200 printable characters/,
    ],
    [['plan', 'set', '--workspace', '01890000-0000-7000-8000-000000000000', '--unlimited'], /workspace not found/],
    [['plan', 'set', '--workspace', workspace_id, '--messages-per-month', '-1'], /messages-per-month/],
    [['member', 'reset-password', '--email', 'unknown@acme.test'], /member not found/],
    [['member', 'reset-second-factor', '--email', 'unknown@acme.test'], /member not found/],
    [['member', 'reset-single-sign-on', '--email', 'unknown@acme.test'], /member not found/],
    [['make', 'coffee'], /Usage/],
  ] as const) {
    const refused = await parley(env, ...args)
    assert.notEqual(refused.code, 0, args.join(' '))
    assert.match(refused.stderr, message)
    assert.doesNotMatch(refused.stderr, /\n\s+at /)
  }
})
