/** `POST /contacts/batch`: a thousand contacts, new, changed and unchanged, and the time per contact against single requests. */
import type { Figure } from './figure.ts'
import { createKeys, discard, startService } from './service.ts'

const size = 1_000
const rounds = 9

export async function benchContactBatch(): Promise<Figure[]> {
  const service = await startService()
  const keys = await createKeys(service, 40)
  let calls = 0
  const post = async (path: string, body: unknown): Promise<number> => {
    const began = performance.now()
    const response = await fetch(`${service.url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[calls++ % keys.length]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok || text.includes('"error"')) throw new Error(text.slice(0, 500))
    return performance.now() - began
  }
  const person = (n: number, word: string) => ({
    phone: `+1415${String(2_000_000 + n)}`,
    ...{ name: `${word} Bergström ${n}`, email: `${word}.${n}@example.com`, company: `Company ${n % 50}` },
    tags: ['customer', `group ${n % 20}`],
    attributes: { crm_id: `A-${n}`, plan: word, seats: n % 100 },
    if_exists: 'update',
  })
  const batch = (from: number, word: string) => ({
    contacts: Array.from({ length: size }, (_, n) => person(from + n, word)),
  })

  const single: number[] = []
  for (let n = 0; n < 300; n++) single.push(await post('/contacts', person(900_000 + n, 'single')))
  const created: number[] = []
  const changed: number[] = []
  const unchanged: number[] = []
  for (let round = 0; round < rounds; round++) {
    created.push(await post('/contacts/batch', batch(round * size, 'first')))
    changed.push(await post('/contacts/batch', batch(round * size, 'second')))
    unchanged.push(await post('/contacts/batch', batch(round * size, 'second')))
  }
  await service.stop()
  discard(service)
  return [
    { what: 'POST /contacts/batch, 1,000 new contacts', value: median(created), unit: 'ms', goal: { below: 250 } },
    { what: 'POST /contacts/batch, 1,000 changed contacts', value: median(changed), unit: 'ms', goal: { below: 250 } },
    {
      what: 'POST /contacts/batch, 1,000 unchanged contacts',
      value: median(unchanged),
      unit: 'ms',
      goal: { below: 250 },
    },
    {
      what: 'time per new contact, POST /contacts against a batch',
      value: median(single) / (median(created) / size),
      unit: '×',
      goal: { atLeast: 10 },
      note: `${median(single).toFixed(2)} ms against ${(median(created) / size).toFixed(3)} ms`,
    },
  ]
}

const median = (times: number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
