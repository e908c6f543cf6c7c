/** A service with little memory serves a thousand streams, large imports and a long download at the same time. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPrograms } from '../crashing.ts'
import { countsOf, createImporter } from '../importing.ts'
import { createKey, createWorkspace, type Db, scopes } from '../internals.ts'
import type { Program } from '../program.ts'
import { createBrowser, type Json, type Owner, until } from '../support.ts'

/** For the objects of one process. Buffers and code are extra. */
const heapMegabytes = 256

/** The service allows 20 for each workspace. */
const streamsPerWorkspace = 20
const workspaceCount = 50

/** The largest files that an import takes. A workspace runs one at a time, and a process two. */
const importCount = 3
const importBytes = 100 * 1024 * 1024
const importRows = 500_000

/** Generous, for a busy machine. */
const checkMs = 10 * 60_000

const exportRows = 50_000

const newline = 10

type Tenant = { workspaceId: string; key: string; owner: { email: string; password: string } }

test('1,000 streams, three imports of 100 MiB and a slow download need no more than 256 MB of heap', async (t) => {
  const env = { NODE_OPTIONS: `--max-old-space-size=${heapMegabytes}`, PROCESSES: '1' }
  const { db, services } = await startPrograms(t, { env })
  const [service] = services
  const tenants = await Promise.all(Array.from({ length: workspaceCount }, (_, i) => addTenant(db, i)))
  const [exporter = tenants[0] as Tenant, ...others] = tenants
  await insertContacts(db, exporter.workspaceId, exportRows)
  const importFile = writeFile(14_152_000_000)
  const before = processesOf(service)
  assert.deepEqual(Object.keys(before).sort(), ['api-1', 'engines'])

  const streams = await Promise.all(
    tenants.flatMap(({ key }) =>
      Array.from({ length: streamsPerWorkspace }, () => openStream(t, `${service.url}/v1/events/stream`, key)),
    ),
  )
  for (const stream of streams) await stream.has('event: ready')

  const imports = Promise.all(others.slice(0, importCount).map((one) => checkImport(service.url, one, importFile)))
  let isOver = false
  const peaks: Record<string, number> = {}
  const keepAsking = async () => {
    for (let i = 0; !isOver; i++) {
      const { key } = tenants[i % tenants.length] as Tenant
      const answer = await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${key}` } })
      assert.equal(answer.status, 200, await answer.text())
      for (const [name, { megabytes }] of Object.entries(processesOf(service)))
        peaks[name] = Math.max(peaks[name] ?? 0, megabytes)
      await sleep(200)
    }
  }
  const download = downloadSlowly(service.url, exporter)
  const work = Promise.all([imports, download]).finally(() => {
    isOver = true
  })
  // Together, so that the first failure ends the test and no later one is left without a handler.
  const [[reports, rows]] = await Promise.all([work, keepAsking()])
  for (const result of reports) assert.deepEqual(countsOf(result), [importRows, 0, 0, 0])
  assert.equal(rows, exportRows)

  await Promise.all(
    tenants.map(async ({ key }, i) => {
      const answer = await fetch(`${service.url}/v1/contacts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ phone: `+1415777${1000 + i}` }),
      })
      const { data } = (await answer.json()) as Json
      for (const stream of streams.slice(i * streamsPerWorkspace, (i + 1) * streamsPerWorkspace))
        await stream.has(data.id)
    }),
  )
  const pidsOf = (all: ReturnType<typeof processesOf>) => Object.entries(all).map(([name, { pid }]) => [name, pid])
  assert.deepEqual(pidsOf(processesOf(service)), pidsOf(before), 'a process was restarted')
  t.diagnostic(`the largest resident sizes in MB: ${JSON.stringify(peaks)}`)
})

async function addTenant(db: Db, index: number): Promise<Tenant> {
  const { workspace_id: workspaceId, owner } = await db.begin((sql) =>
    createWorkspace(sql, {
      name: `Shop ${index}`,
      default_country: 'US',
      owner: { email: `owner-${index}@shop.test` },
    }),
  )
  const { key } = await createKey(db, workspaceId, { name: 'Test', scopes, created_by: null })
  return { workspaceId, key, owner }
}

async function insertContacts(db: Db, workspaceId: string, count: number): Promise<void> {
  await db`
    insert into contacts (workspace_id, id, phone, name, created_at, updated_at)
    select ${workspaceId}, uuidv7(), '+1415' || 2000000 + i, 'Customer number ' || i, now(), now()
    from generate_series(1, ${count}::int) as i`
}

/** The processes of the service, and what each has in memory. */
function processesOf(service: Program): Record<string, { pid: number; megabytes: number }> {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,rss=,args='], { encoding: 'utf8' }).split('\n')
  const found = rows.flatMap((row) => {
    const [, pid, parent, kilobytes, name] =
      /^ *(\d+) +(\d+) +(\d+) .*server\/main\.ts (\S+)$/.exec(row.trimEnd()) ?? []
    if (Number(parent) !== service.pid()) return []
    return [[name, { pid: Number(pid), megabytes: Math.round(Number(kilobytes) / 1024) }] as const]
  })
  return Object.fromEntries(found)
}

/** A stream of events. Reads all of it. */
async function openStream(t: Owner, url: string, key: string): Promise<{ has(part: string): Promise<unknown> }> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(response.status, 200)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  t.after(() => reader?.cancel().catch(() => {}))
  let text = ''
  let isOpen = true
  void (async () => {
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
    isOpen = false
  })().catch(() => {
    isOpen = false
  })
  return {
    has: (part) =>
      until(`a stream to have ${part}`, () => {
        assert.ok(isOpen, 'the stream ended')
        return text.includes(part)
      }),
  }
}

/** Reads the contacts as a file, at most a megabyte per second. Resolves to the number of rows. */
async function downloadSlowly(url: string, { owner }: Tenant): Promise<number> {
  const browser = createBrowser(url, url)
  assert.equal((await browser.signIn(owner)).status, 200)
  const response = await fetch(`${url}/app/api/contacts.csv`, { headers: { cookie: browser.cookie() } })
  assert.equal(response.status, 200)
  let lines = 0
  for await (const part of response.body ?? []) {
    for (const byte of part as Uint8Array) if (byte === newline) lines++
    await sleep(part.length / 1_000)
  }
  return lines - 1
}

/** A file of the largest size with the most rows. */
function writeFile(firstPhone: number): Buffer {
  const header = 'phone,name,company\n'
  const rowBytes = Math.floor((importBytes - header.length) / importRows)
  const bytes = Buffer.alloc(header.length + importRows * rowBytes, 'x')
  bytes.write(header)
  for (let i = 0; i < importRows; i++) {
    const at = header.length + i * rowBytes
    bytes.write(`+${firstPhone + i},Customer ${i},`, at)
    bytes.write('\n', at + rowBytes - 1)
  }
  return bytes
}

/** Checks the file. Resolves to the result. */
async function checkImport(url: string, { owner }: Tenant, bytes: Buffer): Promise<Json> {
  const browser = createBrowser(url, url)
  assert.equal((await browser.signIn(owner)).status, 200)
  const { accept } = createImporter(browser)
  const { id, mapping } = await accept(bytes)
  await browser.ask('POST', `/imports/${id}/check`, { mapping })
  return until(
    'the check',
    async () => {
      const { state, error, check } = (await browser.ask('GET', `/imports/${id}`)).data
      assert.notEqual(state, 'failed', error)
      return state === 'checked' && check
    },
    checkMs,
  )
}
