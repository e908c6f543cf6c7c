/**
 * Reports over a million episodes of a year: how long the counters take for all of them, and how long each report takes then.
 * `EPISODES` sets another number.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { countReports } from '../server/insights/reports/count.ts'
import { reportNames } from '../server/insights/reports/request.ts'
import { cpuPer, readCpu } from './cpu.ts'
import type { Figure } from './figure.ts'
import { signIn } from './import-data.ts'
import { insertConversations, insertPeople } from './people.ts'
import { discard, type Service, startService } from './service.ts'

const episodeCount = Number(process.env.EPISODES ?? 1_000_000)
const perConversation = 10
const teamCount = 10
const memberCount = 50
const labelCount = 30
const readsPerReport = 20

export async function measureReports(): Promise<Figure[]> {
  const service = await startService()
  const { db, workspaceId } = service
  await insertPeople(db, workspaceId, 0, episodeCount / perConversation)
  await insertConversations(db, workspaceId)
  await insertNames(service)
  await untilCounted(service)
  await insertEpisodes(service)
  const before = readCpu(service)
  const began = performance.now()
  await untilCounted(service)
  const seconds = (performance.now() - began) / 1_000
  const cpu = cpuPer(before, readCpu(service), episodeCount)
  await db`vacuum analyze report_counts, report_histograms, counted_episodes, episodes`
  const [rows] = await db<{ counts: number; histograms: number }[]>`
    select (select count(*)::int from report_counts) as counts, (select count(*)::int from report_histograms) as histograms`
  const figures: Figure[] = [
    {
      what: `counting ${episodeCount.toLocaleString('en')} episodes for reports, from their commit`,
      value: seconds,
      unit: 's',
      note: `${Math.round(episodeCount / seconds)} episodes/s, ${cpu.node.toFixed(1)} µs of Node and ${Math.round(cpu.database)} µs of PostgreSQL each; ${rows?.counts} rows of counts and ${rows?.histograms} histograms`,
    },
  ]
  const call = await signIn(service)
  for (const days of [30, 365]) {
    for (const name of reportNames) {
      const waits = await measureReport(() => call('GET', `/reports/${name}?${period(days)}&interval=day`))
      figures.push({
        what: `report ${name} of ${days} days over ${episodeCount.toLocaleString('en')} episodes, p95`,
        value: at(waits, 0.95),
        unit: 'ms',
        goal: { below: 300 },
        note: `p50 ${at(waits, 0.5).toFixed(0)} ms, of ${waits.length}`,
      })
    }
  }
  await service.stop()
  discard(service)
  return figures
}

/** The last days until today (UTC). */
function period(days: number): string {
  const dayOf = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
  return `from_day=${dayOf(days - 1)}&to_day=${dayOf(0)}`
}

/** One call after another. The first one, which plans the statements, is not counted. */
async function measureReport(read: () => Promise<unknown>): Promise<number[]> {
  const waits: number[] = []
  for (let i = 0; i <= readsPerReport; i++) {
    const began = performance.now()
    await read()
    if (i > 0) waits.push(performance.now() - began)
  }
  return waits
}

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

async function insertNames({ db, workspaceId }: Service): Promise<void> {
  await db`
    insert into teams (workspace_id, id, name, name_key, color, created_at)
    select ${workspaceId}, uuidv7(), 'Team ' || i, 'team ' || i, '#2f6fde', now() from generate_series(1, ${teamCount}::int) as i`
  await db`
    insert into labels (workspace_id, id, name, name_key, color, created_at)
    select ${workspaceId}, uuidv7(), 'Bench ' || i, 'bench ' || i, '#2f6fde', now() from generate_series(1, ${labelCount}::int) as i`
  await db`
    insert into members (workspace_id, id, email, email_key, role, password_hash, created_at)
    select ${workspaceId}, uuidv7(), 'agent' || i || '@bench.test', 'agent' || i || '@bench.test', 'agent', '', now()
    from generate_series(1, ${memberCount}::int) as i`
}

/** Closed episodes of the last year in the order of their openings, in one transaction: no loop sees a part of them. */
async function insertEpisodes({ db, workspaceId }: Service): Promise<void> {
  const idsOf = async (table: 'teams' | 'labels' | 'members'): Promise<string[]> =>
    (await db<{ id: string }[]>`select id from ${db(table)} where workspace_id = ${workspaceId} order by id`).map(
      ({ id }) => id,
    )
  const [teams, labels, members] = [await idsOf('teams'), await idsOf('labels'), await idsOf('members')]
  await db`
    insert into episodes (workspace_id, id, conversation_id, connection_id, opened_at, opened_by, first_assigned_at, first_reply_at,
      first_reply_by, replies, customer_messages, closed_at, closed_by, closed_by_id, team_id, member_id, labels, office_first_reply_s,
      office_closing_s)
    select ${workspaceId}, uuidv7(opened_at - now()), v.id, v.connection_id, opened_at, 'customer', opened_at, opened_at + reply,
      member_id, 2, 3, opened_at + reply + rest, 'member', member_id, (${teams}::uuid[])[1 + (n % ${teams.length})], member_id,
      array[(${labels}::uuid[])[1 + ((n / 7) % ${labels.length})]], extract(epoch from reply)::int, extract(epoch from reply + rest)::int
    from (
      select v.id, v.connection_id, row_number() over (order by v.id) as position from conversations v
      join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where v.workspace_id = ${workspaceId} and starts_with(c.phone, '+1415')
    ) v
    cross join generate_series(0, ${perConversation - 1}::int) as e
    cross join lateral (select (v.position * ${perConversation} + e)::int as n) numbered
    cross join lateral (
      select date_trunc('milliseconds', now() - random() * interval '364 days') as opened_at,
        make_interval(secs => floor(exp(random() * 10))) as reply, make_interval(secs => floor(exp(random() * 12))) as rest,
        (${members}::uuid[])[1 + (hashint4(n) & 1023) % ${members.length}] as member_id
    ) times
    order by opened_at`
}

/** Counts without the pauses of the service's loop; the lock lets one of both count at a time. */
async function untilCounted({ db }: Service): Promise<void> {
  for (;;) {
    await countReports(db)
    const [left] = await db`select from report_changes limit 1`
    if (!left) return
    await sleep(20)
  }
}
