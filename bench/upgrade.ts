/**
 * The migrations since the last release, on a database of that release with ten million messages. Meanwhile short reads and
 * writes on every large table measure how long a request would wait, and samples of the locks show which ones a migration holds.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DatabaseAddress, startEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { connect, type Db, type Sql } from '../server/lib/postgres/db.ts'
import { migrate } from '../server/lib/postgres/migrate.ts'
import type { Figure } from './figure.ts'
import { fillUpgrade, type Size } from './upgrade-data.ts'

const size: Size = { contacts: 1_000_000, messages: 10_000_000, events: 1_000_000 }
const migrationsDir = join(import.meta.dirname, '../migrations')

/** Primary key of each large table, and a column that a write leaves as it is. */
const largeTables: Record<string, { key: string[]; column: string }> = {
  messages: { key: ['workspace_id', 'conversation_id', 'id'], column: 'status' },
  conversations: { key: ['workspace_id', 'id'], column: 'unread_count' },
  contacts: { key: ['workspace_id', 'id'], column: 'company' },
  contact_identities: { key: ['workspace_id', 'channel', 'external_id'], column: 'contact_id' },
  contact_tags: { key: ['workspace_id', 'contact_id', 'tag_id'], column: 'tag_id' },
  message_words: { key: ['workspace_id', 'conversation_id', 'id'], column: 'conversation_id' },
  webhook_events: { key: ['workspace_id', 'id'], column: 'event' },
  webhook_attempts: { key: ['workspace_id', 'endpoint_id', 'id'], column: 'status' },
  webhook_deliveries: { key: ['workspace_id', 'endpoint_id', 'id'], column: 'attempt_count' },
  broadcast_recipients: { key: ['workspace_id', 'broadcast_id', 'place'], column: 'status' },
  media: { key: ['workspace_id', 'id'], column: 'state' },
}

/** Milliseconds, and on which table. */
type Longest = { ms: number; table: string }

export async function benchUpgrade(): Promise<Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-upgrade-'))
  const server = await startEmbeddedPostgres({ dataDir })
  try {
    const release = lastRelease()
    const db = connect({ database: server.address, max: 2, statementTimeoutMs: 3_600_000 })
    await migrate(db, { last: release.last_migration })
    await fillUpgrade(db, size)
    await db.end()
    return await measureUpgrade(server.address, release)
  } finally {
    await server.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measureUpgrade(address: DatabaseAddress, { version }: Release): Promise<Figure[]> {
  const db = connect({ database: address, max: 2 })
  const probes = connect({ database: address, max: Object.keys(largeTables).length, statementTimeoutMs: 600_000 })
  const sampler = connect({ database: address, max: 1 })
  const ending = new AbortController()
  const waits: Record<string, number> = {}
  const locks: Record<string, number> = {}
  const probing = [
    ...Object.keys(largeTables).map((table) => probe(probes, table, waits, ending.signal)),
    sampleLocks(sampler, locks, ending.signal),
  ]
  const longestWait: Longest & { migration: string } = { ms: 0, table: '', migration: '' }
  const longestLock = { ...longestWait }
  const figures: Figure[] = []
  const began = performance.now()
  for (const migration of readdirSync(migrationsDir).filter((name) => name.endsWith('.sql'))) {
    const start = performance.now()
    if ((await migrate(db, { last: migration })).length === 0) continue
    const seconds = (performance.now() - start) / 1000
    // A statement that waited has its answer by then.
    await sleep(100)
    const [wait, lock] = [takeLongest(waits), takeLongest(locks)]
    if (wait.ms > longestWait.ms) Object.assign(longestWait, { ...wait, migration })
    if (lock.ms > longestLock.ms) Object.assign(longestLock, { ...lock, migration })
    const note = `longest wait ${Math.round(wait.ms)} ms (${wait.table}), longest lock ${Math.round(lock.ms)} ms (${lock.table})`
    if (seconds >= 1 || wait.ms > 250) figures.push({ what: `migration ${migration}`, value: seconds, unit: 's', note })
  }
  const total = (performance.now() - began) / 1000
  ending.abort()
  await Promise.all(probing)
  for (const one of [db, probes, sampler]) await one.end({ timeout: 1 })
  const describe = ({ table, migration }: typeof longestWait) => `${table} during ${migration}`
  const what = `upgrade from ${version} with ${size.messages.toLocaleString('en')} messages`
  return [
    { what, value: total, unit: 's' },
    {
      what: `${what}, longest wait of a read or write`,
      value: longestWait.ms,
      unit: 'ms',
      goal: { below: 1_000 },
      note: describe(longestWait),
    },
    {
      what: `${what}, longest lock that blocks reads or writes`,
      value: longestLock.ms,
      unit: 'ms',
      goal: { below: 1_000 },
      note: describe(longestLock),
    },
    ...figures,
  ]
}

/** Returns the entry with the most milliseconds and forgets all. */
function takeLongest(times: Record<string, number>): Longest {
  let longest: Longest = { ms: 0, table: '-' }
  for (const [table, ms] of Object.entries(times)) {
    if (ms > longest.ms) longest = { ms, table }
    delete times[table]
  }
  return longest
}

/** Writes and reads single rows of a table without a pause, and keeps the longest time. */
async function probe(db: Db, table: string, waits: Record<string, number>, signal: AbortSignal): Promise<void> {
  const { key = [], column = '' } = largeTables[table] ?? {}
  const select = (sample: string) => db.unsafe(`select ${key.join()} from ${table} ${sample} limit 1000`)
  const sampled = await select('tablesample system (1)')
  const rows = sampled.length > 0 ? sampled : await select('')
  const where = key.map((name, i) => `${name} = $${i + 1}`).join(' and ')
  for (let i = 0; !signal.aborted; i++) {
    const values = Object.values(rows[i % rows.length] ?? {})
    for (const text of [
      `update ${table} set ${column} = ${column} where ${where}`,
      `select ${column} from ${table} where ${where}`,
    ]) {
      const began = performance.now()
      await db.unsafe(text, values, { prepare: true })
      waits[table] = Math.max(waits[table] ?? 0, performance.now() - began)
    }
    await sleep(5)
  }
}

/** Keeps how long a migration held a lock that conflicts with reads or writes of a large table. */
async function sampleLocks(db: Sql, locks: Record<string, number>, signal: AbortSignal): Promise<void> {
  const since = new Map<string, number>()
  while (!signal.aborted) {
    const now = performance.now()
    const held = await db<{ name: string }[]>`
      select distinct coalesce(parent.relname, c.relname) || ' ' || l.mode as name
      from pg_locks l
      join pg_class c on c.oid = l.relation
      left join pg_inherits i on i.inhrelid = c.oid
      left join pg_class parent on parent.oid = i.inhparent
      where l.granted and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        and coalesce(parent.relname, c.relname) = any(${Object.keys(largeTables)})
        and l.pid in (select pid from pg_locks where locktype = 'advisory' and objid = 7263551)`
    const names = new Set(held.map(({ name }) => name))
    for (const name of [...since.keys()]) if (!names.has(name)) since.delete(name)
    for (const name of names) {
      since.set(name, since.get(name) ?? now)
      locks[name] = Math.max(locks[name] ?? 0, performance.now() - (since.get(name) ?? now))
    }
    await sleep(10)
  }
}

type Release = { version: string; last_migration: string }

function lastRelease(): Release {
  const releases: Release[] = JSON.parse(readFileSync(join(migrationsDir, 'releases.json'), 'utf8'))
  const release = releases.at(-1)
  if (!release) throw new Error('migrations/releases.json is empty')
  return release
}
