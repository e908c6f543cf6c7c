/** Lists, search and segments with a thousand and with a million contacts. */
import { encodeCursor } from '../server/lib/page.ts'
import type { Figure } from './figure.ts'
import { insertPeople } from './people.ts'
import { createKeys, discard, type Service, startService } from './service.ts'

const small = 1_000
const large = 1_000_000
const calls = 100

/** Matches one contact in nine, one in four thousand, and exactly one. */
const searches = {
  'part of a common name': 'ergstr',
  'part of a rare name': 'dekelo',
  'a phone number': '+14152000421',
}

export async function benchContacts(): Promise<Figure[]> {
  const service = await startService()
  const call = await createClient(service)
  const tagged = await call('POST', '/segments', {
    name: 'Regulars',
    kind: 'dynamic',
    filter: { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'regular' }] },
  })
  const listed = await call('POST', '/segments', { name: 'Picked' })

  await insertPeople(service.db, service.workspaceId, 0, small)
  const few = await measureReads(call, service, 900)
  await insertPeople(service.db, service.workspaceId, small, large)
  const many = await measureReads(call, service, 250_000)

  const figures: Figure[] = Object.entries(many).map(([what, value]) => ({
    what: `${what}, 1,000,000 contacts against 1,000`,
    value: value / (few[what] ?? 1),
    unit: '×',
    goal: { below: 2 },
    note: `${value.toFixed(2)} ms against ${few[what]?.toFixed(2)} ms (p50)`,
  }))

  const count = await median(15, () => call('GET', `/segments/${tagged.data.id}`))
  figures.push({ what: 'count of a tag segment, 100,000 of 1,000,000', value: count, unit: 'ms', goal: { below: 300 } })

  const ids = await service.db<{ id: string }[]>`
    select id from contacts where workspace_id = ${service.workspaceId} order by md5(id::text) limit 16000`
  let from = 0
  const adding = await median(15, () => {
    const contact_ids = ids.slice(from, from + 1_000).map(({ id }) => id)
    from += 1_000
    return call('POST', `/segments/${listed.data.id}/contacts`, { contact_ids })
  })
  figures.push({ what: 'POST /segments/{id}/contacts, 1,000 ids', value: adding, unit: 'ms', goal: { below: 150 } })
  await service.stop()
  discard(service)
  return figures
}

type Call = (method: string, path: string, body?: unknown) => Promise<{ data: { id: string } }>

async function createClient(service: Service): Promise<Call> {
  const keys = await createKeys(service, 200)
  let next = 0
  return async (method, path, body) => {
    const response = await fetch(`${service.url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${keys[next++ % keys.length]}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as { data: { id: string } }
  }
}

/** Returns the median time of each read. `depth` is the number of contacts before the deep page. */
async function measureReads(call: Call, { db, workspaceId }: Service, depth: number): Promise<Record<string, number>> {
  const [deep] = await db<{ id: string }[]>`
    select id from contacts where workspace_id = ${workspaceId} order by id desc offset ${depth} limit 1`
  const cursor = encodeCursor(deep?.id ?? '')
  const times: Record<string, number> = {
    'GET /contacts, first page': await median(calls, () => call('GET', '/contacts')),
    'GET /contacts, deep page (the 5,000th)': await median(calls, () => call('GET', `/contacts?cursor=${cursor}`)),
  }
  for (const [what, search] of Object.entries(searches)) {
    times[`search, ${what}`] = await median(calls, () => call('GET', `/contacts?search=${encodeURIComponent(search)}`))
  }
  return times
}

async function median(count: number, run: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  await run()
  for (let i = 0; i < count; i++) {
    const began = performance.now()
    await run()
    times.push(performance.now() - began)
  }
  return times.sort((a, b) => a - b)[Math.floor(count / 2)] ?? 0
}
