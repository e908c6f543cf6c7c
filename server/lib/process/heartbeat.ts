/**
 * Heartbeats: each process of each service writes a row every ten seconds, so that any process can list all of them.
 *
 * The processes of one service can ask each other (`peers.ts`). Services on several machines share only the database. A process that
 * stops deletes its row. The row of a process that was killed stays for an hour and shows since when it is silent.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../../common/times.ts'
import { getClockOffsetMs, nowIso, nowMs } from '../clock.ts'
import type { Db, Sql } from '../postgres/db.ts'
import type { Disk } from './disk.ts'
import type { Health } from './health.ts'
import { type Loop, startRepeating } from './loop.ts'
import { lagResolutionMs, type Metrics } from './metrics.ts'

type ProcessReport = {
  version: string
  started_at: string
  restarts: number
  memory_bytes: number
  /** The 99th percentile since the report before. */
  event_loop_lag_seconds: number
  clock_offset_ms: number
  /** `succeeded_at` is the last round without an error. */
  loops: { name: string; succeeded_at: string | null; is_failing: boolean }[]
  /** Null: the file system cannot be read. */
  disks: { folder: string; free_bytes: number; total_bytes: number }[] | null
  /** Gauges that only this process knows. */
  gauges: Record<string, number>
}

export type ServiceProcess = ProcessReport & {
  service: string
  process: string
  reported_at: string
  is_silent: boolean
}

/** Three heartbeats. `/readyz` has the same limit for a process that is restarted. */
const silentSeconds = 30
const keptMinutes = 60

type Heartbeat = {
  db: Db
  log: FastifyBaseLogger
  health: Health
  metrics: Metrics
  disk?: Disk | undefined
  service: string
  process: string
  version: string
  restarts: number
  /** The names of gauges of this process to report. */
  gauges: readonly string[]
  times: Times['heartbeat']
}

/** Resolves after the first heartbeat, also if it failed: a service that cannot report must still start. */
export async function startHeartbeat(heartbeat: Heartbeat): Promise<Loop> {
  const { db, log, health, metrics, disk, service, process: name, version, restarts, gauges, times } = heartbeat
  const lag = monitorEventLoopDelay({ resolution: lagResolutionMs })
  lag.enable()
  const startedAt = nowIso()
  const report = async (): Promise<ProcessReport> => ({
    version,
    started_at: startedAt,
    restarts,
    memory_bytes: process.memoryUsage.rss(),
    event_loop_lag_seconds: lag.percentile(99) / 1e9,
    clock_offset_ms: getClockOffsetMs(),
    loops: health.loops().map(({ name, succeededMsAgo, isFailing }) => ({
      name,
      succeeded_at: succeededMsAgo === null ? null : new Date(nowMs() - succeededMsAgo).toISOString(),
      is_failing: isFailing,
    })),
    disks: disk ? await readDisks(disk) : [],
    gauges: await metrics.readGauges(gauges),
  })
  const beat = async () => {
    await db`delete from service_processes where reported_at < now() - make_interval(mins => ${keptMinutes})`
    await db`
      insert into service_processes (service, process, report, reported_at)
      values (${service}, ${name}, ${JSON.stringify(await report())}::text::jsonb, now())
      on conflict (service, process) do update set report = excluded.report, reported_at = excluded.reported_at`
    lag.reset()
  }
  await beat().catch((error) => log.warn({ error: (error as Error).message }, 'the first heartbeat failed'))
  const loop = startRepeating({ name: 'heartbeat', everyMs: times.beatMs, log, health, run: beat })
  return {
    async stop() {
      lag.disable()
      await loop.stop()
      // A database that is gone must not delay the end.
      await db`delete from service_processes where service = ${service} and process = ${name}`.catch(() => {})
    },
  }
}

async function readDisks(disk: Disk): Promise<ProcessReport['disks']> {
  // A report without the disks is better than none.
  const spaces = await disk.readAll().catch(() => undefined)
  return (
    spaces?.map(({ folder, freeBytes, totalBytes }) => ({ folder, free_bytes: freeBytes, total_bytes: totalBytes })) ??
    null
  )
}

/** All processes of all services, by name. */
export async function listProcesses(sql: Sql): Promise<ServiceProcess[]> {
  const rows = await sql<(Omit<ServiceProcess, keyof ProcessReport> & { report: ProcessReport })[]>`
    select service, process, report, reported_at,
      reported_at < now() - make_interval(secs => ${silentSeconds}) as is_silent
    from service_processes
    order by service, process
    limit 500`
  return rows.map(({ report, ...row }) => ({ ...row, ...report }))
}
