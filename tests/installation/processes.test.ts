/** A service of several processes: they answer as one, and one that is killed comes back. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { before, test } from 'node:test'
import { startPrograms } from '../crashing.ts'
import { createKey, type Db, listListeners, scopes } from '../internals.ts'
import type { Program } from '../program.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { file, type Json, until } from '../support.ts'

let service: Program
let db: Db
let receiver: Receiver
let workspaceId = ''
let key = ''
let calls = 0

before(async () => {
  const programs = await startPrograms(file, { env: { PROCESSES: '2', DEMO: '1' } })
  db = programs.db
  service = programs.services[0]
  receiver = await startReceiver(file)
  const [demo] = await db<{ workspace_id: string }[]>`
    select workspace_id from channel_connections where simulator = 'built_in' limit 1`
  workspaceId = demo?.workspace_id ?? ''
})

/** On a connection of its own: each goes to any of the API processes. */
async function ask(path: string, body?: unknown): Promise<{ status: number; text: string; json: Json }> {
  if (calls++ % 100 === 0) key = (await createKey(db, workspaceId, { name: 'Test', scopes, created_by: null })).key
  const response = await fetch(service.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, connection: 'close', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, text, json: /^[[{]/.test(text) ? JSON.parse(text) : undefined }
}

let lastPhone = 14155551000
const createContact = () => ask('/v1/contacts', { phone: `+${lastPhone++}` })

/** The processes of the service by name, without its database. */
function processes(): Record<string, number> {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  const children = rows.flatMap((row) => {
    const [, pid, parent, name] = /^ *(\d+) +(\d+) .*server\/main\.ts (\S+)$/.exec(row.trimEnd()) ?? []
    return Number(parent) === service.pid() ? [[name, Number(pid)]] : []
  })
  return Object.fromEntries(children)
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Kills a process and waits until `/readyz` names it. The service stays ready. */
async function kill(name: string): Promise<void> {
  const { [name]: pid = 0 } = processes()
  process.kill(pid, 'SIGKILL')
  await until(`${name} to be named`, async () => {
    const { status, json } = await ask('/readyz').catch(() => ({ status: 0, json: undefined }))
    // A process that answers the others late makes the service unready for a moment.
    if (status !== 200 || !json?.restarting) return false
    assert.deepEqual(json, { ready: true, status: 'ready', restarting: [name] })
    return true
  })
}

const isWhole = async (): Promise<boolean> => {
  const { status, json } = await ask('/readyz')
  return status === 200 && !json.restarting
}

const countOf = (metrics: string, series: string): number =>
  Number(
    metrics
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1] ?? 0,
  )

test('API processes share the port, and the engines and the simulator have processes of their own', async () => {
  const { engines, simulator, ...apis } = processes()
  const names = Object.keys(apis).sort()
  assert.deepEqual([names, typeof engines, typeof simulator], [['api-1', 'api-2'], 'number', 'number'])
  if (process.platform === 'linux') {
    const listening = await listListeners(Number(new URL(service.url).port))
    assert.deepEqual(listening.map(({ pid }) => pid).sort(), Object.values(apis).sort())
  }
  assert.equal(service.output().split('Parley is ready.').length, 2)
})

test('one scrape has the metrics of all processes, and reads each gauge once', async () => {
  const series = 'parley_http_requests_total{method="GET",route="/v1/me",status="200"}'
  for (let i = 0; i < 20; i++) assert.equal((await ask('/v1/me')).status, 200)
  const scrapes = [(await ask('/metrics')).text, (await ask('/metrics')).text]
  for (const metrics of scrapes) {
    assert.equal(countOf(metrics, series), 20)
    assert.equal(countOf(metrics, 'parley_webhook_queue{what="depth"}'), 0)
    assert.ok(countOf(metrics, 'parley_database_connections{state="idle"}') < 100)
    assert.ok(countOf(metrics, 'process_start_time_seconds') < Date.now() / 1000)
    const names = metrics.split('\n').flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? [])
    assert.equal(new Set(names).size, names.length)
    assert.ok(names.includes('parley_media') && names.includes('parley_broadcast_sends_total'))
  }
})

test('an event that one process writes reaches the streams of all', async (t) => {
  const streams = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const response = await fetch(`${service.url}/v1/events/stream`, { headers: { authorization: `Bearer ${key}` } })
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      t.after(() => reader?.cancel())
      let text = ''
      return async (wanted: string) => {
        while (!text.includes(wanted)) text += (await reader?.read())?.value ?? ''
      }
    }),
  )
  for (const receives of streams) await receives('ready')
  const { json } = await createContact()
  for (const receives of streams) await receives(json.data.id)
})

test('every API process serves the one simulator', async () => {
  for (let i = 1; i <= 6; i++) {
    const wrote = await ask('/simulator/control/inbound', { from: `+1415555200${i}`, text: 'Hello' })
    assert.equal(wrote.status, 200, wrote.text)
  }
  const sent = await ask('/v1/messages', { to: '+14155552001', text: 'Hi' })
  assert.equal(sent.status, 201, sent.text)
  for (let i = 1; i <= 6; i++) {
    assert.ok((await ask('/simulator/control/sent')).text.includes(sent.json.data.message_id))
  }
  assert.equal((await ask('/simulator')).status, 200)
})

test('after kill -9 of the simulator it comes back with what it accepted', async () => {
  const sent = await ask('/v1/messages', { to: '+14155552001', text: 'Hi again' })
  assert.equal(sent.status, 201, sent.text)
  await kill('simulator')
  await until('it to be back', async () =>
    (await ask('/simulator/control/sent')).text.includes(sent.json.data.message_id),
  )
  await until('all processes', isWhole)
})

test('after kill -9 of an API process the others answer, and it comes back', async () => {
  await kill('api-2')
  let answered = 0
  await until('it to be back', async () => {
    assert.equal((await ask('/v1/me')).status, 200)
    answered++
    return isWhole()
  })
  assert.ok(answered > 0)
  assert.equal(countOf((await ask('/metrics')).text, 'parley_process_restarts{process="api-2"}'), 1)
})

test('a webhook that is queued while the engines are down is delivered after their restart', async () => {
  const endpoint = await ask('/v1/webhooks', { url: receiver.url, events: ['contact.created'] })
  assert.equal(endpoint.status, 201, endpoint.text)
  await kill('engines')
  const { json } = await createContact()
  const [delivery] = await receiver.until(1)
  assert.ok(delivery?.raw.includes(json.data.id), delivery?.raw)
  await until('all processes', isWhole)
})

test('SIGTERM under load stops all processes and loses no acknowledged write', async () => {
  const pids = Object.values(processes())
  const acknowledged: string[] = []
  let isStopped = false
  const writing = Array.from({ length: 8 }, async () => {
    while (!isStopped) {
      const answer = await createContact().catch(() => undefined)
      if (answer?.status === 201) acknowledged.push(answer.json.data.id)
    }
  })
  await until('some contacts', async () => acknowledged.length > 40)
  assert.equal(await service.kill('SIGTERM'), 0)
  isStopped = true
  await Promise.all(writing)
  assert.deepEqual(pids.filter(isRunning), [])
  assert.equal((await db`select 1 from contacts where id in ${db(acknowledged)}`).length, acknowledged.length)
})

test('kill -9 of the main process leaves no process', async () => {
  await service.start()
  const pids = Object.values(processes())
  assert.equal(pids.length, 4)
  // Requests in flight, whose processes log that they end.
  const requests = Array.from({ length: 20 }, () => createContact().catch(() => undefined))
  await service.kill('SIGKILL')
  await Promise.all(requests)
  await until('all to end', async () => !pids.some(isRunning))
})
