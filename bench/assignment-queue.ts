/**
 * A queue of 300 conversations, four available members with capacity 5, two workers. Both are killed again and again, in turns, while
 * conversations are closed. A trigger counts at every commit how many open conversations the member has.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { resolveEncryptionKey } from '../server/config/encryption-key.ts'
import { findEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { createService, type Program } from '../tests/program.ts'
import type { Figure } from './figure.ts'
import { signIn } from './import-data.ts'
import { insertConversations, insertPeople, phoneOf } from './people.ts'
import { discard, type Service, startService, unowned } from './service.ts'

const conversations = 300
const memberCount = 4
const capacity = 5
const killEvery = 4

export async function measureQueue(): Promise<Figure[]> {
  // Without a worker of its own: the two workers are killed, the database is not.
  const service = await startService(undefined, { ROLES: 'api' })
  const { db, workspaceId } = service
  const dirs = ['one', 'two'].map((name) => mkdtempSync(join(tmpdir(), `parley-bench-${name}-`)))
  const workers = await Promise.all(dirs.map((dir) => createWorker(service, dir)))
  await insertPeople(db, workspaceId, 0, conversations)
  await insertConversations(db, workspaceId)
  const { teamId, memberIds } = await insertTeam(service)
  await observe(service)
  for (const worker of workers) await worker.start()
  await queue(service, teamId)

  const began = performance.now()
  let kills = 0
  let worst = 0
  for (let assigned = 0, round = 0; assigned < conversations; round++) {
    const killed = round % killEvery === 0 ? workers[kills++ % 2] : undefined
    const rows = await untilFull(service, memberIds, Math.min(conversations, assigned + memberCount * capacity))
    const totals = rows.map(({ total }) => total)
    assigned = totals.reduce((sum, total) => sum + total, 0)
    worst = Math.max(worst, Math.max(...totals) - Math.min(...totals))
    if (assigned >= conversations) break
    const ids = rows.flatMap(({ open }) => open.slice(0, 3))
    assigned -= memberCount * capacity - ids.length
    const ending = killed?.kill()
    await db`
      update conversations set status = 'closed' where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])`
    await ending
    await killed?.start()
  }
  const seconds = (performance.now() - began) / 1_000
  const [observed] = await db<{ most: number; commits: number }[]>`
    select max(open) as most, count(*)::int as commits from observed_loads`
  for (const worker of workers) await worker.kill()
  await service.stop()
  discard(service)
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
  const what = `${conversations} conversations, ${memberCount} members with capacity ${capacity}, two workers`
  return [
    {
      what: `${what}: open conversations of a member, most at any commit`,
      value: observed?.most ?? Infinity,
      unit: 'conversations',
      goal: { below: capacity + 1 },
      note: `${observed?.commits} commits; ${kills} × kill -9 of a worker; ${seconds.toFixed(0)} s with the restarts`,
    },
    {
      what: `${what}: difference between members, at most`,
      value: worst,
      unit: 'conversations',
      goal: { below: 2 },
    },
  ]
}

async function createWorker({ dataDir }: Service, dir: string): Promise<Program> {
  const database = await findEmbeddedPostgres(dataDir)
  if (!database) throw new Error('the service has no embedded database')
  return createService(unowned, {
    ROLES: 'worker',
    DATABASE_URL: `postgres://${database.username}@localhost:${database.port}/${database.database}?host=${database.host}`,
    ENCRYPTION_KEY: await resolveEncryptionKey({ dataDir, databaseUrl: undefined, encryptionKey: undefined }),
    DATA_DIR: dir,
    LOG_LEVEL: 'warn',
  })
}

async function insertTeam(service: Service): Promise<{ teamId: string; memberIds: string[] }> {
  const { db, workspaceId } = service
  const members = await db<{ id: string }[]>`
    insert into members (workspace_id, id, email, email_key, role, password_hash, created_at)
    select ${workspaceId}, uuidv7(), 'agent' || i || '@bench.test', 'agent' || i || '@bench.test', 'agent', '', now()
    from generate_series(1, ${memberCount}::int) as i
    returning id`
  const memberIds = members.map(({ id }) => id)
  const call = await signIn(service)
  const { id: teamId } = await call('POST', '/teams', { name: 'Bench', member_ids: memberIds, connection_ids: [] })
  await call('PATCH', `/assignment/teams/${teamId}`, { policy: 'fewest_open' })
  // Available for longer than the kills take.
  await db`
    insert into member_availability (workspace_id, member_id, state, capacity, seen_at, input_at)
    select ${workspaceId}, id, 'available', ${capacity}, now() + interval '1 hour', now() + interval '1 hour'
    from unnest(${memberIds}::uuid[]) as m (id)`
  return { teamId, memberIds }
}

/** Every commit is checked, one after the other. */
async function observe({ db, workspaceId }: Service): Promise<void> {
  await db.unsafe(`
    create table observed_loads (open int);
    create function observe_load() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(4711);
      insert into observed_loads select count(*) from conversations
      where workspace_id = new.workspace_id and assigned_agent_id = new.assigned_agent_id and status = 'open';
      return null;
    end $$;
    create constraint trigger observe_load after update on conversations deferrable initially deferred
    for each row when (new.workspace_id = '${workspaceId}' and new.assigned_agent_id is not null) execute function observe_load()`)
}

/** All conversations of the benchmark wait in the queue of the team. */
async function queue({ db, workspaceId }: Service, teamId: string): Promise<void> {
  await db`
    update conversations v set team_id = ${teamId}, status = 'open', inbox_at = now(), waiting_since = now() - random() * interval '1 hour'
    from contacts c
    where v.workspace_id = ${workspaceId} and c.workspace_id = v.workspace_id and c.id = v.contact_id
      and starts_with(c.phone, ${phoneOf(0).slice(0, 6)})`
}

type Load = { id: string; open: string[]; total: number }

async function untilFull({ db, workspaceId }: Service, memberIds: readonly string[], count: number): Promise<Load[]> {
  for (;;) {
    const rows = await db<Load[]>`
      select i.id, coalesce(array_agg(v.id order by v.id) filter (where v.status = 'open'), '{}') as open, count(v.id)::int as total
      from unnest(${[...memberIds]}::uuid[]) as i (id)
      left join conversations v on v.workspace_id = ${workspaceId} and v.assigned_agent_id = i.id
      group by i.id`
    if (rows.reduce((sum, { total }) => sum + total, 0) >= count) return rows
    await sleep(50)
  }
}
