/**
 * The status of the installation: queues, processes, disks, the database and the last backup, for the operator.
 *
 * All values come from the database, except the last backup, which is beside the embedded database. So every API process of every
 * machine gives the same answer. Each part is read on its own with a time limit: a part that cannot be read is null and listed in
 * `unknown` with the reason.
 *
 * What needs attention is judged by the list that the alert rules are made from (`checks.ts`).
 */

import { countLate } from '../automation/watch.ts'
import { nowIso } from '../lib/clock.ts'
import type { BackupSummary } from '../lib/embedded/backup.ts'
import { type Db, requireRow, type Sql } from '../lib/postgres/db.ts'
import { isMigrated } from '../lib/postgres/migrate.ts'
import { countWaiting, type Waiting } from '../lib/postgres/waiting.ts'
import { minFreeBytes } from '../lib/process/disk.ts'
import { listProcesses, type ServiceProcess } from '../lib/process/heartbeat.ts'
import { within } from '../lib/time.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import { countQueued } from '../webhooks/queue.ts'
import { findProblems, isNearlyFull, type Problem } from './checks.ts'

export type Backups = {
  /** Whether `npx parley backup` copies the database. */
  isEmbedded: boolean
  getLast(): Promise<BackupSummary | undefined>
}

export type Status = {
  checked_at: string
  problems: Problem[]
  unknown: { part: Part; reason: string }[]
  queues: ({ name: QueueName } & Waiting)[] | null
  processes: ServiceProcess[] | null
  /** Of services that run. */
  disks: Disk[] | null
  delays: { search_seconds: number | null; search_pending_pages: number | null; clock_seconds: number } | null
  database: DatabaseState | null
  backup: { is_embedded: boolean; last: BackupSummary | null } | null
}

type Disk = {
  service: string
  folder: string
  free_bytes: number
  total_bytes: number
  is_full: boolean
  is_nearly_full: boolean
}
type DatabaseState = {
  version: string
  size_bytes: number
  connections: number
  max_connections: number
  migration: string
  is_migrated: boolean
  standbys: number
  /** Null: there is no standby, or the role may not see it. */
  replication_seconds: number | null
}
export const parts = ['queues', 'processes', 'disks', 'database', 'backup'] as const
type Part = (typeof parts)[number]

const digestGauge = 'parley_message_digest'
const searchGauge = 'parley_search_pending_pages'
/** Gauges that only the process with the engines knows. It reports them with its heartbeat. */
export const processGauges = [digestGauge, searchGauge] as const

/** What waits. Each statement reads an index of what waits, or a small table. */
const queues = {
  // The index also has messages that failed. An hour is enough: the sweep fails a message after 15 minutes.
  messages: (sql) =>
    countWaiting(
      sql,
      sql`select case when status = 'pending' then created_at end from messages
        where external_id is null and direction = 'outbound' and created_at > now() - interval '1 hour'
        order by created_at`,
    ),
  webhooks: countQueued,
  broadcasts: (sql) => countBroadcasts(sql, false),
  paused_broadcasts: (sql) => countBroadcasts(sql, true),
  automations: countLate,
  media: (sql) => countWaiting(sql, sql`select created_at from media where state = 'pending'`),
  early_reports: (sql) => countWaiting(sql, sql`select received_at from early_reports order by received_at`),
  merges: (sql) => countWaiting(sql, sql`select continued_at from contact_merges`),
} satisfies Record<string, (sql: Sql) => Promise<Waiting>>
type QueueName = keyof typeof queues
export const queueNames = Object.keys(queues) as QueueName[]

/** A page that many members open at the same time costs one read. */
const cachedMs = 3_000
const statementTimeoutMs = 2_000
const timeoutMs = 3_000

/** Returns a function that reads the status, at most once every three seconds. */
export function createStatus(db: Db, backups: Backups | undefined): () => Promise<Status> {
  const cached = createTtlCache(() => readStatus(db, backups), cachedMs)
  return () => cached('')
}

async function readStatus(db: Db, backups: Backups | undefined): Promise<Status> {
  const unknown: Status['unknown'] = []
  const read = async <Value>(part: Part, run: () => Promise<Value>): Promise<Value | null> => {
    try {
      return await inTime(run())
    } catch (error) {
      unknown.push({ part, reason: (error as Error).message })
      return null
    }
  }
  const limited =
    <Value>(run: (sql: Sql) => Promise<Value>) =>
    () =>
      db.begin(async (sql) => {
        await sql`select set_config('statement_timeout', ${String(statementTimeoutMs)}, true)`
        return run(sql)
      })
  const [queues, processes, database, backup] = await Promise.all([
    read('queues', limited(readQueues)),
    read('processes', limited(listProcesses)),
    read('database', limited(readDatabase)),
    read('backup', async () => ({
      is_embedded: backups?.isEmbedded ?? false,
      last: (await backups?.getLast()) ?? null,
    })),
  ])
  const disks = processes && listDisks(processes)
  const unreadable = processes?.find(({ is_silent, disks }) => !is_silent && disks === null)
  if (unreadable) unknown.push({ part: 'disks', reason: `the file system of ${unreadable.service} does not answer` })
  const delays = processes && readDelays(processes)
  const problems = findProblems({ queues, processes, disks, delays })
  return { checked_at: nowIso(), problems, unknown, queues, processes, disks, delays, database, backup }
}

/** Rejects when the promise takes too long: the pool may have no connection, and a file system may hang. */
async function inTime<Value>(promise: Promise<Value>): Promise<Value> {
  const answer = await within(
    timeoutMs,
    promise.then((value) => ({ value })),
  )
  if (!answer) throw new Error(`no answer within ${timeoutMs / 1000} seconds`)
  return answer.value
}

async function readQueues(sql: Sql): Promise<NonNullable<Status['queues']>> {
  const all: NonNullable<Status['queues']> = []
  for (const name of queueNames) all.push({ name, ...(await queues[name](sql)) })
  return all
}

/** Those that are sending. The second condition is that of the index. */
const countBroadcasts = (sql: Sql, isPaused: boolean): Promise<Waiting> =>
  countWaiting(
    sql,
    sql`select coalesce(started_at, created_at) from broadcasts
      where completed_at is null and status <> 'scheduled' and status = 'sending' and is_paused = ${isPaused}`,
  )

async function readDatabase(sql: Sql): Promise<DatabaseState> {
  const [row] = await sql<Omit<DatabaseState, 'is_migrated'>[]>`
    select current_setting('server_version') as version, pg_database_size(current_database())::float8 as size_bytes,
      (select count(*)::int from pg_stat_activity
        where datname = current_database() and application_name = 'parley') as connections,
      current_setting('max_connections')::int as max_connections,
      (select max(name) from migrations) as migration,
      (select count(*)::int from pg_stat_replication) as standbys,
      (select max(extract(epoch from replay_lag))::float8 from pg_stat_replication) as replication_seconds`
  return { ...requireRow(row, 'the database'), is_migrated: await isMigrated(sql) }
}

/** The folders of each service that runs. Its processes share them. */
function listDisks(processes: readonly ServiceProcess[]): Disk[] {
  const disks = new Map<string, Disk>()
  for (const { service, disks: reported, is_silent } of processes) {
    if (is_silent) continue
    for (const disk of reported ?? []) {
      disks.set(`${service} ${disk.folder}`, {
        service,
        ...disk,
        is_full: disk.free_bytes < minFreeBytes,
        is_nearly_full: isNearlyFull(disk.free_bytes, disk.total_bytes),
      })
    }
  }
  return [...disks.values()]
}

function readDelays(processes: readonly ServiceProcess[]): NonNullable<Status['delays']> {
  const running = processes.filter(({ is_silent }) => !is_silent)
  const largest = (gauge: string): number | null => {
    const values = running.flatMap(({ gauges }) => gauges[gauge] ?? [])
    return values.length > 0 ? Math.max(...values) : null
  }
  return {
    search_seconds: largest(digestGauge),
    search_pending_pages: largest(searchGauge),
    clock_seconds: Math.max(0, ...running.map(({ clock_offset_ms }) => Math.abs(clock_offset_ms))) / 1000,
  }
}
