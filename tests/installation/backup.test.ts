/** `npx parley backup` and `restore`: the embedded database is copied while the service runs and restored into an empty folder. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFolder } from '../folder.ts'
import { connect, findEmbeddedPostgres } from '../internals.ts'
import type { Json } from '../owner.ts'
import { type Program, startService } from '../program.ts'
import { until } from '../support.ts'

const start = (t: TestContext, dataDir: string): Promise<Program> =>
  startService(t, { DATA_DIR: dataDir, DEMO: '1', PROCESSES: '1', LOG_LEVEL: 'warn' })

/** Runs an operator's command. Returns its exit code and what it printed. */
const run = (dataDir: string, ...args: string[]) => runAs(undefined, dataDir, ...args)

const runAs = (
  uid: number | undefined,
  dataDir: string,
  ...args: string[]
): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    const env = { ...process.env, DATA_DIR: dataDir, DEMO: '0' }
    const user = uid === undefined ? {} : { uid, gid: uid }
    execFile(process.execPath, ['bin/parley.ts', ...args], { env, ...user }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
  })

/** The number of rows and a checksum of the rows of every table that no background loop changes. */
async function fingerprint(dataDir: string): Promise<Record<string, string>> {
  const address = await findEmbeddedPostgres(dataDir)
  assert.ok(address)
  const db = connect({ database: address, max: 1 })
  const tables = [
    ...['workspaces', 'members', 'api_keys', 'contacts', 'conversations', 'messages', 'segments', 'labels', 'media'],
  ]
  const prints: Record<string, string> = {}
  for (const table of tables) {
    const [row] = await db<{ print: string }[]>`
      select count(*) || ' ' || coalesce(md5(string_agg(t::text, '' order by t::text)), '') as print from ${db(table)} t`
    prints[table] = row?.print ?? ''
  }
  await db.end()
  return prints
}

test('a backup of a running service restores into an empty folder with the same rows, media and keys', async (t) => {
  const home = createFolder(t)
  const [data, backup, restored] = ['data', 'backup', 'restored'].map((name) => join(home, name)) as [
    string,
    string,
    string,
  ]
  const service = await start(t, data)
  const demo = JSON.parse(readFileSync(join(data, 'demo.json'), 'utf8'))
  mkdirSync(join(data, 'media/extra'), { recursive: true })
  writeFileSync(join(data, 'media/extra/file'), 'bytes of a file')

  // Messages are sent all the time while the database is copied.
  let isOver = false
  let count = 0
  const sending = (async () => {
    while (!isOver) {
      const answer = await fetch(`${service.url}/v1/contacts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${demo.api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ phone: `+1415777${String(1_000 + count)}` }),
      })
      if (answer.status === 201) count++
      await new Promise((resolve) => setTimeout(resolve, answer.status === 201 ? 1 : 100))
    }
  })()
  await until('some contacts', async () => count > 20)
  const first = await run(data, 'backup', '--to', backup, '--json')
  isOver = true
  await sending
  assert.equal(first.code, 0, first.output)
  const summary = JSON.parse(first.output)
  assert.equal(summary.folder, backup)
  assert.ok(summary.files > 500 && summary.bytes > 1_000_000, first.output)

  // A second backup, of a service at rest, is equal to its source.
  const quiet = join(home, 'quiet')
  assert.equal((await run(data, 'backup', '--to', quiet)).code, 0)
  const before = await fingerprint(data)
  await service.kill('SIGTERM')

  for (const source of [backup, quiet]) {
    rmSync(restored, { recursive: true, force: true })
    const answer = await run(restored, 'restore', '--from', source)
    assert.equal(answer.code, 0, answer.output)
    const twin = await start(t, restored)
    const after = await fingerprint(restored)
    if (source === quiet) assert.deepEqual(after, before)
    const me = await fetch(`${twin.url}/v1/me`, { headers: { authorization: `Bearer ${demo.api_key}` } })
    assert.equal(me.status, 200)
    const contacts = Number(after.contacts?.split(' ')[0])
    assert.ok(contacts >= 20 && contacts <= Number(before.contacts?.split(' ')[0]))
    await twin.kill('SIGTERM')
    assert.equal(readFileSync(join(restored, 'media/extra/file'), 'utf8'), 'bytes of a file')
    const keyOf = (folder: string) => readFileSync(join(folder, 'encryption.key'), 'utf8')
    assert.equal(keyOf(restored), keyOf(data))
  }

  // Nothing is overwritten, and half a backup is none.
  assert.match((await run(data, 'backup', '--to', backup)).output, /is not empty; name a new folder/)
  assert.match((await run(data, 'backup', '--to', join(data, 'inside'))).output, /is inside the data folder/)
  assert.match((await run(data, 'restore', '--from', backup)).output, /is not empty; set DATA_DIR to a new folder/)
  if (process.platform === 'linux') {
    assert.match((await run(data, 'backup', '--to', '/proc/nope/backup')).output, /^ENOENT/)
    assert.match((await run('/proc/nope', 'restore', '--from', backup)).output, /^ENOENT/)
  }
  rmSync(join(backup, 'backup.json'))
  assert.match((await run(join(home, 'new'), 'restore', '--from', backup)).output, /is not a backup/)
})

test('a folder that the user may not read or write is named with the user', {
  skip: process.getuid?.() !== 0,
}, async (t) => {
  const [user, uid] = ['nobody', 65534] as const
  const home = createFolder(t)
  const closed = join(home, 'closed')
  mkdirSync(closed, { mode: 0o700 })
  writeFileSync(join(closed, 'backup.json'), '{}')
  chmodSync(home, 0o755)
  const refused = await runAs(uid, join(home, 'data'), 'restore', '--from', closed)
  assert.match(refused.output, new RegExp(`^${user} may not read ${closed}; give it to this user: chown -R ${user}: `))

  const data = join(home, 'data')
  mkdirSync(data)
  chownSync(data, uid, uid)
  const service = await start(t, data)
  const backup = await runAs(uid, data, 'backup', '--to', join(closed, 'new'))
  await service.kill('SIGTERM')
  assert.match(
    backup.output,
    new RegExp(`^${user} may not write to ${closed}; create a folder that belongs to ${user}`),
  )
})

test('with the archived log, a data folder returns to the moment before a mistake', async (t) => {
  const home = createFolder(t)
  const [data, backup, restored, archive] = ['data', 'backup', 'restored', 'archive'].map((name) =>
    join(home, name),
  ) as [string, string, string, string]
  mkdirSync(archive, { mode: 0o777 })
  const service = await start(t, data)
  const demo = JSON.parse(readFileSync(join(data, 'demo.json'), 'utf8'))
  const call = (url: string, method: string, path: string, body?: unknown) =>
    fetch(`${url}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${demo.api_key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const addContact = async (url: string, phone: string): Promise<string> => {
    const answer = await call(url, 'POST', '/contacts', { phone })
    assert.equal(answer.status, 201)
    const body: Json = await answer.json()
    return body.data.id
  }
  const configure = (dataDir: string, lines: string[]) =>
    appendFileSync(join(dataDir, 'postgres/data/postgresql.conf'), `${lines.join('\n')}\n`)

  await service.kill('SIGTERM')
  const keep = `test ! -f "${archive}/%f" && cp "%p" "${archive}/%f.part" && mv "${archive}/%f.part" "${archive}/%f"`
  configure(data, ['archive_mode = on', `archive_command = '${keep}'`, "archive_timeout = '60s'"])
  await service.start()
  assert.equal((await run(data, 'backup', '--to', backup)).code, 0)

  const kept = await addContact(service.url, '+14157771001')
  const address = await findEmbeddedPostgres(data)
  assert.ok(address)
  const db = connect({ database: address, max: 1 })
  const [moment] = await db<{ at: string }[]>`select clock_timestamp()::text as at`
  await db.end()
  assert.equal((await call(service.url, 'DELETE', `/contacts/${kept}`)).status, 200)
  const later = await addContact(service.url, '+14157771002')
  // A fast shutdown archives the rest of the log.
  await service.kill('SIGTERM')

  assert.equal((await run(restored, 'restore', '--from', backup)).code, 0)
  configure(restored, [
    `restore_command = 'cp "${archive}/%f" "%p"'`,
    `recovery_target_time = '${moment?.at}'`,
    "recovery_target_action = 'promote'",
  ])
  writeFileSync(join(restored, 'postgres/data/recovery.signal'), '')
  const twin = await start(t, restored)
  assert.equal((await call(twin.url, 'GET', `/contacts/${kept}`)).status, 200)
  assert.equal((await call(twin.url, 'GET', `/contacts/${later}`)).status, 404)
  // The recovered database is a primary, and archives its own log.
  await addContact(twin.url, '+14157771003')
})
