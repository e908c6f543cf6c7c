/** `examples/crm-sync`: how many contacts per second it copies, in both directions at once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Figure } from './figure.ts'
import { createKeys, discard, startService } from './service.ts'

const inCrm = 4_000
const inParley = 4_000
const phoneOf = (n: number) => `+1415${2_000_000 + n}`

export async function benchCrmSync(): Promise<Figure[]> {
  const service = await startService()
  const [setupKey = '', key = ''] = await createKeys(service, 2)
  const people = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({ phone: phoneOf(from + n), name: `Person ${from + n}`, company: 'Acme' }))
  for (let from = 0; from < inParley; from += 1_000) {
    const response = await fetch(`${service.url}/v1/contacts/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${setupKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ contacts: people(from, 1_000) }),
    })
    if (!response.ok) throw new Error(await response.text())
  }
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-crm-'))
  const lines = people(inParley, inCrm).map(({ phone, ...fields }) => `${JSON.stringify({ phone, fields })}\n`)
  writeFileSync(join(folder, 'crm.jsonl'), lines.join(''))

  const began = performance.now()
  const program = join(import.meta.dirname, '../examples/crm-sync/main.ts')
  const child = spawn(process.execPath, [program, folder, '--once'], {
    env: { ...process.env, PARLEY_API_KEY: key, PARLEY_URL: `${service.url}/v1` },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  const seconds = (performance.now() - began) / 1_000
  if (code !== 0) throw new Error(`crm-sync ended with ${code}`)
  await service.stop()
  discard(service)
  return [
    {
      what: 'examples/crm-sync, 4,000 contacts each way',
      value: (inCrm + inParley) / seconds,
      unit: 'contacts/s',
      goal: { atLeast: 500 },
      note: `${seconds.toFixed(1)} s with the start of the program`,
    },
  ]
}
