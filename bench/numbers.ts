/**
 * Two numbers of a workspace: a broadcast on each at the same time, the same with an outage of one number, and lists of a million
 * conversations filtered by number against those without the filter.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Broadcast, type Filter, Parley } from '../sdk/src/index.ts'
import type { Figure } from './figure.ts'
import { insertConversations, insertPeople } from './people.ts'
import { addNumber, connectTo, createKeys, discard, type Service, startService, startSimulator } from './service.ts'

const pace = 80
const people = 10_000
const many = 1_000_000
const reads = 60
const template = { name: 'order_confirmed', language: 'en_US', params: ['Ann', 'A-10042'] }

export async function benchNumbers(): Promise<Figure[]> {
  const service = await startService()
  const simulator = await startSimulator()
  const sales = await connectTo(simulator.url, service, pace)
  const support = await addNumber(simulator.url, service, pace)
  await insertPeople(service.db, service.workspaceId, 0, people)
  const [key = ''] = await createKeys(service, 1)
  const parley = new Parley({ apiKey: key, baseUrl: `${service.url}/v1` })

  // Every second person has the tag, so each half is 5,000 people, and one half has the demo's contacts.
  const halves: Filter[] = (['has', 'not_has'] as const).map((op) => ({
    match: 'all',
    rules: [
      { field: 'tag', op, value: 'Subscriber' },
      { field: 'phone', op: 'is_set' },
    ],
  }))
  const segments = await Promise.all(
    halves.map((filter, i) => parley.segments.create({ name: `Half ${i}`, kind: 'dynamic', filter })),
  )
  const send = (i: number, from: string) =>
    parley.broadcasts.create({ name: 'News', template, segment_id: segments[i]?.id ?? '', from })
  const untilSent = async ({ id }: Broadcast, began: number) => {
    for (;;) {
      const broadcast = await parley.broadcasts.get(id)
      if (broadcast.status === 'sent') return { ...broadcast, seconds: (performance.now() - began) / 1000 }
      await sleep(200)
      await service.db`truncate api_key_windows`
    }
  }
  const began = performance.now()
  const broadcasts = [await send(0, sales.id), await send(1, support.id)]
  const both = await Promise.all(broadcasts.map((broadcast) => untilSent(broadcast, began)))

  const fault = { mode: 'http_500', workspace_id: service.workspaceId, connection_id: support.id }
  const answer = await fetch(`${simulator.url}/control/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  })
  if (!answer.ok) throw new Error(await answer.text())
  const again = performance.now()
  const healthy = await send(0, sales.id)
  const held = await send(1, support.id)
  const beside = await untilSent(healthy, again)
  await parley.broadcasts.cancel(held.id)
  const alone = both[0]?.seconds ?? 0

  const lists = await compareLists(service, key, support.id)
  await simulator.stop()
  await service.stop()
  discard(service)
  return [
    {
      what: `two broadcasts to ${(people / 2).toLocaleString('en')} on two numbers at ${pace}/s each, until both are sent`,
      value: Math.max(...both.map(({ seconds }) => seconds)),
      unit: 's',
      goal: { below: 75 },
      note: both.map(({ sent_count, seconds }) => `${sent_count} in ${seconds.toFixed(1)} s`).join(', '),
    },
    {
      what: 'the same broadcast during an outage of the other number, against without',
      value: beside.seconds / alone,
      unit: '×',
      goal: { below: 1.1 },
      note: `${beside.seconds.toFixed(1)} s against ${alone.toFixed(1)} s`,
    },
    ...lists,
  ]
}

/** Reads pages all over the lists, with and without the filter in turn. */
async function compareLists(service: Service, key: string, connectionId: string): Promise<Figure[]> {
  const { db, workspaceId } = service
  await insertPeople(db, workspaceId, people, many)
  await insertConversations(db, workspaceId)
  // Half of the conversations on each number. Those of the broadcast stay.
  await db`
    update conversations v set connection_id = ${connectionId}
    where v.workspace_id = ${workspaceId} and v.channel = 'msgapp' and v.id::text ~ '[0-7]$' and not exists (
      select from conversations o
      where o.workspace_id = v.workspace_id and o.contact_id = v.contact_id and o.connection_id = ${connectionId}
    )`
  await db`
    update conversations set inbox_at = created_at, last_message_at = created_at, last_inbound_at = created_at
    where workspace_id = ${workspaceId} and inbox_at is null`
  await db`vacuum full analyze conversations`
  const figures: Figure[] = []
  for (const order of ['', '&sort=activity', '&status=open&sort=activity']) {
    const times: Record<'plain' | 'filtered', number[]> = { plain: [], filtered: [] }
    const cursors: Record<'plain' | 'filtered', string> = { plain: '', filtered: '' }
    for (let i = 0; i < reads; i++) {
      for (const kind of ['plain', 'filtered'] as const) {
        const filter = kind === 'filtered' ? `&connection_id=${connectionId}` : ''
        const cursor = cursors[kind] && `&cursor=${encodeURIComponent(cursors[kind])}`
        const began = performance.now()
        const response = await fetch(`${service.url}/v1/conversations?limit=100${order}${filter}${cursor}`, {
          headers: { authorization: `Bearer ${key}` },
        })
        const { data, meta } = (await response.json()) as { data: unknown[]; meta: { next_cursor: string } }
        times[kind].push(performance.now() - began)
        if (data.length !== 100) throw new Error(`a page of ${data.length}: ${response.status}`)
        cursors[kind] = meta.next_cursor
      }
      await db`truncate api_key_windows`
    }
    const median = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0
    const [filtered, plain] = [median(times.filtered), median(times.plain)]
    figures.push({
      what: `GET /conversations${order.replace('&', '?')} by number of ${many.toLocaleString('en')}, against without the filter`,
      value: filtered / plain,
      unit: '×',
      goal: { below: 2 },
      note: `${filtered.toFixed(1)} ms against ${plain.toFixed(1)} ms (median of ${reads} pages)`,
    })
  }
  return figures
}
