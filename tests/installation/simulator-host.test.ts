/** One simulator for all services on a database, with a memory that outlives them: real processes, real kills. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { freeze } from '../../soak/freeze.ts'
import { demoOf } from '../demo.ts'
import { createFolder } from '../folder.ts'
import { claimFile, createWorkspace } from '../internals.ts'
import { createService, type Program } from '../program.ts'
import { toProvider } from '../provider.ts'
import { createDatabase, type Json, until } from '../support.ts'

const hello = { type: 'template', template: { name: 'hello_world' } }

type Service = Program & {
  send(to: string, message?: object): Promise<{ status: number; body: Json }>
  sent(): Promise<string[]>
  control(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>
}

/** Services on one database, each on a port of its own. */
async function createFleet(t: TestContext) {
  const database = await createDatabase(t)
  const db = database.connect(2)
  const settings = { DATABASE_URL: database.url, ENCRYPTION_KEY: 'cd'.repeat(32), DEMO: '1' }
  const folders: string[] = []

  const create = async (dataDir: string, env: Record<string, string> = {}): Promise<Service> => {
    folders.push(dataDir)
    const service = await createService(t, { ...settings, DATA_DIR: dataDir, ...env })
    const { control } = toProvider(`${service.url}/simulator`, '', {} as never)
    return {
      ...service,
      control,
      async send(to, message = hello) {
        // It is in the folder of the process that made the demo.
        const demoFolder = folders.find((folder) => existsSync(join(folder, 'demo.json'))) ?? ''
        const response = await fetch(`${service.url}/v1/messages`, {
          method: 'POST',
          headers: { authorization: `Bearer ${demoOf(demoFolder).api_key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ to, ...message }),
        })
        return { status: response.status, body: await response.json() }
      },
      sent: async () =>
        ((await control('GET', '/sent')).body.data as Json[]).map(({ message_id }): string => message_id),
    }
  }
  const start = async (dataDir: string, env?: Record<string, string>): Promise<Service> => {
    const service = await create(dataDir, env)
    await service.start()
    return service
  }
  const statusOf = async (messageId: string) => {
    const [message] = await db<{ status: string }[]>`select status from messages where id = ${messageId}`
    return message?.status
  }
  const hosts = async () => {
    const rows = await db<{ base_url: string }[]>`
      select distinct base_url from channel_connections where simulator = 'built_in'`
    return rows.map(({ base_url }) => base_url.replace('/simulator/graph', ''))
  }
  return { db, create, start, statusOf, hosts }
}

test('on another port the simulator keeps its messages, customers and unsent reports', async (t) => {
  const { start, statusOf } = await createFleet(t)
  const dataDir = createFolder(t)
  const first = await start(dataDir)
  assert.equal((await first.control('POST', '/inbound', { from: '+14155550111', text: 'hi' })).status, 200)
  const sent = await first.send('+14155550112')
  assert.equal(sent.status, 201, JSON.stringify(sent.body))
  await first.kill('SIGKILL')

  const second = await start(dataDir)
  assert.notEqual(second.url, first.url)
  assert.deepEqual(await second.sent(), [sent.body.data.msgapp_message_id])
  await until('the rest of its reports', async () => (await statusOf(sent.body.data.message_id)) === 'read')
  const text = await second.send('+14155550111', { type: 'text', text: 'still open' })
  assert.equal(text.status, 201, JSON.stringify(text.body))
  await until('it to be read', async () => (await statusOf(text.body.data.message_id)) === 'read')
})

test('a service that starts while a killed one still has the journal waits for it, and every accepted message stays in the log', async (t) => {
  const { db, create, start } = await createFleet(t)
  const dataDir = createFolder(t)
  const first = await start(dataDir)
  const before = await first.send('+14155550150')
  await first.kill('SIGTERM')

  const claim = claimFile(join(dataDir, 'simulator/service.lock'))
  assert.ok(claim.ok)
  const second = await create(dataDir, { PORT: new URL(first.url).port })
  const ready = second.start()
  // The lock of the host, which opens the journal next.
  await until('the second to reach the journal', async () => {
    const held = await db`
      select from pg_locks l join pg_database d on d.oid = l.database
      where l.locktype = 'advisory' and l.objid = 7263556 and l.granted and d.datname = current_database()`
    return held.length > 0
  })
  // Longer than a claim of the lock waits by itself.
  setTimeout(() => claim.release(), 1_500)
  await ready
  const after = await second.send('+14155550151')
  const ids = [before, after].map(({ body }) => body.data.msgapp_message_id)
  assert.deepEqual(await second.sent(), ids)
  const journals = readdirSync(join(dataDir, 'simulator')).filter((name) => name.endsWith('.jsonl'))
  assert.deepEqual(journals, ['service.jsonl'])
})

test('all services serve the same simulator, and another service takes over when its host is killed', async (t) => {
  const { start, statusOf, hosts } = await createFleet(t)
  const dataDir = createFolder(t)
  const first = await start(dataDir)
  const [second, third] = await Promise.all([start(dataDir), start(dataDir)])
  const all = [first, second, third]
  assert.deepEqual(await hosts(), [first.url])

  const ids: string[] = []
  for (const [i, service] of all.entries()) {
    const { status, body } = await service.send(`+1415555020${i}`)
    assert.equal(status, 201, JSON.stringify(body))
    ids.push(body.data.msgapp_message_id)
  }
  for (const service of all) assert.deepEqual(await service.sent(), ids)

  const fault = { to: '+14155550209', mode: 'reject', code: 131026 }
  assert.equal((await second.control('POST', '/faults', fault)).status, 200)
  assert.equal((await third.control('GET', '/faults')).body.data.length, 1)
  assert.equal((await first.send('+14155550209')).status, 502)
  assert.equal((await third.control('POST', '/inbound', { from: 'nobody' })).status, 400)
  assert.match(await (await fetch(`${third.url}/simulator`)).text(), /<!doctype html>/i)

  const stream = await fetch(`${second.url}/simulator/control/stream`)
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/)
  const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  assert.ok(events)
  assert.equal((await third.control('POST', '/inbound', { from: '+14155550210', text: 'through all' })).status, 200)
  let seen = ''
  while (!seen.includes('through all')) seen += (await events.read()).value ?? assert.fail('the stream ended')

  await first.kill('SIGKILL')
  await assert.rejects(async () => {
    while (!(await events.read()).done);
  })
  const answer = await until('a send to be taken again', async () => {
    const sent = await second.send('+14155550211')
    return sent.status === 201 && sent
  })
  const [host] = await hosts()
  assert.ok(host === second.url || host === third.url)
  // They share the folder, so nothing is forgotten, not even who wrote.
  for (const service of [second, third]) {
    const remembered = await until('it to find the host', async () => {
      const { status, body } = await service.control('GET', '/sent')
      return status === 200 && body.data.map(({ message_id }: Json) => message_id)
    })
    assert.deepEqual(remembered.slice(0, 3), ids)
    assert.ok(remembered.includes(answer.body.data.msgapp_message_id))
  }
  const text = await third.send('+14155550210', { type: 'text', text: 'and back' })
  assert.equal(text.status, 201, JSON.stringify(text.body))
  await until('it to be read', async () => (await statusOf(text.body.data.message_id)) === 'read')
})

test('services that start at once agree on one host, and the other takes over when it stops', async (t) => {
  const { start, hosts } = await createFleet(t)
  const [one, two] = await Promise.all([start(createFolder(t)), start(createFolder(t))])
  const [url] = await hosts()
  const [host, other] = url === one.url ? [one, two] : [two, one]
  assert.equal(url, host.url)
  const { status, body } = await other.send('+14155550300')
  assert.equal(status, 201, JSON.stringify(body))
  for (const service of [one, two]) assert.deepEqual(await service.sent(), [body.data.msgapp_message_id])

  assert.equal(await host.kill('SIGTERM'), 0, host.output())
  await until('a send to be taken again', async () => (await other.send('+14155550301')).status === 201)
  assert.deepEqual(await hosts(), [other.url])
})

test('a host that stands still is replaced, and gives way when it goes on', {
  skip: process.platform !== 'linux' && 'needs ps of Linux',
}, async (t) => {
  const { start, hosts } = await createFleet(t)
  const quick = { PARLEY_TEST_TIME_DIVISOR: '4' }
  const first = await start(createFolder(t), quick)
  const second = await start(createFolder(t), quick)
  const goOn = freeze(first)
  try {
    await until('the other to take over', async () => (await hosts())[0] === second.url)
    await until('a send to be taken again', async () => (await second.send('+14155550320')).status === 201)
  } finally {
    goOn()
  }
  const ids = await second.sent()
  await until('one simulator', async () => (await first.sent().catch(() => [])).join() === ids.join())
})

test('a simulator of another database at the same address is not used', async (t) => {
  const ours = await createFleet(t)
  const theirs = await createFleet(t)
  const dataDir = createFolder(t)
  const first = await ours.start(dataDir)
  await first.kill('SIGTERM')
  const { port } = new URL(first.url)
  const stranger = await theirs.start(createFolder(t), { PORT: port })
  assert.equal((await fetch(`${first.url}/simulator/control/faults`)).status, 200)

  const second = await ours.start(dataDir)
  assert.deepEqual(await ours.hosts(), [second.url])
  assert.equal((await second.send('+14155550400')).status, 201)
  assert.deepEqual(await stranger.kill('SIGTERM'), 0)
})

test('the host may use HTTPS with a private certificate', async (t) => {
  const { start, hosts } = await createFleet(t)
  const tls = { TLS_CERT_FILE: 'tests/fixtures/tls.crt', TLS_KEY_FILE: 'tests/fixtures/tls.key' }
  const ask = ({ url }: Service, path: string) =>
    new Promise<number | undefined>((resolve) => {
      const { port } = new URL(url)
      request({ host: '127.0.0.1', port, path, rejectUnauthorized: false }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .on('error', () => resolve(undefined))
        .end()
    })
  const first = await start(createFolder(t), tls)
  const second = await start(createFolder(t), tls)
  assert.deepEqual(await hosts(), [first.url.replace('http:', 'https:')])
  assert.equal(await ask(second, '/simulator/control/sent'), 200)
})

test("a simulator that is reachable from outside requires the session of the demo's owner", async (t) => {
  const { db, start } = await createFleet(t)
  const dataDir = createFolder(t)
  const exposed = { HOST: '0.0.0.0', PUBLIC_URL: 'http://parley.test' }
  const first = await start(dataDir, exposed)
  assert.match(first.output(), /DEMO=1 and more than this machine reaches the service/)
  const demo = demoOf(dataDir)
  const second = await start(dataDir, exposed)

  for (const { url } of [first, second]) {
    const ask = (path: string, options?: RequestInit) => fetch(`${url}/simulator${path}`, options)
    const fault = { method: 'POST', body: JSON.stringify({ mode: 'no_statuses', count: 1 }) }
    const json = { 'content-type': 'application/json' }
    for (const path of [
      ...['', '/', '/phone/phone.js', '/control/sent', '/control/phones', '/control/stream', '/media/1'],
    ]) {
      assert.equal((await ask(path)).status, 401, path)
    }
    assert.equal((await ask('/control/faults', { ...fault, headers: json })).status, 401)
    assert.equal((await ask('/graph/v25.0/me')).status, 401)
    assert.equal((await ask('/media/1?hash=x')).status, 404)
    // Members who are not the owner see the example pictures of templates too, at the address browsers use.
    const [sample] = await db<{ link: string }[]>`
      select components #>> '{0,example,header_handle,0}' as link from templates where name = 'appointment'`
    assert.match(sample?.link ?? '', /^http:\/\/parley\.test\/simulator\//)
    assert.equal((await fetch(`${url}${new URL(sample?.link ?? '').pathname}`)).status, 200)

    const signIn = async (who: object) => {
      const headers = { ...json, origin: url }
      const answer = await fetch(`${url}/app/api/session`, { method: 'POST', headers, body: JSON.stringify(who) })
      assert.equal(answer.status, 200)
      return String(answer.headers.getSetCookie()[0]?.split(';')[0])
    }
    const stranger = { email: `${randomUUID()}@acme.test`, password: 'correct horse' }
    await db.begin((sql) => createWorkspace(sql, { name: 'Acme', default_country: 'US', owner: stranger }))
    assert.equal((await ask('/control/sent', { headers: { cookie: await signIn(stranger) } })).status, 401)

    const cookie = await signIn(demo.owner)
    assert.match(await (await ask('', { headers: { cookie } })).text(), /<!doctype html>/i)
    assert.equal((await ask('/control/sent', { headers: { cookie } })).status, 200)
    for (const [origin, status] of [
      ['http://parley.test', 200],
      [url, 200],
      ['https://evil.example', 403],
    ] as const) {
      const answer = await ask('/control/faults', { ...fault, headers: { ...json, cookie, origin } })
      assert.equal(answer.status, status, origin)
    }
    assert.equal((await ask('/control/faults', { method: 'DELETE', headers: { cookie } })).status, 200)
  }

  // The service reaches the provider's API all the same, and the command line signs in by itself.
  assert.equal((await second.send('+14155550500')).status, 201)
  const args = ['bin/parley.ts', 'trigger', 'message.received', '--from', '+14155550501', '--json', '--url', first.url]
  const env = { ...process.env, DATA_DIR: dataDir, PARLEY_API_KEY: '', PARLEY_URL: '' }
  // Its address is not one that this machine resolves.
  writeFileSync(join(dataDir, 'demo.json'), JSON.stringify({ ...demoOf(dataDir), base_url: `${first.url}/v1` }))
  const triggered = await promisify(execFile)(process.execPath, args, { env })
  assert.match(JSON.parse(triggered.stdout).message_id, /^wamid\./)
})
