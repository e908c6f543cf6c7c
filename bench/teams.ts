/**
 * Teams: a queue that is assigned while processes are killed, how soon a new conversation is assigned, and reports over a million episodes.
 *
 * What episodes cost the messages of customers and `POST /messages` is measured with `bench inbound` and `bench messages` of the commit before
 * them (247007ee) and of this one, in turns. `TEAMS_PARTS=queue,pace,reports` runs a part; `EPISODES` sets another number of episodes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../server/channels/channel.ts'
import { measureQueue } from './assignment-queue.ts'
import { cpuPer, readCpu } from './cpu.ts'
import { measureReports } from './episodes.ts'
import type { Figure } from './figure.ts'
import { signIn } from './import-data.ts'
import { postOnce, toSubject, writtenBy } from './inbound.ts'
import { phoneOf } from './people.ts'
import { connectTo, discard, type Service, startService, startSimulator } from './service.ts'

const pace = { perSecond: 50, seconds: Number(process.env.PACE_SECONDS ?? 60), warmUp: 100 }
/** Of the highest capacity, so that all conversations find one. */
const members = 40
const maxCapacity = 200

export async function benchTeams(): Promise<Figure[]> {
  const parts = (process.env.TEAMS_PARTS ?? 'queue,pace,reports').split(',')
  return [
    ...(parts.includes('queue') ? await measureQueue() : []),
    ...(parts.includes('pace') ? await benchPace() : []),
    ...(parts.includes('reports') ? await measureReports() : []),
  ]
}

async function benchPace(): Promise<Figure[]> {
  const simulator = await startSimulator()
  const service = await startService()
  const connection = await connectTo(simulator.url, service)
  await simulator.stop()
  await insertTeam(service, connection)
  const figures = await measurePace(service, connection)
  await service.stop()
  discard(service)
  return figures
}

/** Members who are available for an hour, and a team of them that serves the number. */
async function insertTeam(service: Service, connection: Connection): Promise<void> {
  const { db, workspaceId } = service
  await db`
    insert into members (workspace_id, id, email, email_key, role, password_hash, created_at)
    select ${workspaceId}, uuidv7(), 'agent' || i || '@bench.test', 'agent' || i || '@bench.test', 'agent', '', now()
    from generate_series(1, ${members}::int) as i`
  const ids = await db<{ id: string }[]>`
    select id from members where workspace_id = ${workspaceId} and email like '%@bench.test'`
  const call = await signIn(service)
  const team = { name: 'Bench', member_ids: ids.map(({ id }) => id), connection_ids: [connection.id] }
  const { id } = await call('POST', '/teams', team)
  await call('PATCH', `/assignment/teams/${id}`, { policy: 'fewest_open' })
  await db`
    insert into member_availability (workspace_id, member_id, state, capacity, seen_at, input_at)
    select ${workspaceId}, id, 'available', ${maxCapacity}, now() + interval '1 hour', now() + interval '1 hour'
    from unnest(${ids.map(({ id }) => id)}::uuid[]) as m (id)`
}

/** New customers write at a fixed pace. An assignment is as late as its line in the thread is later than the message. */
async function measurePace(service: Service, connection: Connection): Promise<Figure[]> {
  const { db, workspaceId } = service
  const subject = toSubject(service, connection)
  const count = pace.warmUp + pace.perSecond * pace.seconds
  const posts: Promise<boolean>[] = []
  let before = readCpu(service)
  const began = performance.now()
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, began + (i * 1000) / pace.perSecond - performance.now()))
    if (i === pace.warmUp) before = readCpu(service)
    posts.push(postOnce(subject, writtenBy(connection, [i])))
  }
  if (!(await Promise.all(posts)).every(Boolean)) throw new Error('a callback was not taken')
  await untilAssigned(service, count)
  const cpu = cpuPer(before, readCpu(service), count - pace.warmUp)
  const waits = await db<{ ms: number }[]>`
    select extract(epoch from t.created_at - e.opened_at)::float8 * 1000 as ms
    from episodes e
    join conversations v on v.workspace_id = e.workspace_id and v.id = e.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    join timeline_entries t on t.workspace_id = v.workspace_id and t.conversation_id = v.id and t.details->>'policy' = 'fewest_open'
    where e.workspace_id = ${workspaceId} and c.phone >= ${phoneOf(pace.warmUp)} and starts_with(c.phone, ${phoneOf(0).slice(0, 6)})
    order by 1`
  const at = (share: number) => waits[Math.floor(waits.length * share)]?.ms ?? Infinity
  const what = `from a message that opens a conversation to its assignment, ${pace.perSecond} messages/s, ${members} members`
  const note = `of ${waits.length}; ${Math.round(cpu.node)} µs of Node and ${Math.round(cpu.database)} µs of PostgreSQL each, with the callback and the new contact`
  return [
    { what: `${what}, p50`, value: at(0.5), unit: 'ms', note },
    {
      what: `${what}, p99`,
      value: at(0.99),
      unit: 'ms',
      goal: { below: 1_000 },
      note: `at most ${at(0.9999).toFixed(0)} ms`,
    },
  ]
}

async function untilAssigned({ db, workspaceId }: Service, count: number): Promise<void> {
  for (;;) {
    const [row] = await db<{ count: number }[]>`
      select count(*)::int as count from timeline_entries
      where workspace_id = ${workspaceId} and details->>'policy' = 'fewest_open' and created_at > now() - interval '1 hour'`
    if (row && row.count >= count) return
    await sleep(500)
  }
}
