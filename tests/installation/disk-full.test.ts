/** A full disk under load: callers get a clear error, nothing is lost, and the service continues by itself when there is space. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { audit } from '../../soak/audit.ts'
import { createSmallDisk, missingForDisk } from '../../soak/disk.ts'
import { type Load, startLoad } from '../../soak/load.ts'
import { type Stack, startStack } from '../../soak/stack.ts'
import { type Browser, createBrowser, createDatabase, until } from '../support.ts'

const skip = missingForDisk() ?? false
const mebibyte = 1024 * 1024

const readyOf = async ({ url }: Stack) => {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(10_000) }).catch(() => undefined)
  const body = (await response?.json().catch(() => undefined)) as { failing?: string[] } | undefined
  return { status: response?.status, failing: body?.failing ?? [] }
}

const untilFailing = (stack: Stack, name: string) =>
  until(`/readyz to name ${name}`, async () => {
    const { status, failing } = await readyOf(stack)
    return status === 503 && failing.includes(name)
  })

const untilReady = (stack: Stack) => until('/readyz to answer 200', async () => (await readyOf(stack)).status === 200)

/** Waits until every journey has had `count` more answers. */
async function untilAllWork(load: Load, count: number): Promise<void> {
  const before = load.counts()
  const isPast = (what: string) => (load.counts()[what] ?? 0) >= (before[what] ?? 0) + count
  await until('every journey to work', async () => ['sends', 'inbound', 'contacts', 'streamed'].every(isPast))
}

/**
 * Adds contacts until one is refused with this message: small changes still find space in the files of the database, which may also
 * restart because its disk is full.
 */
async function untilRefused({ url, keys }: Stack, message: RegExp): Promise<void> {
  let phone = 14_160_000_000
  await until(`a refusal with ${message}`, async () => {
    const response = await fetch(`${url}/v1/contacts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[phone % keys.length]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ phone: `+${++phone}` }),
    }).catch(() => undefined)
    // Callers who repeat their requests share the keys, and may have used them up for this minute.
    if (!response || response.status === 201 || response.status === 429) return false
    const body = await response.text()
    assert.equal(response.status, 503, body)
    assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
    const { error } = JSON.parse(body)
    assert.equal(error.code, 'internal')
    return message.test(error.message)
  })
}

/** Lines of the log that report a failure. A busy machine also has slow requests. */
const listFailures = (output: string) => output.split('\n').filter((line) => line.includes('"level":50'))

test('a full disk of the embedded database is reported, loses nothing, and is survived', { skip }, async (t) => {
  const disk = createSmallDisk(t, 300)
  const stack = await startStack(t, { dataDir: join(disk.folder, 'data'), keyCount: 40 })
  const load = await startLoad(t, stack, { pauseMs: 150, broadcastSize: 20, broadcastEveryMs: 5_000 })
  const [service] = stack.services
  assert.ok(service)
  await untilAllWork(load, 10)
  const pid = service.pid()

  disk.fill()
  const filledAt = performance.now()
  await untilFailing(stack, 'disk')
  await untilRefused(stack, /^the disk of the service is full; repeat the request later$/)
  const advice = 'the disk is full; free some space, and the service continues by itself'
  await until('the log to name the disk', async () => service.output().includes(advice))

  // PostgreSQL stops when there is no space for the next segment of its log. It may have prepared one. Only a segment with a
  // record is replaced.
  await until('the last segment', () =>
    stack.db`select pg_switch_wal(), pg_logical_emit_message(false, 'a', 'record')`.then(
      () => false,
      () => true,
    ),
  )
  await untilFailing(stack, 'database')
  await until('the end of PostgreSQL', async () => service.output().includes('the embedded database ended'))
  await untilRefused(stack, /^the database of the service is not available; repeat the request later$/)
  await until('an attempt to start it', async () => service.output().includes('could not start'))

  disk.free()
  const freedAt = performance.now()
  await untilReady(stack)
  await untilAllWork(load, 5)
  t.diagnostic(`everything worked ${Math.round(performance.now() - freedAt)} ms after the disk had space`)
  await load.stop()
  const differences = await audit(stack, load)
  load.end()
  assert.deepEqual(differences, [])
  assert.deepEqual([service.pid(), await Promise.race([service.ended(), 'runs'])], [pid, 'runs'])
  const failures = listFailures(service.output())
  // Each of three processes: a line for each kind of outage every 30 s, and each attempt to start PostgreSQL.
  const periods = Math.ceil((performance.now() - filledAt) / 30_000)
  assert.ok(failures.length < 30 * (periods + 1), `${failures.length} lines:\n${failures.join('\n')}`)
})

/** Without folders. */
const listFiles = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name)
    : []

async function signIn(t: TestContext, stack: Stack): Promise<Browser> {
  const browser = createBrowser(stack.url, stack.url)
  const [owner] = await stack.db<{ email: string }[]>`select email from members`
  const answer = await browser.signIn({ email: owner?.email ?? '', password: 'correct horse' })
  assert.equal(answer.status, 200, answer.text)
  t.after(() => browser.call('DELETE', '/session').catch(() => {}))
  return browser
}

test('a full disk of the media refuses uploads, keeps customers’ files for later, and stops no message', {
  skip,
}, async (t) => {
  const disk = createSmallDisk(t, 40)
  const { url: databaseUrl } = await createDatabase(t, { empty: true })
  const dataDir = join(disk.folder, 'data')
  const stack = await startStack(t, { databaseUrl, dataDir, serviceCount: 1, keyCount: 2 })
  const { cookie } = await signIn(t, stack)
  const upload = async () => {
    const response = await fetch(`${stack.url}/app/api/uploads?filename=film.mp4`, {
      method: 'POST',
      headers: { origin: stack.url, cookie: cookie(), 'content-type': 'application/pdf' },
      body: Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(10 * mebibyte)]),
    })
    return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() }
  }
  assert.equal((await upload()).status, 201)
  const [first, ...others] = listFiles(join(dataDir, 'media'))
  assert.ok(first && others.length === 0)

  // Less than the file, so that writing it ends in the middle.
  disk.fill(4 * mebibyte)
  await untilFailing(stack, 'disk')
  const refused = await upload()
  assert.deepEqual(refused, {
    status: 503,
    retryAfter: '1',
    body: { error: { code: 'internal', message: 'the disk of the service is full; repeat the request later' } },
  })
  disk.fill()
  await stack.provider.writes({ from: '+14155550100', type: 'image', media: { caption: 'look' } })
  await until('the file of the customer to fail', async () => {
    const [media] = await stack.db`select last_error, state from media`
    return media?.last_error && media.state === 'pending'
  })
  assert.deepEqual(listFiles(join(dataDir, 'media')), [first])
  assert.equal((await stack.db`select id from uploads`).length, 1)
  const sent = await fetch(`${stack.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.keys[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+14155550100', type: 'text', text: 'Thank you' }),
  })
  assert.equal(sent.status, 201, await sent.text())

  disk.free()
  await untilReady(stack)
  assert.equal((await upload()).status, 201)
  // The next attempt follows after a minute.
  await stack.db`update media set next_attempt_at = now()`
  await until('the file of the customer', async () => {
    const [media] = await stack.db`select state, attempt_count from media`
    return media?.state === 'stored' && media.attempt_count === 1
  })
  assert.equal(listFiles(join(dataDir, 'media')).length, 3)
})

const noFullDevice = !existsSync('/dev/full') && 'needs the device /dev/full of Linux'

test('a log whose disk is full ends no process', { skip: noFullDevice }, async () => {
  const source = `
    import { createLog, openOutput } from './server/lib/process/log.ts'
    const output = openOutput()
    const log = createLog('info', output)
    const timer = setInterval(() => log.info('a line'), 5)
    setTimeout(() => {
      clearInterval(timer)
      console.error('still here')
      output.destroy()
    }, 300)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', source], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
  })
  let errors = ''
  child.stderr?.on('data', (text) => (errors += text))
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.deepEqual([code, errors.includes('still here')], [0, true], errors)
})
