/**
 * An import of a million rows with 12 columns: how fast it is checked, imported and undone, what a row costs, and how much memory the
 * process of the engines needs. `IMPORT_ROWS` sets another number of rows.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuPer, readCpu } from './cpu.ts'
import type { Figure } from './figure.ts'
import { listProcesses, residentMb } from './memory.ts'
import { discard, type Service, startService } from './service.ts'

const rowCount = Number(process.env.IMPORT_ROWS ?? 1_000_000)

const header = 'phone,first name,last name,email,company,tags,plan,seats,active,city,customer no,opted out'
const mapping = [
  ...[
    { to: 'phone' },
    { to: 'name' },
    { to: 'name' },
    { to: 'email' },
    { to: 'company' },
    { to: 'tags', separator: ';' },
  ],
  { to: 'attribute', key: 'plan', type: 'text' },
  { to: 'attribute', key: 'seats', type: 'number' },
  { to: 'attribute', key: 'active', type: 'boolean' },
  { to: 'attribute', key: 'city', type: 'text' },
  { to: 'attribute', key: 'customer_no', type: 'text' },
  { to: 'opted_out' },
]
const firstNames = ['Ann', 'Zoë', 'Olga', 'Kwame', 'Ines', 'Dekel', 'Mary-Jane', 'Bo']
const lastNames = ['Okafor', 'Bergström', 'Müller', 'Nguyen', 'Smith', 'García', 'Larsen']
const cities = ['Berlin', 'São Paulo', 'Accra', 'Lyon', 'Osaka']

function writeFile(): Buffer {
  const rows = Array.from({ length: rowCount }, (_, i) => {
    const [first = '', last = ''] = [firstNames[i % firstNames.length], lastNames[i % lastNames.length]]
    const city = cities[i % cities.length]
    const values = [
      `+1${2_120_000_000 + i}`,
      first,
      last,
      `p${i}@example.com`,
      `Company ${i % 500}`,
      `customer;g${i % 20}`,
    ]
    return `${values.join()},${i % 3 ? 'pro' : 'free'},${i % 100},${i % 2 ? 'yes' : 'no'},${city},C-${i},${i % 50 ? '' : 'yes'}\n`
  })
  return Buffer.from(`${header}\n${rows.join('')}`)
}

type Import = {
  id: string
  state: string
  error: string | null
  result: { created: number } | null
  undo: { erased: number } | null
}

export async function benchImport(): Promise<Figure[]> {
  const service = await startService()
  const call = await signIn(service)
  const file = writeFile()
  const engines = listProcesses(service).get('engines') ?? service.pid
  const idleMb = residentMb(engines)
  const { id } = await call('POST', '/imports?filename=people.csv', file)
  const checked = await measure(service, call, id, () => call('POST', `/imports/${id}/check`, { mapping }))
  const imported = await measure(service, call, id, () => call('POST', `/imports/${id}/start`))
  const peakMb = residentMb(engines, 'VmHWM')
  if (imported.value.result?.created !== rowCount) throw new Error(JSON.stringify(imported.value))
  const undone = await measure(service, call, id, () => call('POST', `/imports/${id}/undo`))
  if (undone.value.undo?.erased !== rowCount) throw new Error(JSON.stringify(undone.value))
  await service.stop()
  discard(service)
  const rows = rowCount.toLocaleString('en')
  const megabytes = (file.length / 1024 / 1024).toFixed(0)
  return [
    {
      what: `import of ${rows} rows, 12 columns`,
      value: imported.perSecond,
      unit: 'rows/s',
      goal: { atLeast: 10_000 },
      note: imported.cpu,
    },
    {
      what: `check of ${rows} rows, 12 columns, ${megabytes} MB`,
      value: checked.perSecond,
      unit: 'rows/s',
      note: checked.cpu,
    },
    { what: `undo of ${rows} new contacts`, value: undone.perSecond, unit: 'contacts/s', note: undone.cpu },
    {
      what: 'memory of the process that imports, at its highest',
      value: peakMb,
      unit: 'MB',
      goal: { below: 300 },
      note: `${idleMb.toFixed(0)} MB before`,
    },
  ]
}

type Call = (method: string, path: string, body?: unknown) => Promise<Import>

async function signIn({ url, dataDir }: Service): Promise<Call> {
  const { owner } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  const headers = { origin: url, 'content-type': 'application/json' }
  const session = await fetch(`${url}/app/api/session`, { method: 'POST', headers, body: JSON.stringify(owner) })
  const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return async (method, path, body) => {
    const isFile = Buffer.isBuffer(body)
    const type = body === undefined ? {} : { 'content-type': isFile ? 'text/csv' : 'application/json' }
    const bytes = isFile ? new Uint8Array(body) : JSON.stringify(body)
    const response = await fetch(`${url}/app/api${path}`, {
      method,
      headers: { origin: url, cookie, ...type },
      ...(body === undefined ? {} : { body: bytes }),
    })
    const answer = (await response.json()) as { data: Import }
    if (!response.ok) throw new Error(JSON.stringify(answer))
    return answer.data
  }
}

const pollMs = 100

/** Runs a job of the import to its end. */
async function measure(service: Service, call: Call, id: string, start: () => Promise<unknown>) {
  const before = readCpu(service)
  const began = performance.now()
  await start()
  let value = await call('GET', `/imports/${id}`)
  while (['checking', 'importing', 'undoing'].includes(value.state)) {
    await sleep(pollMs)
    value = await call('GET', `/imports/${id}`)
  }
  if (value.state === 'failed') throw new Error(value.error ?? '')
  const perSecond = rowCount / ((performance.now() - began) / 1_000)
  const { node, database } = cpuPer(before, readCpu(service), rowCount)
  return { value, perSecond, cpu: `CPU per row ${node.toFixed(1)} µs Node and ${database.toFixed(1)} µs PostgreSQL` }
}
