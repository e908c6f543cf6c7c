/** What the benchmarks of imports share: a file with 12 columns, its mapping, and the calls of the dashboard. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from './service.ts'

const header = 'phone,first name,last name,email,company,tags,plan,seats,active,city,customer no,opted out'
export const mapping = [
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
export const firstNumber = 2_120_000_000
const firstNames = ['Ann', 'Zoë', 'Olga', 'Kwame', 'Ines', 'Dekel', 'Mary-Jane', 'Bo']
const lastNames = ['Okafor', 'Bergström', 'Müller', 'Nguyen', 'Smith', 'García', 'Larsen']
const cities = ['Berlin', 'São Paulo', 'Accra', 'Lyon', 'Osaka']

/** As the file writes it, and as the service stores it. */
const phoneOfRow = (i: number): string => `+1${firstNumber + i}`

export function writeFile(rowCount: number): Buffer {
  const rows = Array.from({ length: rowCount }, (_, i) => {
    const [first = '', last = ''] = [firstNames[i % firstNames.length], lastNames[i % lastNames.length]]
    const city = cities[i % cities.length]
    const values = [phoneOfRow(i), first, last, `p${i}@example.com`, `Company ${i % 500}`, `customer;g${i % 20}`]
    return `${values.join()},${i % 3 ? 'pro' : 'free'},${i % 100},${i % 2 ? 'yes' : 'no'},${city},C-${i},${i % 50 ? '' : 'yes'}\n`
  })
  return Buffer.from(`${header}\n${rows.join('')}`)
}

export type Import = {
  id: string
  state: string
  error: string | null
  progress: { rows_done: number } | null
  check: Result | null
  result: Result | null
  undo: { erased: number; restored: number; kept: number } | null
}

type Result = { created: number; changed: number; unchanged: number; rejected: number }

export type Call = (method: string, path: string, body?: unknown) => Promise<Import>

/** The calls of the dashboard, as the owner of the demo workspace. */
export async function signIn({ url, dataDir }: Service): Promise<Call> {
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

/** Waits until no worker has anything to do for the import, or `isEnough`. */
export async function settle(call: Call, id: string, isEnough = (_: Import): boolean => false): Promise<Import> {
  for (;;) {
    const value = await call('GET', `/imports/${id}`)
    if (value.state === 'failed') throw new Error(value.error ?? '')
    if (!['checking', 'importing', 'undoing'].includes(value.state) || isEnough(value)) return value
    await sleep(pollMs)
  }
}
