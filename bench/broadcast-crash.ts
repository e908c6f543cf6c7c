/** A broadcast to 10,000 recipients while the service is killed twenty times: duplicates, lost recipients, wrong counters. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Filter, Parley } from '../sdk/src/index.ts'
import type { Figure } from './figure.ts'
import { insertConversations, insertPeople } from './people.ts'
import { connectTo, createKeys, discard, type Service, startService, startSimulator } from './service.ts'

const people = 10_000
const kills = 20
const pace = 500

export async function benchBroadcastCrash(): Promise<Figure[]> {
  const simulator = await startSimulator()
  let service = await startService()
  await connectTo(simulator.url, service, pace)
  await insertPeople(service.db, service.workspaceId, 0, people)
  await insertConversations(service.db, service.workspaceId)
  const [key = ''] = await createKeys(service, 1)
  const parley = new Parley({ apiKey: key, baseUrl: `${service.url}/v1` })
  const filter: Filter = { match: 'all', rules: [{ field: 'phone', op: 'is_set' }] }
  const { id } = await parley.segments.create({ name: 'All contacts', kind: 'dynamic', filter })
  await parley.broadcasts.create({ name: 'All contacts', template: { name: 'hello_world' }, segment_id: id })

  let killed = 0
  while (killed < kills && (await countOf(service, 'pending')) > 0) {
    await sleep(200 + Math.random() * 600)
    process.kill(service.pid, 'SIGKILL')
    killed++
    await service.db.end({ timeout: 1 })
    service = await startService(service.dataDir)
    // The new process has another port, so the callback address changes.
    await connectTo(simulator.url, service, pace)
  }
  while ((await countOf(service, 'pending')) > 0) await sleep(200)
  // Status reports settle messages that a killed process left pending.
  let open = -1
  for (let left = await countOf(service, 'sending'); left !== open; left = await countOf(service, 'sending')) {
    open = left
    await sleep(5_000)
  }
  const sent = await listSent(simulator.url, service.workspaceId)
  const [off] = await service.db<{ count: number }[]>`
    select (abs(b.total_count - (select count(*) from broadcast_recipients)) +
      abs((select sum(sent) from broadcast_counts) -
        (select count(*) from broadcast_recipients where status in ('sent', 'delivered', 'read'))) +
      abs((select sum(failed) from broadcast_counts) -
        (select count(*) from broadcast_recipients where status = 'failed')))::int as count
    from broadcasts b`
  const taken = new Set(sent).size
  await simulator.stop()
  await service.stop()
  discard(service)
  const what = `a broadcast to ${people.toLocaleString('en')}, its process killed ${killed} times`
  return [
    { what: `${what}: recipients with two messages`, value: sent.length - taken, unit: 'people', goal: { below: 1 } },
    { what: `${what}: counters off by`, value: off?.count ?? -1, unit: 'people', goal: { below: 1 } },
    {
      what: `${what}: recipients neither sent to nor pending`,
      value: people - taken - open,
      unit: 'people',
      goal: { below: 1 },
      note: `${taken} sent; ${open} were in flight during a kill, are not sent again, and fail after 15 minutes`,
    },
  ]
}

async function countOf({ db }: Service, status: string): Promise<number> {
  const [row] = await db<{ total: number; filled: boolean; count: number }[]>`
    select b.is_filled as filled, b.total_count as total,
      (select count(*)::int from broadcast_recipients where status = ${status}) as count
    from broadcasts b`
  return row && !row.filled && status === 'pending' ? Math.max(1, row.count) : (row?.count ?? 0)
}

async function listSent(simulatorUrl: string, workspaceId: string): Promise<string[]> {
  const answer = await fetch(`${simulatorUrl}/control/sent?workspace_id=${workspaceId}`)
  const { data } = (await answer.json()) as { data: { to: string }[] }
  return data.map(({ to }) => to)
}
