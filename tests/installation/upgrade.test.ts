/**
 * Upgrades: every release in `migrations/releases.json` is replaced by the present one, one service after the other, under load
 * on all journeys. The code of an earlier release comes from the history of the repository, that of the present one from the content of
 * its archive; `release.test.ts` installs the archive as an operator does it.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { describeSchema } from '../../scripts/schema.ts'
import { audit } from '../../soak/audit.ts'
import { type Load, startLoad } from '../../soak/load.ts'
import { type Stack, startStack } from '../../soak/stack.ts'
import { holdTransaction } from '../database.ts'
import { createFolder } from '../folder.ts'
import { type Db, migrate } from '../internals.ts'
import { type Browser, createBrowser, createDatabase, type Json, until } from '../support.ts'

type Release = { version: string; commit: string; last_migration: string }

const root = join(import.meta.dirname, '../..')
const releases: Release[] = JSON.parse(readFileSync(join(root, 'migrations/releases.json'), 'utf8'))

for (const { version, commit } of releases) {
  const skip = !isInHistory(commit) && `the history of this copy does not contain release ${version} (${commit})`
  test(`services of ${version} are replaced one by one without a failed request or a lost message`, { skip }, (t) =>
    upgrade(t, commit),
  )
}

async function upgrade(t: TestContext, commit: string): Promise<void> {
  const database = await createDatabase(t, { empty: true })
  const dataDir = createFolder(t)
  const previous = extract(t, commit)
  const present = unpackRelease(t)
  const code = [previous, previous]
  const stack = await startStack(t, {
    databaseUrl: database.url,
    codeOf: (index) => code[index] ?? present,
    envOf: () => ({ DEMO: '1', DATA_DIR: dataDir }),
  })
  const demo = await prepareDemo(stack, dataDir)
  const before = await demo.read()
  const load = await startLoad(t, stack, { pauseMs: 100, broadcastEveryMs: 3_000, broadcastSize: 20 })
  await untilMore(t, load)

  // The new process migrates before it serves. The other one keeps serving.
  code[1] = present
  await replace(stack, 1)
  const [old, current] = stack.services.map(({ url }) => url) as [string, string]
  await untilMore(t, load)
  await assertInboxIsShared(stack, load, old, current)

  code[0] = present
  await replace(stack, 0)
  await untilMore(t, load)
  await load.stop()
  assert.deepEqual(load.failures, [])
  const differences = await audit(stack, load)
  load.end()
  assert.deepEqual(differences, [])
  await assertInbox(stack.db, stack.workspaceId)
  const changes = findDifferences(await demo.read(), before, 'GET')
  const unintended = changes.filter((change) => !intended.some((pattern) => pattern.test(change)))
  assert.deepEqual(unintended, [])
}

test('a migration that was killed in the middle continues with the next start', async (t) => {
  const database = await createDatabase(t, { empty: true })
  const db = database.connect(2)
  await migrate(db, { last: releases[0]?.last_migration })
  // A concurrent index build waits for every transaction that began before it.
  const snapshot = 'set transaction isolation level repeatable read; select 1'
  const release = await holdTransaction(database.connect(1), snapshot)
  const child = spawn(process.execPath, ['bin/parley.ts', 'migrate'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: database.url, DATA_DIR: createFolder(t) },
    stdio: 'ignore',
  })
  t.after(() => child.kill('SIGKILL'))
  const migrator = await until('the migration to wait', async () => {
    const [row] = await db<{ pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and query ~* 'create index concurrently' and wait_event_type = 'Lock'`
    return row
  })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
  // As if the database had restarted too. Otherwise its process would finish the index.
  await db`select pg_terminate_backend(${migrator.pid}, 10000)`
  const invalid = () => db`select indexrelid::regclass from pg_index where not indisvalid`
  assert.equal((await invalid()).length, 1, 'the interrupted build left no invalid index')
  await release()
  const ran = await migrate(db)
  assert.ok(ran.includes('0037_inbox_indexes.sql'), ran.join())
  assert.equal((await invalid()).length, 0, 'the invalid index of the interrupted build is still there')
  assert.equal(await describeSchema(db), readFileSync(join(root, 'schema.sql'), 'utf8'))
})

/** Changes of answers that are not due to the migration, or that the changelog announces. */
const intended = [
  /\/keys .* last_used_at:/,
  /\/sessions .* last_seen_at:/,
  // The demo's key has all scopes of the release.
  /key scopes: 7 items became \d+$/,
  /\/keys data 0 scopes: 7 items became \d+$/,
  // A conversation with automated messages only is not in the inbox any more.
  /\/overview.* data (open|unassigned)_conversations:/,
]

/** A stop as every process manager does it, then a start with other code. */
async function replace({ services }: Stack, index: number): Promise<void> {
  const service = services[index]
  assert.equal(await service?.kill('SIGTERM'), 0, service?.output())
  await service?.start()
}

/** Waits until every journey has made progress. */
async function untilMore(t: TestContext, load: Load): Promise<void> {
  const before = load.counts()
  const least = { sends: 20, inbound: 10, contacts: 5, broadcasts: 1, streamed: 40 }
  const isPast = async () => {
    const counts = load.counts()
    return Object.entries(least).every(([what, more]) => (counts[what] ?? 0) >= (before[what] ?? 0) + more)
  }
  await until('load on all journeys', isPast).catch((error) => {
    t.diagnostic(`${JSON.stringify(before)} became ${JSON.stringify(load.counts())}`)
    throw error
  })
}

/** What a member does in a process of either release shows in the other one. */
async function assertInboxIsShared({ db, workspaceId, member }: Stack, { asked }: Load, old: string, current: string) {
  const browsers: Record<string, Browser> = {}
  for (const url of [old, current]) {
    const browser = createBrowser(url, url)
    const signedIn = await browser.signIn(member)
    assert.equal(signedIn.status, 200, signedIn.text)
    browsers[url] = browser
  }
  const read = async (url: string, id: string) => (await ask(browsers[url], 'GET', `/conversations/${id}`)).body.data
  // Stored since the migration, by either release.
  const customers = await db<{ id: string; phone: string }[]>`
    select v.id, c.phone from conversations v join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId} and v.unread_count > 0
    order by v.id desc
    limit 2`
  for (const [i, { id, phone }] of customers.entries()) {
    const [one, other] = i === 0 ? [old, current] : [current, old]
    const waiting = await read(current, id)
    assert.ok(waiting.inbox_at && waiting.waiting_since, `the message of ${phone} is not in the inbox`)
    await ask(browsers[one], 'POST', `/conversations/${id}/read`, {})
    assert.equal((await read(other, id)).unread_count, 0)
    const reply = { type: 'text', text: 'Until six.' }
    const { body } = await ask(browsers[one], 'POST', `/conversations/${id}/messages`, reply, 201)
    asked.sends.set(phone, { messageId: body.data.id ?? body.data.message_id })
    assert.equal((await read(other, id)).last_message_text, 'Until six.')
    assert.equal((await read(current, id)).waiting_since, null, 'a reply of the previous release did not end the wait')
    await ask(browsers[one], 'PATCH', `/conversations/${id}`, { status: 'closed' })
    assert.equal((await read(other, id)).status, 'closed')
  }
}

/** Every conversation with a customer's message is in the inbox. Processes of the previous release received some of them. */
async function assertInbox(db: Db, workspaceId: string): Promise<void> {
  const missing = await db`
    select id from conversations where workspace_id = ${workspaceId} and last_inbound_at is not null and inbox_at is null`
  assert.equal(missing.length, 0, `${missing.length} conversations with a customer's message are not in the inbox`)
}

type Demo = {
  /** Answers by path, with the key and the session that the previous release issued. */
  read(): Promise<Record<string, Json>>
}

/** Adds data of every kind to the demo workspace through the API and the dashboard of the previous release. */
async function prepareDemo({ url }: Stack, dataDir: string): Promise<Demo> {
  const { owner, api_key: key } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  const browser = createBrowser(url, url)
  assert.equal((await browser.signIn(owner)).status, 200)
  const call = async (method: string, path: string, body?: Json, status = 200) => {
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    assert.equal(response.status, status, `${method} ${path}: ${text}`)
    return JSON.parse(text)
  }
  const contact = await call('POST', '/contacts', { phone: '+12025550001', name: 'Ann Kept', tags: ['Kept'] }, 201)
  const list = await call('POST', '/segments', { name: 'Kept people', contact_ids: [contact.data.id] }, 201)
  await call('POST', '/webhooks', { url: 'https://127.0.0.1:9/hooks', events: ['contact.created'] }, 201)
  const template = { name: 'order_confirmed', language: 'en_US', params: ['Ann', 'A-1'] }
  const scheduled = await call(
    'POST',
    '/broadcasts',
    {
      name: 'Later',
      template,
      segment_id: list.data.id,
      scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
    },
    202,
  )
  await ask(browser, 'POST', '/members', { email: 'agent@kept.test', role: 'agent' }, 201)
  const { data: conversations } = await call('GET', '/conversations?limit=10')
  assert.ok(conversations.length > 5)
  const api = [
    '/me',
    '/contacts?limit=100',
    `/contacts/${contact.data.id}`,
    '/segments',
    `/segments/${list.data.id}/contacts`,
    '/conversations?limit=100',
    ...conversations.map(({ id }: Json) => `/conversations/${id}/messages?limit=100`),
    `/broadcasts/${scheduled.data.id}`,
    '/webhooks',
  ]
  const pages = [
    ...['/members', '/keys', '/sessions', '/tags', '/templates', '/broadcasts', '/webhooks', '/search?q=order'],
    '/overview?days=30',
  ]
  return {
    async read() {
      const answers: Record<string, Json> = {}
      for (const path of api) answers[path] = await call('GET', path)
      for (const path of pages) answers[path] = (await ask(browser, 'GET', path)).body
      // Links begin with the address of the service that answered.
      return JSON.parse(JSON.stringify(answers).replaceAll(/http:\/\/127\.0\.0\.1:\d+\/media/g, '/media'))
    },
  }
}

async function ask(browser: Browser | undefined, method: string, path: string, body?: Json, status = 200) {
  assert.ok(browser)
  const answer = await browser.call(method, path, body)
  assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
  return answer
}

/** Fields of `earlier` that have another value in `later`, which may have more fields. */
function findDifferences(later: Json, earlier: Json, path: string): string[] {
  if (typeof earlier !== 'object' || earlier === null)
    return later === earlier ? [] : [`${path}: ${JSON.stringify(earlier)} became ${JSON.stringify(later)}`]
  if (Array.isArray(earlier) && later?.length !== earlier.length)
    return [`${path}: ${earlier.length} items became ${later?.length}`]
  return Object.keys(earlier).flatMap((name) => findDifferences(later?.[name], earlier[name], `${path} ${name}`))
}

/** The code of a commit with the present dependencies. They contain those of the release. */
function extract(t: TestContext, commit: string): string {
  const path = createFolder(t)
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1 << 28 })
  execFileSync('tar', ['x', '-C', path], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
  // No browser loads its pages, and building them would take most of the test's time.
  for (const page of ['dashboard/src/main.tsx', 'widget/src/main.ts']) {
    if (existsSync(join(path, page))) writeFileSync(join(path, page), 'export {}\n')
  }
  return path
}

/** The content of the release's archive. */
function unpackRelease(t: TestContext): string {
  const path = createFolder(t)
  execFileSync(process.execPath, ['scripts/release.ts', '--unpacked', path], { cwd: root })
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
  return path
}

function isInHistory(commit: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
